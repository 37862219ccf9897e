"""One walk over the blocks, loops and branches of a program: what passes, targets and the listing are made of."""

from __future__ import annotations

import abc
from collections.abc import Container

from isthmus.native.ir.program import Block, Branch, Buffer, Loop, Product, Program


class Walk(abc.ABC):
    """Visits the items of a block in order; each kind of item has its method.

    A loop or branch decides itself when its inner blocks are walked: by `self.block(loop.body)`.
    """

    def __init__(self, program: Program, items: Container[int]) -> None:
        """`items`: the values and statements to visit; others are passed over."""
        self.p, self.items = program, items
        self._visits = {
            "load": self.load,
            "store": self.store,
            "product": self.product,
            "for": self.counted_loop,
            "while": self.while_loop,
            "if": self.branch,
        }

    def block(self, block: Block) -> None:
        """Visits the items of `block`."""
        for item in block.items:
            if item in self.items:
                self.visit(item)

    def visit(self, item: int) -> None:
        """Calls the method of one item."""
        op, args = self.p.ops[item], self.p.args[item]
        method = self._visits.get(op)
        if method is None:
            self.operation(item, op, args)
        else:
            method(item, *args)

    @abc.abstractmethod
    def operation(self, value: int, op: str, args: tuple[int, ...], /) -> None:
        """`value = op(args)`, an operation of `OPS`."""

    @abc.abstractmethod
    def load(self, value: int, buffer: Buffer, index: int, /) -> None:
        """`value = buffer[index]`."""

    @abc.abstractmethod
    def store(self, item: int, buffer: Buffer, index: int, value: int, /) -> None:
        """`buffer[index] = value`."""

    @abc.abstractmethod
    def product(self, item: int, record: Product, /) -> None:
        """A dense product of arrays in memory."""

    @abc.abstractmethod
    def counted_loop(self, item: int, loop: Loop, /) -> None:
        """`loop.count` rounds of `loop.body`."""

    @abc.abstractmethod
    def while_loop(self, item: int, loop: Loop, /) -> None:
        """Rounds of `loop.body` as long as `loop.going`, computed in `loop.head`, holds."""

    @abc.abstractmethod
    def branch(self, item: int, record: Branch, /) -> None:
        """One of two blocks."""
