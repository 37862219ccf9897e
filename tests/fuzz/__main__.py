"""`python -m tests.fuzz native --seconds 60`: cases from fixed seeds; findings go to out/fuzz/.

`native`: random programs against XLA. `inputs`: damaged files, studies and calls (`--kind` chooses one kind).
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

if version("jaxlib").startswith("0.10."):  # a version that does not know a flag ends the process
    # the fusion emitters of XLA end in a segmentation fault where they compile program 403
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

BAD = ("different", "error")
Part = Callable[[argparse.Namespace], Iterator[tuple[str, str]]]


def native(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """For each program: how it went, and what to say about it."""
    from tests.fuzz.native import compared
    from tests.fuzz.programs import program

    for seed in itertools.count(given.seed):
        made = program(seed)
        verdict = compared(made)
        line = ""
        if verdict.kind in BAD:
            given.out.mkdir(parents=True, exist_ok=True)
            path = given.out / f"native_{seed}.py"
            path.write_text(made.file(), encoding="utf-8")
            line = f"{path}: {verdict.kind}: {verdict.detail}"
        elif verdict.kind == "refused":
            line = f"seed {seed} refused: {verdict.detail}"
        yield verdict.kind, line


def inputs(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """For each case, all kinds in turn: how it went, and where a finding of a new cause is."""
    from tests.fuzz.inputs import KINDS, READERS, case, tried, write_finding

    groups = {"all": KINDS, "files": tuple(READERS)}
    if given.kind not in (*groups, *KINDS):
        raise SystemExit(
            f"no kind is called {given.kind!r}; there are {', '.join([*groups, *KINDS])}."
        )
    kinds = groups.get(given.kind, (given.kind,))
    causes: set[tuple[str, str]] = set()
    given.out.mkdir(parents=True, exist_ok=True)
    running = given.out / "running.txt"  # stays behind where a library ends the whole process
    for seed in itertools.count(given.seed):
        one = case(kinds[seed % len(kinds)], seed)
        running.write_text(one.command, encoding="utf-8")
        verdict = tried(one)
        running.unlink()
        line, cause = "", (one.kind, verdict.place)
        if verdict.kind in BAD and cause not in causes:
            causes.add(cause)
            folder = write_finding(one, verdict, given.out)
            line = f"{folder}: {verdict.place}: {verdict.detail.strip().splitlines()[-1][:200]}"
        yield verdict.kind, line


PARTS: dict[str, Part] = {"native": native, "inputs": inputs}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("part", choices=[*PARTS])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="all", help="of inputs: files, calls, urdf, csv, study …")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    given = parser.parse_args()
    began, counts = time.monotonic(), Counter()
    for kind, line in itertools.islice(PARTS[given.part](given), given.cases):
        counts[kind] += 1
        if line:
            print(line, flush=True)
        if time.monotonic() - began > given.seconds:
            break
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()) or "no cases")
    return 1 if any(counts[kind] for kind in BAD) else 0


if __name__ == "__main__":
    raise SystemExit(main())
