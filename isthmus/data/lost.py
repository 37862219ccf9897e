"""Rows that a recorder lost from an even clock: how many there are, and put back as not measured."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from isthmus.motion.motion import CONTROL, EXTRA, FORCE, Motion
from isthmus.motion.rows import GAP, usual_step

NEAR = 0.35
"""Share of a step by which stamps of an even clock are off at most, and of what they are off without lost rows."""


def clock_ticks(t: np.ndarray) -> np.ndarray | None:
    """The tick of an even clock at which each row was taken, 0 1 3 4 …; None where the stamps [s] lie near none.

    Missing ticks are rows that were lost. A clock that is merely late for a moment catches up, and loses none.
    """
    usual = usual_step(t)
    if t.size < 3:
        return np.arange(t.size)
    ticks = np.cumsum(np.concatenate([[0.0], np.maximum(np.round(np.diff(t) / usual), 1.0)]))
    for _ in range(3):  # the median of the steps is not exactly that of the clock
        begin, step = _line(ticks, t)
        ticks = np.round((t - begin) / step)
    ticks = (ticks - ticks[0]).astype(int)
    begin, step = _line(ticks, t)
    off = float(np.max(np.abs(begin + step * ticks - t)))
    begin, whole = _line(np.arange(t.size), t)
    off_even = float(np.max(np.abs(begin + whole * np.arange(t.size) - t)))
    if np.any(np.diff(ticks) < 1) or off > NEAR * step:
        return None
    return ticks if ticks[-1] < t.size or off < NEAR * off_even else np.arange(t.size)


def lost_rows(t: np.ndarray) -> int:
    """Rows that are missing from an even clock, besides gaps."""
    found = ((clock_ticks(t[a:b]), b - a) for a, b in _pieces(t))
    return sum(int(ticks[-1]) + 1 - count for ticks, count in found if ticks is not None)


def completed(motion: Motion) -> Motion:
    """With even time stamps, and lost rows as not measured; what acted there is interpolated. Gaps stay as they are."""
    t = np.asarray(motion.t, dtype=np.float64)
    times, rows, count = [], [], 0
    for a, b in _pieces(t):
        ticks = clock_ticks(t[a:b])
        times.append(t[a:b] if ticks is None else np.linspace(t[a], t[b - 1], ticks[-1] + 1))
        rows.append(count + (np.arange(b - a) if ticks is None else ticks))
        count += len(times[-1])
    new, kept = np.concatenate(times), np.concatenate(rows)
    spread = lambda x, acts=False: _spread(np.asarray(x), kept, new, acts)
    maybe = lambda x: None if x is None else spread(x)
    signals = {name: spread(x, acts(name)) for name, x in motion.signals.items()}
    made = dataclasses.replace(motion, t=new, q=maybe(motion.q), v=maybe(motion.v), signals=signals)
    if count == len(t):
        return made
    return made.noted(
        f"{count - len(t)} rows that were lost are put back as not measured; what acted there is interpolated."
    )


def acts(name: str) -> bool:
    """Whether a signal says what acted, which a simulation needs in every row."""
    return name in (CONTROL, FORCE) or name.startswith(EXTRA)


def _pieces(t: np.ndarray) -> list[tuple[int, int]]:
    """First and last row of what lies between gaps."""
    cuts = np.flatnonzero(np.diff(t) > GAP * usual_step(t)) + 1
    return list(itertools.pairwise([0, *map(int, cuts), t.size]))


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Where the best line through these points begins, and its slope."""
    slope, begin = np.polyfit(x, y - y[0], 1)
    return float(begin + y[0]), float(slope)


def _spread(x: np.ndarray, kept: np.ndarray, t: np.ndarray, fill: bool) -> np.ndarray:
    """The rows `kept` of an array with a row for each of `t`; the others are NaN, or interpolated."""
    made = np.full((len(t), *x.shape[1:]), np.nan)
    made[kept] = x
    columns, gone = made.reshape(len(t), -1), np.setdiff1d(np.arange(len(t)), kept)
    for column in columns.T if fill else ():
        known = kept[np.isfinite(column[kept])]
        if known.size:
            column[gone] = np.interp(t[gone], t[known], column[known])
    return made
