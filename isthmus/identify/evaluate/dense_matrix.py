"""Damped linear systems of small problems: one dense symmetric matrix for each point of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from isthmus.identify.evaluate.matrix import AbstractMatrix, Vectors


class Dense(AbstractMatrix):
    """A batch of symmetric matrices (islands, n, n)."""

    def __init__(self, H: Float[np.ndarray, "islands n n"]) -> None:
        self.H = H

    def diagonal(self) -> Vectors:
        """Of each matrix."""
        return np.einsum("ijj->ij", self.H)

    def times(self, s: Vectors) -> Vectors:
        """Each matrix times its vector."""
        return np.einsum("ijk,ik->ij", self.H, s)

    def solve(
        self, damping: Vectors, right: Vectors, held: Bool[np.ndarray, "islands n"]
    ) -> Vectors:
        """`(H + diag(damping))⁻¹ right` over the entries that are not `held`; those are zero."""
        A = np.where(held[:, :, None] | held[:, None, :], 0.0, self.H)
        n = A.shape[1]
        A[:, np.arange(n), np.arange(n)] += np.where(held, 1.0, damping)
        b = np.where(held, 0.0, right)
        try:
            return np.linalg.solve(A, b[..., None])[..., 0]
        except np.linalg.LinAlgError:
            return np.stack(
                [np.linalg.lstsq(a, y, rcond=None)[0] for a, y in zip(A, b, strict=True)]
            )

    def plus_blocks(
        self, rows: Int[np.ndarray, "blocks k"], blocks: Float[np.ndarray, "islands blocks k k"]
    ) -> Dense:
        """With a matrix added to the entries `rows`, for each of several blocks."""
        H = self.H.copy()
        H[:, rows[:, :, None], rows[:, None, :]] += blocks
        return Dense(H)

    def take(self, rows: np.ndarray) -> Dense:
        """Some of the points."""
        return Dense(self.H[rows])

    def put(self, rows: np.ndarray, other: Any) -> Dense:
        """The batch with some points replaced."""
        H = self.H.copy()
        H[rows] = other.H
        return Dense(H)

    def reduced(self, p: int) -> Float[np.ndarray, "islands p p"]:
        """What is left of the matrix for the first `p` entries when all others adapt to them."""
        return self.H[:, :p, :p]
