"""Distance of any two convex shapes: Gilbert, Johnson and Keerthi (1988); where they overlap, the least way out.

Where cores overlap, the second shape is moved out along a direction, and the nearest points there give a better one:
each round makes the way shorter, until it no longer does. The search itself is not differentiated: its last simplex
says which points meet, and from these the normal is computed again.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from isthmus.contact.moving_as import moving_as
from isthmus.contact.pairs.closed import UP, unit
from isthmus.contact.pairs.patches import exactly, moving
from isthmus.contact.pairs.solids import Solid
from isthmus.spatial.products import mv
from isthmus.spatial.vectors import cross
from isthmus.types import AnyArray, Scalar, Vec3

ROUNDS, MOVES = 60, 60
"""Most rounds of the search, and most moves out of an overlap."""
EXACT = 1e-10
"""Share of the size by which a distance may be off."""
DEEP, VERY_DEEP = 0.003, 0.1
"""Shares of the size: in overlaps below the first, only likely guesses of the way out are followed."""
LIKELY = 0.1
"""Share of the size by which a likely guess is longer than the best way at most: where faces and edges meet, hardly any
guess is likely, where two corners overlap, several are."""
STARTS, APART = (np.int32(30), np.int32(12)), (0.97, 0.9)
"""Most searches for the way out of a very deep and of a deep overlap, and the cosine of the angle between starts."""
GAP = 0.02
"""Share of the size by which overlapping shapes are moved apart."""
NEXT = np.array([1, 2, 0], np.int32)
DIRECTIONS = np.array(
    [[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], float
)
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]
"""First guesses for the way out of an overlap, in the frame of either shape."""
FINE = 200
"""Further guesses for a very deep one, spread evenly over all directions of the world."""


Way = Callable[[AnyArray], AnyArray]
"""How far the first shape must move along a unit vector to be out of the second one [m]."""


class Simplex(eqx.Module):
    """Three points of the difference of two shapes, and the point of their triangle that is nearest to zero."""

    W: Float[AnyArray, "3 3"]
    """The points [m]."""
    codes: Float[AnyArray, "3 6"]
    """Of which support points of the two shapes they are the differences."""
    weights: Vec3
    """Of the nearest point; zero: a point has no part in it."""
    v: Vec3
    """The nearest point [m]."""
    overlap: Bool[AnyArray, ""]
    """Zero lies inside the difference."""


def nearest(a: Solid, b: Solid) -> tuple[AnyArray, AnyArray, AnyArray]:
    """As the functions in `closed.py`."""
    ended, n, shift = _found(*jax.lax.stop_gradient((a, b)))
    order = jnp.argsort(-ended.weights)
    codes, weights = ended.codes[order], ended.weights[order]
    on_a = jnp.stack([a.at(codes[k, :3]) for k in range(3)])
    on_b = jnp.stack([b.at(codes[k, 3:]) for k in range(3)])
    if "cylinder" in (a.kind, b.kind):
        apart = ~jnp.any(shift != 0.0)
        *found, known = jax.lax.stop_gradient(exactly(a, b, n, on_a, on_b, weights, apart))
        same = moving(a, b, found[0], on_a, on_b, weights, known)
        n, p, q = (moving_as(x, y) for x, y in zip(found, same, strict=True))
        return n, p, q
    weights = moving_as(weights, _weights(on_a - on_b, weights, shift))
    mean = lambda points: jnp.sum(weights[:, None] * points, axis=0)
    again = _normal(on_a - on_b - shift[None], weights, n)
    return moving_as(n, again), mean(on_a), mean(on_b)


def _weights(W: AnyArray, weights: AnyArray, shift: AnyArray) -> AnyArray:
    """The weights, largest first, of the point of a triangle, a line or a point that is nearest to zero.

    So the point moves along the face or the edge that it is on. That of a triangle is found along its normal, as is the
    way by which the shapes were moved apart.
    """
    used = weights > 0.0
    one, two = W[1] - W[0], W[2] - W[0]
    a, b, c = jnp.sum(one * one), jnp.sum(one * two), jnp.sum(two * two)
    det = a * c - b * b
    flat = used[2] & (det > 1e-12 * a * c)
    x, y = -jnp.sum(one * W[0]), -jnp.sum(two * W[0])
    safe = jnp.where(flat, det, 1.0)
    s, t = (c * x - b * y) / safe, (a * y - b * x) / safe
    line = used[1] & ~used[2]
    share = -jnp.sum(one * (W[0] - shift)) / jnp.where(line, a, 1.0)
    on_line = jnp.stack([1.0 - share, share, jnp.zeros_like(share)])
    on_face = jnp.stack([1.0 - s - t, s, t])
    return jnp.where(flat, on_face, jnp.where(line, on_line, weights))


def _normal(W: AnyArray, weights: AnyArray, n: AnyArray) -> AnyArray:
    """The normal of a triangle, or the direction from zero to a line or a point, by how many points have a part."""
    used = weights > 0.0
    one, two = W[1] - W[0], W[2] - W[0]
    face = unit(cross(one, two), n)
    face = face * jnp.where(jnp.sum(face * n) >= 0.0, 1.0, -1.0)
    square = jnp.sum(one * one)
    share = jnp.sum(W[0] * one) / jnp.where(used[1], square, 1.0)
    line = unit(W[0] - jnp.where(used[1], share, 0.0) * one, n)
    return jnp.where(used[2], face, line)


def _found(a: Solid, b: Solid) -> tuple[Simplex, AnyArray, AnyArray]:
    """The last simplex, the unit normal towards `a`, and by what `b` was moved for it."""
    size = a.bound() + b.bound()
    still = jnp.zeros_like(a.p)
    plain = _search(a, b, still, unit(a.p - b.p, UP), size)
    there = lambda: (plain, unit(plain.v, UP), still)
    return jax.lax.cond(plain.overlap, lambda: _moved_out(a, b, plain, size), there)


def _search(a: Solid, b: Solid, shift: AnyArray, first: AnyArray, size: Scalar) -> Simplex:
    """The point of `a − b − shift` that is nearest to zero."""

    def support(d: AnyArray) -> tuple[AnyArray, AnyArray]:
        code = jnp.concatenate([a.support(d), b.support(-d)])
        return a.at(code[:3]) - b.at(code[3:]) - shift, code

    def step(state: tuple) -> tuple:
        k, old, _ = state
        w, code = support(-old.v)
        square = jnp.sum(old.v * old.v)
        done = square - jnp.sum(old.v * w) <= EXACT * size * jnp.sqrt(square)
        new = _with_point(old, w, code)
        better = jnp.sum(new.v * new.v) < square * (1.0 - 1e-14)
        keep = done | ~(better | new.overlap)
        chosen = jax.tree.map(lambda x, y: jnp.where(keep, x, y), old, new)
        return k + 1, chosen, ~(keep | new.overlap)

    w, code = support(-first)
    alone = jnp.stack([w] * 3), jnp.stack([code] * 3), jnp.asarray(np.eye(3)[0], w.dtype)
    near = jnp.sum(w * w) <= (EXACT * size) ** 2
    start = (jnp.zeros((), np.int32), Simplex(*alone, w, near), ~near)
    going = lambda state: (state[0] < ROUNDS) & state[2]
    found = jax.lax.while_loop(going, step, start)[1]
    touching = jnp.sum(found.v * found.v) <= (EXACT * size) ** 2
    return eqx.tree_at(lambda s: s.overlap, found, found.overlap | touching)


def _with_point(old: Simplex, w: AnyArray, code: AnyArray) -> Simplex:
    """The simplex after a new point comes in: of the parts that it spans with the old ones, the nearest to zero."""
    E = old.W - w[None]
    along = -mv(E, w)
    square = jnp.sum(E * E, axis=1)
    # lines from the new point to an old one
    r = jnp.clip(along / jnp.where(square > 0.0, square, 1.0), 0.0, 1.0)
    on_line = w[None] + r[:, None] * E
    # triangles with two old ones
    F, along_f, square_f = E[NEXT], along[NEXT], square[NEXT]
    normal, mixed = cross(E, F), jnp.sum(E * F, axis=1)
    det = jnp.sum(normal * normal, axis=1)
    thin = det <= 1e-20 * square * square_f
    det = jnp.where(thin, 1.0, det)
    s = (square_f * along - mixed * along_f) / det
    t = (square * along_f - mixed * along) / det
    within = ~thin & (s > 0.0) & (t > 0.0) & (s + t < 1.0)
    on_face = w[None] + s[:, None] * E + t[:, None] * F
    # zero is inside where it lies on the inner side of all three, and of the old triangle
    height = mv(normal, w)
    volume = jnp.sum(normal[0] * E[2])
    base = cross(old.W[1] - old.W[0], old.W[2] - old.W[0])
    below = jnp.sum(base * old.W[0]) * jnp.sum(base * E[0])
    flat = jnp.abs(volume) <= 1e-12 * jnp.max(square) * jnp.sqrt(jnp.max(square))
    overlap = ~flat & jnp.all(height * volume <= 0.0) & (below >= 0.0)
    far = jnp.inf
    away = jnp.concatenate([
        jnp.where(within, jnp.sum(on_face * on_face, axis=1), far), jnp.sum(on_line * on_line, axis=1)
    ])  # fmt: skip
    best = jnp.argmin(away)
    k = best % 3
    is_face = best < 3
    share = jnp.where(is_face, s[k], r[k])
    other = jnp.where(is_face, t[k], 0.0)
    j = jnp.asarray(NEXT)[k]
    return Simplex(
        jnp.stack([w, old.W[k], old.W[j]]),
        jnp.stack([code, old.codes[k], old.codes[j]]),
        jnp.stack([1.0 - share - other, share, other]),
        jnp.where(is_face, on_face[k], on_line[k]),
        overlap,
    )


def _moved_out(
    a: Solid, b: Solid, ended: Simplex, size: Scalar
) -> tuple[Simplex, AnyArray, AnyArray]:
    """As `_found`, of shapes whose cores overlap, where the search ended with a simplex.

    Deep ones may have several ways out: several starts are tried.
    """

    def way(n: AnyArray) -> AnyArray:
        """How far `a` must move along `n` to be out [m]."""
        return jnp.sum(n * (b.at(b.support(n)) - a.at(a.support(-n))))

    guesses = jnp.concatenate([unit(-ended.v, UP)[None], _guesses(a, b)])
    ways = jax.lax.map(way, guesses)
    fine = jnp.asarray(_everywhere(FINE), ways.dtype)
    very_deep = jnp.min(ways) > VERY_DEEP * size
    none = jnp.full(FINE, jnp.inf, ways.dtype)
    finer = jax.lax.cond(very_deep, lambda: jax.lax.map(way, fine), lambda: none)
    guesses, ways = jnp.concatenate([guesses, fine]), jnp.concatenate([ways, finer])
    starts, apart = (jnp.where(very_deep, *x) for x in (STARTS, APART))

    def start(state: tuple) -> tuple:
        tries, open_, best = state
        row = jnp.argmin(jnp.where(open_, ways, jnp.inf))
        found = _least_way(a, b, way, guesses[row], ended, size)
        better = found[1] < best[1]
        best = jax.tree.map(lambda x, y: jnp.where(better, x, y), found, best)
        near = jnp.where(best[1] > DEEP * size, apart, APART[0])
        return tries + 1, open_ & (mv(guesses, guesses[row]) < near), best

    before = (guesses[0], jnp.full_like(size, jnp.inf), ended, guesses[0])
    first = (jnp.zeros((), np.int32), jnp.isfinite(ways), before)

    def more(state: tuple) -> AnyArray:
        tries, open_, best = state
        likely = (best[1] > DEEP * size) | (ways < best[1] + LIKELY * size)
        return (tries < starts) & jnp.any(open_ & likely)

    n, _, found, shift = jax.lax.while_loop(more, start, first)[2]
    return found, n, shift


def _guesses(a: Solid, b: Solid) -> AnyArray:
    """Unit vectors that may be ways out: directions of each shape, and normals of two of their axes."""
    own = [mv(s.R[None], DIRECTIONS) for s in (a, b)]
    both = cross(
        jnp.broadcast_to(a.R.T[:, None], (3, 3, 3)), jnp.broadcast_to(b.R.T[None], (3, 3, 3))
    ).reshape(9, 3)
    square = jnp.sum(both * both, axis=1)[:, None]
    parallel = square < 1e-12
    both = jnp.where(parallel, a.R[:, 0][None], both / jnp.sqrt(jnp.where(parallel, 1.0, square)))
    return jnp.concatenate([*own, both, -both])


def _everywhere(count: int) -> np.ndarray:
    """Unit vectors (count, 3) that are spread evenly over all directions, on a spiral of golden angles."""
    k = np.arange(count) + 0.5
    up, around = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - up**2)
    return np.stack([across * np.cos(around), across * np.sin(around), up], axis=1)


def _least_way(
    a: Solid, b: Solid, way: Way, n: AnyArray, ended: Simplex, size: Scalar
) -> tuple[AnyArray, AnyArray, Simplex, AnyArray]:
    """From a first direction to the nearest one in which the way out is least: (direction, way, simplex, shift)."""

    def move(state: tuple) -> tuple:
        k, n, length, *_ = state
        shift = -(length + GAP * size) * n
        found = _search(a, b, shift, n, size)
        better = unit(found.v, n)
        shorter = way(better)
        going = shorter < length - EXACT * size
        return k + 1, jnp.where(going, better, n), jnp.minimum(shorter, length), going, found, shift

    start = (jnp.zeros((), np.int32), n, way(n), jnp.ones((), bool), ended, n)
    going = lambda state: (state[0] < MOVES) & state[3]
    _, n, length, _, found, shift = jax.lax.while_loop(going, move, start)
    return n, length, found, shift
