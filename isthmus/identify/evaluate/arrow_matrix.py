"""Damped linear systems of multiple shooting: a block for each window, coupled to the next, and a border of parameters.

The matrix is an arrow,

    [ A   Bᵀ ]    A: parameters (p × p);  B: windows × parameters;
    [ B   T  ]    T: block tridiagonal, one block of m numbers for each window.

`T` is factored block by block (block Cholesky), the parameters get what is left of `A` (Schur complement), and the
windows follow by substitution. Work and memory grow linearly with the number of windows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from isthmus.identify.evaluate.matrix import AbstractMatrix, Vectors


class Arrow(AbstractMatrix):
    """A batch of arrow matrices."""

    def __init__(
        self,
        A: Float[np.ndarray, "islands p p"],
        B: Float[np.ndarray, "islands windows m p"],
        D: Float[np.ndarray, "islands windows m m"],
        E: Float[np.ndarray, "islands windows m m"],
    ) -> None:
        self.A, self.B, self.D, self.E = A, B, D, E
        """`D`: blocks on the diagonal of `T`; `E[k]`: the block that couples window `k` (row) with `k + 1` (column)."""

    @staticmethod
    def gathered(
        H: Float[np.ndarray, "islands windows n n"], p: int, m: int, coupled: bool
    ) -> Arrow:
        """From the matrix of each window over (parameters, own start, next window's start)."""
        A, B, D = (
            H[..., :p, :p].sum(axis=1),
            H[..., p : p + m, :p].copy(),
            H[..., p : p + m, p : p + m].copy(),
        )
        if not coupled:
            return Arrow(A, B, D, np.zeros_like(D))
        after = slice(p + m, p + 2 * m)
        B[:, 1:] += H[:, :-1, after, :p]
        D[:, 1:] += H[:, :-1, after, after]
        E = H[..., p : p + m, after].copy()
        E[:, -1] = 0.0
        return Arrow(A, B, D, E)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Parameters, windows, numbers of each window."""
        return self.A.shape[1], self.D.shape[1], self.D.shape[2]

    def plus_diagonal(self, extra: np.ndarray) -> Arrow:
        """With `extra` (n,) or (islands, n) added to the diagonal."""
        p, windows, m = self.sizes
        extra = np.broadcast_to(extra, (len(self.A), p + windows * m))
        A, D = self.A.copy(), self.D.copy()
        A[:, np.arange(p), np.arange(p)] += extra[:, :p]
        D[..., np.arange(m), np.arange(m)] += extra[:, p:].reshape(-1, windows, m)
        return Arrow(A, self.B, D, self.E)

    def plus_blocks(
        self, rows: Int[np.ndarray, "blocks k"], blocks: Float[np.ndarray, "islands blocks k k"]
    ) -> Arrow:
        """With a matrix added to the entries `rows` of the parameters, for each of several blocks."""
        A = self.A.copy()
        A[:, rows[:, :, None], rows[:, None, :]] += blocks
        return Arrow(A, self.B, self.D, self.E)

    def diagonal(self) -> Vectors:
        """Of each matrix."""
        own = np.einsum("iwmm->iwm", self.D).reshape(len(self.A), -1)
        return np.concatenate([np.einsum("ijj->ij", self.A), own], axis=1)

    def times(self, s: Vectors) -> Vectors:
        """Each matrix times its vector."""
        p, windows, m = self.sizes
        z, y = s[:, :p], s[:, p:].reshape(-1, windows, m)
        top = np.einsum("ijk,ik->ij", self.A, z) + np.einsum("iwmp,iwm->ip", self.B, y)
        rest = np.einsum("iwmp,ip->iwm", self.B, z) + np.einsum("iwmk,iwk->iwm", self.D, y)
        rest[:, :-1] += np.einsum("iwmk,iwk->iwm", self.E[:, :-1], y[:, 1:])
        rest[:, 1:] += np.einsum("iwmk,iwm->iwk", self.E[:, :-1], y[:, :-1])
        return np.concatenate([top, rest.reshape(len(s), -1)], axis=1)

    def solve(
        self, damping: Vectors, right: Vectors, held: Bool[np.ndarray, "islands n"]
    ) -> Vectors:
        """`(H + diag(damping))⁻¹ right` over the entries that are not `held`; those are zero."""
        p, windows, m = self.sizes
        system = self._without(held).plus_diagonal(np.where(held, 1.0, damping))
        b = np.where(held, 0.0, right)
        y = np.concatenate([b[:, p:].reshape(-1, windows, m, 1), system.B], axis=3)
        inner = system.start_changes(y)  # T⁻¹ [b, B]
        from_b, from_B = inner[..., :1], inner[..., 1:]
        S = system.A - np.einsum("iwmp,iwmk->ipk", system.B, from_B)
        top = b[:, :p] - np.einsum("iwmp,iwmk->ip", system.B, from_b)
        z = np.linalg.solve(S, top[..., None])
        rest = from_b - np.einsum("iwmp,ipk->iwmk", from_B, z)
        return np.concatenate([z[..., 0], rest.reshape(len(b), -1)], axis=1)

    def start_changes(self, right: Float[np.ndarray, "islands windows m k"]) -> np.ndarray:
        """`T⁻¹ right`, one block after the other: forwards to eliminate, backwards to substitute."""
        if not self.E.any():
            return np.linalg.solve(self.D, right)
        windows = self.sizes[1]
        pivots, y = [self.D[:, 0]], [right[:, 0]]
        carried = []
        for k in range(1, windows):
            factor = np.swapaxes(np.linalg.solve(pivots[-1], self.E[:, k - 1]), 1, 2)
            carried.append(factor)
            pivots.append(self.D[:, k] - factor @ self.E[:, k - 1])
            y.append(right[:, k] - factor @ y[-1])
        x = [np.linalg.solve(pivots[-1], y[-1])]
        for k in range(windows - 2, -1, -1):
            x.append(np.linalg.solve(pivots[k], y[k]) - np.swapaxes(carried[k], 1, 2) @ x[-1])
        return np.stack(x[::-1], axis=1)

    def _without(self, held: np.ndarray) -> Arrow:
        """Rows and columns of held entries set to zero."""
        p, windows, m = self.sizes
        z, y = ~held[:, :p], ~held[:, p:].reshape(-1, windows, m)
        after = np.concatenate([y[:, 1:], y[:, -1:]], axis=1)
        return Arrow(
            self.A * (z[:, :, None] & z[:, None, :]),
            self.B * (y[..., None] & z[:, None, None, :]),
            self.D * (y[..., None] & y[..., None, :]),
            self.E * (y[..., None] & after[..., None, :]),
        )

    def take(self, rows: np.ndarray) -> Arrow:
        """Some of the points."""
        return Arrow(self.A[rows], self.B[rows], self.D[rows], self.E[rows])

    def put(self, rows: np.ndarray, other: Any) -> Arrow:
        """The batch with some points replaced."""
        made = [x.copy() for x in (self.A, self.B, self.D, self.E)]
        for mine, new in zip(made, (other.A, other.B, other.D, other.E), strict=True):
            mine[rows] = new
        return Arrow(*made)

    def reduced(self, p: int) -> Float[np.ndarray, "islands p p"]:
        """What is left of the matrix for the parameters when all windows adapt to them (Schur complement)."""
        return self.A - np.einsum("iwmp,iwmk->ipk", self.B, self.start_changes(self.B))
