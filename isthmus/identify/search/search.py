"""`AbstractSearch`, its argument (a batch of starts) and its result (`Outcome`)."""

from __future__ import annotations

import abc
import dataclasses
import enum
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.abstract_evaluation import AbstractEvaluation
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.as_dict import as_dict

Points = Float[np.ndarray, "islands n"]


class Status(enum.Enum):
    """How a search ended; the value is what to do about it."""

    CONVERGED = "converged"
    OUT_OF_STEPS = "the step budget ran out: raise `steps`, or start closer"
    NOT_FINITE = (
        "the loss is not finite here: shorten the windows or the time step, or tighten the bounds"
    )
    AT_EDGE = "stopped at an edge of what bodies can be: start from bodies of about the right size, or give a prior"
    NO_DERIVATIVES = (
        "stopped where derivatives are of no use: shorten the windows, or start elsewhere"
    )
    INTERRUPTED = "stopped by the user; this is the best so far"


@dataclasses.dataclass(frozen=True)
class News:
    """What a search reports while it runs."""

    step: int
    steps: int
    cost: float
    """The best so far."""
    x: np.ndarray
    """The point of that cost."""
    note: str = ""
    """A note for users, such as the round."""


Listener = Callable[[News], None]


def silent(news: News) -> None:
    """Ignores the news."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Where a batch of starts led."""

    x: Points
    cost: Float[np.ndarray, " islands"]
    status: tuple[Status, ...]
    history: tuple[float, ...]
    """The best cost after each step."""
    evaluations: int
    seconds: float
    islands: tuple[tuple[float, ...], ...] = ()
    """The best cost of each island after each step; empty where there is one."""

    @property
    def best(self) -> int:
        """The island with the lowest cost."""
        return int(np.argmin(np.where(np.isfinite(self.cost), self.cost, np.inf)))


class AbstractSearch(abc.ABC):
    """A search for lower costs. Searches that wrap others have them as fields."""

    @abc.abstractmethod
    def search(self, evaluation: Evaluation, starts: Points, listen: Listener = silent) -> Outcome:
        """Improves every row of `starts`; never leaves the bounds of `evaluation`."""

    def settings(self, outcome: Outcome) -> dict[str, Any]:
        """The search that led to `outcome`, as plain data."""
        return as_dict(self)


class Diary:
    """The best point of a running search: reported, kept if the user stops it, and written into the outcome."""

    def __init__(self, evaluation: AbstractEvaluation, steps: int, listen: Listener) -> None:
        self.evaluation, self.steps, self.listen = evaluation, steps, listen
        self.began, self.before = time.perf_counter(), evaluation.evaluations
        self.history: list[float] = []
        self.best, self.x = np.inf, None
        self.costs: list[np.ndarray] = []

    def write(self, X: Points, cost: np.ndarray) -> None:
        """One step has been made."""
        k = int(np.argmin(np.where(np.isfinite(cost), cost, np.inf)))
        if self.x is None or cost[k] < self.best:
            self.best, self.x = float(cost[k]), X[k].copy()
        self.history.append(self.best)
        self.costs += [np.array(cost)] if len(cost) > 1 else []
        self.listen(News(len(self.history) - 1, self.steps, self.best, self.x))

    def close(self, X: Points, cost: np.ndarray, status: list[Status]) -> Outcome:
        """The outcome."""
        used = self.evaluation.evaluations - self.before
        seconds, islands = time.perf_counter() - self.began, best_of_each(self.costs)
        return Outcome(X, cost, tuple(status), tuple(self.history), used, seconds, islands)


def best_of_each(costs: list[np.ndarray]) -> tuple[tuple[float, ...], ...]:
    """The lowest cost so far of each island, from the costs of all after each step."""
    if not costs:
        return ()
    return tuple(tuple(island.tolist()) for island in np.fmin.accumulate(np.stack(costs)).T)
