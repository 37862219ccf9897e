"""Which integers of a program cannot overflow: sums and products of counters, as indices are."""

from __future__ import annotations

from isthmus.native.ir.intervals import WHOLE, Interval
from isthmus.native.ir.ops import OPS
from isthmus.native.ir.program import Loop, Program, walk


def small_integers(program: Program) -> set[int]:
    """The integers whose sums, differences and products do not leave the program's bits."""
    counts = {}
    for _, item in walk(program):
        record = program.args[item][0] if program.ops[item] in ("for", "while") else None
        if isinstance(record, Loop) and record.counter is not None and record.count is not None:
            counts[record.counter] = record.count
    largest = 1 << (program.width - 1)
    known: dict[int, Interval] = {}
    found: set[int] = set()
    for value, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
        if program.kinds[value] != "i":
            continue
        if op == "const":
            known[value] = (args[0], args[0])
        elif value in counts:
            known[value] = (0, max(counts[value] - 1, 0))
        elif op in OPS and (rule := OPS[op].interval):
            low, high = rule(*(known.get(a, WHOLE) for a in args))
            if -largest <= low and high < largest:
                known[value] = (low, high)
                found.add(value)
    return found
