"""All pairs of a model: manifolds of those whose bounding spheres are near, in the order of the model's contacts."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from isthmus.contact.pairs.manifold import FAR, Manifold
from isthmus.contact.pairs.narrow import KINDS, touching
from isthmus.contact.pairs.solids import Solid
from isthmus.model.contacts import pair_rows
from isthmus.model.model import Model
from isthmus.spatial.products import mm, mv
from isthmus.types import AnyArray

MARGIN = 0.25
"""Pairs whose bounding spheres are farther apart than this share of their radii are left out of the narrow phase."""


class Group(eqx.Module):
    """Pairs of the same kinds, which one program treats."""

    kinds: tuple[str, str] = eqx.field(static=True)
    count: int = eqx.field(static=True)
    """Points of each pair."""
    shapes: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """In the order of `KINDS`."""
    turned: tuple[bool, ...] = eqx.field(static=True)
    """Whether the model has the two shapes in the other order."""
    rows: tuple[int, ...] = eqx.field(static=True)
    """First row of each pair among the contacts of all pairs."""


def pair_manifolds(
    model: Model, R: AnyArray, p: AnyArray, frames: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Points (rows, 3), axes (rows, 3, 3) and depths (rows) of all contacts between two bodies.

    `R`, `p`: rotations and positions of the links, and of the world as the last row; `frames`: of the shapes.
    """
    links = np.array(model.shape_links, dtype=np.int32)
    turn, origin = mm(R[links], frames), p[links] + mv(R[links], jnp.asarray(model.shape_origin))
    size, points = jnp.asarray(model.shape_size), jnp.asarray(model.shape_points)
    rounding = jnp.asarray(model.contact_radius)[pair_rows(model)]
    order: list[int] = []
    found: list[tuple[AnyArray, AnyArray, AnyArray]] = []

    def parts(shapes: list[int]) -> tuple[AnyArray, ...]:
        """Sizes, rotations, origins and vertices of some shapes."""
        spans = [model.shape_spans[s] for s in shapes]
        vertices = np.array([np.arange(*span) for span in spans], dtype=np.int32)
        rows = np.array(shapes, dtype=np.int32)
        return size[rows], turn[rows], origin[rows], points[vertices]

    for group in _groups(
        model.shape_kinds, model.contact_shapes, model.contact_planes, model.shape_spans
    ):
        radius = rounding[np.array(group.rows, np.int32)]
        sides = (parts([pair[i] for pair in group.shapes]) for i in (0, 1))
        made = _manifolds(group, *sides, radius)
        sign = np.where(group.turned, -1.0, 1.0)[:, None, None]
        # a turned normal and a turned tangent keep the axes right-handed
        axes = jnp.concatenate([sign * made.axes[:, :2], made.axes[:, 2:]], axis=1)
        count = group.count
        spread = jnp.repeat(axes, count, axis=0, total_repeat_length=count * len(axes))
        found.append((made.points.reshape(-1, 3), spread, made.depth.reshape(-1)))
        order += [first + k for first in group.rows for k in range(count)]
    back = np.argsort(order).astype(np.int32)
    point, axes, depth = (jnp.concatenate(column)[back] for column in zip(*found, strict=True))
    return point, axes, depth


def _manifolds(group: Group, a: tuple, b: tuple, radius: AnyArray) -> Manifold:
    """Of several pairs of the same kinds, one after the other, so that a pair which is far apart costs little."""

    def one(pair: tuple) -> Manifold:
        *shapes, rounding = pair
        first, second = (
            Solid(k, *part).rounded(rounding) for k, part in zip(group.kinds, shapes, strict=True)
        )
        return _near(first, second, group.count)

    if len(group.shapes) > 1:
        return jax.lax.map(one, (a, b, radius))
    return jax.tree.map(lambda x: x[None], one(jax.tree.map(lambda x: x[0], (a, b, radius))))


def _near(a: Solid, b: Solid, count: int) -> Manifold:
    # closed forms are cheaper than the question
    if "sphere" in (a.kind, b.kind) or a.kind == b.kind == "capsule":
        return touching(a, b, count)
    reach = jax.lax.stop_gradient((1.0 + MARGIN) * (a.bound() + b.bound()))
    apart = jax.lax.stop_gradient(jnp.sum((a.p - b.p) ** 2)) > reach * reach
    nothing = Manifold(
        jnp.eye(3, dtype=a.p.dtype),
        jnp.zeros((count, 3), a.p.dtype) + 0.5 * (a.p + b.p)[None],
        jnp.full((count,), FAR, a.p.dtype),
    )
    return jax.lax.cond(apart, lambda: nothing, lambda: touching(a, b, count))


@functools.lru_cache(maxsize=256)
def _groups(
    kinds: tuple[str, ...],
    shapes: tuple[int, ...],
    others: tuple[int, ...],
    spans: tuple[tuple[int, int], ...],
) -> list[Group]:
    """The pairs of a model by kinds, number of points and number of vertices."""
    solid = [(s, o) for s, o in zip(shapes, others, strict=True) if kinds[o] != "plane"]
    first = {pair: row for row, pair in reversed(list(enumerate(solid)))}
    groups: dict[tuple, list[tuple[tuple[int, int], bool, int]]] = {}
    for s, o in dict.fromkeys(solid):
        turned = KINDS.index(kinds[s]) > KINDS.index(kinds[o])
        a, b = (o, s) if turned else (s, o)
        vertices = tuple(spans[i][1] - spans[i][0] for i in (a, b))
        key = (kinds[a], kinds[b]), solid.count((s, o)), vertices
        groups.setdefault(key, []).append(((a, b), turned, first[s, o]))
    return [
        Group(key[0], key[1], *(tuple(column) for column in zip(*rows, strict=True)))
        for key, rows in groups.items()
    ]
