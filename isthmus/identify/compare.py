"""A fit with networks beside the same fit without them: held-out motion decides whether the networks help."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.identify.answer.comparison import Comparison, outside_of
from isthmus.identify.answer.quality import errors_of
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.logs.log import compared_rows, states_of
from isthmus.identify.problem import Problem
from isthmus.identify.search.search import AbstractSearch, Outcome, Status
from isthmus.phases import phase

LEAST_GAIN = 0.05
"""Share by which networks must lower the root mean square of held-out differences."""
ROUNDING = 1e-6
"""Differences, in units of the noise, that say nothing about a model."""


@dataclasses.dataclass(frozen=True)
class WithoutNetworks:
    """The search of a problem without its networks."""

    problem: Problem
    starts: np.ndarray
    outcome: Outcome

    @property
    def x(self) -> np.ndarray:
        """The best point."""
        return self.outcome.x[self.outcome.best]

    @property
    def stopped(self) -> bool:
        """Whether the user ended the search."""
        return self.outcome.status[self.outcome.best] is Status.INTERRUPTED

    @property
    def cost(self) -> float:
        """Its cost."""
        return float(self.outcome.cost[self.outcome.best])


def search_without_networks(
    problem: Problem, search: AbstractSearch, starts: np.ndarray
) -> WithoutNetworks:
    """The same search from the same starts, where nothing is free but the other numbers."""
    with phase("fitting without networks"):
        plain = problem.without_networks()
        weights = problem.parameters.is_weight()
        kept = np.concatenate([~weights, np.ones(starts.shape[1] - len(weights), bool)])
        first = starts[:, kept]
        evaluation = plain.evaluation
        if evaluation.size:
            return WithoutNetworks(plain, first, without_records(search).search(evaluation, first))
        cost = evaluation.cost(first)
        done = (Status.CONVERGED,) * len(first)
        return WithoutNetworks(plain, first, Outcome(first, cost, done, (float(cost[0]),), 1, 0.0))


def without_records(search: AbstractSearch) -> AbstractSearch:
    """The search without its file of records, which belongs to one problem."""
    if not hasattr(search, "store"):
        return search
    options: dict[str, Any] = {"store": None, "resume": False}
    return dataclasses.replace(search, **options)  # ty: ignore[invalid-argument-type]


def compared(problem: Problem, x: np.ndarray, plain: WithoutNetworks) -> Comparison:
    """The point `x` of a problem with networks beside what was found without them."""
    p, q = problem.parameters.size, plain.problem.parameters.size
    hybrid, physics = problem.heldout_evaluation, plain.problem.heldout_evaluation
    assert hybrid is not None
    assert physics is not None
    ours, theirs = (
        errors_of(evaluation, problem.sigma, z, z)
        for evaluation, z in ((hybrid, x[:p]), (physics, plain.x[:q]))
    )
    with_, without = _rms(hybrid, x[:p]), _rms(physics, plain.x[:q])
    helps = bool(with_ < (1.0 - LEAST_GAIN) * without - ROUNDING)
    return Comparison(
        {name: (theirs[name][1], ours[name][1]) for name in ours},
        helps,
        helps or problem.keep_networks,
        _outside(problem),
    )


def _rms(evaluation: Evaluation, x: np.ndarray) -> float:
    """Root mean square of the differences, in units of the noise; infinite where a simulation breaks down."""
    cost = float(evaluation.cost(x[None])[0])
    return float(np.sqrt(2.0 * cost / max(evaluation.data, 1))) if np.isfinite(cost) else np.inf


def _outside(problem: Problem) -> dict[str, tuple[int, int]]:
    """Rows of held-out motion outside of the range that each network has seen, and all rows that are compared."""
    model, channels = problem.template, () if problem.kind.simulates else problem.channels
    logs = problem.heldout_logs
    return outside_of(model, [states_of(log, compared_rows(model, log, channels)) for log in logs])
