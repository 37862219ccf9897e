"""Two boxes: 15 separating axes; where they do not touch, the nearest corner or pair of edges (Ericson 2005, 4.4.1).

The nearest points of two boxes that do not touch are a corner of one and a point of the other, or lie on two edges:
those that the best axis finds, or, where two faces are parallel and their sides cross, two sides of these.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.contact.pairs.closed import segments, unit
from isthmus.contact.pairs.solids import Solid, box_face
from isthmus.spatial.products import mtm, mtv, mv
from isthmus.spatial.vectors import cross
from isthmus.types import AnyArray

PARALLEL = 1e-12
"""Square of the sine of an angle between edges that have no common normal."""
TIE = 1e-9
"""Share of a size within which faces are preferred to edges, and axes to the difference of two points."""
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
NEXT, LAST = np.array([1, 2, 0], np.int32), np.array([2, 0, 1], np.int32)
"""The other two axes of a right-handed frame."""


def boxes(a: Solid, b: Solid) -> tuple[AnyArray, AnyArray, AnyArray]:
    """As the functions in `closed.py`."""
    C, t = mtm(a.R, b.R), mtv(a.R, b.p - a.p)  # the second box in the frame of the first
    scale = TIE * (jnp.max(a.size) + jnp.max(b.size))
    n, gap, best = _best_axis(C, t, a.size, b.size, scale)
    signs = lambda d: jnp.where(d >= 0.0, 1.0, -1.0)
    corner_a, corner_b = signs(-n), signs(mtv(C, n))
    edge = jnp.maximum(best - 6, 0)
    along_a, along_b = edge // 3 == np.arange(3), edge % 3 == np.arange(3)
    middle_a = jnp.where(along_a, 0.0, corner_a) * a.size
    middle_b = t + mv(C, jnp.where(along_b, 0.0, corner_b) * b.size)
    half_a = jnp.where(along_a, a.size, 0.0)
    half_b = mv(C, jnp.where(along_b, b.size, 0.0))
    s, r = segments(middle_a, half_a, middle_b, half_b)
    is_edge = best >= 6
    on_a = jnp.where(is_edge, middle_a + s * half_a, corner_a * a.size)
    on_b = jnp.where(is_edge, middle_b + r * half_b, t + mv(C, corner_b * b.size))
    n, on_a, on_b = jax.lax.cond(
        gap > 0.0,
        lambda: _apart(C, t, a.size, b.size, n, gap + scale, (on_a, on_b, is_edge)),
        lambda: (n, on_a, on_b),
    )
    return mv(a.R, n), a.p + mv(a.R, on_a), a.p + mv(a.R, on_b)


def _best_axis(
    C: AnyArray, t: AnyArray, size: AnyArray, other: AnyArray, scale: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The unit axis of largest separation, towards the first box; that separation [m]; its row.

    Rows: faces of the first box, faces of the second, then pairs of edges.
    """
    far, back = jnp.abs(C), mtv(C, t)
    # an edge of the first box, a row of C, and one of the second, a column
    along = t[LAST][:, None] * C[NEXT] - t[NEXT][:, None] * C[LAST]
    reach = size[NEXT][:, None] * far[LAST] + size[LAST][:, None] * far[NEXT]
    reach = reach + other[NEXT][None] * far[:, LAST] + other[LAST][None] * far[:, NEXT]
    square = C[NEXT] ** 2 + C[LAST] ** 2
    parallel = square < PARALLEL
    edges = (jnp.abs(along) - reach) / jnp.sqrt(jnp.where(parallel, 1.0, square)) - scale
    ours, theirs = jnp.abs(t) - size - mv(far, other), jnp.abs(back) - other - mtv(far, size)
    gaps = jnp.concatenate([ours, theirs, jnp.where(parallel, -jnp.inf, edges).reshape(9)])
    best = jnp.argmax(gaps)
    is_edge = best >= 6
    row, column = jnp.where(is_edge, best // 3 - 2, best), C[:, best % 3]
    own = jnp.where(row == np.arange(3), 1.0, 0.0)
    n = jnp.where(best < 3, own, jnp.where(is_edge, cross(own, column), column))
    length = jnp.sqrt(jnp.where(is_edge, jnp.sum(n * n), 1.0))
    sign = jnp.where(jnp.sum(n * t) <= 0.0, 1.0, -1.0)
    return n * (sign / length), jnp.max(gaps) + jnp.where(is_edge, scale, 0.0), best


def _apart(
    C: AnyArray, t: AnyArray, size: AnyArray, other: AnyArray,
    n: AnyArray, gap: AnyArray, edges: tuple[AnyArray, AnyArray, AnyArray],
) -> tuple[AnyArray, AnyArray, AnyArray]:  # fmt: skip
    """Normal and nearest points of boxes that do not touch; those of the best axis where they are as near.

    `edges`: the points that the best axis finds on two edges, and whether it is one of edges.
    """
    theirs = t[None] + mv(C[None], CORNERS * other[None])
    ours = mv(C.T[None], CORNERS * size[None] - t[None])
    near_a = jnp.clip(theirs, -size[None], size[None])
    near_b = jnp.clip(ours, -other[None], other[None])
    away_a = jnp.sum((theirs - near_a) ** 2, axis=1)
    away_b = jnp.sum((ours - near_b) ** 2, axis=1)
    k, j = jnp.argmin(away_a), jnp.argmin(away_b)
    from_a = away_a[k] <= away_b[j]
    x = jnp.where(from_a, near_a[k], jnp.asarray(CORNERS)[j] * size)
    y = jnp.where(from_a, theirs[k], t + mv(C, near_b[j]))
    nearest = jnp.minimum(away_a[k], away_b[j])
    on_a, on_b, is_edge = edges
    far = ~is_edge & (nearest > gap * gap)
    crossing = lambda: _crossing(C, t, size, other, n)
    on_a, on_b = jax.lax.cond(far, crossing, lambda: (on_a, on_b))
    edges_nearer = (far | is_edge) & (jnp.sum((on_a - on_b) ** 2) < nearest)
    x, y = jnp.where(edges_nearer, on_a, x), jnp.where(edges_nearer, on_b, y)
    by_axis = jnp.sum((x - y) ** 2) <= gap * gap
    return jnp.where(by_axis, n, unit(x - y, n)), x, y


def _crossing(
    C: AnyArray, t: AnyArray, size: AnyArray, other: AnyArray, n: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """The nearest points of the sides of two faces, which the boxes turn towards each other."""
    A, B = box_face(size, -n)[0], t[None] + mv(C[None], box_face(other, mtv(C, n))[0])
    following = np.array([1, 2, 3, 0], np.int32)
    sides = lambda x: (0.5 * (x + x[following]), 0.5 * (x[following] - x))
    (p, half_p), (q, half_q) = sides(A), sides(B)
    one, two = np.divmod(np.arange(16, dtype=np.int32), 4)

    def ends(k: AnyArray) -> tuple[AnyArray, AnyArray]:
        i, j = jnp.asarray(one)[k], jnp.asarray(two)[k]
        s, r = segments(p[i], half_p[i], q[j], half_q[j])
        return p[i] + s * half_p[i], q[j] + r * half_q[j]

    def away(k: AnyArray) -> AnyArray:
        x, y = ends(k)
        return jnp.sum((x - y) ** 2)

    return ends(jnp.argmin(jax.lax.stop_gradient(jax.lax.map(away, np.arange(16, dtype=np.int32)))))
