"""A scalar program as text, for people and for tests."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.native.ir.program import Block, Branch, Buffer, Loop, Product, Program, View
from isthmus.native.ir.walk import Walk


def listing(program: Program) -> str:
    """The program, one line for each statement."""
    found = Listing(program, range(len(program.ops)))
    found.block(program.root)
    return "\n".join(found.lines)


class Listing(Walk):
    """Writes one line for each item; blocks inside loops and branches are indented."""

    def __init__(self, program: Program, items: range) -> None:
        super().__init__(program, items)
        self.lines: list[str] = []
        self.pad = ""

    def name(self, value: int) -> str:
        known = self.p.constant(value)
        return f"v{value}" if known is None else repr(known)

    def names(self, values: Sequence[int]) -> str:
        return ", ".join(map(self.name, values))

    def line(self, text: str) -> None:
        self.lines.append(self.pad + text)

    def operation(self, value: int, op: str, args: tuple[int, ...]) -> None:
        self.line(f"v{value} = {op} {' '.join(map(self.name, args))}")

    def load(self, value: int, buffer: Buffer, index: int) -> None:
        self.line(f"v{value} = {buffer.name}[{self.name(index)}]")

    def store(self, item: int, buffer: Buffer, index: int, value: int) -> None:
        self.line(f"{buffer.name}[{self.name(index)}] = {self.name(value)}")

    def product(self, item: int, record: Product) -> None:
        """Buffers, starts and strides, then the sizes."""
        count, rows, columns, depth = record.sizes
        out, left, right = map(self.view, (record.out, record.left, record.right))
        where = f"b<{count} i<{rows} j<{columns}"
        self.line(f"{out} = sum(k<{depth}) {left} {right}, {where}")

    def view(self, view: View) -> str:
        return f"{view.buffer.name}[{self.name(view.start)}]{view.strides}"

    def counted_loop(self, item: int, loop: Loop) -> None:
        self.loop(loop, f"{loop.count} times v{loop.counter}", [loop.body])

    def while_loop(self, item: int, loop: Loop) -> None:
        assert loop.head is not None
        assert loop.going is not None
        self.loop(loop, f"while {self.name(loop.going)}", [loop.head, loop.body])

    def loop(self, loop: Loop, times: str, blocks: Sequence[Block]) -> None:
        carries = zip(loop.params, loop.inits, loop.yields, strict=True)
        text = ", ".join("{}={}->{}".format(*map(self.name, row)) for row in carries)
        self.inside(f"loop {times} [{text}]", loop.results, blocks)

    def branch(self, item: int, record: Branch) -> None:
        head = f"if {self.name(record.condition)}"
        self.inside(head, record.results, [record.then, record.orelse])

    def inside(self, head: str, results: Sequence[int], blocks: Sequence[Block]) -> None:
        """A statement and the blocks inside it."""
        self.line(f"{self.names(results)} = {head}:" if results else f"{head}:")
        outer = self.pad
        for block in blocks:
            self.pad = f"{outer}    "
            self.block(block)
            self.pad = outer
            self.line("  --")
