"""Joins products with the sums that they feed: one operation, one rounding."""

from __future__ import annotations

from isthmus.native.ir.program import Block, Branch, Loop, Program, operands, walk
from isthmus.native.passes.liveness import live
from isthmus.native.passes.rebuild import Rebuild, Rewrite


def contracting(program: Program) -> Rewrite:
    """A rewriting: a product that only feeds a sum becomes one fused operation, with one rounding."""
    alive = live(program)
    uses: dict[int, int] = {}
    homes: dict[int, Block] = {}
    for block, item in walk(program):
        if item in alive:
            homes[item] = block
            for a in operands(program, item):
                uses[a] = uses.get(a, 0) + 1
            record = program.args[item][0] if program.ops[item] in ("for", "while", "if") else None
            if isinstance(record, Loop):
                for a in (*record.inits, *record.yields, record.going or 0):
                    uses[a] = uses.get(a, 0) + 1
            elif isinstance(record, Branch):
                for a in (*record.then_yields, *record.else_yields, record.condition):
                    uses[a] = uses.get(a, 0) + 1

    def single(value: int, home: Block) -> bool:
        return program.ops[value] == "mul" and uses.get(value) == 1 and homes.get(value) is home

    def rewrite(build: Rebuild, item: int) -> int | None:
        op, args = program.ops[item], program.args[item]
        if op not in ("add", "sub"):
            return None
        home = homes[item]
        x, y = args
        pick = max((v for v in (x, y) if single(v, home)), default=None)
        if pick is None:
            return None
        a, b = build.values(program.args[pick])
        other = build.value(y if pick == x else x)
        new = build.new
        if op == "add":
            return new.place("fma", (a, b, other), "f")
        if pick == x:
            return new.place("fma", (a, b, new.op("neg", other)), "f")
        return new.place("fma", (new.op("neg", a), b, other), "f")

    return rewrite


def contract(program: Program) -> Program:
    """The program with products fused with their sums."""
    return Rebuild(program, contracting(program), fused=True, settled=True).run()
