"""The loss of torques without its data: a quadratic function of pseudo-inertias and of all other free numbers.

Torques that a measured motion needs are linear in these, so one Gauss-Newton matrix is the whole loss, and a step of a
search costs a millisecond, however long the motion is. Priors are on the numbers of the search, as given.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.abstract_evaluation import AbstractEvaluation, Normal
from isthmus.identify.evaluate.dense_matrix import Dense
from isthmus.identify.search.bodies import BASIS, Bodies, factor, slopes

Points = Float[np.ndarray, "islands n"]


class LinearLoss(AbstractEvaluation):
    """`c + g·d + ½ d·H d` of the change `d` of pseudo-inertias and other numbers, and the prior."""

    def __init__(self, evaluation: AbstractEvaluation, start: Float[np.ndarray, " n"]) -> None:
        self.plan, self.prior, self.evaluations = evaluation.plan, evaluation.prior, 0
        self.box, self._data = (evaluation.low, evaluation.high), evaluation.data
        self.bodies, normal = Bodies(evaluation), evaluation.normal(start[None])
        self.start, A = self.coordinates(start[None])[0], self.slopes(start[None])[0]
        H = normal.matrix.reduced(len(start))[0] - np.diag(self.prior.precision)
        H = np.linalg.solve(A.T, H)
        self.H = np.linalg.solve(A.T, H.T)
        slope = normal.gradient[0] - self.prior.gradient(start[None])[0]
        self.g = np.linalg.solve(A.T, slope)
        self.c = float(normal.cost[0] - self.prior.cost(start[None])[0])

    @property
    def low(self) -> Float[np.ndarray, " n"]:
        return self.box[0]

    @property
    def high(self) -> Float[np.ndarray, " n"]:
        return self.box[1]

    @property
    def data(self) -> int:
        return self._data

    @property
    def matrix_is_cheap(self) -> bool:
        return True

    def coordinates(self, X: Points) -> Points:
        """Pseudo-inertias by their coordinates in `BASIS`, and all other numbers as they are."""
        found = np.array(X, dtype=np.float64)
        U = factor(X[:, self.bodies.rows] * self.bodies.scale)
        found[:, self.bodies.rows] = np.einsum("kab,iwac,iwbc->iwk", BASIS, U, U, optimize=True)
        return found

    def slopes(self, X: Points) -> Float[np.ndarray, "islands n n"]:
        """How the coordinates change with `x`."""
        found = np.tile(np.eye(X.shape[1]), (len(X), 1, 1))
        U = factor(X[:, self.bodies.rows] * self.bodies.scale)
        rows = self.bodies.rows
        found[:, rows[:, :, None], rows[:, None, :]] = slopes(U) * self.bodies.scale[:, None]
        return found

    def cost(self, X: Points) -> Float[np.ndarray, " islands"]:
        """Of each point."""
        d = self.coordinates(X) - self.start
        return self.c + d @ self.g + 0.5 * np.einsum("ij,ij->i", d @ self.H, d) + self.prior.cost(X)

    def normal(self, X: Points) -> Normal:
        """The quadratic model around each point."""
        self.evaluations += len(X)
        d, A = self.coordinates(X) - self.start, self.slopes(X)
        slope = np.einsum("ij,ijk->ik", self.g + d @ self.H, A) + self.prior.gradient(X)
        matrix = np.swapaxes(A, 1, 2) @ self.H @ A + np.diag(self.prior.precision)
        return Normal(self.cost(X), slope, Dense(matrix))
