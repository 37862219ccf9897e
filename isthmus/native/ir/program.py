"""The scalar program: single-assignment values in nested blocks, loops, and arrays in memory.

A value is an integer, an index into the lists of its `Program`. It has an operation, operands and a
kind: `f` (float), `i` (integer), both of the program's `width`, or `b` (truth). Blocks nest: the root,
bodies of loops, branches.
Making a value folds constants, finds an equal value made before, and places the new one in the
outermost block that it may live in, so that loop-invariant work leaves its loop as it is born.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from isthmus.native.ir.fold import WIDTHS, nearest_single, signed
from isthmus.native.ir.ops import OPS
from isthmus.native.ir.origins import Origins

Plain: TypeAlias = float | int | bool
"""What a constant can be."""
PACK = struct.Struct("<d").pack
MAKERS = {
    width: {name: (op.identity, op.folds(width), op.kind) for name, op in OPS.items()}
    for width in WIDTHS
}
"""Width -> operation -> its identity, what it does to constants, the kind of its result: read for every value."""


@dataclasses.dataclass(eq=False)
class Buffer:
    """An array of numbers of the program's width in memory; `data` holds the entries of a constant one."""

    name: str
    space: str
    """`in`, `out` (the caller's arrays), `work` (scratch) or `const` (baked into the code)."""
    size: int
    kind: str
    data: tuple = ()
    offset: int = 0
    stride: int = 1
    group: object = None
    """Buffers of one group have equal sizes and are interleaved, so that a step's entries are neighbours."""


class Block:
    """Values and statements in order. A `loop` block lets invariant values climb out; a `branch` keeps them."""

    __slots__ = ("depth", "floor", "items", "kind", "memo", "parent")

    def __init__(self, kind: str, parent: Block | None = None) -> None:
        self.kind = kind
        self.parent: Block | None = parent
        """The block around it; None for the root."""
        self.items: list[int] = []
        self.memo: dict = {}
        """(operation, operands) -> the value made of them here."""
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.floor: int = self.depth if kind == "loop" else 0
        """Values of a smaller depth leave this block."""


@dataclasses.dataclass(eq=False)
class Loop:
    """`for`: `count` rounds, `counter` runs from 0. `while`: as long as `going`, made in `head`, holds."""

    count: int | None
    counter: int | None
    inits: list[int]
    params: list[int]
    body: Block
    yields: list[int] = dataclasses.field(default_factory=list)
    results: list[int] = dataclasses.field(default_factory=list)
    head: Block | None = None
    going: int | None = None


@dataclasses.dataclass(eq=False)
class Branch:
    """`then` where `condition` holds, else `orelse`; each yields the results."""

    condition: int
    then: Block
    orelse: Block
    then_yields: list[int]
    else_yields: list[int]
    results: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class View:
    """Numbers in memory on a grid: entry (i, j, …) is number `start` + Σ stride·index of `buffer`.

    `start` is a value of kind `i`, the same in all lanes; the buffer belongs to no group.
    """

    buffer: Buffer
    start: int
    strides: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Product:
    """A statement: `out[b, i, j] = Σₖ left[b, i, k]·right[b, k, j]`, of floats, for all b, i, j.

    Sums start from +0. `spread`: number r of eight sums takes the terms k = r, r + 8, r + 16, … in turn, and
    the eight join as ((s₀+s₄)+(s₂+s₆)) + ((s₁+s₅)+(s₃+s₇)); the strides of k are 0 or 1. Else one sum takes all
    terms in turn, and the stride of `right` along j is 0 or 1. `fused`: each term is a fused multiply-add.
    `out` overlaps neither operand.
    """

    sizes: tuple[int, int, int, int]
    """How many b, i, j, k; none is zero."""
    out: View
    """Strides of b, i, j."""
    left: View
    """Strides of b, i, k."""
    right: View
    """Strides of b, k, j."""
    spread: bool
    fused: bool = False


