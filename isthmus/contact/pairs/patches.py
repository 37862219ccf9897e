"""How normal and points of contact move where a cylinder meets another shape.

The search has found which parts of two shapes meet: a corner, a face, or a curve, which is an edge, the line in a
capsule, the rim of a cylinder, or the axis below its side. Nearest points of two curves make the line between them
perpendicular to both: one Newton step of these equations has their derivative. The normal is then that of a face,
perpendicular to two curves that cross, or the line between the points.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool

from isthmus.contact.pairs.closed import unit
from isthmus.contact.pairs.solids import Solid
from isthmus.spatial.products import mtv, mv
from isthmus.spatial.vectors import cross
from isthmus.types import AnyArray, Scalar, Vec3

FACING, BESIDE = 1.0 - 1e-7, 1e-5
"""Cosines from which on a normal belongs to a face, and below which to the side of a cylinder."""
NEARLY, BETWEEN = 0.03, 1.0 - 1e-6
"""The same cosine of a point on the side that is nearer to the middle than this share of the half-length."""
THIN = 1e-4
"""Sine of an angle below which two curves are parallel: points that could move along both are held."""
STEPS = 3
"""Of Newton, from a normal that was found to the exact one."""
ROUNDING = 1e-10
"""Share of the size by which the nearest points may be off after that."""
NEAR = 0.9995
"""Least cosine of the angle by which they may turn the normal."""
SAME = 1e-9
"""Share of the size within which two corners are one."""

held = jax.lax.stop_gradient


class Patch(eqx.Module):
    """The part of a shape's core that meets another shape, in the world."""

    point: Vec3
    """Where they meet [m]."""
    along: Vec3
    """How the point moves along a curve; zero of a corner or a face."""
    bend: Vec3
    """Its second derivative along a curve."""
    normal: Vec3
    """Of a face, outwards."""
    flat: Bool[AnyArray, ""]
    """It is a face."""
    swell: Scalar
    """How far the surface is from the core [m]: the radius of a cylinder that touches with its side."""


def moving(
    a: Solid, b: Solid, n: AnyArray, on_a: AnyArray, on_b: AnyArray, weights: AnyArray, known: Bool[AnyArray, ""]
) -> tuple[AnyArray, AnyArray, AnyArray]:  # fmt: skip
    """Normal and points on both shapes, with their derivatives.

    `n`: the normal from `b` to `a`; `on_a`, `on_b`: the support points that meet (3, 3); `weights`: of these; `known`:
    the normal is exact, so that the nearest points are a step of Newton away, and not yet these points.
    """
    A, B = _patch(a, -n, on_a, weights), _patch(b, n, on_b, weights)
    A, B = (
        _on(P, jnp.where(known, held(x), 0.0)) for P, x in zip((A, B), _steps(A, B), strict=True)
    )
    u, w = (x - held(x) for x in _steps(A, B))
    p, q = A.point + u * A.along, B.point + w * B.along
    crossed = cross(A.along + u * A.bend, B.along + w * B.bend)
    free = jnp.where(_cross(A, B), _towards(unit(crossed, n), n), _towards(unit(p - q, n), n))
    n = jnp.where(A.flat, -A.normal, jnp.where(B.flat, B.normal, free))
    # a rim touches where it is farthest along the normal
    p, q = _farthest(a, A, -n, p) - A.swell * n, _farthest(b, B, n, q) + B.swell * n
    over_a, over_b = (jnp.sum(n * x) * n for x in (A.point - q, B.point - p))
    return n, jnp.where(A.flat, q + over_a, p), jnp.where(B.flat & ~A.flat, p + over_b, q)


def _on(patch: Patch, u: AnyArray) -> Patch:
    """The patch at a point farther along its curve."""
    return eqx.tree_at(lambda p: p.point, patch, patch.point + u * patch.along)


