"""A motion at other times: interpolation that respects quaternions and what was not measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from isthmus.errors import BadMotion, BadOption, did_you_mean
from isthmus.motion import quaternions
from isthmus.motion.fields import M
from isthmus.motion.rows import GAP, single, usual_step
from isthmus.motion.spans import known_spans, quaternion_of_signal
from isthmus.types import AnyArray

Interpolate = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


MOST_ROWS = 10**8
"""Of a motion; more would fill the memory."""


def resample(motion: M, dt: float | None, times: Any, method: str, across: float | None) -> M:
    """As `Motion.resample` describes."""
    t = single(motion, "resample")
    new = new_times(t, dt, times)
    if method not in METHODS:
        raise BadOption(f"no method is called {method!r}.{did_you_mean(method, METHODS)}")
    at = Resampler(t, new, method, across)
    spans = known_spans(motion.joints, motion.q, motion.v)
    q = None if motion.q is None else np.full((new.size, motion.q.shape[-1]), np.nan)
    if q is not None:
        old = np.asarray(motion.q, dtype=np.float64)
        for span in spans:
            q[:, span.plain] = at.plain(old[:, span.plain])
            if span.quaternion:
                q[:, span.quaternion] = at.quaternion(old[:, span.quaternion])
    signals: dict[str, AnyArray] = {
        name: _signal(at, name, np.asarray(value, dtype=np.float64))
        for name, value in motion.signals.items()
    }
    v = None if motion.v is None else at.plain(np.asarray(motion.v, dtype=np.float64))
    return dataclasses.replace(motion, t=new, q=q, v=v, signals=signals)


def new_times(t: np.ndarray, dt: float | None, times: Any) -> np.ndarray:
    """The times asked for [s]."""
    if (dt is None) == (times is None):
        raise BadOption("resample needs either dt= or t=.")
    if t.size < 2:
        raise BadMotion(f"a motion of {t.size} rows cannot be resampled.")
    if dt is None:
        new = np.asarray(times, dtype=np.float64)
        if new.ndim != 1 or not np.all(np.isfinite(new)):
            raise BadOption("t must be a list of finite times [s].")
        return new
    if not (np.ndim(dt) == 0 and 0 < dt < np.inf):
        raise BadOption(f"dt must be a positive number of seconds, not {dt!r}.")
    if not (t[-1] - t[0]) / float(dt) < MOST_ROWS:
        raise BadOption(f"dt = {dt!r} s gives more than {MOST_ROWS:g} rows; take a longer step.")
    rows = int(np.floor((t[-1] - t[0]) / dt + 1e-6)) + 1
    return np.minimum(t[0] + dt * np.arange(rows), t[-1])


def _signal(at: Resampler, name: str, value: np.ndarray) -> np.ndarray:
    place = quaternion_of_signal(name, value.shape)
    new = at.plain(value)
    if place is not None:
        quads = value[..., place].reshape(len(value), -1, 4)
        turned = [at.quaternion(quads[:, i]) for i in range(quads.shape[1])]
        new[..., place] = np.stack(turned, axis=1).reshape(new[..., place].shape)
    return new


def _cubic(t: np.ndarray, x: np.ndarray, new: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    return CubicSpline(t, x)(np.clip(new, t[0], t[-1])) if t.size > 3 else np.interp(new, t, x)


def _nearest(t: np.ndarray, x: np.ndarray, new: np.ndarray) -> np.ndarray:
    middles = 0.5 * (t[1:] + t[:-1])
    return x[np.searchsorted(middles, new)]


def _previous(t: np.ndarray, x: np.ndarray, new: np.ndarray) -> np.ndarray:
    return x[np.maximum(np.searchsorted(t, new + 1e-9 * usual_step(t), side="right") - 1, 0)]


METHODS: dict[str, Interpolate] = {
    "linear": lambda t, x, new: np.interp(new, t, x),
    "cubic": _cubic,
    "nearest": _nearest,
    "previous": _previous,
}


@dataclasses.dataclass(frozen=True)
class Resampler:
    """From the times `t` to the times `new`, column by column."""

    t: np.ndarray
    new: np.ndarray
    method: str
    across: float | None

    def plain(self, x: np.ndarray) -> np.ndarray:
        """Columns of plain numbers; the first axis is time."""
        columns = x.reshape(len(x), -1)
        return np.stack(
            [self._measured(c, np.isfinite(c), METHODS[self.method]) for c in columns.T] or
            [np.zeros((self.new.size, 0))], axis=-1,
        ).reshape(self.new.size, *x.shape[1:])  # fmt: skip

    def quaternion(self, x: np.ndarray) -> np.ndarray:
        """Rows of one quaternion."""
        held = self.method in ("nearest", "previous")
        how = METHODS[self.method] if held else quaternions.between
        return self._measured(x, np.all(np.isfinite(quaternions.normalise(x)), axis=-1), how)

    def _measured(self, x: np.ndarray, known: np.ndarray, how: Interpolate) -> np.ndarray:
        """From the known rows; NaN outside of them and in holes that are too wide."""
        t, new = self.t[known], self.new
        if t.size == 0:
            return np.full((new.size, *x.shape[1:]), np.nan)
        values = np.array(how(t, x[known], new))
        slack = 1e-9 * max(usual_step(self.t), 1e-300)
        outside = (new < t[0] - slack) | (new > t[-1] + slack)
        if t.size > 1:
            limit = GAP * usual_step(t) if self.across is None else self.across
            left = np.clip(np.searchsorted(t, new, side="right") - 1, 0, t.size - 2)
            wide = t[left + 1] - t[left] > limit * (1 + 1e-9)
            inside = (new > t[left] + slack) & (new < t[left + 1] - slack)
            outside |= wide & inside
        values[outside] = np.nan
        return values
