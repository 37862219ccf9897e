"""Markers of a filmed double pendulum sit beside its axes: by how much, from lengths that should not change.

The pivot's marker is off its axis by `p`, the elbow's by `u` in the frame of the first link, the tip's by `w` in the
picture. A link's apparent length then changes with the angles (`l + p·e`, with `e` along the link), and its apparent
angle by the other component (`p·t / l`, with `t` across): the lengths tell what the angles suffer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

ROUNDS = 3
"""Fixed-point iterations that invert shifts of some thousandths of a radian to rounding."""


@dataclasses.dataclass(frozen=True)
class Markers:
    """Where markers are, in lengths of the link whose angle they spoil."""

    pivot: np.ndarray
    """(2,) of the first link: down and to the right, in the picture."""
    tip: np.ndarray
    """(2,) of the second link: down and to the right, in the picture."""
    elbow: np.ndarray
    """(2,) of the second link: along and across the first link."""

    def filmed(self, q: np.ndarray) -> np.ndarray:
        """Absolute angles (…, 2) as the camera has them, for true angles `q` (…, 2), the second relative [rad]."""
        absolute = np.cumsum(q, axis=-1)
        return absolute + self._shift(absolute)

    def true(self, q: np.ndarray) -> np.ndarray:
        """True angles (…, 2), the second relative, for filmed ones `q`, the second relative too [rad]."""
        seen = np.cumsum(q, axis=-1)
        found = seen
        for _ in range(ROUNDS):
            found = seen - self._shift(found)
        return np.stack([found[..., 0], found[..., 1] - found[..., 0]], axis=-1)

    def _shift(self, absolute: np.ndarray) -> np.ndarray:
        a, b = absolute[..., 0], absolute[..., 1]
        first = _across(self.pivot, a)
        second = (
            _across(self.tip, b) + self.elbow[0] * np.sin(a - b) + self.elbow[1] * np.cos(a - b)
        )
        return np.stack([first, second], axis=-1)


def as_they_are() -> Markers:
    """Markers on their axes."""
    return Markers(np.zeros(2), np.zeros(2), np.zeros(2))


def calibrate(runs: Sequence[np.ndarray]) -> Markers:
    """Markers for which the links' lengths change least; `runs` of pixels (rows, 6), as published; mean over runs."""
    found = [_one(np.asarray(pixels, dtype=np.float64)) for pixels in runs]
    mean = lambda part: np.mean([getattr(m, part) for m in found], axis=0)
    return Markers(mean("pivot"), mean("tip"), mean("elbow"))


def _one(pixels: np.ndarray) -> Markers:
    first, second = pixels[:, 2:4] - pixels[:, :2], pixels[:, 4:] - pixels[:, 2:4]
    a, b = (np.arctan2(way[:, 1], way[:, 0]) for way in (first, second))
    pivot = _slopes(first, [np.cos(a), np.sin(a)])
    rest = _slopes(second, [np.cos(b), np.sin(b), np.cos(a - b), -np.sin(a - b)])
    return Markers(pivot, rest[:2], rest[2:])


def _slopes(way: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
    """How a link's apparent length depends on the columns, in units of its mean."""
    length = np.hypot(way[:, 0], way[:, 1])
    table = np.stack([np.ones_like(length), *columns], axis=1)
    found = np.linalg.lstsq(table, length, rcond=None)[0]
    return found[1:] / found[0]


def _across(offset: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return offset[1] * np.cos(angle) - offset[0] * np.sin(angle)
