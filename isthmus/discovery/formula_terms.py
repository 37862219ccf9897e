"""The terms that a formula for a missing force can have: functions of one signal, some with a shape of their own.

A shape parameter (the speed of the Stribeck curve, the periods of cogging, the play of a backlash) is tried on a grid
and then refined; all else is linear. The laws are those of `isthmus.dynamics.passive`, so that what is found can be
written into the leaves of a model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

Column = Float[np.ndarray, " rows"]

CORNERS = tuple(np.geomspace(0.002, 0.2, 9).tolist())
"""Speeds, as shares of the usual one, within which dry friction may change its sign."""
MAX_PERIODS = 60
"""Of cogging, in one turn."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A law of one signal."""

    name: str
    role: str
    """`velocity`, `position`, or `any`: what the law takes."""
    text: str
    """With `x` for the signal."""
    columns: Callable[..., list[np.ndarray]]
    """`(x, *shape) -> columns`, one for each coefficient."""
    shape: tuple[str, ...] = ()
    """Names of shape parameters."""
    grid: Callable[[Column, float], list[tuple[float, ...]]] = lambda x, corner: [()]
    """Shapes to try, from the signal and the speed at which dry friction changes its sign, as a share."""
    counted: int = 0
    """How many shape parameters count as numbers that were fitted."""
    refined: int = 0
    """How many shape parameters, the first ones, are refined between the points of the grid."""
    leaves: tuple[str, ...] = ()
    """Leaves of a joint that have this law, one for each coefficient."""
    signs: tuple[float, ...] = ()
    """Leaf = sign · coefficient."""
    shape_leaves: tuple[str, ...] = ()


def rms(x: Any) -> float:
    """Root mean square, at least a tiny number."""
    return max(float(np.sqrt(np.mean(np.square(x)))), 1e-12)


def _sign(x: Any, corner: float) -> np.ndarray:
    return np.tanh(np.asarray(x) / corner)


def _corners(v: Column, corner: float) -> list[tuple[float, ...]]:
    return [(corner * rms(v),)]


def _stribeck(v: Column, corner: float) -> list[tuple[float, ...]]:
    return [(speed * rms(v), corner * rms(v)) for speed in np.geomspace(0.06, 1.0, 8)]


def _plays(q: Column, corner: float) -> list[tuple[float, ...]]:
    return [(float(g),) for g in np.quantile(np.abs(q), np.linspace(0.1, 0.8, 8)) if g > 0]


KINDS = (
    Kind("viscous", "velocity", "x", lambda v: [v], leaves=("damping",), signs=(-1.0,)),
    Kind(
        "dry", "velocity", "sign(x)", lambda v, corner: [_sign(v, corner)], ("friction_speed",),
        _corners, leaves=("friction",), signs=(-1.0,), shape_leaves=("friction_speed",),
    ),
    Kind(
        "Stribeck", "velocity", "exp(−(x/{0:.3g})²)·sign(x)",
        lambda v, speed, corner: [np.exp(-np.square(v / speed)) * _sign(v, corner)],
        ("stiction_speed", "friction_speed"), _stribeck, 1, 1, leaves=("stiction",), signs=(-1.0,),
        shape_leaves=("stiction_speed", "friction_speed"),
    ),
    Kind("quadratic", "velocity", "x·|x|", lambda v: [v * np.abs(v)]),
    Kind("spring", "position", "x", lambda q: [q], leaves=("stiffness",), signs=(-1.0,)),
    Kind("cubic", "position", "x³", lambda q: [q**3]),
    Kind(
        "cogging", "position", "sin({0:.0f}x), cos({0:.0f}x)",
        lambda q, n: [np.sin(n * q), np.cos(n * q)], ("cogging_periods",),
        lambda q, corner: [(float(n),) for n in range(2, MAX_PERIODS + 1)], 1,
        leaves=("cogging_sin", "cogging_cos"), signs=(1.0, 1.0), shape_leaves=("cogging_periods",),
    ),
    Kind(
        "backlash", "position", "x beyond ±{0:.3g}",
        lambda q, play: [q - np.clip(q, -play, play)], ("play",), _plays, 1, 1,
    ),
    Kind("sin", "position", "sin(x)", lambda q: [np.sin(q)]),
    Kind("cos", "position", "cos(x)", lambda q: [np.cos(q)]),
    Kind("linear", "any", "x", lambda x: [x]),
    Kind("square", "any", "x·|x|", lambda x: [x * np.abs(x)]),
)  # fmt: skip
OFFSET = Kind(
    "offset", "none", "1", lambda x: [np.ones_like(x)], leaves=("torque_offset",), signs=(-1.0,)
)
"""A constant: there is one, however many signals there are."""


def role_of(name: str) -> str:
    """What a signal is, by its name: `joint/elbow/velocity`, `joint/velocity[elbow]`."""
    last = name.split("[")[0].rsplit("/", 1)[-1]
    return last if last in ("velocity", "position") else "any"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A law of one of the signals that were given."""

    kind: Kind
    signal: str
    x: Column

    def columns(self, shape: tuple[float, ...]) -> list[np.ndarray]:
        """One for each coefficient."""
        return self.kind.columns(self.x, *shape)


def candidates(inputs: dict[str, np.ndarray]) -> list[Candidate]:
    """All laws of all signals; signals that never change have none."""
    first = next(iter(inputs.values()))
    found = [Candidate(OFFSET, "", first)]
    for name, x in inputs.items():
        if np.std(x) <= 1e-12 * rms(x):
            continue
        found += [Candidate(kind, name, x) for kind in KINDS if kind.role == role_of(name)]
    return found
