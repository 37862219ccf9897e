"""Rows of quaternions (`w` first) in logs: rotations between them by SciPy, signs, interpolation.

Rows that were not measured are NaN and stay so.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float

Rows4 = Float[np.ndarray, "*rows 4"]
Rows3 = Float[np.ndarray, "*rows 3"]


def scipy_rotations() -> ModuleType:
    """`scipy.spatial.transform`, which takes as long to import as the rest of a motion: few logs need it."""
    from scipy.spatial import transform

    return transform


def normalise(q: Rows4) -> Rows4:
    """At unit length; a zero quaternion has none and becomes NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return q / np.linalg.norm(q, axis=-1, keepdims=True)


def turn_between(
    a: Float[np.ndarray, "*#rows 4"], b: Float[np.ndarray, "*#rows 4"]
) -> Float[np.ndarray, "... 3"]:
    """The shortest rotation vectors [rad] that lead from `a` to `b`, in the axes of `a`."""
    a, b = np.broadcast_arrays(a, b)
    known = np.all(np.isfinite(normalise(a)) & np.isfinite(normalise(b)), axis=-1)
    turn = np.full((*known.shape, 3), np.nan)
    turn[known] = (_rotations(a[known]).inv() * _rotations(b[known])).as_rotvec()
    return turn


def turned(q: Rows4, turn: Rows3) -> Rows4:
    """`q` after the rotations `turn` [rad], given in the axes of `q`."""
    known = np.all(np.isfinite(normalise(q)), axis=-1) & np.all(np.isfinite(turn), axis=-1)
    found = np.full(q.shape, np.nan)
    rotations = _rotations(q[known]) * scipy_rotations().Rotation.from_rotvec(turn[known])
    found[known] = rotations.as_quat(scalar_first=True)
    return found


def _rotations(q: Float[np.ndarray, "n 4"]) -> Any:
    """SciPy's `Rotation` of each row."""
    return scipy_rotations().Rotation.from_quat(q, scalar_first=True)


def flips(q: Float[np.ndarray, "n 4"]) -> np.ndarray:
    """Rows (from the second on) whose quaternion changed its sign against the last measured one."""
    known = np.flatnonzero(np.all(np.isfinite(q), axis=-1))
    opposite = np.sum(q[known[1:]] * q[known[:-1]], axis=-1) < 0.0
    return known[1:][opposite]


def continuous(q: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 4"]:
    """The same rotations without changes of sign."""
    changes = np.zeros(len(q), dtype=int)
    changes[flips(q)] = 1
    return np.where(np.cumsum(changes)[:, None] % 2 == 1, -q, q)


def between(t: np.ndarray, q: Float[np.ndarray, "n 4"], new: np.ndarray) -> np.ndarray:
    """On the shortest arcs between the rows, at the times `new`, held at both ends."""
    unit = continuous(normalise(q))
    if len(t) == 1:
        return np.broadcast_to(unit, (len(new), 4))
    along = scipy_rotations().Slerp(t, _rotations(unit))
    return along(np.clip(new, t[0], t[-1])).as_quat(scalar_first=True)
