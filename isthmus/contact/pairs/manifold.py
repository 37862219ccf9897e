"""Points of contact along a normal: the faces that two shapes turn towards each other, clipped by one another."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.contact.pairs.solids import Face, Solid, face, spread, tangents
from isthmus.spatial.products import mv
from isthmus.types import AnyArray, Vec3

FAR = -1e3
"""Depth [m] of a point that is not there."""
ALIKE = 1e-6
"""Share of the size within which a corner of the faces takes the place of the nearest point, and points are one."""
BESIDE = 0.01
"""Two lines are parallel where the end of one is off the other by less than this share of its length."""
STEEP = 0.05
"""Least cosine of the angle between a face and the normal for heights on that face."""


class Manifold(eqx.Module):
    """Where two shapes touch."""

    axes: Float[AnyArray, "3 3"]
    """Rows: unit normal from the second shape towards the first, and two tangents."""
    points: Float[AnyArray, "points 3"]
    """Half way between the surfaces, in the world [m]; the first is the deepest."""
    depth: Float[AnyArray, " points"]
    """How far the surfaces overlap along the normal there [m]; `FAR`: there is no such point."""


def manifold(a: Solid, b: Solid, n: Vec3, on_a: Vec3, on_b: Vec3, count: int) -> Manifold:
    """`count` (1, 2, 4 or 8) points along the normal `n`, given the nearest points of both surfaces."""
    t, u = tangents(n)
    axes = jnp.stack([n, t, u])
    nearest = 0.5 * (on_a + on_b)
    depth = jnp.sum(n * (on_b - on_a))
    if count == 1:
        return Manifold(axes, nearest[None], depth[None])
    A, B = (_seen(face(s, d), axes, nearest) for s, d in ((a, -n), (b, n)))
    parts = []
    if len(B.flat) > 2:
        parts.append(_clipped(A, B))
    if len(A.flat) > 2:
        # clipped sides of the first box end where sides of the second cross them
        flat, own, other, valid = (_within if a.kind == b.kind == "box" else _clipped)(B, A)
        parts.append((flat, other, own, valid))
    if {a.kind, b.kind} <= {"capsule", "cylinder"}:
        flat, own, other, valid = _beside(B, A)
        parts += [_beside(A, B), (flat, other, own, valid)]
    flat, z_a, z_b, valid = (jnp.concatenate(column) for column in zip(*parts, strict=True))
    deep, middle = jnp.minimum(z_b - z_a, depth), 0.5 * (z_a + z_b)
    size = a.bound() + b.bound()
    rows, new = spread(flat, deep, valid, count, ALIKE * size)
    # the nearest points count where no corner is as deep
    better = ~new[0] | (depth > deep[rows[0]] + ALIKE * size)
    first = jnp.where(better, 0.0, 1.0)
    new[0] = jnp.ones_like(new[0])
    lifts = [jnp.stack([middle[r], flat[r, 0], flat[r, 1]]) for r in rows]
    lifts[0] = first * lifts[0]
    depths = [jnp.where(ok, deep[r], FAR) for r, ok in zip(rows, new, strict=True)]
    depths[0] = jnp.where(better, depth, deep[rows[0]])
    points = nearest[None] + mv(axes.T[None], jnp.stack(lifts))
    return Manifold(axes, points, jnp.stack(depths))


class Seen(eqx.Module):
    """A face, seen along the normal from the nearest point."""

    flat: Float[AnyArray, "corners 2"]
    """Its corners along the tangents [m]."""
    height: Float[AnyArray, " corners"]
    """Along the normal [m]."""
    slope: Float[AnyArray, "2"]
    """How the height of its plane grows along the tangents."""

    def at(self, flat: AnyArray) -> AnyArray:
        """The height of its plane over points."""
        return self.height[0] + mv(flat - self.flat[:1], self.slope)

    def area(self) -> AnyArray:
        """Twice its area [m²], positive if its corners go round to the left."""
        x, y = self.flat - self.flat[:1], jnp.roll(self.flat, -1, axis=0) - self.flat[:1]
        return jnp.sum(x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0])

    def inside(self, flat: AnyArray) -> AnyArray:
        """How far points are on the inner side of each of its sides, times the length of the side [m²]."""
        turn = jnp.where(self.area() >= 0.0, 1.0, -1.0)
        side = jnp.roll(self.flat, -1, axis=0) - self.flat
        away = flat[:, None] - self.flat[None]
        return turn * (side[None, :, 0] * away[:, :, 1] - side[None, :, 1] * away[:, :, 0])

    def length2(self) -> AnyArray:
        """Square of its longest extent from its first corner [m²]."""
        return jnp.max(jnp.sum((self.flat - self.flat[:1]) ** 2, axis=1))


def _seen(part: Face, axes: AnyArray, origin: AnyArray) -> Seen:
    local = mv(axes[None], part.corners - origin[None])
    m = mv(axes, part.normal)
    steep = jnp.where(jnp.abs(m[0]) < STEEP, jnp.where(m[0] < 0.0, -STEEP, STEEP), m[0])
    return Seen(local[:, 1:], local[:, 0], -m[1:] / steep)


def _clipped(x: Seen, y: Seen) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """The ends of every side of `x` within `y`: places, heights on `x` and on `y`, and which of them there are."""
    sides = 1 if len(x.flat) == 2 else len(x.flat)
    start, stop = x.flat[:sides], jnp.roll(x.flat, -1, axis=0)[:sides]
    low, high = x.height[:sides], jnp.roll(x.height, -1)[:sides]
    area = y.area()
    before, after = y.inside(start), y.inside(stop)
    change = after - before
    level = jnp.abs(change) <= 1e-14 * jnp.abs(area)
    cut = -before / jnp.where(level, 1.0, change)
    enter = jnp.max(jnp.where(~level & (change > 0.0), cut, 0.0), axis=1)
    leave = jnp.min(jnp.where(~level & (change < 0.0), cut, 1.0), axis=1)
    outside = jnp.any(level & (before < -1e-9 * jnp.abs(area)), axis=1)
    enter, leave = jnp.maximum(enter, 0.0), jnp.minimum(leave, 1.0)
    has_area = jnp.abs(area) > 1e-6 * y.length2()
    valid = (enter <= leave) & ~outside & has_area
    share = jnp.clip(jnp.concatenate([enter, leave]), 0.0, 1.0)
    twice = lambda z: jnp.concatenate([z, z])
    flat = twice(start) + share[:, None] * twice(stop - start)
    return flat, twice(low) + share * twice(high - low), y.at(flat), twice(valid)


def _within(x: Seen, y: Seen) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """As `_clipped`: the corners of `x` within `y`."""
    return x.flat, x.height, y.at(x.flat), jnp.all(y.inside(x.flat) >= 0.0, axis=1)


def _beside(x: Seen, y: Seen) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """As `_clipped`, of two lines: the ends of `x` that lie over `y`."""
    ends = np.array([0, len(x.flat) // 2], np.int32)
    other = len(y.flat) // 2
    way = y.flat[other] - y.flat[0]
    square = jnp.sum(way * way)
    long = jnp.where(square > 0.0, square, 1.0)
    flat = x.flat[ends]
    away = flat - y.flat[:1]
    share = mv(away, way) / long
    off = jnp.abs(away[:, 0] * way[1] - away[:, 1] * way[0]) / long
    lines = jnp.all(jnp.abs(jnp.stack([x.area(), y.area()])) < 1e-6 * y.length2())
    valid = (share >= 0.0) & (share <= 1.0) & (off < BESIDE) & lines
    height = y.height[0] + share * (y.height[other] - y.height[0])
    return flat, x.height[ends], height, valid
