"""How far bodies of a robot are apart: each shape inside a capsule, each pair by the distance of two segments.

A capsule holds its shape, so that the distance is never larger than the true one; it is smooth, and costs little.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from isthmus.contact.pairs.closed import segments
from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.model.model import Model
from isthmus.spatial import rotations
from isthmus.types import AnyArray

TINY = 1e-12


@dataclasses.dataclass(frozen=True)
class Capsules:
    """Pairs of capsules that must stay apart."""

    pairs: tuple[tuple[str, str], ...]
    """Names of the shapes."""
    links: np.ndarray
    """Of both shapes of each pair; -1: the world, (pairs, 2)."""
    centre: np.ndarray
    half: np.ndarray
    """Middle and half axis of both in their links' frames [m], (pairs, 2, 3)."""
    reach: np.ndarray
    """Sum of their radii [m], (pairs,)."""
    between: np.ndarray
    """Which degrees of freedom move one against the other, (pairs, dof)."""

    def distances(self, model: Model, q: AnyArray) -> AnyArray:
        """The distance of each pair [m]; below zero the capsules overlap, (pairs,)."""
        k = forward_kinematics(model, q, jnp.zeros(model.dof))
        found = []
        for (a, b), centre, half, reach in zip(
            self.links.tolist(), self.centre, self.half, self.reach, strict=True
        ):
            p, half_p = _placed(k, a, centre[0], half[0])
            r, half_r = _placed(k, b, centre[1], half[1])
            s, t = segments(p, half_p, r, half_r)
            way = p + s * half_p - r - t * half_r
            found.append(jnp.sqrt(jnp.sum(way * way) + TINY) - reach)
        return jnp.stack(found) if found else jnp.zeros(0)

    def picked(self, rows: np.ndarray) -> Capsules:
        """Some of the pairs."""
        pairs = tuple(self.pairs[k] for k in rows)
        parts = (x[rows] for x in (self.links, self.centre, self.half, self.reach, self.between))
        return Capsules(pairs, *parts)


def _placed(k: Any, link: int, centre: np.ndarray, half: np.ndarray) -> tuple[AnyArray, AnyArray]:
    """Middle and half axis in the world."""
    if link < 0:
        return jnp.asarray(centre), jnp.asarray(half)
    R, p = rotations.matrix(k.pose[link][3:]), k.pose[link][:3]
    return p + R @ centre, R @ half


def capsules_of(model: Model) -> Capsules:
    """All pairs of shapes that could touch (`model.pairs()`), but for planes."""
    made = {
        name: _capsule(model, s)
        for s, name in enumerate(model.shape_names)
        if model.shape_kinds[s] != "plane"
    }
    named = model.pairs() if made else ()
    pairs = tuple((a, b) for a, b in named if a in made and b in made)
    sides = [[made[name] for name in pair] for pair in pairs]
    column = lambda i, shape: np.array([[side[i] for side in pair] for pair in sides]).reshape(
        shape
    )
    n = len(pairs)
    return Capsules(
        pairs,
        column(0, (n, 2)).astype(int),
        column(1, (n, 2, 3)),
        column(2, (n, 2, 3)),
        column(3, (n, 2)).sum(axis=1),
        np.array([_path(model, *pair) for pair in column(0, (n, 2)).astype(int).tolist()]).reshape(
            n, model.dof
        ),
    )


def _path(model: Model, a: int, b: int) -> np.ndarray:
    """The degrees of freedom between two links, (dof,)."""

    def to_world(link: int) -> set[int]:
        found: set[int] = set()
        while link >= 0:
            found |= set(range(*model.layout.v[link]))
            link = model.parents[link]
        return found

    rows = to_world(a) ^ to_world(b)
    source = model.layout.v_source if model.mimics else range(model.dof)
    found = np.zeros(model.dof, dtype=bool)
    found[[source[row] for row in rows]] = True
    return found


def _capsule(model: Model, s: int) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Link, middle, half axis [m] and radius [m] of a capsule around a shape."""
    size, kind = np.asarray(model.shape_size[s]), model.shape_kinds[s]
    origin = np.asarray(model.shape_origin[s])
    R = np.asarray(rotations.matrix(jnp.asarray(model.shape_orientation[s])))
    if kind == "points":
        corners = np.asarray(model.shape_points)[slice(*model.shape_spans[s])]
        middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        half = 0.5 * (corners.max(axis=0) - corners.min(axis=0))
        origin = origin + R @ middle
    else:
        half = {
            "sphere": np.zeros(3), "capsule": np.array([0.0, 0.0, size[1]]), "box": size,
            "cylinder": np.array([0.0, 0.0, size[1]]),
        }[kind]  # fmt: skip
    axis = int(np.argmax(half))
    along = np.zeros(3)
    along[axis] = half[axis]
    across = np.delete(half, axis)
    radius = float(np.hypot(*across)) if kind in ("points", "box") else float(size[0])
    return int(model.shape_links[s]), origin, R @ along, radius
