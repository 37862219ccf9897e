"""Damaged files, studies and calls: isthmus reads them, or refuses them in one short `IsthmusError`; nothing else.

A case is a kind and a seed. Whatever is no such error, takes long, fills the memory or says too much is a finding.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import random
import resource
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import isthmus as ist
from isthmus.distributed.store import Store
from isthmus.errors import LONGEST_FAULT, MOST_FAULTS, IsthmusWarning
from isthmus.motion.reading import read_motion_file
from isthmus.posteriors.from_fit import posterior_of
from tests.fuzz import calls, examples
from tests.fuzz.mutate import damaged_bytes, damaged_data, damaged_text

SECONDS, TIMES, MEMORY = 5.0, 5.0, 1 << 30
"""What a case may take: time of the processor, or as many times what it takes with nothing damaged, for a processor may
be slow; and bytes beyond what the process had."""
Files = dict[str, bytes]


@dataclasses.dataclass(frozen=True)
class Case:
    """What is tried: damaged files, or a call with odd arguments."""

    kind: str
    seed: int
    files: Files
    run: Callable[[Path], Any]
    """Reads what lies in a folder."""
    sound: Case | None = None
    """The same with nothing damaged, or odd."""

    @property
    def command(self) -> str:
        """What runs this case again."""
        return f"make fuzz PART=inputs ARGS='--kind {self.kind} --seed {self.seed} --cases 1'"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a case showed: "read", "refused" or "error"; `place` is the same for findings of one cause."""

    kind: str
    detail: str = ""
    place: str = ""


class TooSlow(BaseException):
    """Time is up; no `except Exception` holds it."""


# cases ---------------------------------------------------------------------------------------------------


def case(kind: str, seed: int) -> Case:
    """The case of a kind and a seed: always the same."""
    rng = random.Random(f"{kind} {seed}")
    if kind in CALLED:
        run, usual = calls.call(rng, CALLED[kind])
        return Case(kind, seed, {}, run, Case(kind, seed, {}, usual))
    sound = examples.files()[kind]
    files = dict(sound)
    name = rng.choice(sorted(files))
    files[name] = DAMAGE.get(kind, _any_bytes)(name, files[name], rng)
    if "fit.json" in files and name != "fit.json" and rng.random() < 0.5:
        files["fit.json"] = _with_digest(files["fit.json"], name, files[name])
    run = lambda folder: READERS[kind](folder, folder / name)
    return Case(kind, seed, files, run, Case(kind, seed, sound, run))


def _any_bytes(name: str, data: bytes, rng: random.Random) -> bytes:
    return damaged_bytes(data, rng)


def _words(name: str, data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.2:
        return damaged_bytes(data, rng)
    return damaged_text(data.decode(), rng).encode("utf-8", "surrogatepass")


def _tables(example: dict[str, Any]) -> Callable[[str, bytes, random.Random], bytes]:
    def damage(name: str, data: bytes, rng: random.Random) -> bytes:
        if not name.endswith(".toml") or rng.random() < 0.3:
            return _words(name, data, rng)
        return examples.as_toml(damaged_data(example, rng)).encode("utf-8", "surrogatepass")

    return damage


def _parts_of_a_folder(name: str, data: bytes, rng: random.Random) -> bytes:
    if name.endswith(".json") and rng.random() < 0.7:
        return examples.as_json(damaged_data(json.loads(data), rng))
    return _saved(name, data, rng) if name.endswith(".safetensors") else damaged_bytes(data, rng)


def _with_digest(text: bytes, name: str, data: bytes) -> bytes:
    """As if somebody had changed the file and its digest."""
    told = json.loads(text)
    told["digests"][name] = hashlib.sha256(data).hexdigest()
    return examples.as_json(told)


def _saved(name: str, data: bytes, rng: random.Random) -> bytes:
    """A saved model: any bytes, or its text changed and the checksum made anew."""
    from safetensors.numpy import load as read_tensors
    from safetensors.numpy import save as write_tensors

    from isthmus.files.save import _checksum

    if rng.random() < 0.4:
        return damaged_bytes(data, rng)
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["isthmus"])
    header["content"] = damaged_data(header["content"], rng)
    arrays = read_tensors(data)
    if rng.random() < 0.2:
        arrays.pop(rng.choice(sorted(arrays)))
    try:
        header["checksum"] = _checksum(header["content"], arrays)
    except ValueError:  # NaN, which no such file holds
        header["checksum"] = ""
    return write_tensors(arrays, {"isthmus": json.dumps(header)})


def _discovery(name: str, data: bytes, rng: random.Random) -> bytes:
    if name.endswith(".json") and rng.random() < 0.8:
        return examples.as_json(damaged_data(json.loads(data), rng))
    return _words(name, data, rng)


