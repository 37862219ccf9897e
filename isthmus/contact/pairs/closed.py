"""Signed distances in closed form: a sphere with a box or a cylinder, two capsules.

Each function returns the unit normal, from the second shape towards the first, and a point of each core: of a sphere
its centre, of a capsule a point of its axis. Where the centre of a sphere is inside, the normal is that of the nearest
face.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from isthmus.contact.pairs.solids import Solid
from isthmus.spatial.products import mtv, mv
from isthmus.types import AnyArray

TINY = 1e-24
"""Square of a length [m²] that has no direction."""
UP = np.array([0.0, 0.0, 1.0])


def unit(x: AnyArray, otherwise: AnyArray) -> AnyArray:
    """`x` at length one; something else where it has no direction."""
    square = jnp.sum(x * x)
    none = square < TINY
    return jnp.where(none, otherwise, x / jnp.sqrt(jnp.where(none, 1.0, square)))


def axes_of_capsules(a: Solid, b: Solid) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Two capsules; a sphere is one of length zero."""
    ends = [(s.p, s.R[:, 2] * (s.size[1] if s.kind == "capsule" else 0.0)) for s in (a, b)]
    (p, half_p), (q, half_q) = ends
    s, t = segments(p, half_p, q, half_q)
    on_a, on_b = p + s * half_p, q + t * half_q
    return unit(on_a - on_b, UP), on_a, on_b


def segments(
    p: AnyArray, half_p: AnyArray, q: AnyArray, half_q: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Where in [-1, 1] the segments `p + s half_p` and `q + t half_q` are nearest (Ericson 2005, 5.1.9)."""
    r = p - q
    a, e, b = jnp.sum(half_p * half_p), jnp.sum(half_q * half_q), jnp.sum(half_p * half_q)
    c, f = jnp.sum(half_p * r), jnp.sum(half_q * r)
    point_p, point_q = a < TINY, e < TINY
    safe_a, safe_e = jnp.where(point_p, 1.0, a), jnp.where(point_q, 1.0, e)
    det = a * e - b * b
    parallel = det <= 1e-12 * a * e
    s = jnp.where(parallel, 0.0, (b * f - c * e) / jnp.where(parallel, 1.0, det))
    s = jnp.clip(jnp.where(point_q, -c / safe_a, s), -1.0, 1.0)
    s = jnp.where(point_p, 0.0, s)
    t = jnp.where(point_q, 0.0, (b * s + f) / safe_e)
    beyond = jnp.abs(t) > 1.0
    t = jnp.clip(t, -1.0, 1.0)
    again = jnp.clip((b * t - c) / safe_a, -1.0, 1.0)
    return jnp.where(beyond & ~point_p, again, s), t


def sphere_and_box(a: Solid, b: Solid) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Of the box: the point of its surface next to the centre of the sphere."""
    x = mtv(b.R, a.p - b.p)
    sign = jnp.where(x >= 0.0, 1.0, -1.0)
    nearest = jnp.clip(x, -b.size, b.size)
    inside = jnp.all(jnp.abs(x) <= b.size)
    left = b.size - jnp.abs(x)
    face = jnp.where(jnp.argmin(left) == np.arange(3), sign, 0.0)
    normal = jnp.where(inside, face, unit(x - nearest, face))
    on_b = jnp.where(inside, x + jnp.min(left) * face, nearest)
    return mv(b.R, normal), a.p, b.p + mv(b.R, on_b)


def sphere_and_cylinder(a: Solid, b: Solid) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Of the cylinder: the point of its surface next to the centre of the sphere."""
    x = mtv(b.R, a.p - b.p)
    radius, half = b.size[0], b.size[1]
    flat = x * np.array([1.0, 1.0, 0.0])
    out = unit(flat, np.array([1.0, 0.0, 0.0]))
    rho, top = jnp.sum(flat * out), jnp.where(x[2] >= 0.0, 1.0, -1.0)
    nearest = jnp.minimum(rho, radius) * out + jnp.clip(x[2], -half, half) * UP
    to_side, to_end = radius - rho, half - jnp.abs(x[2])
    inside = (to_side >= 0.0) & (to_end >= 0.0)
    face = jnp.where(to_side < to_end, out, top * UP)
    normal = jnp.where(inside, face, unit(x - nearest, face))
    on_b = jnp.where(inside, x + jnp.minimum(to_side, to_end) * face, nearest)
    return mv(b.R, normal), a.p, b.p + mv(b.R, on_b)
