"""The scalar program -> the text of one LLVM function, for any number of lanes.

`core(in, out, work, shared)` computes one block of worlds: entry k of an array lies at lanes·k…lanes·(k+1)−1, of an
array that all lanes share at k. Values that are the same in all lanes (loop counters, constants, what is computed
from shared arrays alone) stay scalar. Where lanes disagree on a condition, both branches run and each lane keeps its
own result; a loop runs until its last lane is done.
"""

from __future__ import annotations

from isthmus.native.ir.program import Branch, Buffer, Loop, Product, Program
from isthmus.native.targets.llvm.instructions import INSTRUCTIONS, STEPWISE
from isthmus.native.targets.llvm.lines import Lines
from isthmus.native.targets.llvm.processor import widest
from isthmus.native.targets.llvm.product import Kernel, Surroundings

MAP = ", !llvm.loop !1"
"""Marks a loop whose rounds may run side by side."""
INSEPARABLE = frozenset([*STEPWISE, "for", "while", "if", "product"])
"""What stands in the way of running several rounds of a loop side by side."""


class Emitter(Lines):
    """Writes `core` line by line."""

    def __init__(
        self, program: Program, lanes: int, shared: frozenset[Buffer] = frozenset()
    ) -> None:
        super().__init__(program, lanes, shared)
        self.products: dict[tuple, tuple[str, str]] = {}
        """Functions of dense products by what tells them apart: name and text."""

    def run(self) -> str:
        """The text of `core`."""
        self.block(self.p.root)
        pointers = ", ".join(f"ptr noalias %{name}" for name in ("in", "out", "work", "shared"))
        head = f"define internal void @core({pointers}) #0 {{"
        products = [text for _, text in self.products.values()]
        return "\n".join([head, "entry:", *self.lines, "  ret void", "}", *products])

    def operation(self, value: int, op: str, args: tuple[int, ...]) -> None:
        INSTRUCTIONS[op](self, value, args, self.vector(value))

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
            text = f"call <{n} x {stored}> {name}(<{n} x ptr> {pointer}, i32 {self.width // 8}, "
            text += f"<{n} x i1> {self.all_true()}, <{n} x {stored}> poison)"
        elif vector:
            text = f"load <{self.lanes} x {stored}>, ptr {pointer}, align {self.width // 8 * self.lanes}"
        else:
            text = f"load {stored}, ptr {pointer}, align {self.width // 8}"
        if kind == "b":
            wide = self.temp(text)
            text = f"trunc {self.type('i', vector)} {wide} to {self.type('b', vector)}"
        self.define(value, text)

    def store(self, item: int, buffer: Buffer, index: int, value: int) -> None:
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
            mask = self.mask or self.all_true()
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

    def product(self, item: int, record: Product) -> None:
        """Calls the function of a product; equal shapes share one."""
        views = (record.out, record.left, record.right)
        shared = [self.is_shared(view.buffer) for view in views]
        strides = tuple(view.strides for view in views)
        masked = self.mask is not None
        key = (record.sizes, strides, *shared, record.spread, record.fused, masked)
        if key not in self.products:
            name = f"product{len(self.products)}"
            around = Surroundings(self.lanes, self.scalar["f"], *shared[1:], masked, widest())
            kernel = Kernel(record, around)
            self.products[key] = name, kernel.run(name)
            self.declared.update(kernel.declared)
        pointers = ", ".join(f"ptr {self.address(v.buffer, v.start)[0]}" for v in views)
        mask = f", <{self.lanes} x i1> {self.mask}" if masked else ""
        self.lines.append(f"  call void @{self.products[key][0]}({pointers}{mask})")

    # control

    def counted_loop(self, item: int, loop: Loop) -> None:
        assert loop.counter is not None
        before, top, after = self.label, self.new_label("loop"), self.new_label("done")
        self.lines.append(f"  br label %{top}")
        self.start(top)
        place = len(self.lines)
        for v in (loop.counter, *loop.params):
            self.spread(v)
        self.block(loop.body)
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

    def while_loop(self, item: int, loop: Loop) -> None:
        """Lanes that are done keep what they have until the last one is."""
        assert loop.head is not None
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
        self.block(loop.head)
        going, active = self.ref(loop.going, wide), self.new_label("%active")
        if wide:
            going = self.temp(f"and <{n} x i1> {active}, {going}")
            self.mask = going
        self.lines.append(
            f"  br i1 {self.any(going) if wide else going}, label %{inner}, label %{after}"
        )
        self.start(inner)
        self.block(loop.body)
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
            ones = outer or self.all_true()
            text = f"[ {ones}, %{before} ], [ {going}, %{self.label} ]"
            head.append(f"  {active} = phi <{n} x i1> {text}")
        self.lines.append(f"  br label %{top}")
        self.lines[place:place] = head
        self.mask = outer
        self.start(after)
        self.alias.update(zip(loop.results, loop.params, strict=True))

    def branch(self, item: int, record: Branch) -> None:
        """One side, or both in turn where lanes disagree."""
        wide = self.vector(record.condition)
        condition = self.ref(record.condition, wide)
        kept = [k for k, r in enumerate(record.results) if r in self.live]
        if not wide:
            self.plain_branch(record, condition, kept)
            return
        n, outer = self.lanes, self.mask
        sides = []
        for block, yields, flip in (
            (record.then, record.then_yields, False),
            (record.orelse, record.else_yields, True),
        ):
            mask = (
                self.temp(f"xor <{n} x i1> {condition}, {self.all_true()}") if flip else condition
            )
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
            self.block(block)
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
