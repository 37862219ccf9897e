"""The weight penalty of a problem by cross-validation: held-out motion is never looked at.

A quarter of the rows of every fitted run, in two blocks, is set aside. Penalties are tried from strong to weak, each by
a search on the other rows; as long as the rows that were set aside are predicted better, the next one is tried. To go
on no further is what early stopping does for a search that has no penalty. Where the first one is as good as the best,
stronger ones follow. Of those that predict about equally well, the strongest is taken.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.problem import Problem
from isthmus.identify.search.search import AbstractSearch, Status
from isthmus.losses.penalties import huber
from isthmus.phases import phase

BLOCKS, EVERY = 8, 4
"""Each run is cut into so many blocks, of which each fourth is set aside."""
LADDER = tuple(10.0**-k for k in range(7))
"""Penalties, as multiples of the cost that a weight of one would have to save to be worth it."""
PATIENCE = 3
"""So many penalties in a row may predict worse than the best one."""
STRONGER = (10.0, 100.0, 1000.0)
"""Penalties that are tried as long as each predicts about as well as the best one."""
CLOSE = 1.05
"""Errors up to this times the least one are about equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tried:
    """A penalty and what it led to."""

    penalty: float
    error: float
    """Root mean square of the differences in the rows that were set aside, in units of the noise."""
    x: np.ndarray
    """The point that the search of the other rows found."""
    stopped: bool
    """Whether the user ended that search."""


def try_penalties(
    problem: Problem, search: AbstractSearch, starts: np.ndarray, plain_cost: float
) -> tuple[Tried, ...]:
    """The penalties that were tried, first the strongest of those that predict about as well as the best one.

    `plain_cost`: the lowest cost without networks; divided among all weights it sets the scale of the penalties.
    """
    weights = int(problem.parameters.is_weight().sum())
    unit = max(plain_cost, 1e-300) / weights
    aside = set_aside(problem)
    most = len(LADDER)
    one = lambda n, factor: _tried(
        problem, factor * unit, search, starts, aside, f"{n} of at most {most}"
    )
    tried: list[Tried] = []
    for n, factor in enumerate(LADDER, 1):
        tried.append(one(n, factor))
        best = int(np.argmin([t.error for t in tried]))
        if len(tried) - 1 - best >= PATIENCE or tried[-1].stopped:
            break
    for factor in STRONGER:
        if tried[0] not in _close(tried) or any(t.stopped for t in tried):
            break
        tried.insert(0, one(len(tried) + 1, factor))
    taken = max(_close(tried), key=lambda t: t.penalty)
    return (taken, *sorted((t for t in tried if t is not taken), key=lambda t: t.error))


def _close(tried: list[Tried]) -> list[Tried]:
    """Those that predict about as well as the best one."""
    least = min(t.error for t in tried)
    return [t for t in tried if t.error <= CLOSE * least]


def set_aside(problem: Problem) -> np.ndarray:
    """Which rows of each window are set aside, (windows, rows)."""
    windows, spans = problem.windows
    rows = np.arange(windows.weight.shape[1])
    place = [(s.first + rows) / len(problem.logs[s.run]) for s in spans]
    return np.floor(BLOCKS * np.stack(place)).astype(int) % EVERY == EVERY - 1


def _tried(
    problem: Problem,
    penalty: float,
    search: AbstractSearch,
    starts: np.ndarray,
    aside: np.ndarray,
    count: str,
) -> Tried:
    whole = problem.with_penalty(penalty).evaluation
    weight = whole.windows.weight
    part = whole.changed(weight=np.where(aside[..., None], 0.0, weight))
    rest = whole.changed(weight=np.where(aside[..., None], weight, 0.0))
    with phase(f"weight penalty {count}"):
        found = search.search(part, starts)
    x = found.x[found.best]
    return Tried(penalty, _error(rest, x), x, found.status[found.best] is Status.INTERRUPTED)


def _error(evaluation: Evaluation, x: np.ndarray) -> float:
    """Root mean square of the differences; infinite where the simulation breaks down."""
    r, _ = evaluation.residuals(x[None])
    with np.errstate(all="ignore"):
        total = float(np.sum(huber(r, evaluation.plan.huber)[0]))
    return float(np.sqrt(2.0 * total / max(evaluation.data, 1))) if np.isfinite(total) else np.inf
