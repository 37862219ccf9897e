"""The Huber function of residuals, and quadratic penalties: priors, small network weights."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from isthmus.model.arrays import is_traced
from isthmus.types import AnyArray


def huber(r: AnyArray, bound: float | None) -> tuple[AnyArray, AnyArray]:
    """`(ρ(r), w(r))` with `ρ' = w r`: half a square within `bound`, a straight line beyond; None: half a square."""
    xp = jnp if is_traced(r) else np
    if bound is None:
        return 0.5 * r * r, xp.ones_like(r)
    size = xp.abs(r)
    weight = bound / xp.maximum(size, bound)
    return xp.where(size > bound, bound * (size - 0.5 * bound), 0.5 * r * r), weight


class Quadratic:
    """`½ Σ precision (x − mean)²` for a batch of points: priors, and R‖θ‖² of network weights."""

    def __init__(self, mean: np.ndarray, precision: np.ndarray) -> None:
        self.mean, self.precision = mean, precision

    def cost(self, X: np.ndarray) -> np.ndarray:
        """Of each row of `X`."""
        return 0.5 * np.square(X - self.mean) @ self.precision

    def gradient(self, X: np.ndarray) -> np.ndarray:
        """By each row of `X`."""
        return self.precision * (X - self.mean)