class Program:
    """Values, blocks and buffers; `root` runs once for each world."""

    def __init__(self, strict: bool = False, width: int = 64) -> None:
        self.strict = strict
        """Keep x·0 and x−x, which are NaN where x is not finite."""
        self.width = width
        """Bits of a number: 64 or 32."""
        self._makers = MAKERS[width]
        self.ops: list[str] = []
        self.args: list[tuple] = []
        self.kinds: list[str] = []
        self.depths: list[int] = []
        self.known: list[Plain | None] = []
        """The number behind each constant; None for other values."""
        self.origins: list[int] = []
        """The line of code behind each value, as a number of `places`."""
        self.places, self.origin = Origins(), 0
        self.root = self.block = Block("root")
        self.buffers: list[Buffer] = []
        self.versions: dict[Buffer, int] = {}
        self._constants: dict[tuple, int] = {}
        self._integers: dict[int, int] = {}
        self.alive: tuple[int, set[int]] | None = None
        """Number of values when the live ones were last found, and these: see `passes/liveness.py`."""
        self.zero = self.const(0.0)
        self.one = self.const(1.0)

    # values

    def _new(self, op: str, args: tuple, kind: str, depth: int, known: Plain | None = None) -> int:
        ops = self.ops
        number = len(ops)
        ops.append(op)
        self.args.append(args)
        self.kinds.append(kind)
        self.depths.append(depth)
        self.origins.append(self.origin)
        self.known.append(known)
        return number

    def const(self, value: Plain, kind: str = "f") -> int:
        """The constant `value`; equal bits give the same value."""
        if kind == "f":
            value = float(value) if self.width == 64 else nearest_single(value)
            key = ("f", PACK(value))
        elif kind == "i":
            value = signed(int(value), self.width)
            key = (kind, value)
        else:
            value = bool(value)
            key = (kind, value)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new("const", (value,), kind, 0, value)
        return found

    def integer(self, value: int) -> int:
        """The integer constant `value`."""
        found = self._integers.get(value)
        if found is None:
            found = self._integers[value] = self.const(value, "i")
        return found

    def constant(self, value: int) -> Plain | None:
        """The number behind `value` if it is a constant, else None."""
        return self.known[value]

    def op(self, op: str, *args: int) -> int:
        """A pure operation on values, simplified, shared, and hoisted as far as it may go."""
        identity, fold, kind = self._makers[op]
        if identity is not None:
            simpler = identity(self, *args)
            if simpler is not None:
                return simpler
        if fold is not None:
            known = self.known
            for a in args:
                if known[a] is None:
                    break
            else:
                value = fold(*[known[a] for a in args])
                return self.const(value, kind or self.kinds[args[-1]])
        return self.place(op, args, kind or self.kinds[args[-1]])

    def place(self, op: str, args: tuple, kind: str) -> int:
        """The value `op(args)` as it stands: found among those visible here, or made and placed."""
        depths = self.depths
        depth = 0
        for a in args:
            if depths[a] > depth:
                depth = depths[a]
        block = self.block
        while block.floor > depth:
            block = block.parent or self.root
        key = (op, args)
        found = block.memo.get(key)
        if found is not None:
            return found
        if block.depth > depth:
            found = seen_above(block, depth, key)
            if found is not None:
                return found
        value = self._new(op, args, kind, block.depth)
        block.items.append(value)
        block.memo[key] = value
        return value

    def home(self, depth: int) -> Block:
        """The outermost block, seen from here through loops, where values of this depth are known."""
        block = self.block
        while block.floor > depth:
            block = block.parent or self.root
        return block

    # memory

    def buffer(self, name: str, space: str, size: int, kind: str, **more) -> Buffer:
        """A new array of `size` entries."""
        made = Buffer(name, space, size, kind, **more)
        self.buffers.append(made)
        self.versions[made] = 0
        return made

    def load(self, buffer: Buffer, index: int) -> int:
        """`buffer[index]`; equal loads with no store between them are one."""
        if buffer.space in ("in", "const"):
            at = self.known[index]
            if buffer.space == "const" and at is not None:
                return self.const(buffer.data[int(at)], buffer.kind)
            return self._load_pure(buffer, index)
        key = ("load", buffer, index, self.versions[buffer])
        value = self.block.memo.get(key)
        if value is None:
            value = self._new("load", (buffer, index), buffer.kind, self.block.depth)
            self.block.items.append(value)
            self.block.memo[key] = value
        return value

    def _load_pure(self, buffer: Buffer, index: int) -> int:
        depth = self.depths[index]
        block = self.home(depth)
        key = ("load", buffer, index)
        found = block.memo.get(key)
        if found is None:
            found = seen_above(block, depth, key)
        if found is not None:
            return found
        value = self._new("load", (buffer, index), buffer.kind, block.depth)
        block.items.append(value)
        block.memo[key] = value
        return value

    def store(self, buffer: Buffer, index: int, value: int) -> None:
        """`buffer[index] = value`, in the order of the text."""
        self.versions[buffer] += 1
        self.block.items.append(self._new("store", (buffer, index, value), "", self.block.depth))

    def product(self, record: Product) -> None:
        """Adds the statement `record`, in the order of the text."""
        self.versions[record.out.buffer] += 1
        self.block.items.append(self._new("product", (record,), "", self.block.depth))

    # control

    def enter(self, kind: str) -> Block:
        """Opens a block inside the present one; `leave` closes it."""
        self.block = Block(kind, self.block)
        return self.block

    def leave(self) -> None:
        """Back to the enclosing block."""
        assert self.block.parent is not None
        self.block = self.block.parent

    def symbol(self, op: str, kind: str) -> int:
        """A value that a loop defines in the present block: `param` or `counter`."""
        return self._new(op, (), kind, self.block.depth)

    def finish(self, op: str, record: Loop | Branch, kinds: Sequence[str]) -> list[int]:
        """Adds a finished loop or branch to the present block; returns its results."""
        statement = self._new(op, (record,), "", self.block.depth)
        depth = self.block.depth
        record.results = [
            self._new("result", (statement, k), kind, depth) for k, kind in enumerate(kinds)
        ]
        self.block.items.append(statement)
        return record.results

    def select(self, condition: int, yes: int, no: int) -> int:
        """`yes` where `condition` holds, else `no`."""
        return self.op("select", condition, yes, no)