def _records(name: str, data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    if rng.random() < 0.4:
        return damaged_bytes(data, rng)
    k = rng.randrange(len(lines) - 1)
    text = lines[k].partition(b" ")[2] if k else lines[k]
    lines[k] = examples.as_json(damaged_data(json.loads(text), rng))
    return b"\n".join(lines)


DAMAGE: dict[str, Callable[[str, bytes, random.Random], bytes]] = {
    "urdf": _words, "mjcf": _words, "csv": _words, "study": _tables(examples.STUDY),
    "blueprint": _tables(examples.WIRES), "model": _saved, "store": _records, "discovery": _discovery,
    **dict.fromkeys(("fit", "posterior", "randomise"), _parts_of_a_folder), "track": _words,
}  # fmt: skip
"""How the files of a kind are damaged; any other: in their bytes."""


# reading -------------------------------------------------------------------------------------------------


def _read_log(folder: Path, path: Path) -> Any:
    return str(ist.read_motion(path, examples.pendulum()))


def _read_study(folder: Path, path: Path) -> Any:
    study = ist.Study.load(folder / "study.toml")
    return study.problem() if not study.wires else study


def _read_store(folder: Path, path: Path) -> Any:
    with Store(path, examples.ABOUT, resume=True) as store:
        return len(store)


def _read_discovery(folder: Path, path: Path) -> Any:
    if path.suffix == ".toml":
        return ist.Blueprint.load(path).to_toml()
    found = ist.Discovery.load(folder)
    return str(found), found.blueprint().to_toml(), found.draw()


def _read_posterior(folder: Path, path: Path) -> Any:
    found = ist.Posterior.load(folder)
    return str(found), found.interval(), found.export(folder / "models", 2)


def _draw_models(folder: Path, path: Path) -> Any:
    return posterior_of(ist.Fit.load(folder), 3).export(folder / "models", 2, "mjcf")


def _track(folder: Path, path: Path) -> Any:
    motion = ist.read_motion(path, examples.pendulum(), columns=examples.STUDY["read"]["columns"])
    return str(examples.tracker().run(motion))


READERS: dict[str, Callable[[Path, Path], Any]] = {
    **dict.fromkeys(("csv", "npz", "hdf5", "parquet"), _read_log),
    **dict.fromkeys(("urdf", "mjcf", "model"), lambda folder, path: str(ist.load(path))),
    "motion": lambda folder, path: str(read_motion_file(path, examples.pendulum())),
    "study": _read_study,
    "blueprint": lambda folder, path: ist.Blueprint.load(path).to_toml(),
    "fit": lambda folder, path: str(ist.Fit.load(folder)),
    "store": _read_store,
    "discovery": _read_discovery,
    "posterior": _read_posterior,
    "randomise": _draw_models,
    "track": _track,
}
CALLED = {"calls": calls.CALLS, "design": calls.DESIGN}
KINDS = (*READERS, *CALLED)


# verdicts ------------------------------------------------------------------------------------------------


def tried(one: Case) -> Verdict:
    """Runs a case and judges what comes of it."""
    before = _memory()
    took, said, found = _timed(one)
    more = _memory() - before
    if found.kind == "error":
        return found
    if _slow(one, took) or more > MEMORY:
        return Verdict(
            "error", f"it took {took:.1f} s and {more / 2**20:.0f} MiB", "time or memory"
        )
    if too_long := [text for text in said if not is_short(text)]:
        return Verdict(
            "error", f"{len(too_long[0])} letters: {too_long[0][:500]}", "a long message"
        )
    return found


def _slow(one: Case, took: float) -> bool:
    """Whether a case takes long, and that not only the first time, when functions load and compile."""
    if took <= SECONDS or one.sound is None:
        return False
    usual, _, _ = _timed(one.sound)
    again, _, _ = _timed(one)
    return min(took, again) > max(SECONDS, TIMES * usual)


def _timed(one: Case) -> tuple[float, list[str], Verdict]:
    """What a case took of the processor [s], what was said, and how it ended."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name)
        for file, data in one.files.items():
            (folder / file).write_bytes(data)
        began = time.process_time()
        said, found = _caught(lambda: one.run(folder))
        return time.process_time() - began, said, found


def is_short(text: str) -> bool:
    """Whether a message is a sentence, or a list of as many as an error may name."""
    lines = text.split("\n")
    return len(lines) <= MOST_FAULTS + 2 and max(map(len, lines)) <= 3 * LONGEST_FAULT


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _caught(work: Callable[[], Any]) -> tuple[list[str], Verdict]:
    """What was said (the error, the warnings), and how it ended."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", IsthmusWarning)
        signal.signal(signal.SIGALRM, _stop)
        signal.alarm(int(12 * SECONDS))
        try:
            work()
            said, verdict = [], Verdict("read")
        except ist.IsthmusError as refusal:
            said, verdict = [str(refusal)], Verdict("refused", str(refusal))
        except (Exception, TooSlow) as error:
            lines = traceback.format_exception(error)
            last = traceback.extract_tb(error.__traceback__)
            ours = [f for f in last if "isthmus" in f.filename] or last[-1:]
            place = f"{type(error).__name__} at {ours[-1].filename}:{ours[-1].lineno}"
            said, verdict = [], Verdict("error", "".join(lines), place)
        finally:
            signal.alarm(0)
    return said + [str(w.message) for w in seen], verdict


def _stop(*_: Any) -> None:
    raise TooSlow


def write_finding(one: Case, found: Verdict, out: Path) -> Path:
    """A folder with the files of the case, what happened, and what runs it again."""
    folder = out / f"inputs_{one.kind}_{one.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in one.files.items():
        (folder / name).write_bytes(data)
    text = f"{one.command}\n\n{one.run.__doc__ or ''}\n{found.place}\n{found.detail}\n"
    (folder / "finding.txt").write_text(text, encoding="utf-8", errors="replace")
    return folder
