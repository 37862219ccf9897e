"""What a damped step asks of a Gauss-Newton matrix, whatever its structure; a batch of them, one for each point."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

Vectors = Float[np.ndarray, "islands n"]


class AbstractMatrix(abc.ABC):
    """A batch of symmetric matrices (islands, n, n)."""

    @abc.abstractmethod
    def diagonal(self) -> Vectors:
        """Of each matrix."""

    @abc.abstractmethod
    def times(self, s: Vectors) -> Vectors:
        """Each matrix times its vector."""

    @abc.abstractmethod
    def solve(
        self, damping: Vectors, right: Vectors, held: Bool[np.ndarray, "islands n"]
    ) -> Vectors:
        """`(H + diag(damping))⁻¹ right` over the entries that are not `held`; those are zero."""

    @abc.abstractmethod
    def plus_blocks(
        self, rows: Int[np.ndarray, "blocks k"], blocks: Float[np.ndarray, "islands blocks k k"]
    ) -> Any:
        """With a matrix added to the entries `rows` of the parameters, for each of several blocks."""

    @abc.abstractmethod
    def take(self, rows: np.ndarray) -> Any:
        """Some of the points."""

    @abc.abstractmethod
    def put(self, rows: np.ndarray, other: Any) -> Any:
        """The batch with some points replaced."""

    @abc.abstractmethod
    def reduced(self, p: int) -> Float[np.ndarray, "islands p p"]:
        """What is left of the matrix for the first `p` entries when all others adapt to them."""
