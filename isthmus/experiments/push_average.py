"""The mean path of a push over all numbers that recorded pushes leave open, by Bayes' rule on a grid.

Three numbers decide a path: the friction at the tip and the speed within which it is smoothed, which all pushes share,
and how near to the rim the load is, which scatters: from series to series about a middle that all share, and from push
to push about that of its series. Where a tip may stick or slide, a path ends in one of two ways, and the mean over what
is possible is closer to it, on average, than either. The paths of all points of the grid run side by side in native
lanes, once; whatever is left out after that, only the weights of the points change.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from isthmus.experiments import push_model
from isthmus.experiments.push_data import Pushes, costs, squares
from isthmus.experiments.push_tip import calibrated

FRICTIONS = np.array([0.10, 0.14, 0.17, 0.20, 0.23, 0.26, 0.29, 0.33, 0.40])
SPEEDS = np.array([0.003, 0.01, 0.03])
"""Of the tip [m/s]."""
PLACES = np.linspace(-3.4, 3.4, 17)
"""Where the load is, in steps that turn an object about equally further: from all in the middle to all at the rim."""
ROUND = 0.6
"""`spread = ROUND sinh(place)`."""
NEW = ""
"""Stands for a series that was not learned from."""
LIGHT = 1e-4
"""Points with less weight are left out."""
TINY = 1e-300

Batch = dict[str, np.ndarray]
Weights = dict[str, np.ndarray]
"""Of each series and of a new one: how much each point of the grid counts, (shared, places)."""
Parts = list[tuple[np.ndarray, np.ndarray]]


class Scatter(NamedTuple):
    """How far a path may be from its push, and how much the load scatters."""

    noise: float
    """Mean square of the errors of paths, in their units."""
    push: float
    """Standard deviation of the places of pushes about that of their series."""
    series: float
    """Standard deviation of the places of series about that of all."""


SCATTERS = tuple(
    Scatter(*x) for x in itertools.product((0.5, 1.0, 2.0), (0.1, 0.3, 0.6, 1.0), (1.0, 2.0, 4.0))
)
"""What is thought possible."""


@dataclasses.dataclass(frozen=True)
class Averaged:
    """Points with weights: the prediction is the mean of their paths."""

    numbers: Batch
    """Of each point."""
    weights: Weights
    """(points,) of each series, and of a new one."""

    def predict(self, pushes: Pushes) -> np.ndarray:
        """Poses (pushes, ROWS, 3)."""
        poses = push_model.predict(pushes, self.numbers)
        return np.stack([
            np.tensordot(self._of(series), poses[:, i], axes=1)
            for i, series in enumerate(pushes.series)
        ])  # fmt: skip

    def _of(self, series: str) -> np.ndarray:
        return self.weights.get(series, self.weights[NEW])

    def likeliest(self, series: str) -> dict[str, float]:
        """The numbers of the point that counts most."""
        best = int(np.argmax(self._of(series)))
        return {name: float(x[best]) for name, x in self.numbers.items()}

    def means(self) -> dict[str, float]:
        """The mean of each number, and of the spread of the load of each series."""
        new = self.weights[NEW]
        found = {name: float(new @ x) for name, x in self.numbers.items()}
        spread = self.numbers["spread"]
        return found | {
            f"spread of {name}": float(w @ spread) for name, w in self.weights.items() if name != NEW
        }  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Lists, for a file."""
        listed = lambda found: {name: x.tolist() for name, x in found.items()}
        return {"numbers": listed(self.numbers), "weights": listed(self.weights)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Averaged:
        """What `plain` gave."""
        arrays = lambda found: {name: np.asarray(x, np.float64) for name, x in found.items()}
        return cls(arrays(plain["numbers"]), arrays(plain["weights"]))


@dataclasses.dataclass(frozen=True)
class Grid:
    """Some pushes with the numbers of all points."""

    pushes: Pushes
    numbers: Batch
    """(points,) each: the places of the load change first."""
    poses: np.ndarray
    """(shared, places, pushes, ROWS, 3)."""
    costs: np.ndarray
    """(shared, places, pushes)."""

    def averaged(self, scatters: Sequence[Scatter]) -> Averaged:
        """The points with their weights, as learned from all the pushes."""
        weights = {
            name: w.ravel() for name, w in weighed(self.costs, self.pushes.series, scatters).items()
        }
        kept = np.max(list(weights.values()), axis=0) > LIGHT
        numbers = {name: x[kept] for name, x in self.numbers.items()}
        return Averaged(numbers, {name: w[kept] / w[kept].sum() for name, w in weights.items()})

    def left_out(self, parts: Parts, scatters: Sequence[Scatter]) -> np.ndarray:
        """Mean squares (pushes, 2) of the pushes of each part by what the others of it say."""
        off = np.zeros((len(self.pushes), 2))
        for fit, score in parts:
            some = self.pushes.pick(score)
            learned = weighed(self.costs[..., fit], self.pushes.pick(fit).series, scatters)
            made = [
                np.tensordot(learned.get(series, learned[NEW]), self.poses[:, :, i])
                for i, series in zip(score, some.series, strict=True)
            ]
            off[score] = squares(np.stack(made), some)
        return off


def gridded(pushes: Pushes, quick: bool = False) -> Grid:
    """The paths of pushes with all numbers, and how far they are off; `quick`: with few."""
    coarse = 2 if quick else 1
    axes = FRICTIONS[::coarse], SPEEDS[:: 2 * coarse - 1], PLACES[::coarse]
    friction, speed, place = (x.ravel() for x in np.meshgrid(*axes, indexing="ij"))
    start = {name: number.start for name, number in push_model.NUMBERS.items()}
    same = {name: np.full(len(place), x) for name, x in {**start, **calibrated(pushes)}.items()}
    own = {"tip_friction": friction, "tip_speed": speed, "spread": ROUND * np.sinh(place)}
    numbers = same | own
    poses = push_model.predict(pushes, numbers)
    off = np.stack([costs(squares(q, pushes)) for q in poses])
    shape = len(place) // len(axes[2]), len(axes[2])
    return Grid(pushes, numbers, poses.reshape(*shape, *poses.shape[1:]), off.reshape(*shape, -1))


def weighed(off: np.ndarray, series: Sequence[str], scatters: Sequence[Scatter]) -> Weights:
    """The weights of the points by costs (shared, places, pushes), over all scatters by their evidence."""
    found = [_posterior(off, np.array(series), scatter) for scatter in scatters]
    evidence = np.array([x for x, _ in found])
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    return {
        name: sum(s * weights[name] for s, (_, weights) in zip(share, found, strict=True))
        for name in found[0][1]
    }


def _posterior(off: np.ndarray, series: np.ndarray, scatter: Scatter) -> tuple[float, Weights]:
    """The logarithm of the evidence of a scatter, and the weights that it gives.

    `places | middle` and `push | place` are matrices of normal distributions; columns sum to one.
    """
    places = np.linspace(PLACES[0], PLACES[-1], off.shape[1])
    about, own = (_normal(places, width) for width in (scatter.series, scatter.push))
    each = np.einsum("fmn,ms->fsn", np.exp(-0.5 * off / scatter.noise), own)
    each = np.log(each + TINY) - 1.5 * np.log(scatter.noise)  # errors of x, y and the angle
    shared, beliefs = np.zeros(off.shape[:2]), {}
    for name in sorted(set(series)):
        likely = each[..., series == name].sum(axis=-1)
        top = likely.max()
        place = np.exp(likely - top)
        middle = place @ about + TINY
        shared += np.log(middle) + top
        beliefs[name] = place, middle
    top = shared.max()
    shared = np.exp(shared - top)
    evidence = float(np.log(shared.sum()) + top)
    shared /= shared.sum()
    weights = {
        name: place * ((shared / middle) @ about.T) for name, (place, middle) in beliefs.items()
    }
    weights[NEW] = shared @ about.T
    return evidence, {name: (w / w.sum()) @ own.T for name, w in weights.items()}


def _normal(places: np.ndarray, width: float) -> np.ndarray:
    """How likely each place is (rows) about each middle (columns)."""
    near = np.exp(-0.5 * np.square((places[:, None] - places[None]) / width))
    return near / near.sum(axis=0)
