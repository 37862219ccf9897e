"""Fewer residuals: entries of a stack that need not be stored, because they can be computed again.

Reverse mode through a scan stores, in every round, whatever its backward round reads. Much of that is
the same in all rounds, or a product or sum of other stored entries: cheaper computed again than moved
through memory twice.
"""

from __future__ import annotations

import dataclasses

from isthmus.native.ir.ops import OPS
from isthmus.native.ir.program import Block, Buffer, Loop, Program, walk
from isthmus.native.passes.liveness import live
from isthmus.native.passes.rebuild import Rebuild, Rewrite

BUDGET = 3
"""Cheap operations that are done again rather than storing and loading their result."""


@dataclasses.dataclass(eq=False)
class Column:
    """One stacked entry: in round k of `loop`, `buffer[spot(k)] = value`."""

    buffer: Buffer
    loop: Loop
    block: Block
    """The block that the loop stands in."""
    spot: int
    value: int


def columns_of(program: Program) -> list[Column]:
    """The stacks that are written once in each round of one loop, at a place of that round's own."""
    ops, args = program.ops, program.args
    loops = {
        args[item][0].body: (args[item][0], block)
        for block, item in walk(program)
        if ops[item] == "for"
    }
    stores: dict[Buffer, list[tuple[Block, int]]] = {}
    for block, item in walk(program):
        if ops[item] == "store":
            stores.setdefault(args[item][0], []).append((block, item))
    found = []
    for buffer, where in stores.items():
        if buffer.space != "work" or buffer.group is None or len(where) != 1:
            continue
        block, item = where[0]
        if block in loops:
            loop, outer = loops[block]
            _, spot, value = args[item]
            if buffer.size == loop.count and covers(program, loop, spot):
                found.append(Column(buffer, loop, outer, spot, value))
    return found


def covers(program: Program, loop: Loop, spot: int) -> bool:
    """The index runs once through all places: the counter, or the counter from the end."""
    if spot == loop.counter:
        return True
    return (
        program.ops[spot] == "isub"
        and program.args[spot][1] == loop.counter
        and program.constant(program.args[spot][0]) == (loop.count or 0) - 1
    )


def slim(program: Program) -> Rewrite | None:
    """A rewriting of loads from stacks that need not exist; None if there is no such stack."""
    alive = live(program)
    read = {program.args[v][0] for v in alive if program.ops[v] == "load"}
    kept: dict[tuple[Loop, int], Column] = {}
    recipes: dict[Buffer, Column] = {}
    derived: dict[tuple[Loop, int], Column] = {}
    for column in sorted(columns_of(program), key=lambda c: c.value):
        key = (column.loop, column.value)
        if column.buffer not in read:
            continue
        if key in kept or key in derived or affordable(program, column, kept, BUDGET) is not None:
            recipes[column.buffer] = column
            derived.setdefault(key, column)
        else:
            kept[key] = column
    if not recipes:
        return None

    def rewrite(build: Rebuild, item: int) -> int | None:
        if program.ops[item] != "load" or program.args[item][0] not in recipes:
            return None
        buffer, index = program.args[item]
        return again(program, build, recipes[buffer], kept, build.value(index))

    return rewrite


def affordable(
    program: Program, column: Column, kept: dict[tuple[Loop, int], Column], budget: int
) -> int | None:
    """What is left of `budget` after computing the column's value from `kept` ones; None: it costs more."""
    seen: set[int] = set()

    def visit(value: int, left: int) -> int | None:
        op = program.ops[value]
        if (
            op == "const"
            or value in seen
            or program.depths[value] == 0
            or (column.loop, value) in kept
        ):
            return left
        if value == column.spot or value == column.loop.counter:
            return left
        if op == "load" and program.args[value][0].space in ("in", "const"):
            return visit(program.args[value][1], left)
        cost = OPS[op].again if op in OPS else None
        if cost is None or cost > left:
            return None
        seen.add(value)
        left -= cost
        for a in program.args[value]:
            rest = visit(a, left)
            if rest is None:
                return None
            left = rest
        return left

    return visit(column.value, budget)


def again(
    program: Program,
    build: Rebuild,
    column: Column,
    kept: dict[tuple[Loop, int], Column],
    index: int,
) -> int:
    """The column's entry at `index`, computed from stacks that are kept."""
    new = build.new
    counter = index
    if column.spot != column.loop.counter:
        counter = new.op("isub", new.integer((column.loop.count or 0) - 1), index)

    def visit(value: int) -> int:
        if program.ops[value] == "const" or program.depths[value] == 0:
            return build.value(value)
        if (column.loop, value) in kept:
            return new.load(build.buffer(kept[column.loop, value].buffer), index)
        if value == column.loop.counter:
            return counter
        if value == column.spot:
            return index
        op, args = program.ops[value], program.args[value]
        if op == "load":
            return new.load(build.buffer(args[0]), visit(args[1]))
        return new.op(op, *map(visit, args))

    return visit(column.value)
