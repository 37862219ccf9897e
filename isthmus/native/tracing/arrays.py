"""Arrays while tracing: small ones as values, long ones as functions of their index.

A small array is a NumPy array of value numbers. A long one (a recorded trajectory, stacked residuals)
is `Long`: a shape and a function from index to value; reading it makes a load, or the computation of
that one entry. Elementwise work on long arrays thus fuses into the loop that consumes it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from isthmus.native.ir.program import Block, Buffer, Loop, Program, View

Index: TypeAlias = tuple[int, ...]
"""Value numbers of kind `i`, one for each axis."""

SMALL = 64
"""Inner loops of at most this many entries are written out."""
FEW = 16
"""A long array with at most this many entries is read into values at once."""
LARGEST = 1 << 16
"""No array of more entries is written out as values."""
HEAVY = 8
"""A long array that is read more than once, with more operations for an entry, is written to memory first."""


@dataclasses.dataclass(eq=False)
class Long:
    """An array of `shape` whose entry at an index is `at(index)`."""

    shape: tuple[int, ...]
    kind: str
    at: Callable[[Index], int]
    buffer: Buffer | None = None
    """Set where this is exactly a buffer, row-major."""
    patch: Patch | None = None
    everywhere: int | None = None
    """Set where all entries are this value."""
    view: View | None = None
    """Set where the entries lie on a grid in memory."""
    work: int = 0
    """Operations that one entry takes, roughly."""
    ragged: bool = False
    """Neighbours in a row lie in buffers of their own: a loop should run along other axes."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclasses.dataclass(eq=False)
class Patch:
    """How a long array differs from `base`: `combine(old, update)` in the window that starts at `start`."""

    base: Long
    start: Index
    update: np.ndarray | Long
    combine: Callable[[int, int], int]
    valid: int | None = None
    """Where false, nothing changes."""


Array: TypeAlias = np.ndarray | Long


