"""`Discovery`: the places where a model lacks something, as a table, as sentences, as a blueprint, as formulas."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import schema as t
from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.discovery.curves import curve
from isthmus.discovery.formula import Formula, find_formula
from isthmus.discovery.stages import Stand
from isthmus.disk import check_target, made_folder, whole_file
from isthmus.entry import check_arguments
from isthmus.errors import BadFile, BadOption
from isthmus.networks.recipes import MLP
from isthmus.shown import Shown

NOTHING = "Nothing is missing that these logs can show."
RECORD = "discovery.json"
"""The file that `isthmus discover` keeps its places in."""
AS_FREE = {"gravity": "gravity", "delay": "joint/*/delay"}
"""Targets that no wire corrects -> the name that `ist.Free` takes."""


@dataclasses.dataclass(frozen=True)
class Place:
    """One thing that the model lacks."""

    target: str
    """The signal that lacks something, or leaves of the model: `link/NAME/inertial`, `gravity`, `delay`."""
    reads: tuple[str, ...]
    """Signals that it depends on."""
    explains: float
    """By what share it lowers the squared residuals of windows that its coefficients do not know."""
    error: float
    """Standard error of that share, over blocks of windows."""
    alike: tuple[str, ...] = ()
    """Candidates whose effect on these logs is the same."""
    coefficients: tuple[float, ...] = ()
    """Of its functions or leaves, each in units of its usual size."""

    @property
    def name(self) -> str:
        """`joint/elbow/passive_torque by joint/elbow/velocity`."""
        return f"{self.target} by {', '.join(self.reads)}" if self.reads else self.target

    @property
    def free(self) -> str | None:
        """The name of the parameter that it is, for `ist.Free`; None: a network or a formula is needed."""
        return None if self.reads else AS_FREE.get(self.target, self.target)

    def __str__(self) -> str:
        known = f", and {', or '.join(self.alike)} would do as well" if self.alike else ""
        return (
            f"{self.name} explains {100 * self.explains:.1f} ± {100 * self.error:.1f} % of what remains in windows "
            f"that were left out{known}."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Discovery(Shown):
    """What a model lacks; prints as a table and as sentences."""

    places: tuple[Place, ...]
    """In the order in which they were found, the strongest first."""
    notes: tuple[str, ...] = ()
    """What users should know: estimated noise, windows that were left out, joints that hardly move."""
    unjudged: tuple[str, ...] = ()
    """Candidates that these logs say nothing about."""
    scores: tuple[tuple[str, float, float], ...] = ()
    """Of every candidate of the first stage: name, mean fall of the log of held-out costs, its standard error."""
    complete: bool = True
    """False: stopped before the end."""
    stand: Stand | None = dataclasses.field(default=None, repr=False)
    """Where the discovery stands; None after loading."""

    def __str__(self) -> str:
        lines = [*self._table(), *map(str, self.places)] if self.places else [NOTHING]
        if not self.complete:
            lines.append("Stopped before the end: there may be more.")
        free = [f"ist.Free({p.free!r})" for p in self.places if p.free]
        lines += [f"What is a parameter can be fitted: {', '.join(free)}."] if free else []
        return "\n".join([*lines, *self.notes])

    def _table(self) -> list[str]:
        rows = [("target", "reads", "explains", "±", "alike")] + [
            (p.target, ", ".join(p.reads) or "-", f"{p.explains:.3f}", f"{p.error:.3f}", "; ".join(p.alike) or "-")
            for p in self.places
        ]  # fmt: skip
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        line = lambda row: "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip()
        return [*map(line, rows), ""]

    @check_arguments
    def blueprint(self, net: Any = None) -> Blueprint:
        """A wire with a network `net` (default `MLP(8, 1)`) for each place that one can correct."""
        net = MLP(8, 1) if net is None else net
        return Blueprint([Wire(p.target, p.reads, net) for p in self.places if p.reads])

    @check_arguments
    def write(self, path: str | os.PathLike[str] = "blueprint.toml", net: Any = None) -> Path:
        """Writes the blueprint as TOML, with what was found as comments, and returns the path."""
        target = Path(path)
        check_target(target, (".toml",))
        said = "".join(f"# {line}".rstrip() + "\n" for line in str(self).splitlines())
        with whole_file(target) as file:
            file.write(f"{said}\n{self.blueprint(net).to_toml()}".encode())
        return target

    def formula(self) -> dict[str, Formula]:
        """Of each place that reads one number, by its name: the formula that its torque [N·m, N] follows best."""
        stand = self._stand("formulas")
        found = {}
        for k, place in enumerate(self.places):
            if len(stand.taken[k].inputs) == 1:
                x, force, error = curve(stand, k)
                found[place.name] = find_formula({place.reads[0]: x}, force, error)
        return found

    @check_arguments
    def draw(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Which input drives which output, as a matplotlib figure; `path`: written there too, .png, .svg or .pdf."""
        from isthmus.discovery.draw import draw

        return draw(self.scores, [p.name for p in self.places], path)

    def _stand(self, what: str) -> Stand:
        if self.stand is None:
            raise BadOption(
                f"a discovery that was loaded has no motions for {what}; call discover again."
            )
        return self.stand

    # on disk -------------------------------------------------------------------------------------------------

    @check_arguments
    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes `discovery.json` into a folder and returns its path."""
        path = made_folder(folder) / RECORD
        whole = dataclasses.asdict(dataclasses.replace(self, stand=None))
        plain = {name: whole[name] for name in PARTS}
        with whole_file(path) as file:
            file.write((json.dumps(plain, indent=1) + "\n").encode())
        return path

    @staticmethod
    @check_arguments
    def load(folder: str | os.PathLike[str]) -> Discovery:
        """Reads what `save` wrote."""
        path = Path(folder) / RECORD
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            if _is_sound(plain):
                places = tuple(_made(Place, place) for place in plain.pop("places"))
                return _made(Discovery, plain | {"places": places})
        except OSError as failed:
            raise BadFile(f"{str(path)!r} cannot be read: {failed.strerror}.") from None
        except (ValueError, RecursionError):
            pass  # no text, or no JSON
        raise BadFile(f"{str(path)!r} is no discovery that isthmus wrote; run discover again.")


SCORE = t.Kind(
    "a name and two numbers",
    lambda x: (
        isinstance(x, list) and len(x) == 3 and t.TEXT.fits(x[0]) and all(map(t.LIMIT.fits, x[1:]))
    ),
    "names with two numbers",
)
PARTS = {"places": t.TABLES, "scores": t.list_of(SCORE)} | {
    "notes": t.list_of(t.TEXT), "unjudged": t.list_of(t.TEXT), "complete": t.FLAG,
}  # fmt: skip


def _is_sound(plain: Any) -> bool:
    """Whether plain data are what `save` writes."""
    known = t.options_of(Place)
    right = lambda table, parts: (
        isinstance(table, dict)
        and table.keys() == parts.keys()
        and not [*t.faults_of(table, parts, "")]
    )
    return right(plain, PARTS) and all(right(place, known) for place in plain["places"])


def _made(cls: Any, plain: dict[str, Any]) -> Any:
    return cls(**{name: t.as_tuples(value) for name, value in plain.items()})


def numbers(x: np.ndarray) -> tuple[float, ...]:
    """An array as plain numbers."""
    return tuple(float(value) for value in x)
