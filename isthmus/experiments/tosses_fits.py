"""Numbers of a body from tosses: CMA-ES on the mean error of whole tosses, and cross-validation inside a part."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.errors import MissingExtra
from isthmus.experiments.tosses_body import Body, Number, Numbers, Simulate, Starts
from isthmus.experiments.tosses_data import Errors, Tosses

UNITS = 0.1, 10.0
"""Errors [widths, degrees] that weigh the same."""
PRIOR = 1e-3
"""Weight of the squared distance to the start, in first steps of the search."""
POPULATION = 16
WEIGHT_STEP = 0.3
"""First steps of weights."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """How many rollouts of all tosses of a part a search may take, and how many rows of them count."""

    evaluations: int
    rows: int
    seed: int


def predicted(
    body: Body, simulate: Simulate, numbers: Numbers, tosses: Tosses, starts: Starts | None
) -> np.ndarray:
    """`q` of all tosses, (tosses, rows, coordinates), from the first frame or from the flight."""
    q, v = body.first_frame(tosses) if starts is None else starts(simulate, numbers)
    return simulate(numbers, q, v, tosses.q.shape[1])


def cost_of(off: Errors) -> float:
    """One number for the errors of many tosses."""
    return float(np.mean(costs_of(off)))


def costs_of(off: Errors) -> np.ndarray:
    """One number for the errors of each toss."""
    return off[0] / UNITS[0] + off[1] / UNITS[1]


def searched(
    body: Body, simulate: Simulate, free: dict[str, Number], tosses: Tosses, budget: Budget
) -> Numbers:
    """The numbers with the least mean error from starts estimated in flight, within the budget."""
    part = tosses.pick(np.arange(len(tosses)), budget.rows)
    flight = body.flight(part)
    at = lambda z: {name: n.at(x) for (name, n), x in zip(free.items(), z, strict=True)}

    def cost(z: np.ndarray) -> float:
        off = body.errors(predicted(body, simulate, at(z), part, flight), part)
        return cost_of(off) + PRIOR * float(np.sum(np.square(z)))

    return at(_evolved(cost, len(free), budget))


def _evolved(cost: Any, size: int, budget: Budget) -> np.ndarray:
    """The best point of CMA-ES from zero; the middle of its last generation counts as one more."""
    try:
        import cma  # an extra
    except ModuleNotFoundError as missing:
        raise MissingExtra("cma", "cma", "the search of the tosses") from missing
    rng = np.random.default_rng(budget.seed)
    options = {
        "randn": lambda *shape: rng.standard_normal(shape), "seed": np.nan, "verbose": -9, "popsize": POPULATION,
    }  # fmt: skip
    strategy = cma.CMAEvolutionStrategy(np.zeros(size), 0.7, options)
    best, least = np.zeros(size), cost(np.zeros(size))
    for _ in range((budget.evaluations - 2) // POPULATION):
        points = strategy.ask()
        costs = [cost(z) for z in points]
        strategy.tell(points, costs)
        if min(costs) < least:
            best, least = np.array(points[int(np.argmin(costs))]), min(costs)
    middle = np.array(strategy.mean)
    return middle if cost(middle) < least else best


def around(free: dict[str, Number], found: Numbers) -> dict[str, Number]:
    """The free numbers, whose search starts from what was found, with smaller steps."""
    return {
        name: dataclasses.replace(n, start=found[name], scale=0.3 * n.scale)
        for name, n in free.items()
    }


def refined(
    body: Body, kind: str, network: str | None, found: Numbers, tosses: Tosses, budget: Budget
) -> Numbers:
    """The search goes on from `found`; with a network, its weights are free too."""
    free = around(body.free_numbers(kind), found)
    if network is not None:
        weights = body.weights_of(kind, network)
        free |= {name: Number(w, WEIGHT_STEP) for name, w in weights.items()}
    return searched(body, body.simulator(kind, network), free, tosses, budget)


def folds(count: int, parts: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(tosses to fit, tosses to score), each toss scored once."""
    every = np.arange(count)
    return [(every[every % parts != k], every[every % parts == k]) for k in range(parts)]


def cross_validated(
    body: Body, kind: str, tosses: Tosses, parts: int, budget: Budget
) -> tuple[list[Numbers], Errors]:
    """The numbers found without each part, and the errors of all tosses, each by numbers that have not seen it."""
    free, simulate = body.free_numbers(kind), body.simulator(kind, None)
    split = folds(len(tosses), parts)
    found = [searched(body, simulate, free, tosses.pick(fit), budget) for fit, _ in split]
    return found, scored_folds(body, simulate, found, tosses, budget.rows)


def scored_folds(
    body: Body, simulate: Simulate, found: list[Numbers], tosses: Tosses, rows: int
) -> Errors:
    """Errors of all tosses, each by the numbers of the fold that has not seen it."""
    off = np.zeros((2, len(tosses)))
    for numbers, (_, kept) in zip(found, folds(len(tosses), len(found)), strict=True):
        part = tosses.pick(kept, rows)
        q = predicted(body, simulate, numbers, part, body.flight(part))
        off[:, kept] = body.errors(q, part)
    return off[0], off[1]


def network_by_folds(
    body: Body, kind: str, networks: tuple[str, ...], found: list[Numbers], tosses: Tosses, budget: Budget
) -> dict[str, Errors]:  # fmt: skip
    """Errors by cross-validation of searches that went on: without a network, and with each of them."""
    out = {}
    split = folds(len(tosses), len(found))
    for network in (None, *networks) if networks else ():
        more = [
            refined(body, kind, network, numbers, tosses.pick(fit), budget)
            for numbers, (fit, _) in zip(found, split, strict=True)
        ]
        simulate = body.simulator(kind, network)
        out[network or "none"] = scored_folds(body, simulate, more, tosses, budget.rows)
    return out


def interval(differences: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Mean of paired differences, and the bounds of its 95 % interval by resampling."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(differences), size=(2000, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return float(differences.mean()), float(low), float(high)
