"""Periodic motions from rest to rest: a Fourier series for each joint (Swevers et al. 1997), linear in coefficients.

A joint moves along `c₀ + Σ s_k sin kωt + c_k cos kωt` with one period in the whole time. Velocity and acceleration are
zero at the beginning, and so at the end: two equations that the coefficients keep by construction.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float


@dataclasses.dataclass(frozen=True)
class Series:
    """The motions of `dof` joints with so many harmonics in so many seconds."""

    dof: int
    seconds: float
    harmonics: int

    @functools.cached_property
    def free(self) -> Float[np.ndarray, "terms size"]:
        """A basis of the coefficients `(c₀, s₁ …, c₁ …)` of a motion that begins at rest; the first is the middle."""
        k = np.arange(1.0, self.harmonics + 1.0)
        none = np.zeros_like(k)
        rest = np.stack([[0.0, *k, *none], [0.0, *none, *k**2]])  # velocity and acceleration at 0
        null = np.linalg.svd(rest[:, 1:])[2][2:]
        shaped = np.zeros((1 + 2 * self.harmonics, 1 + len(null)))
        shaped[0, 0], shaped[1:, 1:] = 1.0, null.T
        return shaped

    @property
    def size(self) -> int:
        """Coefficients of one joint."""
        return self.free.shape[1]

    def basis(self, t: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "3 rows size"]:
        """Positions, velocities and accelerations at times `t` [s] for each coefficient."""
        k = 2.0 * np.pi / self.seconds * np.arange(1.0, self.harmonics + 1.0)
        angle = t[:, None] * k
        sin, cos, one = np.sin(angle), np.cos(angle), np.ones((len(t), 1))
        whole = np.stack([
            np.concatenate([one, sin, cos], axis=1),
            np.concatenate([0.0 * one, k * cos, -k * sin], axis=1),
            np.concatenate([0.0 * one, -(k**2) * sin, -(k**2) * cos], axis=1),
        ])  # fmt: skip
        return whole @ self.free

    def times(self, rows: int) -> np.ndarray:
        """Evenly spaced times of one period, the end left out, which is its beginning."""
        return self.seconds / rows * np.arange(rows)

    def random(
        self, rng: np.random.Generator, middle: np.ndarray, half: np.ndarray
    ) -> Float[np.ndarray, "size dof"]:
        """Random coefficients about the middle of the travel; fast harmonics are smaller."""
        found = rng.standard_normal((self.size, self.dof))
        k = np.tile(np.arange(1.0, self.harmonics + 1.0), 2)
        whole = self.free[1:, 1:] @ found[1:] / k[:, None]
        found[1:] = self.free[1:, 1:].T @ whole
        found *= half
        found[0] = middle + 0.2 * found[0]
        return found
