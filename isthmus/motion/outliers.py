"""Single rows that stand out: compared with the median of their neighbours."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.errors import BadOption
from isthmus.motion.fields import AbstractMotion, M
from isthmus.motion.rows import single
from isthmus.motion.smooth import continuous
from isthmus.motion.spans import known_spans
from isthmus.types import AnyArray

NEIGHBOURS = 5
SMALLEST = 0.05
"""What is less than this share of a column's usual range is no outlier, however calm the rest."""


def outliers(x: np.ndarray, threshold: float = 8.0) -> np.ndarray:
    """Which entries of the columns of `x` stand out; the first axis is time."""
    found = np.zeros(x.shape, dtype=bool)
    for index in np.ndindex(x.shape[1:]):
        found[(slice(None), *index)] = _in_column(x[(slice(None), *index)], threshold)
    return found


def _in_column(x: np.ndarray, threshold: float) -> np.ndarray:
    """A row is compared with the median around it, the scale is the usual such difference."""
    from scipy.ndimage import median_filter

    known, found = np.isfinite(x), np.zeros(x.shape, dtype=bool)
    values = x[known]
    if values.size < 3 * NEIGHBOURS:
        return found
    off = np.abs(values - median_filter(values, NEIGHBOURS, mode="nearest"))
    low, high = np.percentile(values, [5.0, 95.0])
    # fast motion differs from its median too: the usual difference is taken where there is some
    moving = off[off > 0.0]
    usual = np.median(moving) if moving.size else 0.0
    found[known] = off > max(threshold * 1.4826 * usual, SMALLEST * (high - low), 1e-12)
    return found


def found_in(motion: AbstractMotion, threshold: float = 8.0) -> dict[str, np.ndarray]:
    """Which entries of `q`, `v` and each signal stand out; only what has some is listed."""
    single(motion, "without_outliers")
    arrays = {"q": continuous(motion).q, "v": motion.v, **motion.signals}
    masks = {
        name: outliers(np.asarray(x, dtype=np.float64), threshold)
        for name, x in arrays.items()
        if x is not None
    }
    if "q" in masks:
        for span in known_spans(motion.joints, motion.q, motion.v):
            if span.quaternion:  # a quaternion is measured as a whole
                whole = masks["q"][:, span.quaternion].any(axis=1, keepdims=True)
                masks["q"][:, span.quaternion] = whole
    return {name: mask for name, mask in masks.items() if mask.any()}


def without_outliers(motion: M, threshold: float) -> M:
    """As `Motion.without_outliers` describes."""
    if not 0 < threshold < np.inf:
        raise BadOption(f"threshold must be positive and finite, not {threshold!r}.")
    masks = found_in(motion, threshold)

    def cleaned(name: str, x: AnyArray) -> AnyArray:
        return np.where(masks[name], np.nan, x) if name in masks else x

    signals = {name: cleaned(name, value) for name, value in motion.signals.items()}
    q = None if motion.q is None else cleaned("q", motion.q)
    v = None if motion.v is None else cleaned("v", motion.v)
    return dataclasses.replace(motion, q=q, v=v, signals=signals)
