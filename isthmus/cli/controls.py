"""The option `--control`: text or a file -> a command for each degree of freedom at each step.

zero                            nothing acts
1.5,-0.2                        constant, one number for each degree of freedom
elbow=1.5                       constant, by name; the others are zero
sine:AMPLITUDE,HERTZ            A sin(2π f t)
chirp:AMPLITUDE,HERTZ,HERTZ     a sine whose frequency rises steadily from the first to the second
sine:2,0.5@elbow                only on the joints that match (FR_* …); without @ on every hinge and slider
torques.csv, torques.npz        a column for each hinge and slider, named as its joint; joints with several
                                degrees of freedom may be left out. With a column t [s] it is interpolated,
                                without one a row is a step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np

from isthmus.cli.numbers import named_numbers, numbers
from isthmus.errors import BadFile, BadOption, UnknownName, did_you_mean
from isthmus.model.address import matching
from isthmus.model.model import Model
from isthmus.motion.files import dof_names, read_table

WAVES = {"sine": ("AMPLITUDE,HERTZ", 2), "chirp": ("AMPLITUDE,HERTZ,HERTZ", 3)}
FORMS = "zero, numbers, NAME=NUMBER, sine:…, chirp:… or a .csv or .npz file"


@dataclasses.dataclass(frozen=True)
class Commands:
    """Commands of all degrees of freedom, as a function of time."""

    at: Callable[[np.ndarray, float, int], np.ndarray]
    """(numbers of steps, dt [s], how many steps there are) -> commands (steps, dof)."""
    seconds: Callable[[float], float] | None = None
    """How long a file lasts [s], by dt; None: it has no length of its own."""
    zero: bool = False


def read_commands(text: str, model: Model) -> Commands:
    """The commands that the option `--control` describes."""
    text = text.strip()
    kind, colon, rest = text.partition(":")
    if text == "zero":
        return Commands(lambda k, dt, steps: np.zeros((len(k), model.dof)), zero=True)
    if Path(text).suffix.lower() in (".csv", ".npz"):
        return _from_file(text, model)
    if colon and kind in WAVES:
        return _wave(kind, rest, model)
    if "=" in text:
        given = named_numbers(text, dof_names(model), "--control")
        return _constant([given.get(name, 0.0) for name in dof_names(model)])
    if not text or text[0] not in "+-.0123456789":
        near = did_you_mean(kind, ["zero", *WAVES])
        near = near if "mean" in near else ""
        raise BadOption(f"--control does not understand {text!r}; it takes {FORMS}.{near}")
    values = numbers(text, "--control")
    if len(values) != model.dof:
        raise BadOption(
            f"--control has {len(values)} numbers, but {model.name!r} has {model.dof} degrees of freedom."
        )
    return _constant(values)


def _constant(values: list[float]) -> Commands:
    row = np.array(values)
    return Commands(lambda k, dt, steps: np.tile(row, (len(k), 1)), zero=not row.any())


def _wave(kind: str, rest: str, model: Model) -> Commands:
    form, count = WAVES[kind]
    given, at, pattern = rest.partition("@")
    values = numbers(given, f"--control {kind}")
    if len(values) != count or min(values[1:]) < 0.0:
        raise BadOption(
            f"--control {kind} is written {kind}:{form} with frequencies from 0, not {rest!r}."
        )
    rows = _hinges_and_sliders(model, pattern.strip() if at else "*")
    amplitude, first, last = values[0], values[1], values[-1]

    def commands(k: np.ndarray, dt: float, steps: int) -> np.ndarray:
        t = k * dt
        turns = first * t + 0.5 * (last - first) * t**2 / (steps * dt)
        out = np.zeros((len(k), model.dof))
        out[:, rows] = (amplitude * np.sin(2.0 * np.pi * turns))[:, None]
        return out

    return Commands(commands, zero=amplitude == 0.0)


def _hinges_and_sliders(model: Model, pattern: str) -> list[int]:
    """Rows of `v` of the joints with one degree of freedom that match."""
    single = {name: rows[0] for name, rows in model.rows("dof").items() if len(rows) == 1}
    found = [single[name] for name in matching(pattern, single)]
    if not found:
        what = (
            "nothing" if pattern == "*" else f"no hinge or slider is called {pattern!r}, so nothing"
        )
        raise UnknownName(f"--control: {what} can be driven.{did_you_mean(pattern, single)}")
    return found


def _from_file(path: str, model: Model) -> Commands:
    table = read_table(path)
    names = dof_names(model)
    needed = [name for name, rows in model.rows("dof").items() if len(rows) == 1]
    needed = [name for name in needed if model.joint(name) not in model.prescribed]
    others = [name for name in table if name not in {"t", *names}]
    if missing := [name for name in needed if name not in table]:
        raise BadFile(
            f"{path!r} has no column {', '.join(map(repr, missing[:5]))}.{did_you_mean(missing[0], others)}"
        )
    if others:
        raise BadFile(
            f"{path!r}: column {others[0]!r} belongs to no joint.{did_you_mean(others[0], names)}"
        )
    for name, column in table.items():
        if not np.all(np.isfinite(column)):
            row = int(np.argmin(np.isfinite(column)))
            raise BadFile(
                f"{path!r}, column {name!r}: row {row + 1} holds {column[row]}, which is not finite."
            )
    rows = len(next(iter(table.values()), ()))
    if rows == 0:
        raise BadFile(f"{path!r} has no rows.")
    values = np.zeros((rows, model.dof))
    for column, name in enumerate(names):
        values[:, column] = table.get(name, 0.0)
    if "t" in table:
        return _timed(path, table["t"], values)
    return Commands(lambda k, dt, steps: values[k], seconds=lambda dt: dt * rows)


def _timed(path: str, t: np.ndarray, values: np.ndarray) -> Commands:
    """Straight lines between the rows; the file's first row is the beginning of the motion."""
    if np.any(np.diff(t) <= 0.0):
        raise BadFile(f"{path!r}: t must rise from row to row.")

    def commands(k: np.ndarray, dt: float, steps: int) -> np.ndarray:
        out = np.zeros((len(k), values.shape[1]))
        for column in range(values.shape[1]):
            out[:, column] = np.interp(k * dt, t - t[0], values[:, column])
        return out

    return Commands(commands, seconds=lambda dt: float(t[-1] - t[0]))
