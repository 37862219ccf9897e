"""Impulses as the benchmark of the Tiny Differentiable Simulator computes them: `order="b"`.

A fixed number of sweeps from zero over all normal rows, then all rows along the second tangent, then along the first;
friction in a box. Where the sweeps have converged, the derivative is that of the solution, else that of the sweeps.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.contact.solve import SOLVED, Impulses, Square
from isthmus.types import AnyArray, Scalar


def _rows(count: int) -> list[tuple[int, int]]:
    """(contact, direction) in the order of the sweep."""
    return [(k, direction) for direction in (0, 2, 1) for k in range(count)]


def _limits(p: Impulses, friction: AnyArray, k: int, direction: int) -> tuple[Scalar, Scalar]:
    bound = friction[k] * p[k, 0]
    return (
        (jnp.zeros_like(bound), jnp.full_like(bound, np.inf)) if direction == 0 else (-bound, bound)
    )


def _sweep(A: Square, c: Impulses, friction: AnyArray, active: AnyArray, p: Impulses) -> Impulses:
    """One sweep over all rows."""
    for k, direction in _rows(c.shape[0]):
        row = 3 * k + direction
        w = A[row] @ p.reshape(-1) + c[k, direction]
        low, high = _limits(p, friction, k, direction)
        new = jnp.clip(p[k, direction] - w / A[row, row], low, high)
        p = jnp.asarray(p).at[k, direction].set(jnp.where(active[k], new, 0.0))
    return p


@functools.partial(jax.custom_jvp, nondiff_argnums=(4,))
def impulses_in_box(
    A: Square, c: Impulses, friction: AnyArray, active: AnyArray, sweeps: int
) -> tuple[Impulses, Scalar]:
    """The impulses [N·s] after `sweeps` sweeps, and by how much the last one changed velocities [m/s]."""
    return _swept(A, c, friction, active, sweeps)


def _swept(
    A: Square, c: Impulses, friction: AnyArray, active: AnyArray, sweeps: int
) -> tuple[Impulses, Scalar]:
    def more(_: AnyArray, pair: tuple) -> tuple:
        return pair[1], _sweep(A, c, friction, active, pair[1])

    start = jnp.zeros_like(c)
    before, p = jax.lax.fori_loop(0, sweeps, more, (start, start))
    off = jnp.max(jnp.abs(p - before) * jnp.diag(A).reshape(p.shape))
    return p, off


@impulses_in_box.defjvp
def _impulses_jvp(sweeps: int, primals: tuple, tangents: tuple) -> tuple:
    A, c, friction, active = primals
    moves = tangents[:3]
    p, off = impulses_in_box(A, c, friction, active, sweeps)
    of_sweep = lambda p: lambda A, c, friction: _sweep(A, c, friction, active, p)

    def of_solution(*moves: AnyArray) -> Impulses:
        """`p = sweep(p)`, differentiated."""
        moved = jax.jvp(of_sweep(p), (A, c, friction), moves)[1].reshape(-1)
        flat = lambda x: _sweep(A, c, friction, active, x.reshape(p.shape)).reshape(-1)
        J = jax.jacfwd(flat)(p.reshape(-1))
        return jnp.linalg.solve(np.eye(p.size) - J, moved).reshape(p.shape)

    def of_sweeps(*moves: AnyArray) -> Impulses:
        swept = lambda A, c, friction: _swept(A, c, friction, active, sweeps)[0]
        return jax.jvp(swept, (A, c, friction), moves)[1]

    dp = jax.lax.cond(off < SOLVED, of_solution, of_sweeps, *moves)
    return (p, off), (dp, jnp.zeros_like(off))
