"""Time stamps that count from a date, without loss: in nanoseconds they have more digits than a float64 holds.

Such a column stays exact, as integers or as `Decimal` numbers, until the first row has been subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from isthmus.data.units import FACTORS

EPOCH = 1e8
"""Stamps beyond that many seconds are counted from a date, not from a start."""
YEARS = 1e9, 1e10
"""Seconds since 1970 of the years 2001 and 2286."""
EXACT_INTEGERS = 2**53
"""Up to here, float64 holds every integer."""
DATED = ("s", "ms", "us", "ns")
"""Units in which stamps count from a date."""
NANOSECONDS = ("rosbagtimestamp",)
"""Names of columns that always hold nanoseconds."""


def as_float(x: np.ndarray) -> np.ndarray:
    """The column in float64."""
    return np.asarray(x, dtype=np.float64)


def kept(x: np.ndarray) -> np.ndarray:
    """The column in float64, unless it holds integers that float64 would round."""
    if x.dtype.kind in "iu" and x.size and max(-int(x.min()), int(x.max())) > EXACT_INTEGERS:
        return x
    return as_float(x)


def from_cells(cells: Iterable[str]) -> np.ndarray:
    """Numbers as they are written; NaN where a cell is blank."""
    return np.array([_decimal(cell) for cell in cells], dtype=object)


def _decimal(cell: str) -> Decimal:
    try:
        return Decimal(cell)
    except ArithmeticError:
        return Decimal("nan")


def unit_of(name: str, x: np.ndarray) -> str | None:
    """The unit that stamps are in by their name (without case) or by their size; None where neither says it."""
    if name in NANOSECONDS:
        return "ns"
    first = abs(float(x[0])) if len(x) else 0.0
    low, high = YEARS
    return next((unit for unit in DATED[1:] if low <= first * FACTORS["time"][unit] < high), None)


def in_seconds(x: np.ndarray, scale: float) -> np.ndarray:
    """Stamps times `scale`: exact where they count from a date, else in float64."""
    if not len(x) or not EPOCH < abs(float(x[0])) * scale < np.inf:
        return as_float(x) * scale
    # repr(scale) is 1e-09, which float64 only comes near to; str(0.1) recovers what a float64 was read from
    factor = Decimal(repr(scale))
    exact = [value if isinstance(value, Decimal) else Decimal(str(value)) for value in x.tolist()]
    return np.array([value * factor for value in exact], dtype=object)


def earliest(columns: Iterable[np.ndarray | None]) -> Decimal | None:
    """The first of all exact stamps [s]; None where there are none."""
    firsts = [x[0] for x in columns if x is not None and len(x) and x.dtype.kind == "O"]
    return min(firsts, default=None)


def since(x: np.ndarray, begin: Decimal | None) -> np.ndarray:
    """Stamps [s] in float64; exact ones from `begin` on, or from their own first row."""
    if x.dtype.kind != "O":
        return x
    return as_float(x - (x[0] if begin is None else begin))
