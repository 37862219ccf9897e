"""Random points of a box, and random steps in it, for searches that begin at many places.

Every draw has a generator of its own, made of seed, round and island: it does not matter which process draws, or when.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation

Point = Float[np.ndarray, " n"]


@dataclasses.dataclass(frozen=True)
class Box:
    """Where a search may go. Only the first `moved` numbers are drawn: the starts of windows follow the parameters."""

    low: Point
    high: Point
    start: Point
    moved: int

    @staticmethod
    def of(evaluation: Evaluation, start: Point) -> Box:
        """The bounds of a problem."""
        moved = evaluation.size - evaluation.count * evaluation.own
        return Box(
            evaluation.low, evaluation.high, np.clip(start, evaluation.low, evaluation.high), moved
        )

    @property
    def bounded(self) -> np.ndarray:
        """Which numbers have two bounds."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    @property
    def width(self) -> Point:
        """Length scale of steps: from bound to bound, or else the size of the start, at least one unit of its scale."""
        span = np.where(self.bounded, self.high, 0.0) - np.where(self.bounded, self.low, 0.0)
        return np.where(self.bounded, span, np.maximum(1.0, np.abs(self.start)))

    def anywhere(self, rng: np.random.Generator) -> Point:
        """Evenly between two bounds; around the start where there are not two. Windows as measured."""
        share, far = rng.random(self.moved), rng.standard_normal(self.moved)
        m, bounded, width = self.moved, self.bounded[: self.moved], self.width[: self.moved]
        low = np.where(bounded, self.low[:m], 0.0)
        x = np.zeros_like(self.start)
        x[:m] = np.where(bounded, low + share * width, self.start[:m] + far * width)
        return self.inside(x)

    def near(self, x: Point, step: float, rng: np.random.Generator) -> Point:
        """A step of `step` widths, in a random direction."""
        moved = x.copy()
        moved[: self.moved] += step * (self.width[: self.moved] * rng.standard_normal(self.moved))
        return self.inside(moved)

    def inside(self, x: Point) -> Point:
        """Mirrored at the bounds, so that few points stick to them."""
        x = np.where(x < self.low, 2.0 * self.low - x, x)
        x = np.where(x > self.high, 2.0 * self.high - x, x)
        return np.clip(x, self.low, self.high)

    def apart(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The largest difference of two points, in widths; along the last axis."""
        m = self.moved
        return np.asarray(
            np.max(np.abs(a - b)[..., :m] / np.maximum(self.width[:m], 1e-300), axis=-1)
        )


def draws(seed: int, turn: int, island: int) -> np.random.Generator:
    """The random numbers of one island in one round."""
    return np.random.default_rng([seed, turn, island])


def first_points(box: Box, starts: np.ndarray, islands: int, seed: int) -> np.ndarray:
    """The given starts, and random points for the islands that are left."""
    count = max(islands, len(starts))
    random = [box.anywhere(draws(seed, 0, i)) for i in range(len(starts), count)]
    return np.stack([*starts, *random])
