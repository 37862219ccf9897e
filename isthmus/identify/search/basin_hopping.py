"""Monotonic basin hopping on islands: local searches from perturbed best points (Wales and Doye 1997; Leary 2000).

Each island keeps its best point. In every round it jumps away from it and searches from there; what is better is kept,
what is worse is forgotten. An island that has not improved for some rounds begins anew at a random point; the best of
all is never lost. All islands of a batch are one batch of native code: one call is one iteration of all of them.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from isthmus.entry import check_arguments
from isthmus.identify.search.islands import Found, Team
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.random_points import Box, draws, first_points
from isthmus.identify.search.rounds import AbstractRounds, refuse_count, refuse_no_step
from isthmus.identify.search.search import AbstractSearch, Listener, Points

SAME_MINIMUM = 1e-3
"""Minima that are closer than this, in widths of the box, are one."""
MIN_GAIN = 1e-6
"""A relative decrease of the cost below this is no improvement."""
WIDEN, NARROW = 1.5, 0.8


@check_arguments
@dataclasses.dataclass(frozen=True)
class BasinHopping(AbstractRounds):
    """Many local searches, each from a jump away from the best point of its island.

    `step`: length of the first jumps, relative to the distance of the bounds (to the size of the start, where there
    are not two). It adapts: where a search falls back into the minimum it came from, the next jump is wider; where it
    ends in a worse one, narrower. `patience`: rounds without improvement after which an island begins anew.
    """

    local: AbstractSearch = dataclasses.field(default_factory=LevenbergMarquardt)
    islands: int = 8
    step: float = dataclasses.field(default=0.1, kw_only=True)
    patience: int = dataclasses.field(default=10, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_count(islands=self.islands, patience=self.patience)
        refuse_no_step(self.step)

    def begin(self, box: Box, starts: Points) -> Islands:
        X = first_points(box, starts, self.islands, self.seed)
        count = len(X)
        return Islands(
            X, np.full(count, np.inf), np.zeros(count, dtype=np.int64), np.full(count, self.step)
        )

    def propose(self, box: Box, state: Islands, turn: int) -> Points:
        if turn == 0:
            return state.X
        return np.stack([self._jump(box, state, turn, i) for i in range(len(state.X))])

    def _jump(self, box: Box, state: Islands, turn: int, i: int) -> Float[np.ndarray, " n"]:
        rng = draws(self.seed, turn, i)
        if np.isinf(state.cost[i]):
            return box.anywhere(rng)
        return box.near(state.X[i], float(state.step[i]), rng)

    def work(self, team: Team, points: Points, listen: Listener) -> Found:
        return team.improve(self.local, points, listen)

    def absorb(self, box: Box, state: Islands, found: Found) -> Islands:
        new = np.isinf(state.cost)
        drop = np.where(new, np.inf, np.where(new, 0.0, state.cost) - found.cost)
        gained = np.isfinite(found.cost) & (new | (drop > MIN_GAIN * np.abs(state.cost)))
        better = found.cost < state.cost
        fell_back = box.apart(found.x, state.X) < SAME_MINIMUM
        factor = np.where(gained, 1.0, np.where(fell_back, WIDEN, NARROW))
        step = np.clip(state.step * factor, 0.25 * self.step, max(self.step, 1.0))
        stale = np.where(gained, 0, state.stale + 1)
        spent = stale >= self.patience
        return Islands(
            np.where(better[:, None], found.x, state.X),
            np.where(spent, np.inf, np.where(better, found.cost, state.cost)),
            np.where(spent, 0, stale),
            np.where(spent, self.step, step),
        )


@dataclasses.dataclass(frozen=True)
class Islands:
    """What each island builds on."""

    X: Points
    """Its best point since it began anew."""
    cost: Float[np.ndarray, " islands"]
    """Infinite: it begins anew at a random point."""
    stale: Int[np.ndarray, " islands"]
    """Rounds without improvement."""
    step: Float[np.ndarray, " islands"]
    """Length of its next jump."""
