"""Losses without a simulator, with many minima: for the laws of searches that begin at many places."""

from __future__ import annotations

import time

import numpy as np

from isthmus.identify.evaluate.dense_matrix import Dense
from isthmus.identify.evaluate.evaluation import Evaluation, Normal


class Rastrigin(Evaluation):
    """`½ Σ (x−c)² + 2 a sin²(w (x−c))`: one lowest minimum, 0 at `c`, among many; as squares of two residuals each."""

    def __init__(self, size: int = 2, depth: float = 1.0, centre: float = 0.7) -> None:
        self.dimension, self.depth, self.centre = size, depth, centre
        self.evaluations, self.origin = 0, None

    count = own = 0
    matrix_is_cheap = True

    @property
    def size(self) -> int:
        return self.dimension

    @property
    def start(self) -> np.ndarray:
        return np.full(self.size, -3.3)

    @property
    def low(self) -> np.ndarray:
        return np.full(self.size, -5.0)

    @property
    def high(self) -> np.ndarray:
        return np.full(self.size, 5.0)

    @property
    def bent(self) -> np.ndarray:
        return np.zeros(self.size, dtype=bool)

    @property
    def fingerprint(self) -> str:
        return f"rastrigin {self.dimension} {self.depth} {self.centre}"

    def normal(self, X: np.ndarray) -> Normal:
        self.evaluations += len(X)
        d, s = X - self.centre, 2.0 * np.sqrt(self.depth)
        bump, slope = s * np.sin(3.0 * d), 3.0 * s * np.cos(3.0 * d)
        cost = 0.5 * (d * d + bump * bump).sum(axis=1)
        return Normal(
            cost, d + slope * bump, Dense((1.0 + slope**2)[:, :, None] * np.eye(self.size))
        )

    def gradient(self, X: np.ndarray, windows: np.ndarray | None = None):
        normal = self.normal(X)
        return normal.cost, normal.gradient

    def cost(self, X: np.ndarray) -> np.ndarray:
        return self.normal(X).cost


def rastrigin() -> Rastrigin:
    """What other processes make."""
    return Rastrigin()


def deeper() -> Rastrigin:
    """Another one."""
    return Rastrigin(depth=2.0)


class Slow(Rastrigin):
    """The same, with time to be stopped."""

    def normal(self, X: np.ndarray) -> Normal:
        time.sleep(0.05)
        return super().normal(X)
