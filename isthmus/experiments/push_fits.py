"""Numbers of pushes: Levenberg-Marquardt on whole paths, derivatives by differences in lanes, and cross-validation."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from isthmus.experiments import push_model, push_quasistatic
from isthmus.experiments.push_average import Averaged, Parts
from isthmus.experiments.push_data import UNITS, Pushes, squares
from isthmus.experiments.push_model import weights_of
from isthmus.experiments.push_tip import calibrated
from isthmus.experiments.tosses_model import Number
from isthmus.identify.evaluate.abstract_evaluation import AbstractEvaluation, Normal
from isthmus.identify.evaluate.dense_matrix import Dense
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt

DIFFERENCE = 0.05
"""Step of a derivative, in first steps of the search."""
PRIOR = 0.03
"""Weight of the distance of shared numbers from their starts, in first steps of the search."""
EVERY = 4
"""Of the rows that are compared, a search takes one in so many."""
WEIGHT_STEP, WEIGHTS = 0.3, 0.3
"""First step of a weight of a network, and the weight of its distance from its start."""
SLIPPERY = 0.6
"""A second search starts with so much of the friction at the tip: whether the tip sticks or slides decides where a
search ends."""

Numbers = dict[str, float]
Batch = dict[str, np.ndarray]
Learned = Numbers | Averaged
"""What a simulator has learned from pushes."""
Predict = Callable[[Pushes, Batch], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Line:
    """A simulator of pushes: what is free, and how strongly each number is held at its start."""

    name: str
    network: str | None = None
    quasistatic: bool = False

    @property
    def predict(self) -> Predict:
        """Poses (points, pushes, ROWS, 3) from numbers with an array for each."""
        if self.quasistatic:
            return push_quasistatic.predict
        return functools.partial(push_model.predict, network=self.network)

    def free(self) -> dict[str, tuple[Number, float]]:
        """The free numbers, and the weight of each one's distance from its start."""
        shared = push_quasistatic.NUMBERS if self.quasistatic else push_model.NUMBERS
        found = {name: (number, PRIOR) for name, number in shared.items()}
        if self.network is not None:
            found |= {
                name: (Number(w, WEIGHT_STEP), WEIGHTS) for name, w in weights_of(self.network).items()
            }  # fmt: skip
        return found


class Paths(AbstractEvaluation):
    """Half the mean square of the errors of pushes, and of the distance of the numbers from their starts."""

    def __init__(
        self, line: Line, free: dict[str, tuple[Number, float]], tip: Numbers, pushes: Pushes
    ) -> None:
        self.tip = tip
        self.line, self.numbers, self.pushes = line, {n: x for n, (x, _) in free.items()}, pushes
        self.weight = np.array([weight for _, weight in free.values()])
        self.evaluations = 0

    @property
    def low(self) -> np.ndarray:
        return np.array([_coordinate(n, n.low) for n in self.numbers.values()])

    @property
    def high(self) -> np.ndarray:
        return np.array([_coordinate(n, n.high) for n in self.numbers.values()])

    @property
    def data(self) -> int:
        return 3 * len(self.pushes)

    @property
    def matrix_is_cheap(self) -> bool:
        return False

    @functools.cached_property
    def bent(self) -> np.ndarray:
        return np.zeros(len(self.numbers), dtype=bool)

    def at(self, Z: np.ndarray) -> Batch:
        """The numbers at points (points, n) of the search, and those of the tip."""
        return {name: np.full(len(Z), x) for name, x in self.tip.items()} | {
            name: np.array([number.at(z) for z in Z[:, k]])
            for k, (name, number) in enumerate(self.numbers.items())
        }

    def residuals(self, Z: np.ndarray) -> np.ndarray:
        """(points, …); half the sum of their squares is the cost."""
        self.evaluations += len(Z)
        off = (self.line.predict(self.pushes, self.at(Z)) - self.pushes.objects)[:, :, ::EVERY]
        off = np.clip(np.nan_to_num(off, nan=1.0), -1.0, 1.0)
        units = np.array([1e3 / UNITS[0] / 2**0.5] * 2 + [np.degrees(1.0) / UNITS[1]])
        off = off * units / np.sqrt(off.shape[1] * off.shape[2])
        return np.concatenate([off.reshape(len(Z), -1), self.weight * Z], axis=1)

    def cost(self, X: np.ndarray) -> np.ndarray:
        return 0.5 * np.sum(np.square(self.residuals(X)), axis=1)

    def normal(self, X: np.ndarray) -> Normal:
        n = X.shape[1]
        sign = np.where(self.high < X + DIFFERENCE, -DIFFERENCE, DIFFERENCE)
        moved = X[:, None] + np.concatenate([np.zeros((1, n)), np.eye(n)]) * sign[:, None]
        found = self.residuals(moved.reshape(-1, n)).reshape(len(X), n + 1, -1)
        r = found[:, 0]
        J = (found[:, 1:] - r[:, None]) / sign[:, :, None]
        cost = 0.5 * np.sum(np.square(r), axis=1)
        return Normal(cost, np.einsum("inm,im->in", J, r), Dense(np.einsum("inm,ikm->ink", J, J)))


