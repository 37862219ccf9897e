"""A population of local searches: after each round the best are recombined and mutated, and every island starts from
one of their children (Heiden et al. 2021, *NeuralSim*, III-B)."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.identify.search.basin_hopping import SAME_MINIMUM
from isthmus.identify.search.islands import Found, Team
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.random_points import Box, draws, first_points
from isthmus.identify.search.rounds import AbstractRounds, refuse_count, refuse_no_step
from isthmus.identify.search.search import AbstractSearch, Listener, Points


@check_arguments
@dataclasses.dataclass(frozen=True)
class Population(AbstractRounds):
    """Many local searches whose starts are children of the best points so far.

    `parents`: how many different minima, the best ones, have children; half the islands unless given. `step`: size of
    a mutation, relative to the distance of the bounds.
    """

    local: AbstractSearch = dataclasses.field(default_factory=LevenbergMarquardt)
    islands: int = 8
    step: float = dataclasses.field(default=0.1, kw_only=True)
    parents: int | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_count(islands=self.islands, parents=1 if self.parents is None else self.parents)
        refuse_no_step(self.step)

    def begin(self, box: Box, starts: Points) -> Parents:
        X = first_points(box, starts, self.islands, self.seed)
        return Parents(X, np.full(len(X), np.inf), len(X))

    def propose(self, box: Box, state: Parents, turn: int) -> Points:
        if turn == 0:
            return state.X
        return np.stack([self._child(box, state, turn, i) for i in range(state.islands)])

    def _child(self, box: Box, state: Parents, turn: int, i: int) -> Float[np.ndarray, " n"]:
        rng = draws(self.seed, turn, i)
        if not len(state.X):
            return box.anywhere(rng)
        a, b = (len(state.X) * rng.random(2) ** 2).astype(int)  # the better, the more children
        child = state.X[a].copy()
        other = rng.random(box.moved) < 0.5
        child[: box.moved] = np.where(other, state.X[b, : box.moved], child[: box.moved])
        return box.near(child, self.step, rng)

    def work(self, team: Team, points: Points, listen: Listener) -> Found:
        return team.improve(self.local, points, listen)

    def absorb(self, box: Box, state: Parents, found: Found) -> Parents:
        X = np.concatenate([state.X, found.x])
        cost = np.concatenate([state.cost, found.cost])
        most = max(2, state.islands // 2) if self.parents is None else self.parents
        kept: list[int] = []
        for k in np.argsort(cost, kind="stable"):
            if len(kept) == most or np.isinf(cost[k]):
                break
            if np.all(box.apart(X[k], X[kept]) >= SAME_MINIMUM):
                kept.append(int(k))
        return Parents(X[kept], cost[kept], state.islands)


@dataclasses.dataclass(frozen=True)
class Parents:
    """The best minima so far, all different, the best first."""

    X: Float[np.ndarray, "parents n"]
    cost: Float[np.ndarray, " parents"]
    islands: int
