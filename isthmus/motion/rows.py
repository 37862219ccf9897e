"""Some rows of a motion: slices, times, pieces."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isthmus.entry import described
from isthmus.errors import BadMotion, BadOption
from isthmus.motion.fields import AbstractMotion, M, noted

GAP = 3.0
"""A step longer than this many usual ones is a gap."""


def mapped(motion: M, change: Callable[[Any], Any]) -> M:
    """Every array of the motion, changed; what was not measured stays None."""
    maybe = lambda x: None if x is None else change(x)
    signals = {name: change(value) for name, value in motion.signals.items()}
    return dataclasses.replace(
        motion, t=change(motion.t), q=maybe(motion.q), v=maybe(motion.v), signals=signals
    )


def take(motion: M, rows: Any) -> M:
    """Those rows; a batch keeps its first axes."""
    index = rows if isinstance(rows, slice) else _row_numbers(rows, np.shape(motion.t)[-1])
    before = (slice(None),) * (np.ndim(motion.t) - 1)
    return mapped(motion, lambda x: x[(*before, index)])


def _row_numbers(rows: Any, count: int) -> np.ndarray:
    """Row numbers from these or from a mask; refuses anything else."""
    given = (
        np.asarray(rows, dtype=int)
        if isinstance(rows, list | tuple) and not rows
        else np.asarray(rows)
    )
    if given.dtype.kind == "b" and given.shape == (count,):
        return np.flatnonzero(given)
    if (
        given.dtype.kind not in "iu"
        or given.ndim != 1
        or np.any((given < -count) | (given >= count))
    ):
        raise BadOption(
            f"a motion is cut by a slice, motion[a:b], by a mask or by numbers of its {count} rows, not by "
            f"{described(rows)}."
        )
    return given


def single(motion: AbstractMotion, purpose: str) -> np.ndarray:
    """The time stamps [s] of one motion, checked: finite and increasing."""
    t = np.asarray(motion.t, dtype=np.float64)
    if t.ndim != 1:
        raise BadOption(f"{purpose} takes a single motion, not a batch of them.")
    if not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0):
        raise BadMotion(f"{purpose} needs time stamps that increase from row to row.")
    return t


def between(motion: M, start: float, stop: float) -> M:
    """The rows with `start ≤ t ≤ stop` [s]."""
    t = single(motion, "between")
    slack = 1e-6 * usual_step(t)  # stamps are sums of steps, with their rounding
    inside = (t >= start - slack) & (t <= stop + slack)
    if not inside.any():
        span = f"it runs from {t[0]:.6g} to {t[-1]:.6g} s" if t.size else "it is empty"
        raise BadOption(f"no row of the motion lies between {start:g} and {stop:g} s: {span}.")
    return take(motion, inside)


def usual_step(t: np.ndarray) -> float:
    """The median of the steps [s]; 0 where there is none."""
    return float(np.median(np.diff(t))) if t.size > 1 else 0.0


def split(
    motion: M,
    *,
    at: Sequence[float] | None,
    parts: int | None,
    share: float | None,
    gap: float | None,
) -> list[M]:
    """Pieces, as `Motion.split` describes."""
    t = single(motion, "split")
    if sum(x is not None for x in (at, parts, share, gap)) != 1:
        raise BadOption("split needs exactly one of at=, parts=, share=, gap=.")
    if at is not None:
        cuts = np.searchsorted(t, np.asarray(sorted(at), dtype=np.float64), side="left")
    elif parts is not None:
        if not 1 <= parts <= t.size:
            raise BadOption(f"parts must lie between 1 and {t.size}, the rows; it is {parts!r}.")
        cuts = np.linspace(0, t.size, parts + 1).round()[1:-1]
    elif share is not None:
        if not 0.0 < share < 1.0:
            raise BadOption(f"share must lie between 0 and 1; it is {share!r}.")
        cuts = np.array([round(share * t.size)])
    else:
        if gap is None or not gap > 0.0:
            raise BadOption(f"gap must be a positive number of seconds, not {gap!r}.")
        cuts = np.flatnonzero(np.diff(t) > gap) + 1
    edges = np.unique(np.concatenate([[0], cuts, [t.size]])).astype(int)
    pieces = [take(motion, slice(a, b)) for a, b in itertools.pairwise(edges)]
    return [
        noted(piece, name=f"{motion.name}:{i}" if motion.name else "")
        for i, piece in enumerate(pieces)
    ]
