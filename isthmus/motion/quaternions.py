"""Rows of quaternions (`w` first) in NumPy: products, logarithms, signs; for logs, not for dynamics."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

Rows4 = Float[np.ndarray, "*rows 4"]
Rows3 = Float[np.ndarray, "*rows 3"]


def product(a: Rows4, b: Rows4) -> Rows4:
    """The rotation `b` followed, in the parent's frame, by `a`."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def conjugate(q: Rows4) -> Rows4:
    """The opposite rotation."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def normalise(q: Rows4) -> Rows4:
    """At unit length; a zero quaternion has none and becomes NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return q / np.linalg.norm(q, axis=-1, keepdims=True)


def exp(turn: Rows3) -> Rows4:
    """The quaternion of a rotation vector [rad]."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.concatenate([np.cos(0.5 * angle), 0.5 * turn * np.sinc(angle / (2 * np.pi))], axis=-1)


def log(q: Rows4) -> Rows3:
    """The shortest rotation vector [rad] of a unit quaternion."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    length = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(length, q[..., :1])
    return q[..., 1:] * np.where(length > 1e-12, angle / np.where(length > 0, length, 1.0), 2.0)


def flips(q: Float[np.ndarray, "n 4"]) -> np.ndarray:
    """Rows (from the second on) whose quaternion changed its sign against the last measured one."""
    known = np.flatnonzero(np.all(np.isfinite(q), axis=-1))
    turned = np.sum(q[known[1:]] * q[known[:-1]], axis=-1) < 0.0
    return known[1:][turned]


def continuous(q: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 4"]:
    """The same rotations without changes of sign."""
    turns = np.zeros(len(q), dtype=int)
    turns[flips(q)] = 1
    return np.where(np.cumsum(turns)[:, None] % 2 == 1, -q, q)


def between(t: np.ndarray, q: Float[np.ndarray, "n 4"], new: np.ndarray) -> np.ndarray:
    """On the shortest arcs between the rows, at the times `new`, held at both ends."""
    i = np.clip(np.searchsorted(t, new, side="right") - 1, 0, max(len(t) - 2, 0))
    j = np.minimum(i + 1, len(t) - 1)
    share = np.clip((new - t[i]) / np.where(j > i, t[j] - t[i], 1.0), 0.0, 1.0)[:, None]
    unit = continuous(normalise(q))
    return product(unit[i], exp(share * log(product(conjugate(unit[i]), unit[j]))))
