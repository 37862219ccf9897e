"""Numbers of a body from tosses: CMA-ES on the mean error of whole tosses, and cross-validation inside a part."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
from typing import Any

import numpy as np

from isthmus.errors import MissingExtra
from isthmus.experiments.tosses_body import Body, Number, Numbers, Simulate, Starts
from isthmus.experiments.tosses_data import Errors, Tosses
from isthmus.phases import in_turn

UNITS = 0.1, 10.0
"""Errors [widths, degrees] that weigh the same."""
PRIOR = 1e-3
"""Weight of the squared distance to the start, in first steps of the search."""
POPULATION = 16
AVERAGED = 0.3
"""Share of a search, its end, whose middles are averaged to what is found."""
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

    return at(evolved(cost, len(free), budget))


def evolved(cost: Any, size: int, budget: Budget) -> np.ndarray:
    """Where CMA-ES from zero ends: the middles of its last generations, averaged.

    Tosses are so sensitive that the best of many points is best by chance too.
    """
    try:
        import cma  # an extra
    except ModuleNotFoundError as missing:
        raise MissingExtra("cma", "cma", "the search of the tosses") from missing
    rng = np.random.default_rng(budget.seed)
    options = {
        "randn": lambda *shape: rng.standard_normal(shape), "seed": np.nan, "verbose": -9, "popsize": POPULATION,
    }  # fmt: skip
    strategy = cma.CMAEvolutionStrategy(np.zeros(size), 0.7, options)
    middles = [np.zeros(size)]
    for _ in range(budget.evaluations // POPULATION):
        points = strategy.ask()
        strategy.tell(points, [cost(z) for z in points])
        middles.append(np.array(strategy.mean))
    return np.mean(middles[-max(1, round(AVERAGED * (len(middles) - 1))) :], axis=0)


def around(free: dict[str, Number], found: Numbers) -> dict[str, Number]:
    """The free numbers, whose search starts from what was found, with smaller steps."""
    return {
        name: dataclasses.replace(n, start=found[name], scale=0.3 * n.scale)
        for name, n in free.items()
    }


@dataclasses.dataclass(frozen=True)
class Search:
    """A search of the numbers of one simulator, which other processes can run."""

    body: Body
    kind: str
    """Of contact, or `mujoco`."""
    tosses: Tosses
    budget: Budget
    found: Numbers | None = None
    """Where the search goes on from, with smaller steps."""
    network: str | None = None
    """Its weights are free too."""

    def run(self) -> Numbers:
        """The numbers found."""
        body, free = self.body, self.body.free_numbers(self.kind)
        if self.found is not None:
            free = around(free, self.found)
        if self.network is not None:
            weights = body.weights_of(self.kind, self.network)
            free |= {name: Number(w, WEIGHT_STEP) for name, w in weights.items()}
        return searched(body, self.simulator(), free, self.tosses, self.budget)

    def simulator(self) -> Simulate:
        """What the numbers are for."""
        if self.kind == "mujoco":
            return self.body.mujoco()
        return self.body.simulator(self.kind, self.network)


def run_all(searches: list[Search], workers: int, text: str) -> list[Numbers]:
    """What each search finds, in so many processes."""
    if workers > 1:
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
            return list(pool.map(Search.run, searches))
    return [search.run() for search in in_turn(searches, text)]


def folds(count: int, parts: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(tosses to fit, tosses to score), each toss scored once."""
    every = np.arange(count)
    return [(every[every % parts != k], every[every % parts == k]) for k in range(parts)]


def cross_validated(
    body: Body, kinds: tuple[str, ...], tosses: Tosses, parts: int, budget: Budget, workers: int
) -> tuple[dict[str, list[Numbers]], dict[str, Errors]]:
    """By kind: the numbers found without each part, and errors of all tosses by numbers that have not seen them."""
    split = folds(len(tosses), parts)
    searches = [Search(body, kind, tosses.pick(fit), budget) for kind in kinds for fit, _ in split]
    each = run_all(searches, workers, "cross-validation")
    found = {kind: each[parts * k : parts * (k + 1)] for k, kind in enumerate(kinds)}
    rows = budget.rows
    return found, {
        k: scored_folds(body, body.simulator(k, None), n, tosses, rows) for k, n in found.items()
    }


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
    body: Body, kind: str, networks: tuple[str, ...], found: list[Numbers], tosses: Tosses, budget: Budget, workers: int
) -> dict[str, Errors]:  # fmt: skip
    """Errors by cross-validation of searches that went on: without a network, and with each of them."""
    tried: list[str | None] = [None, *networks] if networks else []
    parts = [
        (numbers, tosses.pick(fit))
        for numbers, (fit, _) in zip(found, folds(len(tosses), len(found)), strict=True)
    ]
    searches = [
        Search(body, kind, part, budget, n, network) for network in tried for n, part in parts
    ]
    more = run_all(searches, workers, "networks")
    size = len(parts)
    return {
        network or "none": scored_folds(
            body,
            body.simulator(kind, network),
            more[size * k : size * (k + 1)],
            tosses,
            budget.rows,
        )
        for k, network in enumerate(tried)
    }


def interval(differences: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Mean of paired differences, and the bounds of its 95 % interval by resampling."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(differences), size=(2000, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return float(differences.mean()), float(low), float(high)
