"""Settings -> study -> a folder: tables, figures, numbers and models of one experiment; models judged later on."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isthmus.disk import made_folder, whole_file
from isthmus.errors import BadFile, BadOption, did_you_mean
from isthmus.files import SUFFIX
from isthmus.files.load import load
from isthmus.files.save import save
from isthmus.model.model import Model

STUDIES = {
    "landscape": "NeuralSim, figure 4: two lengths of a double pendulum by local search and by basin hopping",
    "gradients": "NeuralSim, figure 5: the time of one gradient beside the methods of TDS",
    "spherical": "Real2Sim, section III: link lengths of a pendulum with spherical joints, from headings",
    "mixture": "Real2Sim, section IV: a mixture of normals over the lengths of a pendulum, beside the posterior",
    "swimmer": "NeuralSim, figures 8 and 9, table II: passive forces of a swimmer in water and air",
    "discover": "NeuralSim, figure 10: which inputs the missing friction of a double pendulum depends on",
    "pendulum": "TDS, figure 1 (right): a filmed double pendulum, its numbers and its frame rate",
    "arm": "a real arm of seven joints from measured torques, beside Pinocchio and least squares",
    "acrobot": "a torque-driven double pendulum, three designs, beside the lab's own models",
    "cube": "TDS, figure 1 (left): springs with a learned friction imitate a throw of a world of impulses",
    "tosses": "a real cube tossed on a table: contact by impulses or springs, beside MuJoCo",
    "elbow": "two real boxes on a hinge, tossed on a table: contact by impulses or springs, beside MuJoCo",
    "push": "NeuralSim, figures 6 and 7: objects pushed on a table, learned friction beside a quasi-static model",
}
"""Name -> what it repeats; the module of that name in this package has `study(settings) -> Result`."""
_TOSSES = ("evaluations", "training", "folds", "contact", "workers")
OPTIONS: dict[str, tuple[str, ...]] = {
    "landscape": ("rounds", "side", "starts"), "spherical": ("epochs", "rate"), "mixture": ("seeds", "epochs"),
    "swimmer": ("links", "seeds", "media"), "discover": ("noise", "seeds", "workers"), "arm": ("model", "lowpass"),
    "acrobot": ("network", "workers"), "cube": ("rounds",), "tosses": _TOSSES, "elbow": _TOSSES,
    "push": ("network", "steps", "cases", "folds", "workers"),
}  # fmt: skip
"""What `--set` can change, by study."""
JUDGING = ("arm", "acrobot", "elbow", "pendulum", "push", "swimmer", "tosses")
"""Studies whose module has `judged(settings, models, numbers) -> Result`, which judges what the study found (`models`
and `numbers` of its result) on further recordings, `settings.judge`."""
NUMBERS, TABLES, JUDGED = "numbers.json", "tables.txt", "judged_"
"""Files of a study, and how names begin that come from judging its models."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """All that decides a study's result."""

    seed: int = 0
    quick: bool = False
    """A small version in seconds, for tests: its numbers mean nothing."""
    data: str | None = None
    """A recorded data set, for studies that use one."""
    options: tuple[tuple[str, Any], ...] = ()
    """Options of this study alone."""
    say: Callable[[str], None] = dataclasses.field(default=lambda text: None, compare=False)
    """Where progress goes, a line at a time."""
    judge: str | None = None
    """Further recordings on which models are judged: those fitted to `data`, or without `data` those saved before."""

    def option(self, name: str, default: Any) -> Any:
        return dict(self.options).get(name, default)


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of text under a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        cells = [self.columns, *self.rows]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.columns))]
        line = lambda row: "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        ruler = "  ".join("-" * width for width in widths)
        return "\n".join([self.title, line(self.columns), ruler, *map(line, self.rows)])


