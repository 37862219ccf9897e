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
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, no_type_check

from isthmus.native.fold import FOLD, KIND, signed, single
from isthmus.native.identities import IDENTITIES
from isthmus.native.origins import Origins

Plain: TypeAlias = float | int | bool
"""What a constant can be."""


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


@dataclasses.dataclass(eq=False)
class Block:
    """Values and statements in order. A `loop` block lets invariant values climb out; a `branch` keeps them."""

    kind: str
    parent: Block | None = None
    items: list[int] = dataclasses.field(default_factory=list)
    memo: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.depth: int = 0 if self.parent is None else self.parent.depth + 1


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


@no_type_check
class Program:
    """Values, blocks and buffers; `root` runs once for each world."""

    def __init__(self, strict: bool = False, width: int = 64) -> None:
        self.strict = strict
        """Keep x·0 and x−x, which are NaN where x is not finite."""
        self.width = width
        """Bits of a number: 64 or 32."""
        self._fold = FOLD[width]
        self.ops: list[str] = []
        self.args: list[tuple] = []
        self.kinds: list[str] = []
        self.depths: list[int] = []
        self.origins: list[int] = []
        """The line of code behind each value, as a number of `places`."""
        self.places, self.origin = Origins(), 0
        self.root = self.block = Block("root")
        self.buffers: list[Buffer] = []
        self.versions: dict[Buffer, int] = {}
        self._constants: dict[tuple, int] = {}
        self.zero = self.const(0.0)
        self.one = self.const(1.0)

    # values

    def _new(self, op: str, args: tuple, kind: str, depth: int) -> int:
        self.ops.append(op)
        self.args.append(args)
        self.kinds.append(kind)
        self.depths.append(depth)
        self.origins.append(self.origin)
        return len(self.ops) - 1

    def const(self, value: Plain, kind: str = "f") -> int:
        """The constant `value`; equal bits give the same value."""
        if kind == "f":
            value = float(value) if self.width == 64 else single(value)
            key = ("f", struct.pack("<d", value))
        elif kind == "i":
            value = signed(int(value), self.width)
            key = (kind, value)
        else:
            value = bool(value)
            key = (kind, value)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new("const", (value,), kind, 0)
        return found

    def integer(self, value: int) -> int:
        """The integer constant `value`."""
        return self.const(value, "i")

    def constant(self, value: int) -> Plain | None:
        """The number behind `value` if it is a constant, else None."""
        return self.args[value][0] if self.ops[value] == "const" else None

    def op(self, op: str, *args: int) -> int:
        """A pure operation on values, simplified, shared, and hoisted as far as it may go."""
        rule = IDENTITIES.get(op)
        if rule is not None:
            simpler = rule(self, *args)
            if simpler is not None:
                return simpler
        if op in self._fold and all(self.ops[a] == "const" for a in args):
            value = self._fold[op](*(self.args[a][0] for a in args))
            return self.const(value, KIND.get(op) or self.kinds[args[-1]])
        return self.place(op, args, KIND.get(op) or self.kinds[args[-1]])

    def place(self, op: str, args: tuple, kind: str) -> int:
        """The value `op(args)` as it stands: found among those visible here, or made and placed."""
        depths = self.depths
        depth = 0
        for a in args:
            depth = max(depth, depths[a])
        block = self.home(depth)
        key = (op, args)
        seen: Block | None = block
        while seen is not None and seen.depth >= depth:
            found = seen.memo.get(key)
            if found is not None:
                return found
            seen = seen.parent
        value = self._new(op, args, kind, block.depth)
        block.items.append(value)
        block.memo[key] = value
        return value

    def home(self, depth: int) -> Block:
        """The outermost block, seen from here through loops, where values of this depth are known."""
        block = self.block
        while block.kind == "loop" and block.depth > depth and block.parent is not None:
            block = block.parent
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
            at = self.constant(index)
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
        seen: Block | None = block
        while seen is not None and seen.depth >= depth:
            if key in seen.memo:
                return seen.memo[key]
            seen = seen.parent
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


@no_type_check
def children(program: Program, statement: int) -> tuple[Block, ...]:
    """The blocks inside a loop or branch, in order."""
    record = program.args[statement][0]
    if isinstance(record, Branch):
        return (record.then, record.orelse)
    return (record.body,) if record.head is None else (record.head, record.body)


@no_type_check
def walk(program: Program, block: Block | None = None) -> Iterator[tuple[Block, int]]:
    """Every item of `block` and of the blocks inside it, in order, with its block."""
    block = program.root if block is None else block
    for item in block.items:
        yield block, item
        if program.ops[item] in ("for", "while", "if"):
            for child in children(program, item):
                yield from walk(program, child)


@no_type_check
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


def product_text(record: Product, name: Callable[[int], str]) -> str:
    """A product as one line: buffers, starts and strides, then the sizes."""
    spot = lambda view: f"{view.buffer.name}[{name(view.start)}]"
    count, rows, columns, depth = record.sizes
    sides = f"sum(k<{depth}) {spot(record.left)}{record.left.strides} "
    sides += f"{spot(record.right)}{record.right.strides}"
    where = f"b<{count} i<{rows} j<{columns}"
    return f"{spot(record.out)}{record.out.strides} = {sides}, {where}"


def listing(program: Program) -> str:
    """The program as text, one line for each statement: for people and for tests."""
    lines: list[str] = []

    def name(value: int) -> str:
        return repr(program.args[value][0]) if program.ops[value] == "const" else f"v{value}"

    def show(block: Block, pad: str) -> None:
        for item in block.items:
            op, args = program.ops[item], program.args[item]
            if op == "load":
                lines.append(f"{pad}v{item} = {args[0].name}[{name(args[1])}]")
            elif op == "store":
                lines.append(f"{pad}{args[0].name}[{name(args[1])}] = {name(args[2])}")
            elif op == "product":
                lines.append(pad + product_text(args[0], name))
            elif op in ("for", "while", "if"):
                record = args[0]
                outs = ", ".join(map(name, record.results))
                if isinstance(record, Branch):
                    head = f"if {name(record.condition)}"
                else:
                    carries = zip(record.params, record.inits, record.yields, strict=True)
                    text = ", ".join(f"{name(p)}={name(i)}->{name(y)}" for p, i, y in carries)
                    count = (
                        f"{record.count} times" if op == "for" else f"while {name(record.going)}"
                    )
                    counter = f" v{record.counter}" if record.counter is not None else ""
                    head = f"loop {count}{counter} [{text}]"
                lines.append(f"{pad}{outs} = {head}:" if outs else f"{pad}{head}:")
                for child in children(program, item):
                    show(child, pad + "    ")
                    lines.append(f"{pad}  --")
            else:
                lines.append(f"{pad}v{item} = {op} {' '.join(map(name, args))}")

    show(program.root, "")
    return "\n".join(lines)
