"""Sorting in memory by Batcher's network: which pairs are compared does not depend on the entries.

So all worlds of a block go the same way. Equal entries keep their order: their first places decide.
"""

from __future__ import annotations

from collections.abc import Callable

from isthmus.native.ir.program import Buffer, Loop, Program
from isthmus.native.tracing.arrays import Index, Long, Memory

Above = Callable[[list[int], list[int], int], int]
"""(entries, other entries, what decides between equals) -> the first must stand behind the others."""


def stages(count: int) -> list[tuple[int, int]]:
    """(log₂ of the runs merged, log₂ of the distance compared) of each round over all pairs."""
    levels = max(1, (count - 1).bit_length())
    return [(run, step) for run in range(levels) for step in range(run, -1, -1)]


def sorted_rows(memory: Memory, rows: list[Long], above: Above) -> list[Long]:
    """Arrays sorted together along their last axis, in new memory."""
    p = memory.p
    shape = rows[0].shape
    buffers = [p.buffer(f"o{len(p.buffers)}", "work", x.size, x.kind) for x in rows]
    for x, buffer in zip(rows, buffers, strict=True):
        memory.write(x, buffer)
    places = p.buffer(f"o{len(p.buffers)}", "work", shape[-1], "i")
    memory.nest(
        shape[:-1], lambda index: sort_row(memory, shape, index, buffers, places, above), few=1
    )
    return [memory.whole(shape, buffer) for buffer in buffers]


def sort_row(
    memory: Memory,
    shape: tuple[int, ...],
    index: Index,
    buffers: list[Buffer],
    places: Buffer,
    above: Above,
) -> None:
    """Sorts the row at `index`: rounds over pairs (a, a + step) of runs that are being merged."""
    p, count = memory.p, shape[-1]
    first = memory.flat(shape, (*index, p.integer(0)))
    repeat(p, count, lambda k: p.store(places, k, k))
    table = stages(count)
    runs, steps = (table_of(p, row) for row in zip(*table, strict=True))

    def compare(stage: int, t: int) -> None:
        one, last = p.integer(1), p.integer(count - 1)
        run, step = p.load(runs, stage), p.load(steps, stage)
        gap = p.op("ishl", one, step)
        within = p.op("iand", t, p.op("isub", gap, one))
        block = p.op("ishl", p.op("ishr", t, step), p.op("iadd", step, one))
        shift = p.select(p.op("ilt", step, run), gap, p.integer(0))
        a = p.op("iadd", p.op("iadd", block, within), shift)
        c = p.op("iadd", a, gap)
        twice = p.op("iadd", run, one)
        together = p.op("ieq", p.op("ishr", a, twice), p.op("ishr", c, twice))
        valid = p.op("band", together, p.op("ile", c, last))
        exchange(
            p,
            buffers,
            places,
            first,
            (p.op("imin", a, last), p.op("imin", c, last)),
            valid,
            above,
        )

    repeat(p, len(table), lambda s: repeat(p, count // 2, lambda t: compare(s, t)))


def table_of(p: Program, numbers: tuple[int, ...]) -> Buffer:
    """Integers in memory."""
    return p.buffer(f"k{len(p.buffers)}", "const", len(numbers), "i", data=numbers)


def exchange(
    p: Program,
    buffers: list[Buffer],
    places: Buffer,
    first: int,
    pair: tuple[int, int],
    valid: int,
    above: Above,
) -> None:
    """Puts two entries of a row, and their places, in order where `valid`."""
    spots = [p.op("iadd", first, k) for k in pair]
    left, right = ([p.load(b, spot) for b in buffers] for spot in spots)
    ties = [p.load(places, k) for k in pair]
    swap = p.op("band", valid, above(left, right, p.op("ilt", ties[1], ties[0])))
    for buffer, a, c in zip(buffers, left, right, strict=True):
        p.store(buffer, spots[0], p.select(swap, c, a))
        p.store(buffer, spots[1], p.select(swap, a, c))
    p.store(places, pair[0], p.select(swap, ties[1], ties[0]))
    p.store(places, pair[1], p.select(swap, ties[0], ties[1]))


def repeat(p: Program, count: int, visit: Callable[[int], None]) -> None:
    """A loop without carried values."""
    body = p.enter("loop")
    counter = p.symbol("counter", "i")
    visit(counter)
    p.leave()
    p.finish("for", Loop(count, counter, [], [], body), [])
