"""Forward mode, reverse mode and differences of any function, number by number, with a verdict for each group.

Differences are central, at two widths, and extrapolated (Richardson). Where they disagree with the derivative,
one-sided differences tell a kink (they differ, however narrow) from a wrong derivative.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping

import numpy as np
from jax.flatten_util import ravel_pytree

from isthmus.types import AnyArray, Scalar
from isthmus.verify.evaluators import Evaluator, evaluator

SHARE = 1e-4
"""Width of differences, by the typical size of a group's numbers."""
NARROWER = (1 / 30, 1 / 1000)
"""Widths, by the first one, at which doubtful differences are taken again."""


class Verdict(enum.Enum):
    """What is said of a group of numbers."""

    AGREES = "agrees"
    NO_EFFECT = "no effect"
    KINK = "kink here"
    WRONG = "WRONG"


@dataclasses.dataclass(frozen=True)
class Row:
    """A group of numbers: its verdict, and the number in it that agrees least."""

    name: str
    verdict: Verdict
    index: tuple[int, ...]
    forward: float | None
    """None: a function with a `custom_vjp` has no forward mode."""
    reverse: float
    difference: float
    error: float
    """Largest disagreement of the group, relative to `max(|difference|, typical loss / typical number)`."""


@dataclasses.dataclass(frozen=True)
class _Probe:
    """What was measured at each number: derivatives, and values of `f` a step to either side."""

    forward: np.ndarray
    reverse: np.ndarray
    up: np.ndarray
    down: np.ndarray
    half_up: np.ndarray
    half_down: np.ndarray
    width: np.ndarray
    rest: float

    def take(self, rows: np.ndarray) -> _Probe:
        picked = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "rest"
        }
        return _Probe(**{name: value[rows] for name, value in picked.items()}, rest=self.rest)

    def put(self, rows: np.ndarray, other: _Probe) -> _Probe:
        changed = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name != "rest":
                value = value.copy()
                value[rows] = getattr(other, field.name)
            changed[field.name] = value
        return _Probe(**changed)

    def better(self, other: _Probe) -> _Probe:
        """Number by number, the one whose differences agree more closely with themselves."""
        pick = np.abs(other.central - other.fine) < np.abs(self.central - self.fine)
        mixed = {
            f.name: np.where(pick, getattr(other, f.name), getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name != "rest"
        }
        return _Probe(**mixed, rest=self.rest)

    @property
    def fine(self) -> np.ndarray:
        """Central differences of half the width."""
        return (self.half_up - self.half_down) / self.width

    @property
    def central(self) -> np.ndarray:
        """Central differences, extrapolated."""
        return (4.0 * self.fine - (self.up - self.down) / (2.0 * self.width)) / 3.0

    def gap(self, half: bool) -> np.ndarray:
        """How far the slopes to either side differ: it halves with the width, unless there is a kink."""
        up, down = (self.half_up, self.half_down) if half else (self.up, self.down)
        return np.abs(up + down - 2.0 * self.rest) / (self.width * (0.5 if half else 1.0))


def compare(
    f: Callable[[dict[str, AnyArray]], Scalar],
    at: Mapping[str, AnyArray],
    *,
    widths: Mapping[str, float] | None = None,
    tolerance: float = 1e-6,
) -> list[Row]:
    """Derivatives of `f` by every number of `at`, group by group; float64 must be on.

    `widths` bounds the step of differences in a group. Numbers that are not finite are left out.
    """
    groups = {name: np.asarray(at[name], np.float64) for name in sorted(at) if np.size(at[name])}
    x, unravel = ravel_pytree(groups)
    owner = np.repeat(np.arange(len(groups)), [group.size for group in groups.values()])
    movable = np.flatnonzero(np.isfinite(x))
    width = _widths(groups, widths or {})[movable]
    run = evaluator(lambda vector: f(unravel(vector)), np.asarray(x))
    probe = _measure(run, np.asarray(x), movable, width, tolerance)
    rows = []
    for k, (name, group) in enumerate(groups.items()):
        mine = np.flatnonzero(owner[movable] == k)
        if mine.size:
            first = int(np.argmax(owner == k))
            places = [np.unravel_index(n - first, group.shape) for n in movable[mine]]
            row = _row(name, probe.take(mine), typical(group), tolerance, places)
            rows.append(row if run.has_forward else dataclasses.replace(row, forward=None))
    return rows


def _measure(
    run: Evaluator, x: np.ndarray, movable: np.ndarray, width: np.ndarray, tolerance: float
) -> _Probe:
    """Derivatives and shifted values; without a forward mode, reverse mode stands in for it.

    Where derivatives and differences disagree, the differences are taken again: narrower, and at last at a share
    of each number's own size, which may be far from that of its group.
    """
    rest, reverse = run.reverse(x)
    reverse = reverse[movable]
    forward = run.forward(x, movable) if run.has_forward else reverse
    own = SHARE * np.abs(x[movable])

    def probe(rows: np.ndarray, width: np.ndarray) -> _Probe:
        values = [run.shifted(x, movable[rows], s * width) for s in (1.0, -1.0, 0.5, -0.5)]
        return _Probe(forward[rows], reverse[rows], *values, width, rest)

    found = probe(np.arange(len(movable)), width)
    for again in (*(share * width for share in NARROWER), np.where(own > 0.0, own, width)):
        size = np.maximum(np.abs(found.central), np.abs(forward))
        doubtful = np.flatnonzero(~(np.abs(forward - found.central) <= tolerance * size))
        if doubtful.size:
            better = found.take(doubtful).better(probe(doubtful, again[doubtful]))
            found = found.put(doubtful, better)
    return found


def typical(values: np.ndarray) -> float:
    """The size of a group's numbers: their root mean square, or 1 where all are zero."""
    finite = np.asarray(values)[np.isfinite(values)]
    size = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
    return size if size > 1e-9 else 1.0


def _widths(groups: Mapping[str, np.ndarray], bounds: Mapping[str, float]) -> np.ndarray:
    """Step of the differences for each number: a share of the group's typical size."""
    steps = {
        name: min(SHARE * typical(group), bounds.get(name, np.inf))
        for name, group in groups.items()
    }
    return np.concatenate([np.full(group.size, steps[name]) for name, group in groups.items()])


def _row(name: str, p: _Probe, size: float, tolerance: float, places: list) -> Row:
    """The verdict on one group, from what was measured at each of its numbers."""
    loss = max(abs(p.rest), 1e-12)
    scale = np.maximum(np.abs(p.central), loss / size)
    off, apart = np.abs(p.forward - p.central) / scale, np.abs(p.forward - p.reverse) / scale
    rough = np.abs(p.central - p.fine) / scale + 4.0 * np.finfo(float).eps * loss / (
        p.width * scale
    )
    trusted = np.where(rough < 1e-2, 3.0 * rough, 0.0)  # differences are no better than this
    bad = ~(off <= tolerance + trusted) | ~(apart <= tolerance)

    half = p.gap(half=True)
    between = np.abs(p.forward - p.central) <= 0.51 * half + tolerance * scale
    kink = bad & (apart <= tolerance) & between & (half > 0.75 * p.gap(half=False))
    kink &= half > tolerance * scale
    wrong = bad & ~kink

    moves = np.abs(np.stack([p.forward, p.reverse, p.central])) > 1e-13 * loss / size
    worst = int(np.argmax(2.0 * wrong + 1.0 * kink + np.minimum(off, 0.9)))
    return Row(
        name,
        Verdict.WRONG if wrong.any() else Verdict.KINK if kink.any()
        else Verdict.AGREES if moves.any() else Verdict.NO_EFFECT,
        tuple(int(n) for n in places[worst]),
        float(p.forward[worst]), float(p.reverse[worst]), float(p.central[worst]),
        float(np.max(np.maximum(off, apart))),
    )  # fmt: skip
