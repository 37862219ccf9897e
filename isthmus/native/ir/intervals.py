"""Integer intervals: the smallest and the largest result of an operation, from those of its operands."""

from __future__ import annotations

from collections.abc import Callable

Interval = tuple[int, int]
Rule = Callable[..., Interval]
WHOLE: Interval = (-(1 << 63), (1 << 63) - 1)


def _hull(numbers: list[int]) -> Interval:
    return min(numbers), max(numbers)


def add(x: Interval, y: Interval) -> Interval:
    return x[0] + y[0], x[1] + y[1]


def sub(x: Interval, y: Interval) -> Interval:
    return x[0] - y[1], x[1] - y[0]


def mul(x: Interval, y: Interval) -> Interval:
    return _hull([a * b for a in x for b in y])


def larger(x: Interval, y: Interval) -> Interval:
    return max(x[0], y[0]), max(x[1], y[1])


def smaller(x: Interval, y: Interval) -> Interval:
    return min(x[0], y[0]), min(x[1], y[1])


def remainder(x: Interval, y: Interval) -> Interval:
    """By a positive constant; else anything."""
    if y[0] != y[1] or y[0] <= 0:
        return WHOLE
    return (0 if x[0] >= 0 else 1 - y[0]), y[0] - 1


def quotient(x: Interval, y: Interval) -> Interval:
    """By a positive constant; else anything."""
    if y[0] != y[1] or y[0] <= 0:
        return WHOLE
    return _hull([abs(a) // y[0] * (1 if a >= 0 else -1) for a in x])


def select(_: Interval, x: Interval, y: Interval) -> Interval:
    return _hull([*x, *y])


def truth(_: Interval) -> Interval:
    return 0, 1


def wrap(_: Interval, bits: Interval, is_signed: Interval) -> Interval:
    """What so many bits hold."""
    if is_signed[0]:
        return -(1 << (bits[0] - 1)), (1 << (bits[0] - 1)) - 1
    return 0, (1 << bits[0]) - 1
