"""The judge of the pendulum study: films, open-loop predictions, and starts from the filter or by the model.

Start states by the protocol come from a Savitzky-Golay filter over 41 frames. A model can read the same frames better:
it starts at the first of them, where it agrees best with all of them (Gauss-Newton over angles and velocities).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.signal import savgol_filter

from isthmus.experiments.pendulum_markers import Markers
from isthmus.experiments.starts import estimated_starts
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.motion.motion import Motion
from isthmus.simulate.many import rollout_many

FRAME = 1.0 / 400.0
"""Frame time as published [s]."""
HORIZONS = (25, 50, 100, 200)
SPACING = 25
"""Frames from start to start where many are judged: at 200 frames a few of the protocol's decide."""
HALF, ORDER = 20, 7
"""Frames on either side of a start that it is estimated from; order of the filter."""
DOUBT, DOUBT_SUPPORT = (2e-3, 0.5), (2e-5, 2e-3)
"""How far the filter's angles [rad] and velocities [rad/s, frames as published] may be off; a support may be off its
middle [m, m/s]."""
NOISE = 1.5e-3
"""Of filmed angles [rad]."""


@dataclasses.dataclass(frozen=True)
class Film:
    """A run: filmed angles, and smooth true ones."""

    seen: np.ndarray
    """Absolute angles (rows, 2) as filmed [rad]."""
    q: np.ndarray
    v: np.ndarray
    """Relative angles (rows, 2) [rad] without what the markers add, smoothed, and their slopes [rad / 400th of a s]."""

    def motion(self, first: int, last: int, offset: np.ndarray) -> Motion:
        """Rows `first` … `last` as a log."""
        q, v = self.q[first:last] - offset, self.v[first:last]
        return Motion(FRAME * np.arange(len(q)), q, v)


@dataclasses.dataclass(frozen=True)
class Found:
    """A model, what its camera adds, and its errors."""

    model: Model
    markers: Markers
    offset: np.ndarray
    numbers: dict[str, Any]
    errors: tuple[float, ...]
    example: np.ndarray
    """Absolute angles of one prediction (201, 2) [rad]."""
    many: tuple[float, ...]
    """Errors from a start every `SPACING` frames."""
    by_model: tuple[float, ...]
    many_by_model: tuple[float, ...]
    """The same two where the model estimates its own starts."""


def films(runs: Sequence[Motion], markers: Markers) -> list[Film]:
    """Angles as filmed; true ones, smoothed as the protocol says (Savitzky and Golay, 41 frames, order 7)."""
    out = []
    for motion in runs:
        seen = np.asarray(motion.q)
        q = markers.true(seen)
        smooth = lambda x, **k: savgol_filter(x, 2 * HALF + 1, ORDER, axis=0, **k)
        out.append(Film(np.cumsum(seen, axis=1), smooth(q), smooth(q, deriv=1, delta=FRAME)))
    return out


def judge(
    films: list[Film],
    model: Model,
    markers: Markers,
    offset: np.ndarray,
    numbers: dict[str, Any],
) -> Found:
    """Open-loop errors on films: by the protocol, from a start every 400 frames, and from many more; both starts."""
    places = places_of(films, 400)
    own = lambda every, by_model: predicted(films, model, markers, offset, every, by_model)
    angles, off = own(400, False)
    example = places.index((len(films) - 1, start_of_example(films[-1])))
    return Found(
        model, markers, offset, numbers, rms(off), angles[example], rms(own(SPACING, False)[1]),
        rms(own(400, True)[1]), rms(own(SPACING, True)[1]),
    )  # fmt: skip


def places_of(films: list[Film], every: int) -> list[tuple[int, int]]:
    """Starts: number of the film, and row."""
    return [
        (k, row) for k, film in enumerate(films) for row in range(100, len(film.q) - 400 + 1, every)
    ]


def predicted(
    films: list[Film],
    model: Model,
    markers: Markers,
    offset: np.ndarray,
    every: int,
    by_model: bool,
    ahead: int = HORIZONS[-1],
) -> tuple[np.ndarray, np.ndarray]:
    """Both absolute angles (starts, ahead + 1, 2) [rad] and their errors; starts are the filter's or the model's."""
    before = HALF if by_model else 0
    places = [(films[k], row - before) for k, row in places_of(films, every)]
    start = (starts_by_model if by_model else _starts)(places, model, markers, offset)
    seen = np.stack([film.seen[row : row + before + ahead + 1] for film, row in places])
    angles = _filmed(start, before + ahead, model, markers, offset)[:, before:]
    return angles, angles - seen[:, before:]


def starts_by_model(
    places: Sequence[tuple[Film, int]], model: Model, markers: Markers, offset: np.ndarray
) -> np.ndarray:
    """States (places, 2 dof) at rows of films where the model agrees best with the 41 frames from there on."""
    doubt = [[s] * (model.dof - 2) + [d] * 2 for s, d in zip(DOUBT_SUPPORT, DOUBT, strict=True)]
    seen = np.stack([film.seen[row : row + 2 * HALF + 1] for film, row in places])
    first = lambda start: _filmed(start, 2 * HALF, model, markers, offset)
    start = _starts(places, model, markers, offset)
    return estimated_starts(first, start, seen, np.concatenate(doubt), NOISE)


def _starts(
    places: Sequence[tuple[Film, int]], model: Model, markers: Markers, offset: np.ndarray
) -> np.ndarray:
    """The filter's states (places, 2 dof); a support, where the model has one, is at rest."""
    still = np.zeros(model.dof - 2)
    return np.stack(
        [np.concatenate([still, f.q[row] - offset, still, f.v[row]]) for f, row in places]
    )


def _filmed(
    start: np.ndarray, steps: int, model: Model, markers: Markers, offset: np.ndarray
) -> np.ndarray:
    """Absolute angles (starts, steps + 1, 2) [rad] as a camera sees them."""
    return markers.filmed(_rolled(model, start, steps) + offset)


def _rolled(model: Model, start: np.ndarray, steps: int) -> np.ndarray:
    """Relative angles (starts, steps + 1, 2) [rad] from states (starts, 2 dof)."""
    state = State(start[:, : model.dof], start[:, model.dof :])
    motion = rollout_many(model, state, None, FRAME, steps=steps, integrator="rk4")
    return np.asarray(motion.q)[..., -2:]


def rms(off: np.ndarray) -> tuple[float, ...]:
    """Over starts and angles, at each horizon."""
    return tuple(float(np.sqrt(np.mean(off[:, k] ** 2))) for k in HORIZONS)


def start_of_example(film: Film) -> int:
    """The start that is drawn: about a third into the run."""
    return 100 + 400 * ((len(film.q) - 500) // 1200)
