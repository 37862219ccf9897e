"""What a search by quadratic models asks of a loss."""

from __future__ import annotations

import abc
import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float

from isthmus.identify.evaluate.matrix import AbstractMatrix
from isthmus.identify.evaluate.window import Plan
from isthmus.losses.penalties import Quadratic

Points = Float[np.ndarray, "islands n"]


@dataclasses.dataclass(frozen=True)
class Normal:
    """A quadratic model of the cost around each point."""

    cost: Float[np.ndarray, " islands"]
    gradient: Points
    matrix: AbstractMatrix

    def take(self, chosen: np.ndarray) -> Normal:
        """Some of the points; `chosen` says of each whether."""
        rows = np.flatnonzero(chosen)
        return Normal(self.cost[rows], self.gradient[rows], self.matrix.take(rows))

    def put(self, rows: np.ndarray, new: Normal) -> Normal:
        """The batch with some points replaced."""
        cost, gradient = self.cost.copy(), self.gradient.copy()
        cost[rows], gradient[rows] = new.cost, new.gradient
        return Normal(cost, gradient, self.matrix.put(rows, new.matrix))


class AbstractEvaluation(abc.ABC):
    """Cost and quadratic models of a batch of points `x`, inside a box."""

    plan: Plan
    prior: Quadratic
    evaluations: int
    """How many points were evaluated."""

    @property
    @abc.abstractmethod
    def low(self) -> Float[np.ndarray, " n"]:
        """Lower bounds."""

    @property
    @abc.abstractmethod
    def high(self) -> Float[np.ndarray, " n"]:
        """Upper bounds."""

    @property
    @abc.abstractmethod
    def data(self) -> int:
        """How many numbers are compared."""

    @property
    @abc.abstractmethod
    def matrix_is_cheap(self) -> bool:
        """Whether a Gauss-Newton matrix costs little more than the cost alone."""

    @abc.abstractmethod
    def normal(self, X: Points) -> Normal:
        """The quadratic model around each point."""

    @abc.abstractmethod
    def cost(self, X: Points) -> Float[np.ndarray, " islands"]:
        """Of each point."""

    @functools.cached_property
    def bent(self) -> Bool[np.ndarray, " n"]:
        """Which entries of `x` are log-Cholesky numbers of bodies, so that quadratic models are good only nearby."""
        found = np.zeros(len(self.low), dtype=bool)
        for body in self.plan.parameters.bodies():
            found[body] = True
        return found
