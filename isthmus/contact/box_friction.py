"""Impulses as the benchmark of the Tiny Differentiable Simulator computes them: `order="b"`.

A fixed number of sweeps from zero over all normal rows, then all rows along the second tangent, then along the first;
friction in a box. The derivative is that of the solution.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.contact.solve import Impulses, Square
from isthmus.types import AnyArray, Scalar

Rows = Float[AnyArray, " rows"]


def impulses_in_box(
    A: Square, c: Impulses, friction: AnyArray, active: AnyArray, sweeps: int
) -> tuple[Impulses, Scalar]:
    """The impulses [N·s] after `sweeps` sweeps, and by how much the last one changed velocities [m/s].

    Sweeps that would change nothing are left out.
    """
    order = _order(c.shape[0])
    diagonal = jnp.diag(A)[order]
    acts = jnp.tile(active, 3)
    share = jnp.where(acts, -1.0 / diagonal, 0.0)
    G, g = share[:, None] * A[order][:, order], share * c.reshape(-1)[order]

    def sweep(state: tuple) -> tuple:
        n, _, p = state
        return n + 1, p, _sweep(G, g, friction, p)

    going = lambda state: (state[0] < sweeps) & jnp.any(state[1] != state[2])
    nothing = jnp.zeros_like(g)
    first = (jnp.ones((), np.int32), nothing, _sweep(G, g, friction, nothing))
    _, before, p = jax.lax.while_loop(going, sweep, first)
    off = jnp.max(jnp.abs(p - before) * diagonal)
    return p[np.argsort(order).astype(np.int32)].reshape(c.shape), off


def _order(count: int) -> np.ndarray:
    """The rows (three for each contact) in the order of the sweep."""
    return np.array(
        [3 * k + direction for direction in (0, 2, 1) for k in range(count)], dtype=np.int32
    )


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
def following_in_box(
    A: Square, p: Impulses, w: Impulses, friction: AnyArray, active: AnyArray
) -> Impulses:
    """As `following` in `solve.py`."""
    return p


@following_in_box.defjvp
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
    order = np.array(
        [3 * k + direction for direction in (1, 2, 0) for k in range(count)], dtype=np.int32
    )
    own = np.tile(np.eye(count), (3, 1))
    held = (
        np.eye(3 * count)
        - np.concatenate([np.zeros((3 * count, 2 * count)), own], axis=1) * by_normal[:, None]
    )
    moved = dw.reshape(-1)[order]
    given = by_friction * jnp.tile(dfriction, 3)
    M = jnp.where(free[:, None], A[order][:, order], held)
    dp = eliminated(M, jnp.where(free, -moved, given))
    return p, dp[np.argsort(order).astype(np.int32)].reshape(p.shape)


def eliminated(M: Square, r: Rows) -> Rows:
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