def columns(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every index into an array of `shape`, last axis fastest."""
    return itertools.product(*(range(n) for n in shape))


class Memory:
    """Moves arrays between values and buffers of a program."""

    def __init__(self, program: Program) -> None:
        self.p = program
        self._made: dict[int, tuple[np.ndarray, Long]] = {}

    def flat(self, shape: Sequence[int], index: Index) -> int:
        """The row-major position of `index`."""
        p, total, stride = self.p, self.p.integer(0), 1
        fixed = [p.known[i] for i in index]
        if None not in fixed:
            return p.integer(sum(map(operator.mul, fixed, row_major(shape))))
        for n, i in zip(reversed(shape), reversed(index), strict=True):
            if n != 1:
                total = p.op("iadd", total, p.op("imul", i, p.integer(stride)))
            stride *= n
        return total

    def unflat(self, shape: Sequence[int], position: int) -> Index:
        """The index into `shape` at a row-major position."""
        p, index, rest = self.p, [], position
        for axis, n in reversed(list(enumerate(shape))):
            if n == 1:
                index.append(p.integer(0))
            elif axis == 0 or all(m == 1 for m in shape[:axis]):
                index.append(rest)
            else:
                index.append(p.op("irem", rest, p.integer(n)))
                rest = p.op("idiv", rest, p.integer(n))
        return tuple(reversed(index))

    def whole(self, shape: tuple[int, ...], buffer: Buffer) -> Long:
        """A buffer, read as an array of `shape`."""
        view = View(buffer, self.p.integer(0), row_major(shape))
        at = lambda i: self.p.load(buffer, self.flat(shape, i))
        return Long(shape, buffer.kind, at, buffer=buffer, view=view)

    def grid(self, shape: tuple[int, ...], view: View) -> Long:
        """A part of a buffer, read as an array of `shape`."""
        p = self.p

        def at(index: Index) -> int:
            spot = view.start
            for i, stride in zip(reversed(index), reversed(view.strides), strict=True):
                spot = p.op("iadd", spot, p.op("imul", i, p.integer(stride)))
            return p.load(view.buffer, spot)

        return Long(shape, view.buffer.kind, at, view=view)

    def filled(self, shape: tuple[int, ...], value: int) -> Long:
        """One value everywhere."""
        return Long(shape, self.p.kinds[value], lambda i: value, everywhere=value)

    def numbers(self, index: Sequence[int]) -> Index:
        """Plain integers as index values."""
        return tuple(map(self.p.integer, index))

    def values(self, array: Array) -> np.ndarray:
        """Every entry of `array` as a value."""
        if isinstance(array, np.ndarray):
            return array
        if array.size > LARGEST:
            raise TooLarge(array.shape)
        entries = [array.at(self.numbers(i)) for i in columns(array.shape)]
        return np.array(entries, dtype=np.int64).reshape(array.shape)

    def tidy(self, array: Array) -> Array:
        """A long array of few entries becomes values."""
        return self.values(array) if isinstance(array, Long) and array.size <= FEW else array

    def long(self, array: Array) -> Long:
        """`array` with entries that can be reached by a dynamic index."""
        if isinstance(array, Long):
            return array
        known = self._made.get(id(array))
        if known is not None and known[0] is array:
            return known[1]
        made = self._long(array)
        if made.view is None or made.view.buffer.space in ("in", "const"):
            self._made[id(array)] = (array, made)
        return made

    def _long(self, array: np.ndarray) -> Long:
        shape, zero = array.shape, self.p.integer(0)
        if array.size and (array == array.flat[0]).all():
            return self.filled(shape, int(array.flat[0]))
        core = array
        for axis, n in enumerate(shape):  # rows that repeat are stored once
            row = core.take([0], axis) if n > 1 else core
            if n > 1 and (core == row).all():
                core = row
        kept = row_major(core.shape)
        if core.size == array.size:
            found = self._slice_of_input(array)
            return self.whole(shape, self.spill(array.ravel())) if found is None else found
        strides = tuple(0 if m < n else s for n, m, s in zip(shape, core.shape, kept, strict=True))
        inner = self._slice_of_input(core)
        if inner is not None and inner.view is not None:
            turned = zip(shape, core.shape, inner.view.strides, strict=True)
            strides = tuple(0 if m < n else s for n, m, s in turned)
            return self.grid(shape, View(inner.view.buffer, inner.view.start, strides))
        return self.grid(shape, View(self.spill(core.ravel()), zero, strides))

    def _slice_of_input(self, array: np.ndarray) -> Long | None:
        """`array` as a grid in an input or constant buffer, where its entries are loads from one."""
        p, flat = self.p, array.ravel().tolist()
        if any(p.ops[v] != "load" or p.args[v][0].space not in ("in", "const") for v in flat):
            return None
        buffer = p.args[flat[0]][0]
        at: list[Any] = [p.constant(p.args[v][1]) for v in flat]
        if any(p.args[v][0] is not buffer for v in flat) or None in at:
            return None
        spots = np.array(at, dtype=np.int64).reshape(array.shape)
        first, strides, wanted = int(spots.flat[0]), [], np.zeros((), np.int64)
        for axis, n in enumerate(array.shape):
            line = np.moveaxis(spots, axis, 0).reshape(n, -1)[:, 0]
            strides.append(int(line[1] - line[0]) if n > 1 else 0)
            step = np.arange(n) * strides[-1]
            wanted = wanted[..., None] + step
        if not np.array_equal(spots - first, wanted):
            return None
        return self.grid(array.shape, View(buffer, p.integer(first), tuple(strides)))

    def spill(self, flat: np.ndarray) -> Buffer:
        """A buffer with the given values, written where the last of them is known."""
        p = self.p
        kind = p.kinds[flat[0]]
        depth = max(p.depths[v] for v in flat)
        block, here = p.home(depth), p.block
        key = ("spill", flat.tobytes())
        seen: Block | None = block
        while seen is not None:
            if key in seen.memo:
                return seen.memo[key]
            seen = seen.parent
        numbers: list[Any] = [p.constant(v) for v in flat.tolist()]
        if None not in numbers:
            data = tuple(map(int, numbers)) if kind == "b" else tuple(numbers)
            buffer = p.buffer(f"k{len(p.buffers)}", "const", flat.size, kind, data=data)
        else:
            buffer = p.buffer(f"s{len(p.buffers)}", "work", flat.size, kind)
            p.block = block
            self.write_values(flat.tolist(), buffer)
            p.block = here
        block.memo[key] = buffer
        return buffer

    def pick(self, array: Array, index: Index) -> int:
        """One entry; few candidates by choice, many by a load."""
        if isinstance(array, Long):
            return array.at(index)
        p = self.p
        fixed: list[Any] = [p.constant(i) for i in index]
        part = array[tuple(slice(None) if i is None else i for i in fixed)]
        moving = tuple(i for i, known in zip(index, fixed, strict=True) if known is None)
        if not moving or (part == part.flat[0]).all():
            return int(part.flat[0])
        if part.size == array.size and part.size > 8:
            return self.long(array).at(index)
        if part.size > 8 and len(set(part.ravel().tolist())) > 8:
            return self.long(part).at(moving)
        spot = self.flat(part.shape, moving)
        flat = part.ravel().tolist()
        chosen = flat[-1]
        for k in range(len(flat) - 2, -1, -1):
            chosen = p.select(p.op("ieq", spot, p.integer(k)), flat[k], chosen)
        return chosen

    def each(self, shape: Sequence[int], visit: Callable[[Index], None]) -> None:
        """`visit` at every index: the longest axis as a loop, short ones written out."""
        p = self.p
        if math.prod(shape) <= SMALL:
            for i in columns(shape):
                visit(self.numbers(i))
            return
        axis = int(np.argmax(shape))
        rest = [n for k, n in enumerate(shape) if k != axis]
        body = p.enter("loop")
        counter = p.symbol("counter", "i")
        self.each(rest, lambda i: visit((*i[:axis], counter, *i[axis:])))
        p.leave()
        p.finish("for", Loop(shape[axis], counter, [], [], body), [])

    def nest(self, shape: Sequence[int], visit: Callable[[Index], None], few: int = FEW) -> None:
        """`visit` at every index: loops from the first axis to the last, `few` entries written out."""
        p = self.p
        if math.prod(shape) <= few:
            for i in columns(shape):
                visit(self.numbers(i))
            return
        if shape[0] == 1:
            self.nest(shape[1:], lambda i: visit((p.integer(0), *i)), few)
            return
        body = p.enter("loop")
        counter = p.symbol("counter", "i")
        self.nest(shape[1:], lambda i: visit((counter, *i)), few)
        p.leave()
        p.finish("for", Loop(shape[0], counter, [], [], body), [])

    def write(self, array: Array, buffer: Buffer) -> None:
        """Stores every entry of `array` into `buffer`, row-major."""
        p = self.p
        if isinstance(array, np.ndarray):
            self.write_values(array.ravel().tolist(), buffer)
            return
        shape = array.shape
        self.over(array, lambda i: p.store(buffer, self.flat(shape, i), array.at(i)))

    def over(self, array: Long, visit: Callable[[Index], None]) -> None:
        """`visit` at every index of `array`, in loops that suit it."""
        last = next((n for n in reversed(array.shape) if n != 1), 1)
        run = self.each if array.ragged or last <= FEW else self.nest
        run(array.shape, visit)

    def write_values(self, values: list[int], buffer: Buffer) -> None:
        """Stores values one by one; a long run of the same value by a loop."""
        p, first = self.p, 0
        for value, run in itertools.groupby(values):
            count = len(list(run))
            start = first
            first += count
            if count <= FEW:
                for k in range(start, first):
                    p.store(buffer, p.integer(k), value)
                continue
            body = p.enter("loop")
            counter = p.symbol("counter", "i")
            p.store(buffer, p.op("iadd", counter, p.integer(start)), value)
            p.leave()
            p.finish("for", Loop(count, counter, [], [], body), [])

    def settle(self, array: Long) -> Long:
        """A long array written out now, so that later stores cannot change what it says."""
        buffer = self.p.buffer(f"t{len(self.p.buffers)}", "work", array.size, array.kind)
        self.write(array, buffer)
        return self.whole(array.shape, buffer)

    def settled(self, array: Array) -> Long:
        """`array` on a grid in memory, or the same value everywhere."""
        array = self.long(array)
        return array if array.view or array.everywhere is not None else self.settle(array)

    def ready(self, array: Array) -> Array:
        """`array`, in memory if reading an entry more than once costs too much."""
        if not isinstance(array, Long) or array.work <= HEAVY or array.patch is not None:
            return array
        return array if array.view is not None else self.settle(array)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array without gaps, last axis fastest."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


class TooLarge(Exception):
    """An array with more entries than may be written out as values."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(f"an array of shape {shape} is too large to be written out")
