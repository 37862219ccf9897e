"""What a motion must keep to: travel, velocity, acceleration and torque of each joint; from the model or as given."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.entry import described
from isthmus.errors import BadModel, BadOption, did_you_mean
from isthmus.model.model import Model

KINDS = ("position", "velocity", "acceleration", "torque")
SPEED, QUICKNESS = 1.0, 4.0
"""Unless given: the whole travel in a second, at most `MAX_SPEED`; and that velocity within a quarter of a second."""
MAX_SPEED = 2.0
"""[rad/s, m/s]"""


@dataclasses.dataclass(frozen=True)
class Limits:
    """One number for each degree of freedom; torques may be infinite."""

    lower: np.ndarray
    upper: np.ndarray
    """[rad, m]"""
    velocity: np.ndarray
    """[rad/s, m/s]"""
    acceleration: np.ndarray
    """[rad/s², m/s²]"""
    torque: np.ndarray
    """[N·m, N]"""

    @property
    def middle(self) -> np.ndarray:
        """Of the travel."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half(self) -> np.ndarray:
        """Half of the travel."""
        return 0.5 * (self.upper - self.lower)


def limits_of(model: Model, given: Mapping[str, Any] | None) -> Limits:
    """The limits of a model, with those that are given instead of its own."""
    given = dict(given or {})
    if unknown := [name for name in given if name not in KINDS]:
        raise BadOption(
            f"limits has {unknown[0]!r}; there are {', '.join(KINDS)}.{did_you_mean(str(unknown[0]), KINDS)}"
        )
    names = [name for name, rows in model.rows("dof").items() for _ in rows]
    _refuse_joints(model)
    own = np.asarray(model.joint_lower, np.float64), np.asarray(model.joint_upper, np.float64)
    lower, upper = _travel(names, given.get("position"), *own)
    for k, name in enumerate(names):
        if not np.isfinite(lower[k]) or not np.isfinite(upper[k]):
            raise BadOption(
                f"joint {name!r} has no limits of its position: give limits={{'position': {{{name!r}: (-1, 1)}}}}."
            )
        if not lower[k] < upper[k]:
            raise BadOption(
                f"the limits of joint {name!r}, {lower[k]:g} to {upper[k]:g}, leave no room to move."
            )
    speed = _positive(
        names, "velocity", given.get("velocity"), np.minimum(SPEED * (upper - lower), MAX_SPEED)
    )
    quick = _positive(names, "acceleration", given.get("acceleration"), QUICKNESS * speed)
    effort = np.asarray(model.joint_effort, np.float64)
    torque = _positive(names, "torque", given.get("torque"), np.where(effort > 0.0, effort, np.inf))
    return Limits(lower, upper, speed, quick, torque)


def start_of(model: Model, limits: Limits, given: Any) -> np.ndarray | None:
    """Where the motion is to begin; None: anywhere."""
    if given is None:
        return None
    start = np.asarray(given, dtype=np.float64)
    if start.shape != (model.dof,):
        raise BadOption(
            f"start must be {model.dof} positions [rad, m], one for each joint, not {described(given)}."
        )
    names = [name for name, rows in model.rows("dof").items() for _ in rows]
    for k, name in enumerate(names):
        if not limits.lower[k] <= start[k] <= limits.upper[k]:
            raise BadOption(
                f"the limits of joint {name!r}, {limits.lower[k]:g} to {limits.upper[k]:g}, exclude its start, "
                f"{start[k]:g}."
            )
    return start


def _refuse_joints(model: Model) -> None:
    """Refuses joints that do not move along a series of their own."""
    if not model.dof:
        raise BadModel(f"nothing of {model.name!r} can move, so there is no motion to design.")
    for i, name in enumerate(model.joint_names):
        (a, b), kind = model.layout.v_own[i], model.joint_kinds[i]
        if b - a > 1:
            raise BadModel(
                f"joint {name!r} is {kind}, and a motion can only be designed for joints of one coordinate: design it "
                "for the robot on a fixed base."
            )
    if model.prescribed:
        name = model.joint_names[model.prescribed[0]]
        raise BadModel(f"the motion of joint {name!r} is prescribed, so none can be designed.")


def _travel(
    names: list[str], given: Any, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of travel; a single number means both ways."""
    ends = np.stack([lower, upper], axis=1)
    if isinstance(given, Mapping):
        for name, value in given.items():
            ends[_row(names, "position", name)] = _pair(name, value)
    elif given is not None:
        ends[:] = _pair("position", given) if np.ndim(given) < 2 else np.asarray(given, np.float64)
    return ends[:, 0].copy(), ends[:, 1].copy()


def _pair(name: str, value: Any) -> np.ndarray:
    try:
        found = np.asarray(value, np.float64)
        pair = np.array([-found, found]) if found.ndim == 0 else found
    except (TypeError, ValueError, OverflowError):
        pair = np.zeros(0)
    if pair.shape != (2,) or np.isnan(pair).any():
        raise BadOption(f"the limits of position of {name!r} must be (low, high), not {value!r}.")
    return pair


def _positive(names: list[str], kind: str, given: Any, usual: np.ndarray) -> np.ndarray:
    """Limits of one kind: one for all, one for each, or by name."""
    found = usual.copy()
    try:
        if isinstance(given, Mapping):
            for name, value in given.items():
                found[_row(names, kind, name)] = float(value)
        elif given is not None:
            found[:] = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadOption(
            f"limits of {kind} must be one number, {len(names)}, or a number for each joint, not {given!r}."
        ) from None
    if not np.all(found > 0.0):
        k = int(np.argmin(found > 0.0))
        raise BadOption(
            f"the limit of {kind} of joint {names[k]!r} must be positive, not {found[k]:g}."
        )
    return found


def _row(names: list[str], kind: str, name: Any) -> int:
    if name not in names:
        raise BadOption(
            f"limits of {kind}: no joint is called {name!r}.{did_you_mean(str(name), names)}"
        )
    return names.index(name)
