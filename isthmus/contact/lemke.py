"""Impulses by Lemke's algorithm with a friction pyramid: the classic solver, a reference for `solve.py`.

The problem is that of Anitescu and Potra (1997): friction acts along `sides` directions around each normal, with
multipliers that pick the direction of sliding. Plain NumPy; dense, so for few contacts.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from isthmus.errors import BadOption

TIE = 1e-12
"""Ratios that differ by less, of the largest number in a row, are equal."""


def lemke(M: Float[np.ndarray, "n n"], q: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """`z ≥ 0` with `w = M z + q ≥ 0` and `z·w = 0`, by Lemke's pivots (Cottle, Pang and Stone, 1992, 4.4).

    The smallest ratio is found in lexicographic order, which never cycles. NaN where the pivots end in a ray: then a
    copositive-plus `M`, as that of contacts is, has no solution.
    """
    n = len(q)
    if np.all(q >= 0.0):
        return np.zeros(n)
    # rows: w − M z − 1 z₀ = q; columns: w, z, z₀, right side
    T = np.concatenate([np.eye(n), -M, -np.ones((n, 1)), q[:, None]], axis=1)
    basis = np.arange(n)
    row, entering = int(np.flatnonzero(q <= np.min(q) + TIE)[-1]), 2 * n
    for _ in range(50 * n):
        T = _pivoted(T, row, entering)
        left, basis[row] = int(basis[row]), entering
        if left == 2 * n:
            z = np.zeros(2 * n + 1)
            z[basis] = np.maximum(T[:, -1], 0.0)
            return z[n : 2 * n]
        entering = left + n if left < n else left - n
        row = _leaving(T, entering, basis)
        if row < 0:
            break
    return np.full(n, np.nan)


def _pivoted(T: np.ndarray, row: int, column: int) -> np.ndarray:
    pivot = T[row] / T[row, column]
    T = T - T[:, column : column + 1] * pivot[None]
    T[row] = pivot
    return T


def _leaving(T: np.ndarray, column: int, basis: np.ndarray) -> int:
    """The row with the smallest ratio, that of `z₀` among equal ones, else the first lexicographically; −1: none."""
    n = len(T)
    rows = np.flatnonzero(T[:, column] > 1e-10 * max(1.0, np.max(np.abs(T[:, column]))))
    if not len(rows):
        return -1
    for k in [2 * n + 1, *range(n)]:
        ratio = T[rows, k] / T[rows, column]
        rows = rows[ratio <= np.min(ratio) + TIE * max(1.0, np.max(np.abs(ratio)))]
        if k > n and len(last := rows[basis[rows] == 2 * n]):
            return int(last[0])
        if len(rows) == 1:
            break
    return int(rows[0])


def pyramid_impulses(
    A: Float[np.ndarray, "rows rows"],
    c: Float[np.ndarray, "contacts 3"],
    friction: Float[np.ndarray, " contacts"],
    sides: int = 8,
) -> Float[np.ndarray, "contacts 3"]:
    """Impulses [N·s] along the normal and two tangents of each contact; `w = A p + c` [m/s] are the velocities after.

    `sides`: directions of friction, at equal angles from the first tangent on; an even number, so that each direction
    has its opposite.
    """
    if sides < 4 or sides % 2:
        raise BadOption(f"sides must be an even number from 4, not {sides!r}.")
    count = len(c)
    if not count:
        return np.zeros((0, 3))
    angle = 2.0 * np.pi / sides * np.arange(sides)
    spread = np.zeros((3, 1 + sides))  # normal and directions -> normal and tangents
    spread[0, 0] = 1.0
    spread[1, 1:], spread[2, 1:] = np.cos(angle), np.sin(angle)
    S = np.kron(np.eye(count), spread)
    each = 1 + sides
    along = np.kron(
        np.eye(count), np.r_[0.0, np.ones(sides)][:, None]
    )  # one multiplier for all directions
    limit = np.kron(np.diag(friction), np.eye(1, each)) - along.T
    M = np.block([[S.T @ A @ S, along], [limit, np.zeros((count, count))]])
    unit = 1.0 / float(np.max(np.diag(A)))  # impulses in units in which the matrix is of order one
    n = count * each
    M[:n, :n] *= unit
    z = lemke(M, np.concatenate([S.T @ c.reshape(-1), np.zeros(count)]))
    return (S @ (unit * z[:n])).reshape(count, 3)
