"""Impulses of contacts: velocity-level complementarity with a friction disc, and its derivative.

Wanted are impulses `p` (normal, two tangents for each contact) with `w = A p + c` the velocities after them: normal
impulses push and act only where the point stays (`0 ≤ p_n ⟂ w_n ≥ 0`), tangential ones oppose sliding, at most `μ p_n`
long. Projected Gauss-Seidel comes near, Newton steps on the same equations come to rounding. The derivative is that of
the equations, not that of the iteration: it costs one linear system.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from isthmus.contact.few import FEW
from isthmus.types import AnyArray, Scalar

Impulses = Float[AnyArray, "contacts 3"]
Square = Float[AnyArray, "rows rows"]

FOUND = "contact/found"
"""Name of the impulses for `jax.checkpoint`: what computes a step again need not search for them again."""
SOLVED = 1e-10
"""Velocities [m/s] that are off by less are solved."""
UNSOLVED = 1e-6
"""Velocities [m/s] that are off by more are told: a ten-thousandth of what gravity gives in a millisecond."""
ROUNDS = 6
"""Rounds of sweeps and Newton steps, at most, where they are off by so much; each has twice the sweeps of the last.

Where several points of a body share a load, sweeps may rest for hundreds of rounds before one of the points lets go.
"""
RESTING = 1e-13
"""Sweeps that change no impulse by more than this share of the largest one are the last."""
REDUNDANT = 1e-10
"""Share of the diagonal that keeps the matrix of Newton steps regular where contacts share a load."""
DAMPED = 1e-3
"""The same for the derivative where impulses were not found."""
UNROLLED = 3 * FEW
"""Rows of a linear system up to which it is written out: those of a box. Loops take 3 times as long."""


def impulses(
    A: Square,
    c: Impulses,
    friction: Float[AnyArray, " contacts"],
    active: Bool[AnyArray, " contacts"],
    start: Impulses,
    sweeps: int,
    newton: int,
) -> tuple[Impulses, Scalar]:
    """The impulses [N·s], zero where contacts are not active, and by how much velocities are off [m/s].

    Newton steps from `start`, unless that is zero; then rounds of at most `sweeps` sweeps and `newton` Newton steps.
    """

    def once(state: tuple) -> tuple:
        n, most, p, _ = state
        p = _swept(A, c, friction, active, p, most)
        p, off = _newton(A, c, friction, active, p, newton)
        return n + 1, jnp.where(n > 0, 2 * most, sweeps).astype(np.int32), p, off

    going = lambda state: (state[0] <= ROUNDS) & (state[3] > UNSOLVED)
    p = _projected(start, friction, active)
    first = jnp.where(jnp.any(p[:, 0] > 0.0), 0, 1).astype(np.int32)
    most = (first * sweeps).astype(np.int32)
    far = jnp.where(jnp.any(active), jnp.ones((), A.dtype), 0.0)
    _, _, p, off = jax.lax.while_loop(going, once, (first, most, p, far))
    return p, jnp.where(jnp.any(active), off, 0.0)


@jax.custom_jvp
def following(
    A: Square, p: Impulses, w: Impulses, friction: AnyArray, active: AnyArray, off: Scalar
) -> Impulses:
    """`p`, which solves the problem with the velocities `w = A p + c`, and moves with `w` and the friction.

    `w` is to be computed with `p` held: so the derivative by `A` costs a product instead of a matrix. `off`: by how
    much the velocities are off [m/s].
    """
    return p


@following.defjvp
def _following_jvp(primals: tuple, tangents: tuple) -> tuple:
    A, p, w, friction, active, off = primals
    return p, _moved(A, p, w, friction, active, off, tangents[2], tangents[3])


def _moved(
    A: Square,
    p: Impulses,
    w: Impulses,
    friction: AnyArray,
    active: AnyArray,
    off: Scalar,
    dw: Impulses,
    dfriction: AnyArray,
) -> Impulses:
    """How the solution moves where its velocities and the friction do.

    Impulses that were not found solve nothing, and where points share a load their equations contradict each other:
    there softer points count.
    """
    steps = _steps(A)
    change = lambda w, friction: p - _projected(p - steps * w, friction, active)
    moved = jax.jvp(change, (w, friction), (dw, dfriction))[1]
    softness = jnp.where(off > UNSOLVED, DAMPED, REDUNDANT)
    return -_by_slope(_slope(A, w, friction, active, p, softness), moved)


def _steps(A: Square) -> Impulses:
    """How far each impulse moves for a velocity that is off: one over the diagonal, one number for both tangents."""
    count = A.shape[0] // 3
    blocks = jnp.stack([A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] for k in range(count)])
    side = jnp.abs(blocks[:, 1, 2])
    across = jnp.maximum(blocks[:, 1, 1], blocks[:, 2, 2]) + side
    return 1.0 / jnp.stack([blocks[:, 0, 0], across, across], axis=1)


def _onto_disc(z: AnyArray, radius: AnyArray) -> AnyArray:
    """Vectors (…, 2), shortened to `radius` where they are longer."""
    square = jnp.sum(z * z, axis=-1)
    long = square > radius * radius
    share = jnp.where(long, radius / jnp.sqrt(jnp.where(long, square, 1.0)), 1.0)
    return z * share[..., None]


def _projected(z: Impulses, friction: AnyArray, active: AnyArray) -> Impulses:
    """The nearest impulses that push, with friction within its disc; zero where contacts are not active."""
    normal = jnp.where(active, jnp.maximum(z[:, 0], 0.0), 0.0)
    return jnp.concatenate([normal[:, None], _onto_disc(z[:, 1:], friction * normal)], axis=1)


def _difference(
    A: Square, c: Impulses, friction: AnyArray, active: AnyArray, p: Impulses, steps: Impulses
) -> Impulses:
    """Zero where `p` solves the problem."""
    w = (A @ p.reshape(-1)).reshape(p.shape) + c
    return p - _projected(p - steps * w, friction, active)


def _swept(
    A: Square,
    c: Impulses,
    friction: AnyArray,
    active: AnyArray,
    p: Impulses,
    most: Int[AnyArray, ""],
) -> Impulses:
    """At most so many sweeps of projected Gauss-Seidel from `p`, contact after contact, until nothing moves."""
    steps, count = _steps(A), c.shape[0]
    acts = jnp.where(active[:, None], steps, 0.0)
    share = jnp.where(acts > 0.0, 1.0, 0.0).reshape(-1)
    G = jnp.diag(share) - acts.reshape(-1)[:, None] * A  # p = projection of G p + g
    g = -acts * c

    in_turn = _one_after_another(G, g, friction) if count > FEW else _written_out(G, g, friction)

    def sweep(state: tuple) -> tuple:
        n, p, _ = state
        after = in_turn(p)
        moved = jnp.max(jnp.abs(after - p)) > RESTING * jnp.max(jnp.abs(after))
        return n + 1, after, moved

    going = lambda state: (state[0] < most) & state[2]
    start = (jnp.zeros((), np.int32), p, jnp.any(active))
    return jax.lax.while_loop(going, sweep, start)[1]


Sweep = Callable[[Impulses], Impulses]


def _one_after_another(G: Square, g: Impulses, friction: AnyArray) -> Sweep:
    """A sweep as a loop over the contacts: its code does not grow with their number."""
    count = g.shape[0]
    # a normal impulse is found without its old value, and then counts for its own tangents
    own = np.kron(np.eye(count), np.array([[1.0, 0.0, 0.0]] * 3))
    down = jnp.sum((G * own).reshape(count, 3, -1), axis=2)
    rows = jnp.where(own > 0.0, 0.0, G).reshape(count, 3, -1)

    def one(p: Impulses, contact: tuple) -> tuple[Impulses, None]:
        k, rows, down, g, friction = contact
        free = rows @ p.reshape(-1) + g
        normal = jnp.where(free[0] > 0.0, free[0], 0.0)
        across = _onto_disc(free[1:] + down[1:] * normal, friction * normal)
        new = jnp.concatenate([normal[None], across])
        return jax.lax.dynamic_update_index_in_dim(p, new, k, 0), None

    numbers = np.arange(count, dtype=np.int32)
    return lambda p: jax.lax.scan(one, p, (numbers, rows, down, g, friction))[0]


def _written_out(G: Square, g: Impulses, friction: AnyArray) -> Sweep:
    """A sweep over few contacts."""

    def sweep(p: Impulses) -> Impulses:
        for k in range(g.shape[0]):
            p = _queued(G, g[k], friction[k], p, k)
        return p

    return sweep


def _queued(G: Square, g: AnyArray, friction: Scalar, p: Impulses, k: int) -> Impulses:
    """`p` with a new value of contact `k`. `p` is a queue: its first contact is `k`, which leaves and comes in again.

    Sums thus end with the newest numbers, and wait for no others.
    """
    size = p.size
    columns = np.arange(3 * k, 3 * k + size, dtype=np.int32) % size
    rows, flat = G[3 * k : 3 * k + 3][:, columns], p.reshape(-1)
    sums = lambda r, first: jnp.sum(jnp.concatenate([g[r, None], rows[r, first:] * flat[first:]]))
    free = sums(0, 1)
    normal = jnp.where(free > 0.0, free, 0.0)
    across = jnp.stack([sums(r, 1) + rows[r, 0] * normal for r in (1, 2)])
    new = jnp.concatenate([normal[None], _onto_disc(across, friction * normal)])
    return jnp.concatenate([p[1:], new[None]])


def _newton(
    A: Square, c: Impulses, friction: AnyArray, active: AnyArray, p: Impulses, most: int
) -> tuple[Impulses, Scalar]:
    """Newton steps that bring the solution nearer, until it is there; by how much velocities are off then."""
    steps = _steps(A)
    difference = lambda p: _difference(A, c, friction, active, p, steps)
    off_by = lambda d: jnp.max(jnp.abs(d) / steps)

    def step(state: tuple) -> tuple:
        n, p, d, off, _ = state
        w = (A @ p.reshape(-1)).reshape(p.shape) + c
        tried = p - _by_slope(_slope(A, w, friction, active, p), d)
        tried = _projected(tried, friction, active)
        new = difference(tried)
        better = off_by(new) < off
        return (
            n + 1, jnp.where(better, tried, p), jnp.where(better, new, d),
            jnp.where(better, off_by(new), off), better,
        )  # fmt: skip

    d = difference(p)
    start = (jnp.zeros((), np.int32), p, d, off_by(d), jnp.any(active))
    going = lambda state: (state[0] < most) & (state[3] > 1e-3 * SOLVED) & state[4]
    _, p, _, off, _ = jax.lax.while_loop(going, step, start)
    return p, off


def _slope(
    A: Square,
    w: Impulses,
    friction: AnyArray,
    active: AnyArray,
    p: Impulses,
    softness: float | Scalar = REDUNDANT,
) -> Square:
    """The derivative of `_difference` by `p`, where velocities are `w`; `softness`: a share of the diagonal of `A`."""
    count, size = p.shape[0], A.shape[0]
    steps = _steps(A)
    z = p - steps * w
    pushes = active & (z[:, 0] > 0.0)
    on = pushes.astype(A.dtype)
    radius = friction * jnp.where(pushes, z[:, 0], 0.0)
    square = jnp.sum(z[:, 1:] ** 2, axis=1)
    slides = square > radius * radius
    length = jnp.sqrt(jnp.where(slides, square, 1.0))
    u = z[:, 1:] / length[:, None]
    turn = (radius / length)[:, None, None] * (np.eye(2)[None] - u[:, :, None] * u[:, None, :])
    across = jnp.where(slides[:, None, None], turn, on[:, None, None] * np.eye(2)[None])
    by_normal = jnp.where(slides[:, None], (friction * on)[:, None] * u, 0.0)
    top = jnp.concatenate([on[:, None], jnp.zeros((count, 2), A.dtype)], axis=1)
    below = jnp.concatenate([by_normal[:, :, None], across], axis=2)
    D = jnp.concatenate([top[:, None], below], axis=1)  # of the projection, block by block
    regular = A * (1.0 + softness * np.eye(size))
    G = (np.eye(size) - steps.reshape(-1)[:, None] * regular).reshape(count, 3, size)
    moved = jnp.sum(D[:, :, :, None] * G[:, None, :, :], axis=2)
    return np.eye(size) - moved.reshape(size, size)


def _by_slope(J: Square, r: Impulses) -> Impulses:
    """`J⁻¹ r` for a slope `J`; tangents are eliminated before normals, which keeps the pivots positive."""
    count, size = r.shape[0], r.size
    x = linear_solve(tangents_first(J), jnp.roll(r, -1, axis=1).T.reshape(size))
    return jnp.roll(x.reshape(3, count).T, 1, axis=1)


def tangents_first(A: Square) -> Square:
    """The matrix with its rows and columns sorted by direction: first tangents, second ones, normals.

    By slices, not by indices: native code would lose the values of indices in the branches of a gradient.
    """
    count = A.shape[0] // 3
    parts = jnp.roll(A.reshape(count, 3, count, 3), (-1, -1), axis=(1, 3))
    return parts.transpose(1, 0, 3, 2).reshape(A.shape)


def linear_solve(M: Square, r: Float[AnyArray, " rows"]) -> Float[AnyArray, " rows"]:
    """`M⁻¹ r`; small systems are eliminated in the order of the rows, so that native code needs no branch."""
    if r.shape[0] > UNROLLED:
        return jnp.linalg.solve(M, r)
    solve = lambda M: lambda _, r: _eliminated(M, r)
    return jax.lax.custom_linear_solve(lambda x: M @ x, r, solve(M), solve(M.T))


def _eliminated(M: Square, r: Float[AnyArray, " rows"]) -> Float[AnyArray, " rows"]:
    """`M⁻¹ r` by elimination in the order of the rows."""
    rows: list[tuple[AnyArray, AnyArray]] = []
    for _ in range(r.shape[0]):
        inverse = 1.0 / M[0, 0]
        rows.append((M[0] * inverse, r[0] * inverse))
        top, right = rows[-1]
        r = r[1:] - M[1:, 0] * right
        M = M[1:, 1:] - M[1:, 0, None] * top[None, 1:]
    x = jnp.zeros(0, r.dtype)
    for top, right in reversed(rows):
        x = jnp.concatenate([(right - top[1:] @ x)[None], x])
    return x
