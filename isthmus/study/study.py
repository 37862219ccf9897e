"""`Study`: a fit as a text file (TOML). All faults of a file come at once, with the nearest names."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from isthmus import schema as t
from isthmus.blueprint.tables import from_table
from isthmus.blueprint.text import toml_value
from isthmus.blueprint.wire import Wire
from isthmus.data.options import Options
from isthmus.describe.files import read_bytes
from isthmus.entry import check_arguments
from isthmus.errors import BadStudy, IsthmusError, warn_renamed
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import CROSS, Problem
from isthmus.identify.search.search import AbstractSearch
from isthmus.losses.windows import AbstractLoss, Windows
from isthmus.model.contacts import Contact, Ground
from isthmus.model.model import Model
from isthmus.model.pairs import Pair
from isthmus.motion.motion import Motion
from isthmus.study.build import Trials, attached, divided, load_robot, read_logs, try_names
from isthmus.study.contacts import CONTACTS, GROUNDS, IMPULSES, contact_in, ground_in, pairs_in
from isthmus.study.searches import loss_in, search_in

FORMATS = ("urdf", "mjcf", "model", "report")
"""What can be written beside the result."""
INTEGRATORS = ("semi_implicit", "explicit_euler", "rk4")

TOP = {
    "paths_from": t.TEXT, "robot": t.TEXT, "base": t.one_of("fixed", "free"), "repair": t.one_of("none", "nearest"),
    "ground": GROUNDS, "contact": CONTACTS, "pair": t.TABLES, "impulses": t.TABLE, "packages": t.TEXTS, "logs": t.TEXTS,
    "heldout": t.ANYTHING, "seed": t.WHOLE, "read": t.TABLE,
    "free": t.TABLES, "wire": t.TABLES, "loss": t.TABLE, "time": t.TABLE, "search": t.TABLE, "output": t.TABLE,
}  # fmt: skip
READ = {f.name: t.ANYTHING for f in dataclasses.fields(Options)} | {"dataset": t.TEXT}
FREE = {
    "name": t.TEXT, "low": t.LIMITS, "high": t.LIMITS, "start": t.NUMBERS, "shared": t.FLAG,
    "each_run": t.FLAG, "prior": t.either(t.NUMBER, t.list_of(t.NUMBER, 2)),
}  # fmt: skip
COMPARED = {
    "signals": t.TEXTS, "huber": t.POSITIVE, "wrap": t.FLAG, "keep_networks": t.FLAG,
    "weight_penalty": t.either(t.NUMBER, t.one_of(CROSS)), "noise": t.either(t.NUMBER, t.table_with(t.NUMBERS)),
}  # fmt: skip
"""What [loss] says besides the kind of stretches."""
TIME = {
    "dt": t.POSITIVE,
    "substeps": t.count_to(1000),
    "integrator": t.one_of(*INTEGRATORS),
    "explicit": t.FLAG,
}
OF_ROBOT = ("base", "repair", "ground", "contact", "pairs", "impulses", "packages")
"""Keys that say how the robot is loaded."""
OUTPUT = {"folder": t.TEXT, "formats": t.TEXTS}


def as_toml(data: Mapping[str, Any]) -> str:
    """Plain data of a study as text."""
    lines = (f"{key} = {toml_value(value)}" for key, value in data.items())
    return "".join(f"{line}\n" for line in lines)


@check_arguments
@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """What a study file says, or a table of the same keys. `problem()` makes it a `Problem`."""

    robot: str
    logs: tuple[str, ...]
    free: tuple[Free, ...]
    base: str = "fixed"
    repair: str = "none"
    ground: float | Ground | None = None
    """A plane, or the height of a horizontal one [m]."""
    contact: str | tuple[Contact, ...] | None = None
    """How shapes touch the ground, as in `ist.load`."""
    pairs: tuple[Pair, ...] = ()
    """Shapes that touch each other."""
    impulses: dict[str, Any] = dataclasses.field(default_factory=dict)
    """`order`, `sweeps` and `newton` of `ist.with_contact`."""
    packages: tuple[str, ...] = ()
    """Folders in which `package://` paths of meshes are looked for."""
    heldout: int | float | tuple[str, ...] | None = None
    """Files, how many of the logs (the last ones), or which share of every log (its end)."""
    seed: int = 0
    """Of the first weights of networks."""
    reading: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Options of `read_motion`."""
    wires: tuple[Wire, ...] = ()
    loss: AbstractLoss = dataclasses.field(default_factory=Windows)
    compared: dict[str, Any] = dataclasses.field(default_factory=dict)
    """`signals`, `noise`, `huber` … of `Problem`."""
    time: dict[str, Any] = dataclasses.field(default_factory=dict)
    """`dt`, `substeps` … of `Problem`."""
    search: AbstractSearch | None = None
    """None: that of `fit`, which depends on the loss."""
    output: str = "fit"
    """Folder of the results."""
    formats: tuple[str, ...] | None = None
    """None: the format of the robot's file, and a report."""
    here: Path = dataclasses.field(default_factory=Path)
    """Where relative paths start: the folder of the file, or `paths_from` as seen from there."""
    source: str = "study"
    text: str = ""
    """As it was written."""

    @staticmethod
    @check_arguments
    def load(path: str | os.PathLike[str]) -> Study:
        """The study in a TOML file."""
        try:
            text = read_bytes(path).decode("utf-8-sig")
            data = tomllib.loads(text)
        except UnicodeDecodeError:
            raise BadStudy("this is no study: it is not text.", str(path)) from None
        except (tomllib.TOMLDecodeError, RecursionError) as broken:
            raise BadStudy(f"this is no TOML, or half of it: {broken}.", str(path)) from None
        return Study.from_table(data, here=Path(path).parent, source=str(path), text=text)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Study:
        """The old name of `load`, until version 0.3."""
        warn_renamed("Study.read", "Study.load")
        return Study.load(path)

    @staticmethod
    @check_arguments
    def from_table(
        data: Mapping[str, Any], *, here: Path = Path(), source: str = "study", text: str = ""
    ) -> Study:
        """The study that plain data describe."""
        faults: list[str] = []
        parts = _parts(t.checked(data, TOP, "a study", faults), faults)
        if faults:
            raise BadStudy(faults, source)
        if "paths_from" in data:
            here = _shortest(here / data["paths_from"])
        return Study(**parts, here=here, source=source, text=text or as_toml(data))

    @property
    def folder(self) -> Path:
        """Where results go."""
        return self.here / self.output

    def refuse_nothing_free(self) -> None:
        """Refuses a study with nothing to fit; `discover` needs nothing free."""
        if not self.free:
            raise BadStudy('nothing is free; say [[free]] and name = "link/*/mass".', self.source)

    def problem(self) -> Problem:
        """Robot and logs, read; what is free in one and compared with the other."""
        tried = Trials()
        options = {name: getattr(self, name) for name in OF_ROBOT}
        model = tried("robot", lambda: load_robot(self.here, self.robot, **options))
        logs, heldout = self._logs(tried, model)
        if model is not None and self.wires and (logs or heldout):
            model = tried("wire", lambda: attached(model, self.wires, logs, self.seed)) or model
        signals = self.compared.get("signals", ("joint/position",))
        tried.faults += _faults_of_noise(self.compared.get("noise"), signals)
        if not tried.faults:
            try:
                return self._problem(model, logs, heldout)
            except IsthmusError:
                try_names(model, self.free, signals, tried)
                if not tried.faults:
                    raise
        elif model is not None:
            try_names(model, self.free, signals, tried)
        raise BadStudy(tried.faults, self.source)

    def _logs(self, tried: Trials, model: Model | None) -> tuple[list[Motion], list[Motion]]:
        """Motions that are fitted, and motions that are only predicted."""
        paths = [self.here / path for path in self.logs]
        logs = read_logs(tried, "logs", paths, model, self.reading)
        if not isinstance(self.heldout, tuple):
            return divided(logs, self.heldout, tried)
        paths = [self.here / path for path in self.heldout]
        heldout = read_logs(tried, "heldout", paths, model, self.reading)
        own = {m.name for m in heldout}
        return [m for m in logs if m.name not in own] or logs, heldout

    def _problem(self, model: Model, logs: list[Motion], heldout: list[Motion]) -> Problem:
        return Problem(
            model, logs, free=self.free, loss=self.loss, heldout=heldout or None,
            **self.compared, **self.time,
        )  # fmt: skip


