"""Products of matrices: small ones written out entry by entry, large ones as one statement over memory."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.tracing.arrays import Array, Long
from isthmus.native.tracing.dense import dense
from isthmus.native.tracing.rules.reduce import fold
from isthmus.native.tracing.trace import Trace, kind_of, rule

LARGE = 2048
"""So many multiplications, without those by structural zeros, become a statement over memory."""
CELLS = 16
"""A product of long arrays with at most so many entries is summed in registers, in one loop."""


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of both operands by their part in the product."""

    left: tuple[list[int], list[int], list[int]]
    """Batch, free, contracted."""
    right: tuple[list[int], list[int], list[int]]
    sizes: tuple[int, int, int, int]
    """Entries of the batch, of the left and right free axes, and terms of a sum."""

    @property
    def total(self) -> int:
        return math.prod(self.sizes)


def axes_of(dims: Any, x: Sequence[int], y: Sequence[int]) -> Axes:
    """What `dimension_numbers` say about operands of the shapes `x` and `y`."""
    (xc, yc), (xb, yb) = ((list(map(int, a)), list(map(int, b))) for a, b in dims)
    xf = [k for k in range(len(x)) if k not in (*xc, *xb)]
    yf = [k for k in range(len(y)) if k not in (*yc, *yb)]
    size = lambda shape, axes: math.prod(shape[k] for k in axes)
    sizes = (size(x, xb), size(x, xf), size(y, yf), size(x, xc))
    return Axes((xb, xf, xc), (yb, yf, yc), sizes)


@rule("dot_general", long=True)
def dot_general(trace: Trace, eqn: Any, x: Array, y: Array) -> list[Array]:
    """Zeros that are there by structure cost nothing in a product that is written out."""
    dims, aval = eqn.params["dimension_numbers"], eqn.outvars[0].aval
    axes = axes_of(dims, x.shape, y.shape)
    if kind_of(aval.dtype) == "f" and is_large(trace, axes, x, y):
        if axes.sizes[3] == 1:
            settled = [trace.memory.settled(z) for z in (x, y)]
            return [long_product(trace, dims, aval.dtype, *settled)]
        buffer = dense(trace.memory, axes.sizes, x, axes.left, y, axes.right)
        return [trace.memory.whole(tuple(aval.shape), buffer)]
    if kind_of(aval.dtype) == "i" and is_large(trace, axes, x, y):
        x, y = trace.memory.settled(x), trace.memory.settled(y)
    if isinstance(x, Long) or isinstance(y, Long):
        return [long_product(trace, dims, aval.dtype, x, y)]
    batch, height, width, depth = axes.sizes
    flat = lambda groups: [k for group in groups for k in group]
    left = x.transpose(flat(axes.left)).reshape(batch, height, depth).tolist()
    right = y.transpose(flat(axes.right)).reshape(batch, width, depth).tolist()
    inner = inner_product(trace, aval.dtype)
    made = [inner(a, c) for la, lc in zip(left, right, strict=True) for a in la for c in lc]
    return [np.array(made, dtype=np.int64).reshape(aval.shape)]


def is_large(trace: Trace, axes: Axes, x: Array, y: Array) -> bool:
    """The product is worth a statement of its own."""
    if axes.total < LARGE:
        return False
    if isinstance(x, Long) or isinstance(y, Long):
        lazy = sum(z.size for z in (x, y) if isinstance(z, Long) and z.view is None)
        return 4 * lazy <= axes.total or math.prod(axes.sizes[:3]) > CELLS
    if trace.p.strict:
        return True
    full = [(z != trace.p.zero).astype(np.int64) for z in (x, y)]
    flat = lambda groups: [k for group in groups for k in group]
    left = full[0].transpose(flat(axes.left)).reshape(axes.sizes[0], -1, axes.sizes[3])
    right = full[1].transpose(flat(axes.right)).reshape(axes.sizes[0], -1, axes.sizes[3])
    return int((left.sum(1) * right.sum(1)).sum()) >= LARGE


def inner_product(trace: Trace, dtype: Any) -> Callable[[list[int], list[int]], int]:
    """Σ xₖ yₖ of two lists of values."""
    p, kind = trace.p, kind_of(dtype)
    if kind not in ("f", "i"):
        raise NotTranslatable(f"dot_general of {dtype}")
    add, mul = ("add", "mul") if kind == "f" else ("iadd", "imul")
    zero = p.const(0, kind)
    skip = zero if not p.strict else -1

    def inner(row: list[int], column: list[int]) -> int:
        total = None
        for a, c in zip(row, column, strict=True):
            if a == skip or c == skip:
                continue
            product = p.op(mul, a, c)
            total = product if total is None else p.op(add, total, product)
        return zero if total is None else trace.fit(total, dtype)

    return inner


def long_product(trace: Trace, dims: Any, dtype: Any, x: Array, y: Array) -> Array:
    """Entrywise products with all axes spread out, summed over the contracted ones."""
    (xc, yc), (xb, yb) = dims
    xf = [k for k in range(len(x.shape)) if k not in (*xc, *xb)]
    yf = [k for k in range(len(y.shape)) if k not in (*yc, *yb)]
    shape = [x.shape[k] for k in (*xb, *xf)] + [y.shape[k] for k in yf] + [x.shape[k] for k in xc]
    nb, nx, ny = len(xb), len(xf), len(yf)
    kind = kind_of(dtype) or "f"
    pick, mul, add = trace.memory.pick, "mul" if kind == "f" else "imul", "add"
    p = trace.p

    def at(index: tuple[int, ...]) -> int:
        b, fx, fy, c = (
            index[:nb],
            index[nb : nb + nx],
            index[nb + nx : nb + nx + ny],
            index[nb + nx + ny :],
        )
        left = dict(zip((*xb, *xf, *xc), (*b, *fx, *c), strict=True))
        right = dict(zip((*yb, *yf, *yc), (*b, *fy, *c), strict=True))
        a = pick(x, tuple(left[k] for k in range(len(left))))
        c = pick(y, tuple(right[k] for k in range(len(right))))
        return trace.fit(p.op(mul, a, c), dtype)

    product = Long(tuple(shape), kind, at)
    if not xc:
        return product
    combine = lambda a, c: trace.fit(p.op(add if kind == "f" else "iadd", a, c), dtype)
    return fold(trace, product, tuple(range(nb + nx + ny, len(shape))), combine)
