"""Passes over the scalar program: drop what nobody reads, see through loops, store fewer residuals.

A pass writes the program anew, value by value, so that every folding rule and every sharing of equal
values applies again with what has been learned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import no_type_check

from isthmus.native.ir.program import (
    Block,
    Branch,
    Buffer,
    Loop,
    Product,
    Program,
    View,
    children,
    operands,
    walk,
)

Rewrite = Callable[["Rebuild", int], int | None]
CONTROL = frozenset(["for", "while", "if"])
SPECIAL = CONTROL | {"const", "load", "store", "product", "result", "param", "counter"}
"""Operations whose arguments are not simply their operands."""


@no_type_check
def live(program: Program) -> set[int]:
    """Every value and statement that some output depends on; found once for a finished program."""
    known = program.alive
    if known is None or known[0] != len(program.ops):
        known = program.alive = (len(program.ops), Liveness(program).run())
    return known[1]


@no_type_check
class Liveness:
    """Who owns which block, who writes which buffer, and what is needed."""

    def __init__(self, program: Program) -> None:
        self.p = program
        self.owner: dict[Block, int] = {}
        """Block -> the loop or branch it belongs to."""
        self.stores: dict[Buffer, list[tuple[Block, int]]] = {}
        self.home: dict[int, Block] = {}
        """Where the items inside loops and branches stand."""
        self.makers: dict[int, tuple[Loop, int]] = {}
        self.found: set[int] = set()
        self.reached: set[Block] = {program.root}
        self.stack: list[int] = []
        self.look(program.root)

    def look(self, block: Block) -> None:
        """Notes what stands in `block` and in the blocks inside it."""
        ops, args = self.p.ops, self.p.args
        inside = block is not self.p.root
        for item in block.items:
            op = ops[item]
            if inside:
                self.home[item] = block
            if op == "store":
                self.stores.setdefault(args[item][0], []).append((block, item))
            elif op == "product":
                self.stores.setdefault(args[item][0].out.buffer, []).append((block, item))
            elif op in CONTROL:
                record = args[item][0]
                if isinstance(record, Loop):
                    self.makers.update((v, (record, k)) for k, v in enumerate(record.params))
                for child in children(self.p, item):
                    self.owner[child] = item
                    self.look(child)

    def run(self) -> set[int]:
        """From the stores into outputs back to everything they need."""
        for buffer, where in self.stores.items():
            if buffer.space == "out":
                self.written(where)
        ops, args, found, stack = self.p.ops, self.p.args, self.found, self.stack
        home, reached = self.home, self.reached
        while stack:
            value = stack.pop()
            if value in found:
                continue
            found.add(value)
            block = home.get(value)
            if block is not None and block not in reached:
                self.reach(block)
            op = ops[value]
            if op in SPECIAL:
                self.need(op, value)
            else:
                stack.extend(args[value])
        return found

    def need(self, op: str, value: int) -> None:
        """What a value needs that is more than its operands."""
        args, stack = self.p.args[value], self.stack
        for buffer in buffers_read(self.p, value):
            self.written(self.stores.get(buffer, ()))
        if op == "result":
            stack.append(args[0])
            stack.extend(needed(self.p.args[args[0]][0], args[1]))
        elif op == "param":
            loop, k = self.makers[value]
            stack.extend((loop.inits[k], loop.yields[k]))
        elif op == "while":
            stack.append(args[0].going)
        elif op == "if":
            stack.append(args[0].condition)
        stack.extend(operands(self.p, value))

    def written(self, where: Sequence[tuple[Block, int]]) -> None:
        """These stores are needed, and all that leads to them."""
        for block, item in where:
            self.stack.append(item)
            self.reach(block)

    def reach(self, block: Block) -> None:
        """The loops and branches around `block` are needed."""
        while block not in self.reached:
            self.reached.add(block)
            self.stack.append(self.owner[block])
            block = block.parent


def buffers_read(program: Program, value: int) -> tuple[Buffer, ...]:
    """The buffers that a load or a product reads."""
    op, args = program.ops[value], program.args[value]
    if op == "load":
        return (args[0],)
    return (args[0].left.buffer, args[0].right.buffer) if op == "product" else ()


def needed(record: Loop | Branch, k: int) -> list[int]:
    """What result `k` of a loop or branch is made from."""
    if isinstance(record, Branch):
        return [record.then_yields[k], record.else_yields[k]]
    return [record.inits[k], record.params[k], record.yields[k]]


@no_type_check
def touched_buffers(program: Program) -> set[Buffer]:
    """The arrays that live code reads or writes."""
    alive = live(program)
    found: set[Buffer] = set()
    for _, item in walk(program):
        if item in alive:
            found.update(buffers_read(program, item))
            if program.ops[item] == "store":
                found.add(program.args[item][0])
            elif program.ops[item] == "product":
                found.add(program.args[item][0].out.buffer)
    return found


@no_type_check
class Names(dict):
    """Old values -> new ones; constants are made when first wanted."""

    def __init__(self, old: Program, new: Program) -> None:
        super().__init__()
        self.old, self.new = old, new

    def __missing__(self, value: int) -> int:
        if self.old.ops[value] != "const":
            raise KeyError(value)
        found = self[value] = self.new.const(self.old.known[value], self.old.kinds[value])
        return found


@no_type_check
class Rebuild:
    """Writes the live part of a program anew; `rewrite` may replace a value by something else."""

    def __init__(
        self,
        old: Program,
        rewrite: Rewrite | None = None,
        *,
        fused: bool = False,
        settled: bool = False,
    ) -> None:
        self.old, self.new = old, Program(old.strict, old.width)
        self.new.places = old.places
        self.fused = fused
        """Terms of products become fused multiply-adds."""
        self.settled = settled
        """Every carried value of a loop is known to move: an earlier pass has found those that do not."""
        self.live = live(old)
        self.rewrite = rewrite
        self.names: dict[int, int] = Names(old, self.new)
        self.buffers: dict[Buffer, Buffer] = {}

    def run(self) -> Program:
        for buffer in self.old.buffers:
            if buffer.space in ("in", "out"):
                self.buffer(buffer)
        self.block(self.old.root)
        return self.new

    def buffer(self, old: Buffer) -> Buffer:
        """The buffer of the new program that stands for `old`."""
        if old not in self.buffers:
            self.buffers[old] = self.new.buffer(
                old.name, old.space, old.size, old.kind, data=old.data, group=old.group
            )
        return self.buffers[old]

    def value(self, old: int) -> int:
        """The new number of a value."""
        return self.names[old]

    def values(self, old: Sequence[int]) -> list[int]:
        names = self.names
        return [names[v] for v in old]

    def block(self, block: Block) -> None:
        """Every live item of `block`, into the present block of the new program."""
        ops, args, origins, new = self.old.ops, self.old.args, self.old.origins, self.new
        live, names, rewrite = self.live, self.names, self.rewrite
        for item in block.items:
            if item not in live:
                continue
            op = ops[item]
            new.origin = origins[item]
            if rewrite is not None:
                found = rewrite(self, item)
                if found is not None:
                    names[item] = found
                    continue
            if op not in SPECIAL:
                names[item] = new.op(op, *[names[a] for a in args[item]])
            elif op == "store":
                buffer, index, value = args[item]
                new.store(self.buffer(buffer), names[index], names[value])
            elif op == "load":
                buffer, index = args[item]
                names[item] = new.load(self.buffer(buffer), names[index])
            elif op == "product":
                self.product(args[item][0])
            elif op == "if":
                self.branch(args[item][0])
            else:
                self.loop(op, args[item][0])

    def view(self, old: View) -> View:
        return View(self.buffer(old.buffer), self.value(old.start), old.strides)

    def product(self, old: Product) -> None:
        views = {name: self.view(getattr(old, name)) for name in ("out", "left", "right")}
        fused = old.fused or self.fused
        self.new.product(dataclasses.replace(old, fused=fused, **views))

    def branch(self, old: Branch) -> None:
        new = self.new
        kept = [k for k, r in enumerate(old.results) if r in self.live]
        condition = self.value(old.condition)
        known = new.constant(condition)
        if known is not None:
            block, yields = (old.then, old.then_yields) if known else (old.orelse, old.else_yields)
            self.block(block)
            self.names.update((old.results[k], self.value(yields[k])) for k in kept)
            return
        blocks, yields = [], []
        for block, out in ((old.then, old.then_yields), (old.orelse, old.else_yields)):
            blocks.append(new.enter("branch"))
            self.block(block)
            yields.append([self.value(out[k]) for k in kept])
            new.leave()
        kinds = [self.old.kinds[old.results[k]] for k in kept]
        results = new.finish("if", Branch(condition, *blocks, *yields), kinds)
        self.names.update((old.results[k], r) for k, r in zip(kept, results, strict=True))

    def loop(self, op: str, old: Loop) -> None:
        """Assumes that every carried value keeps its start value, and lets go of what turns out to move."""
        new = self.new
        kept = [
            k for k, v in enumerate(old.params) if v in self.live or old.results[k] in self.live
        ]
        inits = {k: self.value(old.inits[k]) for k in kept}
        still = set() if self.settled else set(kept)
        while True:
            made = self.attempt(op, old, kept, inits, still)
            moved = {k for k in still if self.value(old.yields[k]) != inits[k]}
            if not moved:
                break
            still -= moved
        moving = [k for k in kept if k not in still]
        kinds = [self.old.kinds[old.params[k]] for k in moving]
        made.yields = [self.value(old.yields[k]) for k in moving]
        results = new.finish(op, made, kinds)
        self.names.update((old.results[k], inits[k]) for k in still)
        self.names.update((old.results[k], r) for k, r in zip(moving, results, strict=True))

    def attempt(self, op: str, old: Loop, kept: list[int], inits: dict, still: set[int]) -> Loop:
        """The loop, with the values in `still` taken as constant."""
        new = self.new
        head = new.enter("loop") if op == "while" else None
        body = head or new.enter("loop")
        counter = None
        if old.counter is not None:
            counter = self.names[old.counter] = new.symbol("counter", "i")
        params = []
        for k in kept:
            if k in still:
                self.names[old.params[k]] = inits[k]
            else:
                self.names[old.params[k]] = new.symbol("param", self.old.kinds[old.params[k]])
                params.append(self.names[old.params[k]])
        going = None
        if head is not None and old.head is not None and old.going is not None:
            self.block(old.head)
            going = self.value(old.going)
            body = new.enter("loop")
        self.block(old.body)
        new.leave()
        if head is not None:
            new.leave()
        moving = [inits[k] for k in kept if k not in still]
        return Loop(old.count, counter, moving, params, body, head=head, going=going)


def prune(program: Program) -> Program:
    """Folds, shares and drops until loops, residuals and memory hold nothing idle."""
    from isthmus.native.passes.residuals import slim

    program = Rebuild(program).run()
    for _ in range(3):
        found = slim(program)
        if found is None:
            break
        program = Rebuild(program, found, settled=True).run()
    return program


@no_type_check
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
