"""Which integers of a program are known to stay small: sums and products of counters, as indices are."""

from __future__ import annotations

from collections.abc import Callable
from typing import no_type_check

from isthmus.native.ir.program import Loop, Program, walk

Range = tuple[int, int]
WHOLE: Range = (-(1 << 63), (1 << 63) - 1)


def _hull(numbers: list[int]) -> Range:
    return min(numbers), max(numbers)


def _remainder(x: Range, y: Range) -> Range:
    if y[0] != y[1] or y[0] <= 0:
        return WHOLE
    return (0 if x[0] >= 0 else 1 - y[0]), y[0] - 1


def _quotient(x: Range, y: Range) -> Range:
    if y[0] != y[1] or y[0] <= 0:
        return WHOLE
    return _hull([abs(a) // y[0] * (1 if a >= 0 else -1) for a in x])


RULES: dict[str, Callable[..., Range]] = {
    "iadd": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "isub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "imul": lambda x, y: _hull([a * b for a in x for b in y]),
    "imax": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "imin": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "irem": _remainder,
    "idiv": _quotient,
    "b2i": lambda x: (0, 1),
    "select": lambda c, x, y: _hull([*x, *y]),
    "wrap": lambda x, bits, sign: (
        (-(1 << (bits[0] - 1)), (1 << (bits[0] - 1)) - 1) if sign[0] else (0, (1 << bits[0]) - 1)
    ),
}


@no_type_check
def small_integers(program: Program) -> set[int]:
    """The integers whose sums, differences and products do not leave the program's bits."""
    counts = {}
    for _, item in walk(program):
        record = program.args[item][0] if program.ops[item] in ("for", "while") else None
        if isinstance(record, Loop) and record.counter is not None and record.count is not None:
            counts[record.counter] = record.count
    largest = 1 << (program.width - 1)
    known: dict[int, Range] = {}
    found: set[int] = set()
    for value, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
        if program.kinds[value] != "i":
            continue
        if op == "const":
            known[value] = (args[0], args[0])
        elif value in counts:
            known[value] = (0, max(counts[value] - 1, 0))
        elif op in RULES:
            low, high = RULES[op](*(known.get(a, WHOLE) for a in args))
            if -largest <= low and high < largest:
                known[value] = (low, high)
                found.add(value)
    return found
