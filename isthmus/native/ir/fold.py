"""What operations do to constants, as IEEE and XLA have it; `ops.py` says which operation does what."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np


def signed(x: int, width: int = 64) -> int:
    """`x` modulo 2^`width` as a signed integer."""
    return wrapped(x, width, True)


def nearest_single(x: float) -> float:
    """The nearest float32."""
    with np.errstate(over="ignore"):
        return float(np.float32(x))


def wrapped(x: int, bits: int, is_signed: bool) -> int:
    """`x` modulo 2^`bits`, signed or not."""
    x &= (1 << bits) - 1
    return x - (1 << bits) if is_signed and x >> (bits - 1) else x


def divide(x: int, y: int) -> int:
    """x / y towards zero; −1 for y = 0, as XLA has it."""
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def by_numpy(function: Callable[..., float]) -> Callable[..., float]:
    """`function` of float64 numbers, without warnings."""

    def run(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(np.float64, args)))

    return run


def by_math(function: Callable[[float], float]) -> Callable[[float], float]:
    """`function` of the math module; where that raises, NaN, or infinity at the poles of lgamma."""

    def run(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan if function is not math.lgamma else math.inf

    return run


def truncated(x: float, width: int) -> int:
    """The integer towards zero; the nearest one that exists where x is out of range, 0 for NaN."""
    if math.isnan(x):
        return 0
    limit = 1 << (width - 1)
    return -limit if x < -limit else limit - 1 if x >= limit else int(x)


def maximum(x: float, y: float) -> float:
    """The larger one; NaN where either is."""
    return math.nan if math.isnan(x) or math.isnan(y) else max(x, y)


def minimum(x: float, y: float) -> float:
    """The smaller one; NaN where either is."""
    return math.nan if math.isnan(x) or math.isnan(y) else min(x, y)


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The numbers of one width as NumPy has them."""

    width: int
    real: Callable
    whole: Callable

    def unsigned(self, x: int) -> int:
        """The bits of `x` as an unsigned integer."""
        return x & ((1 << self.width) - 1)


WIDTHS = {64: Numbers(64, np.float64, np.int64), 32: Numbers(32, np.float32, np.int32)}


def by_width(function: Callable[..., float]) -> dict[int, Callable[..., float]]:
    """`function(numbers, *constants)` for each width."""
    make = lambda numbers: lambda *args: function(numbers, *args)
    return {width: make(numbers) for width, numbers in WIDTHS.items()}