def exactly(
    a: Solid, b: Solid, n: AnyArray, on_a: AnyArray, on_b: AnyArray, weights: AnyArray, apart: Bool[AnyArray, ""]
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:  # fmt: skip
    """Normal and points on both shapes, to rounding, where two curves cross or a corner meets a curve; and whether.

    Elsewhere they stay as they were found. A search along a rim ends at a distance within its tolerance. The normal is
    then still off by the square root of tolerance over distance: by 0.01 rad where shapes are apart by a hundred
    thousandth of their size. `apart`: the shapes do not overlap.
    """
    mean = lambda points: jnp.sum(weights[:, None] * points, axis=0)
    better, p, q, known = n, n, n, jnp.ones((), bool)
    for _ in range(STEPS):
        A, B = _patch(a, -better, on_a, weights), _patch(b, better, on_b, weights)
        u, w = _steps(A, B)
        p, q = A.point + u * A.along, B.point + w * B.along
        crossed = cross(A.along + u * A.bend, B.along + w * B.bend)
        corner = jnp.any(A.along != 0.0) ^ jnp.any(B.along != 0.0)
        better = jnp.where(corner, unit(p - q, n), _towards(unit(crossed, n), n))
        clear = apart | (A.swell + B.swell > 0.0)  # the corner is not on the curve
        known = known & (_cross(A, B) | (corner & clear)) & ~A.flat & ~B.flat
        p, q = (
            _farthest(a, A, -better, p) - A.swell * better,
            _farthest(b, B, better, q) + B.swell * better,
        )
    # two points are the nearest ones if the line between them is the normal, and no points are farther along it
    along, slack = jnp.sum(better * (p - q)), ROUNDING * (a.bound() + b.bound())
    least = jnp.sum(better * (a.at(a.support(-better)) - b.at(b.support(better))))
    line = jnp.sum((p - q - along * better) ** 2) <= slack * slack
    known = known & line & (jnp.abs(along - least) <= slack) & (jnp.sum(better * n) > NEAR)
    old = n, mean(on_a), mean(on_b)
    n, p, q = (jnp.where(known, *x) for x in zip((better, p, q), old, strict=True))
    return n, p, q, known


def _towards(x: AnyArray, n: AnyArray) -> AnyArray:
    return x * jnp.where(jnp.sum(x * n) >= 0.0, 1.0, -1.0)


def _cross(A: Patch, B: Patch) -> AnyArray:
    """Whether two curves cross at an angle."""
    square = lambda x: held(jnp.sum(x * x))
    return square(cross(A.along, B.along)) > THIN**2 * square(A.along) * square(B.along)


def _steps(A: Patch, B: Patch) -> tuple[AnyArray, AnyArray]:
    """How far the nearest points are along their curves from the points of two patches: one step of Newton."""
    gap = A.point - B.point
    s, t, g = held((A.along, B.along, gap))
    one, other, mixed = jnp.sum(s * s), jnp.sum(t * t), -jnp.sum(s * t)
    # a point that has no curve does not move; those on parallel curves are damped
    more = jnp.where(_cross(A, B) | (one * other == 0.0), 0.0, 0.01)
    one = jnp.where(one > 0.0, (1.0 + more) * one + jnp.sum(g * held(A.bend)), 1.0)
    other = jnp.where(other > 0.0, (1.0 + more) * other - jnp.sum(g * held(B.bend)), 1.0)
    det = one * other - mixed * mixed
    det = jnp.where(jnp.abs(det) > 1e-12 * jnp.abs(one * other), det, jnp.inf)
    x, y = jnp.sum(A.along * gap), -jnp.sum(B.along * gap)
    return (mixed * y - other * x) / det, (mixed * x - one * y) / det


def _farthest(solid: Solid, patch: Patch, d: AnyArray, point: AnyArray) -> AnyArray:
    """The point of a rim that is farthest along `d`; other points stay."""
    if solid.kind != "cylinder":
        return point
    local = mtv(solid.R, d)
    square = local[0] ** 2 + local[1] ** 2
    rim = ~patch.flat & (patch.swell == 0.0)
    long = jnp.sqrt(jnp.where(rim, square, 1.0))
    top = jnp.where(local[2] >= 0.0, solid.size[1], -solid.size[1])
    x, y = solid.size[0] * local[0] / long, solid.size[0] * local[1] / long
    return jnp.where(rim, solid.p + mv(solid.R, jnp.stack([x, y, top])), point)


def _patch(solid: Solid, d: AnyArray, points: AnyArray, weights: AnyArray) -> Patch:
    """The part of a shape that meets another one in the direction `d`."""
    if solid.kind == "cylinder":
        return _of_cylinder(solid, d, jnp.sum(weights[:, None] * points, axis=0))
    return _of_corners(solid, d, points, weights)


def _of_cylinder(solid: Solid, d: AnyArray, point: AnyArray) -> Patch:
    """An end, the axis below the side, or a rim."""
    radius, half, _ = solid.size
    local, height = held(mtv(solid.R, d)), held(mtv(solid.R, point - solid.p)[2] / half)
    up = jnp.abs(local[2])
    # of points between the ends, the search took some at both
    flat, side = up > FACING, (up < BESIDE) | ((up < NEARLY) & (jnp.abs(height) < BETWEEN))
    top = jnp.where(local[2] >= 0.0, 1.0, -1.0)
    x, y = local[:2] / jnp.maximum(jnp.sqrt(jnp.sum(local[:2] ** 2)), 1e-12)
    zero, one = jnp.zeros_like(x), jnp.ones_like(x)
    out = jnp.where(flat | side, 0.0, radius * jnp.stack([x, y, zero]))
    around = jnp.where(side, jnp.stack([zero, zero, one]), jnp.stack([-out[1], out[0], zero]))
    here = out + jnp.stack([zero, zero, half * jnp.where(side, height, top)])
    normal = jnp.stack([zero, zero, top])
    world = lambda v: mv(solid.R, v)
    swell = jnp.where(side, radius, 0.0)
    return Patch(solid.p + world(here), world(around), world(-out), world(normal), flat, swell)


def _of_corners(solid: Solid, d: AnyArray, points: AnyArray, weights: AnyArray) -> Patch:
    """A corner, an edge or a face, by how many different corners have a part."""
    far2 = (SAME * held(solid.bound())) ** 2
    square = lambda x: held(jnp.sum(x * x))
    differ = lambda i, j: (
        (weights[i] > 0) & (weights[j] > 0) & (square(points[i] - points[j]) > far2)
    )
    one, two = points[1] - points[0], points[2] - points[0]
    across = cross(one, two)
    flat = differ(0, 1) & differ(0, 2) & (square(across) > THIN**2 * square(one) * square(two))
    normal = _towards(unit(across, d), d)
    if (
        solid.kind == "box"
    ):  # two of its corners may meet a face of a cylinder, with a face or with an edge
        local = held(mtv(solid.R, d))
        faces = jnp.max(jnp.abs(local)) > FACING
        flat, normal = flat | faces, jnp.where(faces, mv(solid.R, local), normal)
    edge = jnp.where(differ(0, 1), one, jnp.where(differ(0, 2), two, 0.0))
    point = jnp.sum(weights[:, None] * points, axis=0)
    none = jnp.zeros_like(point)
    return Patch(point, jnp.where(flat, 0.0, edge), none, normal, flat, jnp.zeros_like(d[0]))
