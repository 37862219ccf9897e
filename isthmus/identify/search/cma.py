"""Evolution of a normal distribution by covariance matrix adaptation (Hansen), by the library `cma`: costs suffice.

For losses without useful derivatives, such as those with many impacts, and up to some ten numbers.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadOption, MissingExtra
from isthmus.identify.search.islands import Found, Team
from isthmus.identify.search.random_points import Box, draws
from isthmus.identify.search.rounds import AbstractRounds, refuse_count
from isthmus.identify.search.search import Listener, Points

FAILED_COST = 1e30
"""The cost of a point whose simulation failed, as the library sees it."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class CMAES(AbstractRounds):
    """CMA-ES, by asking and telling; a round is a generation.

    `population`: points of a generation; the library's choice unless given. `step`: standard deviation of the first
    generation, relative to the distance of the bounds. It begins at the first start; the starts of windows stay as
    they were measured.
    """

    default_rounds: ClassVar[int] = 300
    tracks_islands: ClassVar[bool] = False

    population: int | None = None
    step: float = dataclasses.field(default=0.25, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_count(population=4 if self.population is None else self.population)
        if (self.population is not None and self.population < 4) or not self.step > 0:
            raise BadOption("CMAES needs a population of at least 4, and a step above zero.")

    def begin(self, box: Box, starts: Points) -> Evolution:
        try:
            import cma
        except ModuleNotFoundError as missing:
            raise MissingExtra("cma", "cma", "CMAES") from missing
        m, width = box.moved, box.width[: box.moved]
        if m < 2:
            raise BadOption("CMAES needs two free numbers or more; take BasinHopping for one.")
        rng = draws(self.seed, 0, 0)
        options = {
            "bounds": [(box.low[:m] / width).tolist(), (box.high[:m] / width).tolist()],
            "randn": lambda *shape: rng.standard_normal(shape), "seed": np.nan, "verbose": -9,
        }  # fmt: skip
        if self.population is not None:
            options["popsize"] = self.population
        start = (box.start[:m] / width).tolist()
        return Evolution(cma.CMAEvolutionStrategy(start, self.step, options))

    def propose(self, box: Box, state: Evolution, turn: int) -> Points:
        m = box.moved
        state.asked = state.strategy.ask()
        X = np.repeat(box.start[None], len(state.asked), axis=0)
        X[:, :m] = np.clip(np.array(state.asked) * box.width[:m], box.low[:m], box.high[:m])
        return X

    def work(self, team: Team, points: Points, listen: Listener) -> Found:
        return team.costs(points)

    def absorb(self, box: Box, state: Evolution, found: Found) -> Evolution:
        state.strategy.tell(state.asked, np.minimum(found.cost, FAILED_COST).tolist())
        return state

    def finished(self, state: Evolution) -> bool:
        return bool(state.strategy.stop())


class Evolution:
    """The library's strategy, and the points it has asked about; they change in place."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy
        self.asked: list[np.ndarray] = []
