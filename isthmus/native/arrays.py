"""Arrays while tracing: small ones as values, long ones as functions of their index.

A small array is a NumPy array of value numbers. A long one (a recorded trajectory, stacked residuals)
is `Long`: a shape and a function from index to value; reading it makes a load, or the computation of
that one entry. Elementwise work on long arrays thus fuses into the loop that consumes it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, no_type_check

import numpy as np

from isthmus.native.program import Block, Buffer, Loop, Program

Index: TypeAlias = tuple[int, ...]
"""Value numbers of kind `i`, one for each axis."""

SMALL = 64
"""So many short inner entries of a loop over an array are written out."""
FEW = 16
"""A long array with at most this many entries is read into values at once."""
LARGEST = 1 << 16
"""No array of more entries is written out as values."""


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


@no_type_check
class Memory:
    """Moves arrays between values and buffers of a program."""

    def __init__(self, program: Program) -> None:
        self.p = program

    def flat(self, shape: Sequence[int], index: Index) -> int:
        """The row-major position of `index`."""
        p, total, stride = self.p, self.p.integer(0), 1
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
        return Long(
            shape, buffer.kind, lambda i: self.p.load(buffer, self.flat(shape, i)), buffer=buffer
        )

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
        shape = array.shape
        flat = array.ravel()
        if flat.size and (flat == flat[0]).all():
            return self.filled(shape, int(flat[0]))
        found = self._slice_of_input(flat)
        if found is None:
            return self.whole(shape, self.spill(flat))
        buffer, first = found
        move = lambda i: self.p.op("iadd", self.flat(shape, i), self.p.integer(first))
        return Long(shape, buffer.kind, lambda i: self.p.load(buffer, move(i)))

    def _slice_of_input(self, flat: np.ndarray) -> tuple[Buffer, int] | None:
        p, flat = self.p, flat.tolist()
        if any(p.ops[v] != "load" or p.args[v][0].space not in ("in", "const") for v in flat):
            return None
        buffer = p.args[flat[0]][0]
        at: list[Any] = [p.constant(p.args[v][1]) for v in flat]
        if any(p.args[v][0] is not buffer for v in flat) or None in at:
            return None
        return (buffer, at[0]) if all(b - a == 1 for a, b in itertools.pairwise(at)) else None

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
        numbers = [p.constant(v) for v in flat.tolist()]
        if None not in numbers:
            buffer = p.buffer(f"k{len(p.buffers)}", "const", flat.size, kind, data=tuple(numbers))
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
        if not moving:
            return int(part)
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

    def write(self, array: Array, buffer: Buffer) -> None:
        """Stores every entry of `array` into `buffer`, row-major."""
        p = self.p
        if isinstance(array, np.ndarray):
            self.write_values(array.ravel().tolist(), buffer)
            return
        shape = array.shape
        self.each(shape, lambda i: p.store(buffer, self.flat(shape, i), array.at(i)))

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


class TooLarge(Exception):
    """An array with more entries than may be written out as values."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(f"an array of shape {shape} is too large to be written out")
