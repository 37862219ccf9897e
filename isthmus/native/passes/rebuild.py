"""Writes a program anew, value by value: what every pass does.

Every folding rule and every sharing of equal values then applies again with what has been learned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from isthmus.native.ir.program import Branch, Buffer, Loop, Product, Program, View
from isthmus.native.ir.walk import Walk
from isthmus.native.passes.liveness import live

Rewrite = Callable[["Rebuild", int], int | None]
"""(rebuild, old value) -> what replaces it in the new program, or None."""


class Names(dict):
    """Old values -> new ones; constants are made when first wanted."""

    def __init__(self, old: Program, new: Program) -> None:
        super().__init__()
        self.old, self.new = old, new

    def __missing__(self, value: int) -> int:
        known = self.old.known[value]
        if known is None:
            raise KeyError(value)
        found = self[value] = self.new.const(known, self.old.kinds[value])
        return found


class Rebuild(Walk):
    """Writes the live part of a program anew; `rewrite` may replace a value by something else."""

    def __init__(
        self,
        old: Program,
        rewrite: Rewrite | None = None,
        *,
        fused: bool = False,
        settled: bool = False,
    ) -> None:
        self.live = live(old)
        super().__init__(old, self.live)
        self.old, self.new = old, Program(old.strict, old.width)
        self.new.places = old.places
        self.fused = fused
        """Terms of products become fused multiply-adds."""
        self.settled = settled
        """Every carried value of a loop is known to move: an earlier pass has found those that do not."""
        self.rewrite = rewrite
        self.moving: dict[int, set[int]] = {}
        """Carried values of each loop that were seen to move. A loop inside another one is written several times, each
        time with less taken for granted, so what has moved once moves again."""
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

    def visit(self, item: int) -> None:
        """Writes one item into the present block of the new program."""
        self.new.origin = self.old.origins[item]
        if self.rewrite is not None:
            found = self.rewrite(self, item)
            if found is not None:
                self.names[item] = found
                return
        super().visit(item)

    def operation(self, value: int, op: str, args: tuple[int, ...]) -> None:
        names = self.names
        names[value] = self.new.op(op, *[names[a] for a in args])

    def load(self, value: int, buffer: Buffer, index: int) -> None:
        self.names[value] = self.new.load(self.buffer(buffer), self.names[index])

    def store(self, item: int, buffer: Buffer, index: int, value: int) -> None:
        self.new.store(self.buffer(buffer), self.names[index], self.names[value])

    def view(self, old: View) -> View:
        return View(self.buffer(old.buffer), self.value(old.start), old.strides)

    def product(self, item: int, old: Product) -> None:
        views = {name: self.view(getattr(old, name)) for name in ("out", "left", "right")}
        fused = old.fused or self.fused
        self.new.product(dataclasses.replace(old, fused=fused, **views))

    def branch(self, item: int, old: Branch) -> None:
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

    def counted_loop(self, item: int, old: Loop) -> None:
        self.loop("for", item, old)

    def while_loop(self, item: int, old: Loop) -> None:
        self.loop("while", item, old)

    def loop(self, op: str, item: int, old: Loop) -> None:
        """Assumes that every carried value keeps its start value, and lets go of what turns out to move."""
        new = self.new
        kept = [
            k for k, v in enumerate(old.params) if v in self.live or old.results[k] in self.live
        ]
        inits = {k: self.value(old.inits[k]) for k in kept}
        seen = self.moving.setdefault(item, set(kept) if self.settled else set())
        while True:
            still = set(kept) - seen
            made = self.attempt(op, old, kept, inits, still)
            moved = {k for k in still if self.value(old.yields[k]) != inits[k]}
            if not moved:
                break
            seen |= moved
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
