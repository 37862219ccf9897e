"""Numbers as people write them, ticks of an axis, and curves thinned out to what a screen can show."""

from __future__ import annotations

import itertools
import math

import numpy as np

MINUS = "\u2212"


def plain(x: float | int, digits: int = 4) -> str:
    """`0.01234`, `−3.2·10⁻⁷`, `∞`, `–` for what is not a number."""
    x = float(x)
    if math.isnan(x):
        return "–"
    if math.isinf(x):
        return "∞" if x > 0 else f"{MINUS}∞"
    text = f"{x:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        front = {"1": "", "-1": "-"}.get(mantissa, f"{mantissa}·")
        text = f"{front}10{_raised(int(exponent))}"
    return text.replace("-", MINUS)


def _raised(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def with_error(value: float, error: float) -> tuple[str, str]:
    """A value with as many digits as its error allows, and the error with two."""
    if not (math.isfinite(value) and math.isfinite(error)) or error <= 0:
        return plain(value, 5), ""
    last = math.floor(math.log10(error)) - 1
    if last >= 0 or last < -7 or abs(value) >= 1e6:
        digits = max(2, min(8, math.floor(math.log10(max(abs(value), error))) - last + 1))
        return plain(value, digits), plain(error, 2)
    return f"{value:.{-last}f}".replace("-", MINUS), f"{error:.{-last}f}"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two bounds: `most` or fewer, but at least two unless bounds are equal."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return []
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    steps = [size * f for f in (0.5, 1, 2, 5, 10)]
    usual = next(k for k, step in enumerate(steps) if step >= raw * (1 - 1e-9))
    found = _multiples(steps[usual], low, high)
    return found if len(found) > 1 else _multiples(steps[usual - 1], low, high)


def _multiples(step: float, low: float, high: float) -> list[float]:
    return [
        k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def labelled(values: list[float]) -> list[tuple[float, str]]:
    """Ticks with their texts, of as many digits as tell neighbours apart."""
    if len(values) < 2:
        return [(x, plain(x)) for x in values]
    largest, step = max(map(abs, values)), min(abs(b - a) for a, b in itertools.pairwise(values))
    digits = math.floor(math.log10(largest)) - math.floor(math.log10(step) + 1e-9) + 1
    return [(x, plain(x, max(4, digits))) for x in values]


def decades(low: float, high: float, most: int = 6) -> list[float]:
    """Powers of ten between two positive bounds; where they are few, ones, twos and fives of each."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first < 2:
        fine = [f * 10.0**k for k in range(first - 1, last + 1) for f in (1, 2, 5)]
        found = [x for x in fine if low <= x <= high]
        return found if len(found) > 1 else [x for x in ticks(low, high, most) if x > 0]
    step = max(1, -(-(last - first) // most))
    return [10.0**k for k in range(first, last + 1, step)]


def padded(values: np.ndarray, share: float = 0.06) -> tuple[float, float]:
    """Bounds that hold all finite values, with some room."""
    known = values[np.isfinite(values)]
    if not known.size:
        return -1.0, 1.0
    low, high = float(known.min()), float(known.max())
    room = share * (high - low) if high > low else max(abs(high), 1e-9) * 0.5
    return low - room, high + room


def thinned(y: np.ndarray, columns: int) -> np.ndarray:
    """Rows of a curve that keep its lowest and highest value in each of `columns` parts, and gaps that show."""
    size = -(-len(y) // max(columns, 1))
    if size <= 2:
        return np.arange(len(y))
    room = np.full(size * (-(-len(y) // size)), np.nan)
    room[: len(y)] = y
    parts = room.reshape(-1, size)
    gaps = np.isnan(parts)
    first = np.arange(len(parts)) * size
    low = np.argmin(np.where(gaps, np.inf, parts), axis=1) + first
    high = np.argmax(np.where(gaps, -np.inf, parts), axis=1) + first
    hole = np.where(gaps.mean(axis=1) > 0.3, np.argmax(gaps, axis=1) + first, low)
    kept = np.unique(np.concatenate([[0, len(y) - 1], low, high, hole]))
    return kept[kept < len(y)]
