"""Slopes of noisy columns over time, by cubics through as many rows as leave nothing but noise.

Differences of neighbours multiply noise by the sampling rate: 2 mrad/s at 200 Hz become 0.3 rad/s². A cubic through
more rows averages it, until the motion bends more than a cubic can. How much the rows differ from cubics through five
of them says how large the noise is (a high-pass filter that motion hardly passes); the widest window whose cubics
differ from the rows by no more than that is taken.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from isthmus.motion.smooth import CHUNK, LocalFit

ORDER, NARROW = 3, 5
WIDTHS = (7, 11, 17, 27, 41, 65)
"""Rows of the windows that are tried."""
JUDGED = 2000
"""Rows, evenly spread, at which a width is judged."""
CHANCE = 3.0
"""Standard deviations by which the variance of the differences may exceed that of the noise."""


def slopes(t: Float[np.ndarray, " rows"], x: Float[np.ndarray, "rows n"]) -> np.ndarray:
    """The slope of each column of `x` at each row; without noise, differences of the neighbours of a row.

    NaN in `x` counts as not measured; the slope is NaN where too few rows around were measured.
    """
    if len(t) < 3:
        return np.full(x.shape, np.nan)
    found = np.empty(x.shape)
    widths = np.array([_width(t, column[:, None]) for column in x.T])
    for width in set(widths.tolist()):
        own = widths == width
        if not width:
            found[:, own] = np.gradient(x[:, own], t, axis=0, edge_order=2)
            continue
        for first in range(0, len(t), CHUNK):
            rows = np.arange(first, min(first + CHUNK, len(t)))
            found[np.ix_(rows, own)] = LocalFit(t, rows, width, ORDER)(x[:, own])[1]
    return found


def _width(t: np.ndarray, x: Float[np.ndarray, "rows 1"]) -> int:
    """The widest window that leaves nothing but noise; 0 where none does."""
    if len(t) < 4 * WIDTHS[0]:
        return 0
    rows = np.unique(np.linspace(NARROW, len(t) - 1 - NARROW, JUDGED).astype(int))
    noise, count = _variance(t, rows, x, NARROW)
    best = 0
    for width in WIDTHS:
        if 4 * width > len(t) or not count:
            break
        left, _ = _variance(t, rows, x, width)
        if not left <= noise * (1.0 + CHANCE * np.sqrt(2.0 / count)):
            break
        best = width
    return best


def _variance(t: np.ndarray, rows: np.ndarray, x: np.ndarray, width: int) -> tuple[float, int]:
    """Of the noise, by how far rows are from cubics through `width` rows; and the number of rows that tell it."""
    fit = LocalFit(t, rows, width, ORDER)
    off = (x[rows] - fit(x)[0])[:, 0]
    A = np.swapaxes(fit.basis, 1, 2) @ fit.basis
    leverage = np.sum(fit.here * np.linalg.solve(A, fit.here[:, :, None])[:, :, 0], axis=1)
    known = np.isfinite(off) & (leverage < 0.99)
    if not known.any():
        return 0.0, 0
    return float(np.mean(np.square(off[known]) / (1.0 - leverage[known]))), int(known.sum())