def _coordinate(number: Number, value: float) -> float:
    """Where in the search a number has this value."""
    if not np.isfinite(value):
        return value
    return (np.log(value / number.start) if number.log else value - number.start) / number.scale


def fitted(line: Line, pushes: Pushes, steps: int, start: Numbers | None = None) -> Numbers:
    """Numbers of the tip as measured, and those that follow these pushes best, from those of a simpler line.

    Without a network, the better of two searches.
    """
    free = line.free()
    given = start or {}
    sticky = {name: given.get(name, number.start) for name, (number, _) in free.items()}
    friction = "friction" if line.quasistatic else "tip_friction"
    paths = Paths(line, free, calibrated(pushes), pushes)
    starts = [sticky, {**sticky, friction: SLIPPERY * sticky[friction]}][: 1 if line.network else 2]
    Z = np.array([[_coordinate(free[n][0], x) for n, x in numbers.items()] for numbers in starts])
    outcome = LevenbergMarquardt(steps=steps, tolerance=1e-5).search(paths, Z)
    return {name: float(x[outcome.best]) for name, x in paths.at(outcome.x).items()}


def predicted(line: Line, learned: Learned, pushes: Pushes) -> np.ndarray:
    """Poses (pushes, ROWS, 3)."""
    if isinstance(learned, Averaged):
        return learned.predict(pushes)
    return line.predict(pushes, {name: np.array([x]) for name, x in learned.items()})[0]


def folds(pushes: Pushes, parts: int, seed: int = 0) -> Parts:
    """Each push is scored once, and each series is spread over the folds, drawn at random."""
    rng = np.random.default_rng(seed)
    series = np.array(pushes.series)
    order = [rng.permutation(np.flatnonzero(series == name)) for name in sorted(set(series))]
    fold = np.empty(len(pushes), dtype=int)
    fold[np.concatenate(order)] = np.arange(len(pushes)) % parts
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(parts)]


def by_shape(pushes: Pushes) -> Parts:
    """Each shape left out in turn; of a single shape, none."""
    if len(pushes.kinds) < 2:
        return []
    own = [pushes.of([name]) for name in pushes.kinds]
    return [(np.setdiff1d(np.arange(len(pushes)), score), score) for score in own]


def cross_validated(
    line: Line, pushes: Pushes, parts: Parts, steps: int, starts: Sequence[Numbers | None]
) -> tuple[list[Numbers], np.ndarray]:  # fmt: skip
    """The numbers found for each of the parts, and mean squares (pushes, 2) of pushes that they have not seen."""
    found, off = [], np.zeros((len(pushes), 2))
    for (fit, score), start in zip(parts, starts, strict=True):
        numbers = fitted(line, pushes.pick(fit), steps, start)
        part = pushes.pick(score)
        off[score] = squares(predicted(line, numbers, part), part)
        found.append(numbers)
    return found, off