def _faults_of_noise(noise: Any, signals: Sequence[str]) -> Iterator[str]:
    """Noise of signals that are not compared."""
    for text in noise if isinstance(noise, dict) else ():
        if text not in signals:
            known = ", ".join(map(repr, signals))
            yield f"[loss], noise: {text!r} is not compared; that is {known}."


def _parts(data: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    """The fields of a study; what is wrong with each is added to `faults`."""
    for key, example in (("robot", '"arm.urdf"'), ("logs", '["logs/*.csv"]')):
        if key not in data and not any(f": {key} must" in fault for fault in faults):
            faults.append(f"a study needs {key} = {example}.")
    loss = dict(data.get("loss", {}))
    compared = {key: loss.pop(key) for key in COMPARED if key in loss}
    compared = t.checked(compared, COMPARED, "[loss]", faults)
    tables = {"read": READ, "time": TIME, "output": OUTPUT, "impulses": IMPULSES}
    read, time, output, impulses = (
        t.checked(data.get(name, {}), known, f"[{name}]", faults) for name, known in tables.items()
    )
    plain, search = ("base", "repair", "seed"), data.get("search")
    return {
        **{key: data[key] for key in plain if key in data},
        "robot": data.get("robot", ""), "logs": _texts(data.get("logs", ())),
        "packages": _texts(data.get("packages", ())), "impulses": impulses,
        "ground": ground_in(data.get("ground"), faults), "contact": contact_in(data.get("contact"), faults),
        "pairs": pairs_in(data.get("pair", ()), faults),
        "free": _free(data.get("free", []), faults), "heldout": _heldout(data.get("heldout"), faults),
        "reading": _reading(read, faults), "wires": _wires(data, faults),
        "loss": loss_in(loss, "[loss]", faults), "compared": _compared(compared), "time": time,
        "search": None if search is None else search_in(search, "[search]", faults),
        "output": output.get("folder", "fit"),
        "formats": _formats(output.get("formats"), faults),
    }  # fmt: skip


def _texts(x: Any) -> tuple[str, ...]:
    return (x,) if isinstance(x, str) else tuple(x)


def _compared(table: dict[str, Any]) -> dict[str, Any]:
    return {key: _texts(value) if key == "signals" else value for key, value in table.items()}


def _free(tables: list[dict[str, Any]], faults: list[str]) -> tuple[Free, ...]:
    found = []
    for n, table in enumerate(tables, 1):
        who = f"free {n}"
        wrong = list(t.faults_of(table, FREE, who))
        if "name" not in table:
            wrong.append(f'{who} has no name; say name = "link/*/mass".')
        faults += wrong
        found.append(None if wrong else t.made(Free, table, who, faults))
    return tuple(free for free in found if free is not None)


def _heldout(x: Any, faults: list[str]) -> Any:
    if x is None or (t.WHOLE.fits(x) and x >= 0):
        return x
    if t.TEXTS.fits(x):
        return _texts(x)
    if t.NUMBER.fits(x) and 0 < x < 1:
        return x
    faults.append(
        "a study: heldout must be files, how many of the logs (1), or the last share of each (0.2), "
        f"not {t.said(x)}."
    )
    return None


def _reading(table: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    """Options of `read_motion`; an empty text leaves a column out, pairs of units are lists."""
    made = dict(table)
    if isinstance(made.get("columns"), dict):
        made["columns"] = {name: meant or None for name, meant in made["columns"].items()}
    if isinstance(made.get("units"), dict):
        pair = lambda x: tuple(x) if isinstance(x, list) else x
        made["units"] = {name: pair(unit) for name, unit in made["units"].items()}
    t.made(Options, {key: x for key, x in made.items() if key != "dataset"}, "[read]", faults)
    return made


def _wires(data: dict[str, Any], faults: list[str]) -> tuple[Wire, ...]:
    read = [from_table(table, {}, f"wire {n}") for n, table in enumerate(data.get("wire", []), 1)]
    faults += [fault for _, wrong in read for fault in wrong]
    named = [str(table.get("name", "")) for table in data.get("free", [])]
    if read and not any(name.startswith("network") for name in named):
        faults.append('the wires have weights, but none is free; say [[free]] name = "network/*".')
    return tuple(wire for wire, _ in read if wire is not None)


def _formats(given: Any, faults: list[str]) -> tuple[str, ...] | None:
    if given is None:
        return None
    formats = _texts(given)
    known = t.one_of(*FORMATS)
    faults += [
        f"[output]: formats has {x!r}; it may be {known.words}."
        for x in formats
        if not known.fits(x)
    ]
    return formats


def _shortest(folder: Path) -> Path:
    """A folder without `..`, as seen from the current one where that is above it: messages show such paths."""
    whole, here = folder.resolve(), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else whole