def seen_above(block: Block, depth: int, key: tuple) -> int | None:
    """The value of that key in a block around `block`, down to `depth`."""
    seen = block.parent
    while seen is not None and seen.depth >= depth:
        found = seen.memo.get(key)
        if found is not None:
            return found
        seen = seen.parent
    return None


def children(program: Program, statement: int) -> tuple[Block, ...]:
    """The blocks inside a loop or branch, in order."""
    record = program.args[statement][0]
    if isinstance(record, Branch):
        return (record.then, record.orelse)
    return (record.body,) if record.head is None else (record.head, record.body)


def walk(program: Program, block: Block | None = None) -> Iterator[tuple[Block, int]]:
    """Every item of `block` and of the blocks inside it, in order, with its block."""
    block = program.root if block is None else block
    for item in block.items:
        yield block, item
        if program.ops[item] in ("for", "while", "if"):
            for child in children(program, item):
                yield from walk(program, child)


def operands(program: Program, value: int) -> tuple[int, ...]:
    """The values that `value` is computed from, where it is no loop, branch or result."""
    op, args = program.ops[value], program.args[value]
    if op == "load":
        return args[1:]
    if op == "store":
        return args[1:]
    if op == "product":
        return tuple(view.start for view in (args[0].out, args[0].left, args[0].right))
    if op in ("const", "result", "param", "counter", "for", "while", "if"):
        return ()
    return args
