"""The scalar program -> the text of one LLVM function, for any number of lanes.

`core(in, out, work, shared)` computes one block of worlds: entry k of an array lies at lanes·k…lanes·(k+1)−1, of an
array that all lanes share at k. Values that are the same in all lanes (loop counters, constants, what is computed
from shared arrays alone) stay scalar. Where lanes disagree on
a condition, both branches run and each lane keeps its own; a loop runs until its last lane is done.
"""

from __future__ import annotations

import struct

from isthmus.native.ir.program import Branch, Buffer, Loop, Plain, Program
from isthmus.native.passes.liveness import live
from isthmus.native.passes.uniform import Uniform
from isthmus.native.targets.llvm.instructions import INSTRUCTIONS, STEPWISE
from isthmus.native.targets.llvm.product import call_product

SCALARS = {
    64: {"f": "double", "i": "i64", "b": "i1"},
    32: {"f": "float", "i": "i32", "b": "i1"},
}
"""Width of the program -> how LLVM calls its kinds."""
MAP = ", !llvm.loop !1"
"""Marks a loop whose rounds may run side by side."""
INSEPARABLE = frozenset([*STEPWISE, "for", "while", "if", "product"])
"""What stands in the way of running several rounds of a loop side by side."""


def number(value: Plain, kind: str) -> str:
    """A constant as LLVM writes it, bit for bit."""
    if kind == "f":
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if kind == "b":
        return "true" if value else "false"
    return str(value)


