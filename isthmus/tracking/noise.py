"""The noise of positions and velocities in a log, for those who do not know it.

What is smooth has small third differences, those of white noise of standard deviation σ have a variance of 20 σ². The
median of their sizes is not moved by impacts and outliers.
"""

from __future__ import annotations

import numpy as np

from isthmus.errors import BadLog
from isthmus.identify.logs.log import Log
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.tracking.setup import POSITION, VELOCITY

MAD = 1.4826
"""Standard deviation of normal numbers over the median of their sizes."""
LEAST = 1e-5
"""Of the range of a signal: where a log is smoother, this is its noise."""


def estimated_noise(model: Model, log: Log) -> dict[str, np.ndarray]:
    """The standard deviation of each position [rad, m] and velocity [rad/s, m/s] that was measured, (dof,)."""
    found = {}
    if log.measured[0]:
        steps = coordinates.minus_rows(model, log.q[1:], log.q[:-1])
        path = np.nancumsum(steps, axis=0)
        found[POSITION] = _noise(np.diff(steps, 2, axis=0), np.ptp(path, axis=0))
    if log.measured[1]:
        found[VELOCITY] = _noise(
            np.diff(log.v, 3, axis=0), np.nanmax(log.v, 0) - np.nanmin(log.v, 0)
        )
    if not found or not all(np.isfinite(sigma).all() for sigma in found.values()):
        raise BadLog(f"{log.name} has too few measured rows to estimate their noise: give it.")
    return found


def _noise(third: np.ndarray, span: np.ndarray) -> np.ndarray:
    size = (
        MAD * np.nanmedian(np.abs(third), axis=0) / np.sqrt(20.0) if len(third) else span * np.nan
    )
    return np.maximum(size, LEAST * np.maximum(span, 1e-3))
