"""Impulses as the benchmark of the Tiny Differentiable Simulator computes them: `order="b"`.

A fixed number of sweeps from zero over all normal rows, then all rows along the second tangent, then along the first;
friction in a box. The derivative is that of the equations where the sweeps converged, else that of the sweeps.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.contact.solve import Impulses, Square, linear_solve, tangents_first
from isthmus.types import AnyArray, Scalar

Rows = Float[AnyArray, " rows"]
SWEPT = (0, 2, 1)
"""Directions in the order of a sweep."""


def impulses_in_box(
    A: Square, c: Impulses, friction: AnyArray, active: AnyArray, sweeps: int
) -> tuple[Impulses, Scalar]:
    """The impulses [N·s] after `sweeps` sweeps, and by how much the last one changed velocities [m/s].

    Sweeps that would change nothing are left out.
    """
    G, g = _shares(A, c, active)

    def sweep(state: tuple) -> tuple:
        n, _, p = state
        return n + 1, p, _sweep(G, g, friction, p)

    going = lambda state: (state[0] < sweeps) & jnp.any(state[1] != state[2])
    nothing = jnp.zeros_like(g)
    first = (jnp.ones((), np.int32), nothing, _sweep(G, g, friction, nothing))
    _, before, p = jax.lax.while_loop(going, sweep, first)
    off = jnp.max(jnp.abs(p - before) * _by_direction(jnp.diag(A).reshape(c.shape)))
    return _by_contact(p, c.shape[0]), off


def swept_in_box(
    A: Square, c: Impulses, friction: AnyArray, active: AnyArray, sweeps: int
) -> Impulses:
    """The impulses of `impulses_in_box`, whose derivative is that of the sweeps, in both modes."""
    G, g = _shares(A, c, active)
    sweep = jax.checkpoint(lambda p, _: (_sweep(G, g, friction, p), None))
    return _by_contact(jax.lax.scan(sweep, jnp.zeros_like(g), length=sweeps)[0], c.shape[0])


def _shares(A: Square, c: Impulses, active: AnyArray) -> tuple[Square, Rows]:
    """`G` and `g` of `p = g + G p`, the rows in the order of the sweep; zero where contacts are not active."""
    order = np.arange(c.size, dtype=np.int32).reshape(c.shape)[:, SWEPT].T.reshape(-1)
    A, acts = A[order][:, order], jnp.tile(active, 3)
    share = jnp.where(acts, -1.0 / jnp.diag(A), 0.0)
    return share[:, None] * A, share * _by_direction(c)


def _by_direction(x: Impulses) -> Rows:
    """Three numbers for each contact, as rows in the order of the sweep."""
    return jnp.concatenate([x[:, d] for d in SWEPT])


def _by_contact(p: Rows, count: int) -> Impulses:
    """Rows in the order of the sweep, as three numbers for each contact."""
    return jnp.stack([p[d * count : (d + 1) * count] for d in SWEPT], axis=1)


def _sweep(G: Square, g: Rows, friction: AnyArray, p: Rows) -> Rows:
    """One sweep over all rows of `p = g + G p`, of which the diagonal is left out.

    `p` is a queue: its first row leaves, its new value comes in at the end. A sum thus ends with the newest number, and
    waits for no other one.
    """
    size, count = p.shape[0], friction.shape[0]
    for row in range(size):
        k, direction = row % count, row // count
        others = np.arange(row + 1, row + size, dtype=np.int32) % size
        free = jnp.sum(jnp.concatenate([g[row, None], G[row][others] * p[1:]]))
        if direction == 0:
            new = jnp.where(free > 0.0, free, 0.0)
        else:
            bound = friction[k] * p[size - direction * count]
            new = jnp.where(free > bound, bound, free)
            new = jnp.where(new < -bound, -bound, new)
        p = jnp.concatenate([p[1:], new[None]])
    return p


@jax.custom_jvp
def box_moved(
    A: Square, p: Impulses, w: Impulses, friction: AnyArray, active: AnyArray
) -> Impulses:
    """`p`, with the derivative of the equations that it solves: as `following` in `solve.py`."""
    return p


@box_moved.defjvp
def _following_jvp(primals: tuple, tangents: tuple) -> tuple:
    """Rows that are free keep `w = 0`, rows at a bound move with it."""
    A, p, _, friction, active = primals
    dw, dfriction = tangents[2:4]
    count = p.shape[0]
    normal, across = p[:, 0], p[:, 1:]
    pushes = active & (normal > 0.0)
    slides = jnp.abs(across) >= (friction * normal)[:, None]
    sign = jnp.where(slides, jnp.sign(across), 0.0)
    free = jnp.concatenate([~slides & pushes[:, None], pushes[:, None]], axis=1).T.reshape(-1)
    by_normal = jnp.concatenate([sign * friction[:, None], np.zeros((count, 1))], axis=1).T.reshape(
        -1
    )
    by_friction = jnp.concatenate([sign * normal[:, None], np.zeros((count, 1))], axis=1).T.reshape(
        -1
    )
    # tangents before normals: their part of the matrix is symmetric, its pivots are positive
    own = np.tile(np.eye(count), (3, 1))
    held = (
        np.eye(3 * count)
        - np.concatenate([np.zeros((3 * count, 2 * count)), own], axis=1) * by_normal[:, None]
    )
    moved = jnp.roll(dw, -1, axis=1).T.reshape(-1)
    given = by_friction * jnp.tile(dfriction, 3)
    M = jnp.where(free[:, None], tangents_first(A), held)
    dp = linear_solve(M, jnp.where(free, -moved, given))
    return p, jnp.roll(dp.reshape(3, count).T, 1, axis=1)
