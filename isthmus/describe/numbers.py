"""Numbers of a description, which may be traced: their count, and their values where they are known."""

from __future__ import annotations

import math

import numpy as np

from isthmus.spatial.arrays import is_traced

ENDLESS = 1e16
"""A bound in a file as large as this is none; SDFormat says so, and parsers of URDF take no `inf`."""


def known(value: object) -> np.ndarray | None:
    """The numbers in a row; None where they are traced, missing or no numbers."""
    if value is None or is_traced(value):
        return None
    try:
        return np.asarray(value, float).ravel()
    except (TypeError, ValueError, OverflowError):
        return None


def count(value: object) -> int | None:
    """How many numbers there are; None where that makes no sense."""
    if isinstance(value, (tuple, list)):
        return len(value)
    if isinstance(value, str):
        return None
    return math.prod(getattr(value, "shape", ()))


def bound(value: float) -> float | None:
    """An end of travel or an effort that stands in a file; None where it is as good as infinite."""
    return value if abs(value) < ENDLESS else None


def is_zero(value: object) -> bool:
    """Whether all numbers are known to be zero."""
    numbers = known(value)
    return numbers is not None and not numbers.any()
