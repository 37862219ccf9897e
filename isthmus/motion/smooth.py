"""Smoother motions: zero-phase low-pass filter, velocities by local polynomials, angles without jumps.

Savitzky-Golay with true time stamps: around each row a polynomial (in Legendre's basis) is fitted to the rows of a
window that were measured; its value and slope at the row are taken. A quaternion's window is first expressed as
rotation vectors relative to its own row, whose slope there is the angular velocity in the child's frame.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from isthmus.errors import BadMotion, BadOption, did_you_mean
from isthmus.motion import quaternions
from isthmus.motion.fields import AbstractMotion, M
from isthmus.motion.rows import GAP, single, usual_step
from isthmus.motion.spans import known_spans, quaternion_of_signal

CHUNK = 20_000
"""Rows whose windows are held in memory at a time."""

# angles and signs ------------------------------------------------------------------------------------------


def unwrap(x: np.ndarray) -> np.ndarray:
    """An angle [rad] without jumps by 2π; rows that were not measured are passed over."""
    x, known = np.array(x, dtype=np.float64), np.isfinite(x)
    x[known] = np.unwrap(x[known])
    return x


def continuous(motion: M) -> M:
    """Angles without jumps by 2π, quaternions without changes of sign."""
    if motion.q is None:
        return motion
    q = np.array(motion.q, dtype=np.float64)
    for span in known_spans(motion.joints, motion.q, motion.v):
        for row in span.angles:
            q[:, row] = unwrap(q[:, row])
        if span.quaternion:
            q[:, span.quaternion] = quaternions.continuous(q[:, span.quaternion])
    return dataclasses.replace(motion, q=q)


# low-pass --------------------------------------------------------------------------------------------------


def low_pass(motion: M, cutoff: float, order: int, only: Sequence[str] | None) -> M:
    """As `Motion.filter` describes."""
    t = single(motion, "filter")
    known = {"q": motion.q, "v": motion.v, **motion.signals}
    chosen = [name for name, x in known.items() if x is not None] if only is None else list(only)
    for name in chosen:
        if known.get(name) is None:
            raise BadOption(f"this motion has no {name!r} to filter.{did_you_mean(name, known)}")
    sos = _butterworth(t, cutoff, order)
    smooth = {name: _filtered(name, np.asarray(known[name]), sos) for name in chosen}
    if "q" in smooth:
        _check_jumps(motion)
        smooth["q"] = _filtered("q", np.asarray(continuous(motion).q), sos)
        for span in known_spans(motion.joints, motion.q, motion.v):
            if span.quaternion:
                smooth["q"][:, span.quaternion] = quaternions.normalise(
                    smooth["q"][:, span.quaternion]
                )
    signals = {name: smooth.get(name, value) for name, value in motion.signals.items()}
    q, v = smooth.get("q", motion.q), smooth.get("v", motion.v)
    return dataclasses.replace(motion, q=q, v=v, signals=signals)


def _check_jumps(motion: AbstractMotion) -> None:
    for span in known_spans(motion.joints, motion.q, motion.v):
        for row in span.angles:
            if np.any(np.abs(np.diff(np.asarray(motion.q)[:, row])) > np.pi):
                raise BadMotion(
                    f"the angle of joint {span.name!r} jumps by more than π from one row to the next; "
                    "a filter would smear that: call motion.continuous() first."
                )


def _butterworth(t: np.ndarray, cutoff: float, order: int) -> np.ndarray:
    from scipy.signal import butter

    if t.size < 2 or np.max(np.abs(np.diff(t) / usual_step(t) - 1.0)) > 0.01:
        raise BadMotion("a filter needs evenly spaced time stamps: call motion.resample(dt) first.")
    rate = 1.0 / float(np.mean(np.diff(t)))
    if not 0.0 < cutoff < 0.5 * rate:
        raise BadOption(
            f"cutoff must lie between 0 and {0.5 * rate:.4g} Hz, half the sampling rate; it is {cutoff!r}."
        )
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 100:
        raise BadOption(f"order must be a whole number from 1 to 100, not {order!r}.")
    return butter(order, cutoff, fs=rate, output="sos")


def _filtered(name: str, x: np.ndarray, sos: np.ndarray) -> np.ndarray:
    from scipy.signal import sosfiltfilt

    if not np.all(np.isfinite(x)):
        raise BadMotion(
            f"{name!r} has rows that were not measured (NaN); call motion.filled() or motion.split(...) "
            "first, or leave it out with only=."
        )
    shortest = 3 * (2 * len(sos) + 1)
    if len(x) <= shortest:
        raise BadMotion(
            f"{len(x)} rows are too few for this filter; it needs more than {shortest}."
        )
    if place := quaternion_of_signal(name, x.shape):
        x = np.array(x)
        quads = x[..., place].reshape(len(x), -1, 4)
        whole = [quaternions.continuous(quads[:, i]) for i in range(quads.shape[1])]
        x[..., place] = np.stack(whole, axis=1).reshape(x[..., place].shape)
    try:
        smooth = sosfiltfilt(sos, x, axis=0)
    except np.linalg.LinAlgError:  # an order so high that its coefficients are lost in rounding
        raise BadOption("this filter cannot be computed: lower its order.") from None
    if place:
        smooth[..., place] = quaternions.normalise(smooth[..., place])
    return smooth


# velocities ------------------------------------------------------------------------------------------------


def differentiate(motion: M, window: int, order: int, smooth: bool) -> M:
    """As `Motion.velocities` describes."""
    t = single(motion, "velocities")
    if motion.q is None:
        raise BadMotion("this motion has no positions to take velocities from.")
    if window % 2 == 0 or order < 1 or order >= window:
        raise BadOption(
            f"window must be odd and larger than order, order at least 1; they are {window} and {order}."
        )
    if t.size < window:
        raise BadMotion(f"{t.size} rows are too few for a window of {window}.")
    q = np.asarray(continuous(motion).q, dtype=np.float64)
    spans = known_spans(motion.joints, motion.q, motion.v)
    v, fitted = np.full((t.size, sum(len(s.v) for s in spans)), np.nan), np.array(q)
    for first in range(0, t.size, CHUNK):
        rows = np.arange(first, min(first + CHUNK, t.size))
        fit = LocalFit(t, rows, window, order)
        for span in spans:
            straight = span.v[: len(span.plain)]
            fitted[rows[:, None], span.plain], v[rows[:, None], straight] = fit(q[:, span.plain])
            if span.quaternion:
                turned, rate = fit.quaternion(q[:, span.quaternion])
                fitted[rows[:, None], list(span.quaternion)] = turned
                v[rows[:, None], list(span.v[len(span.plain) :])] = rate
    return dataclasses.replace(motion, q=fitted if smooth else motion.q, v=v)


class LocalFit:
    """Polynomials around some rows: their values and slopes there."""

    def __init__(self, t: np.ndarray, rows: np.ndarray, window: int, order: int) -> None:
        # no window reaches over a gap: it lies within its piece, or is cut there
        cuts = np.flatnonzero(np.diff(t) > GAP * usual_step(t)) + 1
        edges = np.concatenate([[0], cuts, [t.size]])
        piece = np.searchsorted(edges, rows, side="right") - 1
        first, after = edges[piece], edges[piece + 1]
        begin = np.maximum(np.minimum(rows - window // 2, after - window), first)
        begin = np.minimum(begin, t.size - window)
        self.rows, self.order = rows, order
        self.near = begin[:, None] + np.arange(window)
        self.reach = (self.near >= first[:, None]) & (self.near < after[:, None])
        times, here = t[self.near], t[rows][:, None]
        middle, half = 0.5 * (times[:, :1] + times[:, -1:]), 0.5 * (times[:, -1:] - times[:, :1])
        legendre = np.polynomial.legendre  # which NumPy loads here
        self.basis = legendre.legvander((times - middle) / half, order)
        at = legendre.legvander(((here - middle) / half)[:, 0], order)
        slopes = np.zeros((order + 1, order + 1))
        for k in range(1, order + 1):
            row = legendre.legder(np.eye(order + 1)[k])
            slopes[: len(row), k] = row
        self.here, self.slope = at, at @ slopes / half

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and slopes of the columns of `x`, at the rows."""
        return self._solve(x[self.near])

    def quaternion(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The fitted quaternions and the angular velocities in the child's frame [rad/s]."""
        unit = quaternions.normalise(q)
        here, near = unit[self.rows], unit[self.near]
        value, slope = self._solve(quaternions.turn_between(here[:, None], near))
        return quaternions.turned(here, value), slope

    def _solve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = np.empty((2, len(x), x.shape[2]))
        for k in range(x.shape[2]):
            weight = np.isfinite(x[:, :, k]) & self.reach
            B = self.basis * weight[:, :, None]
            A = np.swapaxes(B, 1, 2) @ B
            enough = np.sum(weight, axis=1) > self.order
            A[~enough] = np.eye(self.order + 1)
            b = np.swapaxes(B, 1, 2) @ np.where(weight, x[:, :, k], 0.0)[:, :, None]
            c = np.linalg.solve(A, b)[:, :, 0]
            values[:, k] = np.where(enough, np.sum(self.here * c, axis=1), np.nan)
            slopes[:, k] = np.where(enough, np.sum(self.slope * c, axis=1), np.nan)
        return values, slopes
