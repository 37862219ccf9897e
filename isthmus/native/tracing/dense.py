"""Large products: brings operands into memory, in a layout that vectors can run along."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from isthmus.native.ir.ops import OPS
from isthmus.native.ir.program import Buffer, Product, Program, View
from isthmus.native.tracing.arrays import Array, Long, Memory, row_major

LINE = 8
"""Shorter axes are not worth a vector along them."""
Groups = Sequence[Sequence[int]]


@dataclasses.dataclass(frozen=True)
class Matrix:
    """A stack of matrices in memory; strides of a batch, a free and a contracted index."""

    view: View
    batch: int
    free: int
    deep: int


def dense(
    memory: Memory,
    sizes: tuple[int, int, int, int],
    x: Array,
    x_axes: Groups,
    y: Array,
    y_axes: Groups,
) -> Buffer:
    """Σₖ x[b, i, k]·y[b, j, k], row-major in a new buffer; `sizes` of b, i, j, k."""
    p = memory.p
    count, rows, columns, depth = sizes
    left = matrix(memory, x, x_axes, (count, rows, depth))
    right = matrix(memory, y, y_axes, (count, columns, depth))
    out = p.buffer(f"d{len(p.buffers)}", "work", count * rows * columns, "f")
    strides = (rows * columns if count > 1 else 0, columns if rows > 1 else 0, int(columns > 1))
    left, right, way = arranged(memory, sizes, left, right)
    if way == "turned":
        sizes, left, right = (count, columns, rows, depth), right, left
        strides = (strides[0], strides[2], strides[1])
    p.product(
        Product(
            sizes,
            View(out, p.integer(0), strides),
            dataclasses.replace(left.view, strides=(left.batch, left.free, left.deep)),
            dataclasses.replace(right.view, strides=(right.batch, right.deep, right.free)),
            spread=way == "spread",
        )
    )
    return out


def matrix(memory: Memory, array: Array, axes: Groups, sizes: tuple[int, int, int]) -> Matrix:
    """`array` as matrices, where it lies or copied."""
    long = memory.long(array)
    if long.everywhere is not None:
        buffer = memory.spill(np.array([long.everywhere], dtype=np.int64))
        return Matrix(View(buffer, memory.p.integer(0), ()), 0, 0, 0)
    if long.view is not None and usable(memory.p, long.view):
        batch, free, deep = (joined(long.shape, long.view.strides, group) for group in axes)
        if batch is not None and free is not None and deep is not None:
            return Matrix(long.view, batch, free, deep)
    order = [k for group in axes for k in group]
    back = np.argsort(order)
    shape = tuple(long.shape[k] for k in order)
    moved = Long(shape, long.kind, lambda i: long.at(tuple(i[k] for k in back)), ragged=long.ragged)
    return whole(memory.settle(moved), sizes)


def whole(array: Long, sizes: tuple[int, int, int]) -> Matrix:
    """Matrices without gaps."""
    assert array.view is not None
    strides = [s if n > 1 else 0 for n, s in zip(sizes, row_major(sizes), strict=True)]
    return Matrix(array.view, *strides)


def usable(p: Program, view: View) -> bool:
    """The view starts at the same place in all worlds, in a buffer with no gaps."""

    def steady(value: int) -> bool:
        op = p.ops[value]
        if op in ("const", "counter"):
            return True
        return op in OPS and OPS[op].index and all(map(steady, p.args[value]))

    return view.buffer.group is None and view.buffer.kind == "f" and steady(view.start)


def joined(shape: Sequence[int], strides: Sequence[int], axes: Sequence[int]) -> int | None:
    """The one stride of several axes taken as one, last fastest; None if there is none."""
    axes = [k for k in axes if shape[k] != 1]
    if not axes:
        return 0
    step = strides[axes[-1]]
    sizes = row_major([shape[k] for k in axes])
    return step if all(strides[k] == step * n for k, n in zip(axes, sizes, strict=True)) else None


def arranged(
    memory: Memory, sizes: tuple[int, int, int, int], left: Matrix, right: Matrix
) -> tuple[Matrix, Matrix, str]:
    """The operands, copied where need be, and the way: along columns (`plain`), rows or the sum."""
    count, rows, columns, depth = sizes
    along = lambda m: depth >= LINE and m.deep in (0, 1)
    plain, turned = columns >= LINE and right.free == 1, rows >= LINE and left.free == 1
    if plain and (columns >= rows or not turned):
        return left, right, "plain"
    if turned:
        return left, right, "turned"
    if along(left) and along(right):
        return left, right, "spread"
    if along(left) or (along(right) and depth >= LINE):
        if along(left):
            right = copied(memory, right, (count, columns, depth))
        else:
            left = copied(memory, left, (count, rows, depth))
        return left, right, "spread"
    if rows >= LINE and columns < LINE:
        return copied_across(memory, left, (count, rows, depth)), right, "turned"
    return left, copied_across(memory, right, (count, columns, depth)), "plain"


def copied(memory: Memory, m: Matrix, sizes: tuple[int, int, int]) -> Matrix:
    """`m` with the terms of a sum side by side."""
    view = dataclasses.replace(m.view, strides=(m.batch, m.free, m.deep))
    return whole(memory.settle(memory.grid(sizes, view)), sizes)


def copied_across(memory: Memory, m: Matrix, sizes: tuple[int, int, int]) -> Matrix:
    """`m` with its free index fastest."""
    count, free, depth = sizes
    view = dataclasses.replace(m.view, strides=(m.batch, m.deep, m.free))
    made = whole(memory.settle(memory.grid((count, depth, free), view)), (count, depth, free))
    return Matrix(made.view, made.batch, made.deep, made.free)


def total(memory: Memory, x: Long, axes: Sequence[int]) -> Buffer:
    """The sum of `x` over `axes`, as a product with ones."""
    kept = [k for k in range(len(x.shape)) if k not in axes]
    rows, depth = math.prod(x.shape[k] for k in kept), math.prod(x.shape[k] for k in axes)
    ones = memory.filled((1, 1), memory.p.one)
    return dense(memory, (1, rows, 1, depth), x, ((), kept, axes), ones, ((), (0,), (1,)))