class Emitter:
    """Writes `core` line by line."""

    def __init__(
        self, program: Program, lanes: int, shared: frozenset[Buffer] = frozenset()
    ) -> None:
        self.p, self.lanes, self.width = program, lanes, program.width
        self.shared = shared
        """Inputs that are the same in all lanes."""
        self.scalar = SCALARS[program.width]
        self.live = live(program)
        self.uniform = Uniform(program, self.live, shared) if lanes > 1 else None
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.alias: dict[int, int] = {}
        self.label = "entry"
        self.fresh = 0
        self.mask: str | None = None
        self.addresses: dict[tuple, str] = {}
        self.products: dict[tuple, tuple[str, str]] = {}
        """Functions of dense products by what tells them apart: name and text."""

    # names and types

    def vector(self, value: int) -> bool:
        """`value` has one number for each lane."""
        return self.uniform is not None and not self.uniform.same(value)

    def type(self, kind: str, vector: bool) -> str:
        return f"<{self.lanes} x {self.scalar[kind]}>" if vector else self.scalar[kind]

    def type_of(self, value: int) -> str:
        return self.type(self.p.kinds[value], self.vector(value))

    def ref(self, value: int, vector: bool = False) -> str:
        """How `value` is written as an operand, spread over the lanes if `vector`."""
        while value in self.alias:
            value = self.alias[value]
        known = self.p.constant(value)
        if known is not None:
            text = number(known, self.p.kinds[value])
            if vector:
                kind = self.scalar[self.p.kinds[value]]
                return "<" + ", ".join([f"{kind} {text}"] * self.lanes) + ">"
            return text
        if vector and not self.vector(value):
            return f"%s{value}"
        return f"%v{value}"

    def temp(self, text: str) -> str:
        """A new instruction with a name of its own."""
        self.fresh += 1
        name = f"%t{self.fresh}"
        self.lines.append(f"  {name} = {text}")
        return name

    def define(self, value: int, text: str) -> None:
        """The instruction that makes `value`."""
        self.lines.append(f"  %v{value} = {text}")
        self.spread(value)

    def spread(self, value: int) -> None:
        """A scalar that vectors need is copied to all lanes where it is made."""
        if self.uniform is None or value not in self.uniform.spread:
            return
        kind, n = self.scalar[self.p.kinds[value]], self.lanes
        one = self.temp(f"insertelement <{n} x {kind}> poison, {kind} %v{value}, i64 0")
        zeros = f"<{n} x i32> zeroinitializer"
        self.lines.append(
            f"  %s{value} = shufflevector <{n} x {kind}> {one}, <{n} x {kind}> poison, {zeros}"
        )

    def start(self, label: str) -> None:
        """Begins a basic block."""
        self.lines.append(f"{label}:")
        self.label = label
        self.addresses = {}

    def new_label(self, name: str) -> str:
        self.fresh += 1
        return f"{name}{self.fresh}"

    def declare(self, name: str, signature: str) -> str:
        """Makes an outside function known to the module."""
        self.declared[name] = signature
        return name

    def any(self, mask: str) -> str:
        """Some lane of `mask` holds."""
        if self.lanes == 1:
            return mask
        bits = self.temp(f"bitcast <{self.lanes} x i1> {mask} to i{self.lanes}")
        return self.temp(f"icmp ne i{self.lanes} {bits}, 0")

    # the function

    def run(self) -> str:
        """The text of `core`."""
        self.block(self.p.root.items)
        pointers = ", ".join(f"ptr noalias %{name}" for name in ("in", "out", "work", "shared"))
        head = f"define internal void @core({pointers}) #0 {{"
        products = [text for _, text in self.products.values()]
        return "\n".join([head, "entry:", *self.lines, "  ret void", "}", *products])

    def block(self, items: list[int]) -> None:
        for item in items:
            if item not in self.live:
                continue
            op = self.p.ops[item]
            if op == "for":
                self.counted_loop(self.p.args[item][0])
            elif op == "while":
                self.while_loop(self.p.args[item][0])
            elif op == "if":
                self.branch(self.p.args[item][0])
            elif op == "store":
                self.store(*self.p.args[item])
            elif op == "product":
                call_product(self, self.p.args[item][0])
            elif op == "load":
                self.load(item, *self.p.args[item])
            else:
                self.operation(item, op)

    def operation(self, value: int, op: str) -> None:
        INSTRUCTIONS[op](self, value, self.p.args[value], self.vector(value))

    # memory

    def is_shared(self, buffer: Buffer) -> bool:
        """All lanes read the same numbers."""
        return buffer.space == "const" or buffer in self.shared

    def address(self, buffer: Buffer, index: int) -> tuple[str, bool]:
        """A pointer to the entry (for all lanes), or a vector of pointers where lanes differ."""
        cell, lanes = self.scalar["f"], 1 if self.is_shared(buffer) else self.lanes
        base = f"@{buffer.name}" if buffer.space == "const" else f"%{buffer.space}"
        base = "%shared" if buffer in self.shared else base
        known = self.p.constant(index)
        if known is not None:
            spot = (buffer.offset + known * buffer.stride) * lanes
            return self.temp(f"getelementptr inbounds {cell}, ptr {base}, i64 {spot}"), False
        first = buffer.offset * lanes
        scale = buffer.stride * lanes
        if not self.vector(index):
            key = (base, index, scale)
            if key not in self.addresses:
                step = self.temp(f"mul i64 {self.wide(self.ref(index), False)}, {scale}")
                self.addresses[key] = self.temp(f"getelementptr {cell}, ptr {base}, i64 {step}")
            where = self.addresses[key]
            return self.temp(f"getelementptr {cell}, ptr {where}, i64 {first}"), False
        n = self.lanes
        many = lambda x: "<" + ", ".join(f"i64 {v}" for v in x) + ">"
        step = self.wide(self.ref(index, True), True)
        step = self.temp(f"mul <{n} x i64> {step}, {many([scale] * n)}")
        own = [first + (k if lanes > 1 else 0) for k in range(n)]
        spot = self.temp(f"add <{n} x i64> {step}, {many(own)}")
        return self.temp(f"getelementptr {cell}, ptr {base}, <{n} x i64> {spot}"), True

    def wide(self, index: str, vector: bool) -> str:
        """An integer of the program as one of 64 bits, which addresses are made of."""
        if self.width == 64:
            return index
        kind = self.type("i", vector)
        return self.temp(f"sext {kind} {index} to {kind.replace('i32', 'i64')}")

    def load(self, value: int, buffer: Buffer, index: int) -> None:
        kind, vector = buffer.kind, self.vector(value)
        stored = self.scalar["i"] if kind == "b" else self.scalar[kind]
        pointer, scattered = self.address(buffer, index)
        if scattered:
            n, short = self.lanes, f"{'i' if stored[0] == 'i' else 'f'}{self.width}"
            name = f"@llvm.masked.gather.v{n}{short}.v{n}p0"
            types = f"<{n} x ptr>, i32, <{n} x i1>, <{n} x {stored}>"
            self.declare(name, f"declare <{n} x {stored}> {name}({types})")
            ones = "<" + ", ".join(["i1 true"] * n) + ">"
            text = f"call <{n} x {stored}> {name}(<{n} x ptr> {pointer}, i32 {self.width // 8}, "
            text += f"<{n} x i1> {ones}, <{n} x {stored}> poison)"
        elif vector:
            text = f"load <{self.lanes} x {stored}>, ptr {pointer}, align {self.width // 8 * self.lanes}"
        else:
            text = f"load {stored}, ptr {pointer}, align {self.width // 8}"
        if kind == "b":
            wide = self.temp(text)
            text = f"trunc {self.type('i', vector)} {wide} to {self.type('b', vector)}"
        self.define(value, text)

    def store(self, buffer: Buffer, index: int, value: int) -> None:
        vector = self.lanes > 1
        kind = buffer.kind
        stored = self.scalar["i"] if kind == "b" else self.scalar[kind]
        whole = f"<{self.lanes} x {stored}>" if vector else stored
        ref = self.ref(value, vector)
        if kind == "b":
            ref = self.temp(f"zext {self.type('b', vector)} {ref} to {whole}")
        pointer, scattered = self.address(buffer, index)
        if scattered:
            n, short = self.lanes, f"{'i' if stored[0] == 'i' else 'f'}{self.width}"
            name = f"@llvm.masked.scatter.v{n}{short}.v{n}p0"
            self.declare(name, f"declare void {name}({whole}, <{n} x ptr>, i32, <{n} x i1>)")
            mask = self.mask or "<" + ", ".join(["i1 true"] * n) + ">"
            text = (
                f"call void {name}({whole} {ref}, <{n} x ptr> {pointer}, i32 {self.width // 8}, "
                f"<{n} x i1> {mask})"
            )
            self.lines.append("  " + text)
            return
        align = self.width // 8 * self.lanes
        if self.mask is not None:
            old = self.temp(f"load {whole}, ptr {pointer}, align {align}")
            mask = f"<{self.lanes} x i1> {self.mask}"
            ref = self.temp(f"select {mask}, {whole} {ref}, {whole} {old}")
        self.lines.append(f"  store {whole} {ref}, ptr {pointer}, align {align}")

    # control

    def counted_loop(self, loop: Loop) -> None:
        assert loop.counter is not None
        before, top, after = self.label, self.new_label("loop"), self.new_label("done")
        self.lines.append(f"  br label %{top}")
        self.start(top)
        place = len(self.lines)
        for v in (loop.counter, *loop.params):
            self.spread(v)
        self.block(loop.body.items)
        counter = f"%v{loop.counter}"
        kind = self.scalar["i"]
        following = self.temp(f"add {kind} {counter}, 1")
        more = self.temp(f"icmp ne {kind} {following}, {loop.count}")
        end = self.label
        hint = MAP if self.is_map(loop) else ""
        self.lines.append(f"  br i1 {more}, label %{top}, label %{after}{hint}")
        head = [f"  {counter} = phi {kind} [ 0, %{before} ], [ {following}, %{end} ]"]
        for v, first, then in zip(loop.params, loop.inits, loop.yields, strict=True):
            if v in self.live:
                head.append(self.phi(v, first, before, then, end))
        self.lines[place:place] = head
        self.start(after)
        self.alias.update(zip(loop.results, loop.yields, strict=True))

    def is_map(self, loop: Loop) -> bool:
        """One world's rounds do not need each other, and fit side by side into vectors."""
        items = [item for item in loop.body.items if item in self.live]
        plain = {self.p.ops[item] for item in items}.isdisjoint(INSEPARABLE)
        return self.lanes == 1 and (loop.count or 0) >= 16 and not loop.params and plain

    def phi(self, value: int, first: int, before: str, then: int, end: str) -> str:
        wide = self.vector(value)
        a, b = self.ref(first, wide), self.ref(then, wide)
        return f"  %v{value} = phi {self.type_of(value)} [ {a}, %{before} ], [ {b}, %{end} ]"

    def while_loop(self, loop: Loop) -> None:
        """Lanes that are done keep what they have until the last one is."""
        assert loop.going is not None
        before, top, inner, after = self.label, *map(self.new_label, ("while", "body", "done"))
        wide = self.vector(loop.going)
        n, outer = self.lanes, self.mask
        self.lines.append(f"  br label %{top}")
        self.start(top)
        place = len(self.lines)
        kept = [k for k, v in enumerate(loop.params) if v in self.live]
        for k in kept:
            self.spread(loop.params[k])
        self.block(loop.head.items if loop.head else [])
        going, active = self.ref(loop.going, wide), self.new_label("%active")
        if wide:
            going = self.temp(f"and <{n} x i1> {active}, {going}")
            self.mask = going
        self.lines.append(
            f"  br i1 {self.any(going) if wide else going}, label %{inner}, label %{after}"
        )
        self.start(inner)
        self.block(loop.body.items)
        head = []
        news = {}
        for k in kept:
            v, y = loop.params[k], loop.yields[k]
            news[k] = self.ref(y, self.vector(v))
            if wide:
                kind = self.type_of(v)
                news[k] = self.temp(f"select <{n} x i1> {going}, {kind} {news[k]}, {kind} %v{v}")
        for k in kept:
            v = loop.params[k]
            first = self.ref(loop.inits[k], self.vector(v))
            text = f"[ {first}, %{before} ], [ {news[k]}, %{self.label} ]"
            head.append(f"  %v{v} = phi {self.type_of(v)} {text}")
        if wide:
            ones = outer or "<" + ", ".join(["i1 true"] * n) + ">"
            text = f"[ {ones}, %{before} ], [ {going}, %{self.label} ]"
            head.append(f"  {active} = phi <{n} x i1> {text}")
        self.lines.append(f"  br label %{top}")
        self.lines[place:place] = head
        self.mask = outer
        self.start(after)
        self.alias.update(zip(loop.results, loop.params, strict=True))

    def branch(self, record: Branch) -> None:
        """One side, or both in turn where lanes disagree."""
        wide = self.vector(record.condition)
        condition = self.ref(record.condition, wide)
        kept = [k for k, r in enumerate(record.results) if r in self.live]
        if not wide:
            self.plain_branch(record, condition, kept)
            return
        n, outer = self.lanes, self.mask
        ones = "<" + ", ".join(["i1 true"] * n) + ">"
        sides = []
        for block, yields, flip in (
            (record.then.items, record.then_yields, False),
            (record.orelse.items, record.else_yields, True),
        ):
            mask = self.temp(f"xor <{n} x i1> {condition}, {ones}") if flip else condition
            if outer is not None:
                mask = self.temp(f"and <{n} x i1> {mask}, {outer}")
            some, here = self.any(mask), self.label
            enter, leave = self.new_label("side"), self.new_label("next")
            self.lines.append(f"  br i1 {some}, label %{enter}, label %{leave}")
            self.start(enter)
            self.mask = mask
            self.block(block)
            self.mask = outer
            self.lines.append(f"  br label %{leave}")
            end = self.label
            self.start(leave)
            found = []
            for k in kept:
                kind = self.type(self.p.kinds[yields[k]], True)
                text = f"[ zeroinitializer, %{here} ], [ {self.ref(yields[k], True)}, %{end} ]"
                found.append(self.temp(f"phi {kind} {text}"))
            sides.append(found)
        for k, x, y in zip(kept, *sides, strict=True):
            kind = self.type(self.p.kinds[record.results[k]], True)
            text = f"select <{n} x i1> {condition}, {kind} {x}, {kind} {y}"
            self.define(record.results[k], text)

    def plain_branch(self, record: Branch, condition: str, kept: list[int]) -> None:
        then, orelse, after = map(self.new_label, ("then", "else", "after"))
        self.lines.append(f"  br i1 {condition}, label %{then}, label %{orelse}")
        ends = []
        for label, block in ((then, record.then), (orelse, record.orelse)):
            self.start(label)
            self.block(block.items)
            ends.append(self.label)
            self.lines.append(f"  br label %{after}")
        self.start(after)
        for k in kept:
            result = record.results[k]
            wide = self.vector(result)
            x, y = self.ref(record.then_yields[k], wide), self.ref(record.else_yields[k], wide)
            kind = self.type_of(result)
            text = f"phi {kind} [ {x}, %{ends[0]} ], [ {y}, %{ends[1]} ]"
            self.lines.append(f"  %v{result} = {text}")
        for k in kept:
            self.spread(record.results[k])
