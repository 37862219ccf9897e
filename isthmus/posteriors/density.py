"""The log density of a posterior in unbounded coordinates, for many points at once, by native code in lanes.

`−log p(u) = cost(x(u)) + potential(u)`: the cost is half the sum of squared residuals in units of the noise (Huber's
function of them where the problem has one), the potential is the prior's. All methods share it: as an evaluation it can
be searched by Levenberg-Marquardt, and `power` tempers the cost.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float

from isthmus.identify.evaluate.abstract_evaluation import AbstractEvaluation, Normal
from isthmus.identify.evaluate.dense_matrix import Dense
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.evaluate.matrix import AbstractMatrix
from isthmus.losses.penalties import Quadratic
from isthmus.posteriors.coordinates import Coordinates, Points


class Density(AbstractEvaluation):
    """Minus the log of a posterior's density as what a search lowers."""

    def __init__(self, inner: Evaluation, coordinates: Coordinates, power: float = 1.0) -> None:
        """`inner`: the cost of the data alone; `power`: by which the likelihood is tempered."""
        self.inner, self.coordinates, self.power = inner, coordinates, power
        self.plan, self.evaluations = inner.plan, 0
        n = len(coordinates.low)
        self.prior = Quadratic(np.zeros(n), coordinates.curvature)

    @staticmethod
    def of(evaluation: Evaluation) -> Density:
        """The posterior of a problem whose residuals are in units of the noise."""
        none = Quadratic(evaluation.prior.mean, np.zeros_like(evaluation.prior.precision))
        return Density(evaluation.with_prior(none), Coordinates.of(evaluation))

    @property
    def low(self) -> Float[np.ndarray, " n"]:
        return np.full(len(self.coordinates.low), -np.inf)

    @property
    def high(self) -> Float[np.ndarray, " n"]:
        return -self.low

    @property
    def data(self) -> int:
        return self.inner.data

    @property
    def matrix_is_cheap(self) -> bool:
        return self.inner.matrix_is_cheap

    @functools.cached_property
    def bent(self) -> Bool[np.ndarray, " n"]:
        """Log-Cholesky numbers of bodies, where `u` is the number itself."""
        c = self.coordinates
        return self.inner.bent & ~c.proper & ~c.half

    @property
    def start(self) -> Float[np.ndarray, " n"]:
        """The problem's start."""
        return self.coordinates.to_u(self.inner.start[None])[0]

    @property
    def size(self) -> int:
        return len(self.coordinates.low)

    # what methods ask for ------------------------------------------------------------------------------------------

    def likelihood(self, U: Points) -> Float[np.ndarray, " points"]:
        """Minus the log likelihood of each point; infinite where the simulation breaks down."""
        self.evaluations += len(U)
        cost = self.inner.cost(self.coordinates.to_x(U)[0])
        return np.where(np.isfinite(cost), cost, np.inf)

    def cost(self, X: Points) -> Float[np.ndarray, " points"]:
        """Of each point; points are rows of `u` here."""
        return self.power * self.likelihood(X) + self.coordinates.potential(X)

    def gradient(self, U: Points) -> tuple[Float[np.ndarray, " points"], Points]:
        """Cost and its gradient; where the simulation breaks down, infinity and zeros."""
        self.evaluations += len(U)
        c = self.coordinates
        X, slope, _ = c.to_x(U)
        cost, g = self.inner.gradient(X)
        good = np.isfinite(cost) & np.isfinite(g).all(axis=1)
        total = np.where(good, self.power * cost, np.inf) + c.potential(U)
        return total, np.where(good[:, None], self.power * g * slope + c.slope(U), 0.0)

    def normal(self, X: Points) -> Normal:
        """Gauss-Newton models around points, rows of `u`, with the bend of the coordinates."""
        cost, gradient, H = self.parts(X)
        c = self.coordinates
        diagonal = np.arange(self.size)
        H = self.power * H
        H[:, diagonal, diagonal] += c.curvature
        total = self.power * cost + c.potential(X)
        return Normal(total, self.power * gradient + c.slope(X), Dense(H))

    def parts(self, U: Points) -> tuple[np.ndarray, Points, Float[np.ndarray, "points n n"]]:
        """Cost, gradient and matrix of the likelihood alone, by `u`."""
        self.evaluations += len(U)
        X, slope, bend = self.coordinates.to_x(U)
        found = self.inner.normal(X)
        H = dense(found.matrix, self.size, len(U)) * slope[:, :, None] * slope[:, None, :]
        diagonal = np.arange(self.size)
        H[:, diagonal, diagonal] += np.maximum(found.gradient * bend, 0.0)
        return found.cost, found.gradient * slope, H

    def tempered(self, power: float) -> Density:
        """The same with another power of the likelihood."""
        return Density(self.inner, self.coordinates, power)

    def shortened(self, share: float) -> Density:
        """The same, of the first part of every window only."""
        return Density(self.inner.shortened(share), self.coordinates, self.power)

    def with_weights(self, weight: np.ndarray) -> Density:
        """The same with other weights of the residuals."""
        return Density(self.inner.changed(weight=weight), self.coordinates, self.power)


def dense(matrix: AbstractMatrix, n: int, count: int) -> Float[np.ndarray, "points n n"]:
    """A batch of matrices of any structure as arrays."""
    if isinstance(matrix, Dense):
        return matrix.H
    columns = [matrix.times(np.tile(unit, (count, 1))) for unit in np.eye(n)]
    return np.stack(columns, axis=2)


@dataclasses.dataclass(frozen=True)
class Mode:
    """A minimum of the cost in unbounded coordinates."""

    u: Float[np.ndarray, " n"]
    cost: float
    H: Float[np.ndarray, "n n"]

    @functools.cached_property
    def factor(self) -> Float[np.ndarray, "n n"]:
        """`L` of `H = L Lᵀ`."""
        return np.linalg.cholesky(self.H)

    def distance(self, U: Points) -> Float[np.ndarray, " points"]:
        """Squared distances of points in units of the mode's own spread."""
        return np.square((U - self.u) @ self.factor).sum(axis=1)

    @property
    def log_evidence(self) -> float:
        """Log of the integral of the density by the normal at the mode, without constants that all modes share."""
        return -self.cost - float(np.log(np.diag(self.factor)).sum())