@dataclasses.dataclass(frozen=True)
class Result:
    """What a study found."""

    tables: tuple[Table, ...]
    numbers: dict[str, Any]
    """Plain numbers, lists and names: what goes into `numbers.json`."""
    figures: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Name -> matplotlib figure."""
    notes: tuple[str, ...] = ()
    """Sentences that a reader of the table needs."""
    models: dict[str, Model] = dataclasses.field(default_factory=dict)
    """Name -> fitted model, saved for `ist.load`."""
    judged: Result | None = None
    """What the models are worth on further recordings."""


def reproduce(name: str, settings: Settings, folder: Path | None = None) -> Result:
    """Runs the study `name`; with a folder, writes its tables, figures, numbers and models there."""
    result = run(name, settings, folder)
    if folder is not None:
        write(name, settings, result, folder)
    return result


def run(name: str, settings: Settings, folder: Path | None = None) -> Result:
    """The result of the study `name`, and of judging its models if `settings` say so.

    Models that are judged without `settings.data` are those that the study wrote to the folder.
    """
    if name not in STUDIES:
        raise BadOption(f"no study is called {name!r}.{did_you_mean(name, STUDIES)}")
    if settings.judge is not None and name not in JUDGING:
        raise BadOption(
            f"the study {name!r} judges by parts of its own data; further recordings (--judge) can be given to "
            f"{', '.join(JUDGING)}."
        )
    known = OPTIONS.get(name, ())
    if unknown := [option for option, _ in settings.options if option not in known]:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise BadOption(
            f"the study {name!r} has no option {unknown[0]!r}; {has}.{did_you_mean(unknown[0], known)}"
        )
    module = importlib.import_module(f"isthmus.experiments.{name}")
    if settings.judge is None:
        return module.study(settings)
    if settings.data is None:
        models, numbers = saved(name, folder)
        try:
            return Result((), {}, judged=module.judged(settings, models, numbers))
        except NotSaved as missing:
            raise BadFile(
                f"what the study {name!r} saved in {str(folder)!r} has no {missing}: another version of isthmus wrote "
                "it. Run the study again."
            ) from missing
    found = module.study(settings)
    return dataclasses.replace(found, judged=module.judged(settings, found.models, found.numbers))


class NotSaved(KeyError):
    """A number that a study saved under no such name."""


class _Saved(dict):
    """Numbers that a study saved; one that is not there is not a fault of the program."""

    def __missing__(self, name: str) -> Any:
        raise NotSaved(name)


def saved(name: str, folder: Path | None) -> tuple[dict[str, Model], dict[str, Any]]:
    """Models and numbers that a study wrote to a folder."""
    files = [] if folder is None else sorted(folder.glob(f"*{SUFFIX}"))
    if folder is None or not files or not (folder / NUMBERS).is_file():
        raise BadOption(
            f"there are no saved models of the study {name!r} in {str(folder)!r}: run it first, without --judge or "
            "with --data FILE."
        )
    try:
        text = (folder / NUMBERS).read_text(encoding="utf-8")
        found = json.loads(text, object_hook=_Saved)
        study, numbers = found["run"]["study"], found["numbers"]
    except (ValueError, KeyError, TypeError):
        raise BadFile(f"{str(folder / NUMBERS)!r} is damaged: run the study again.") from None
    if study != name:
        raise BadOption(f"the models in {str(folder)!r} are those of the study {study!r}.")
    return {file.name.removesuffix(SUFFIX): load(file) for file in files}, numbers


def write(name: str, settings: Settings, result: Result, folder: Path) -> None:
    """`tables.txt`, `numbers.json`, a PNG for each figure, a file for each model; the same of what was judged."""
    made_folder(folder)
    said = {
        "study": name, "seed": settings.seed, "quick": settings.quick, "options": dict(settings.options),
    }  # fmt: skip
    if result.tables:
        _write_part(said, result, folder, "")
    if result.judged is not None:
        _write_part(said, result.judged, folder, JUDGED)
    for title, model in result.models.items():
        save(model, folder / f"{title}{SUFFIX}")


def _write_part(said: dict[str, Any], part: Result, folder: Path, first: str) -> None:
    """Tables, numbers and figures; `first`: how their names begin."""
    text = "\n\n".join([*map(str, part.tables), *part.notes]) + "\n"
    numbers = json.dumps({"run": said, "numbers": part.numbers}, indent=1)
    for file_name, content in ((TABLES, text), (NUMBERS, numbers)):
        with whole_file(folder / f"{first}{file_name}") as file:
            file.write(content.encode())
    for title, figure in part.figures.items():
        with whole_file(folder / f"{first}{title}.png") as file:
            figure.savefig(file, format="png", dpi=160, bbox_inches="tight")
