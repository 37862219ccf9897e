"""Fits inside an experiment, which reports what matters of them itself."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.blas import on_one_thread
from isthmus.errors import FitWarning
from isthmus.identify.answer.quality import errors_of
from isthmus.identify.fit import Fit, default_search, fit, starting_points
from isthmus.identify.problem import Problem
from isthmus.identify.search.progress import progress
from isthmus.model.model import Model


def quiet_fit(
    problem: Problem, search: Any = None, *, start: Mapping[str, float] | None = None
) -> Fit:
    """A fit without progress and `FitWarning`: damping may end at zero, single weights are never determined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return fit(problem, search, start=start, verbose=False)


@dataclasses.dataclass(frozen=True)
class Values:
    """What a search found, without errors: those take longer than the search."""

    problem: Problem
    x: np.ndarray
    loss: float

    @property
    def model(self) -> Model:
        parameters = self.problem.parameters
        return parameters.model(self.x[: parameters.size])

    @property
    def numbers(self) -> dict[str, float]:
        """Estimates by name."""
        parameters = self.problem.parameters
        values = parameters.reported(self.x[: parameters.size])[0]
        return dict(zip(parameters.names, values.tolist(), strict=True))

    def error(self, channel: str) -> float:
        """Root mean square of what the simulation differs by."""
        evaluation = self.problem.evaluation
        return errors_of(evaluation, self.problem.sigma, evaluation.start, self.x)[channel][1]


def found_values(problem: Problem, start: Mapping[str, float] | None = None) -> Values:
    """The numbers that `fit` finds, from `start` (by name) or from where the problem starts."""
    with on_one_thread(), progress(problem.parameters, False) as bar:
        first = starting_points(problem, start)
        outcome = default_search(problem).search(problem.evaluation, first, bar)
    return Values(problem, outcome.x[outcome.best], float(outcome.cost[outcome.best]))
