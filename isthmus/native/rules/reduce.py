"""Sums, extrema, products of matrices: many entries into one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.arrays import Array, Long, columns
from isthmus.native.program import Loop
from isthmus.native.trace import Trace, kind_of, rule

Combine = Callable[[int, int], int]


def fold(trace: Trace, x: Array, axes: tuple[int, ...], combine: Combine) -> Array:
    """`combine` over `axes`, from the first entry to the last."""
    kept = [k for k in range(len(x.shape)) if k not in axes]
    if isinstance(x, np.ndarray):
        rows = x.transpose([*kept, *axes]).reshape(math.prod(x.shape[k] for k in kept), -1).tolist()
        made = []
        for row in rows:
            total = row[0]
            for value in row[1:]:
                total = combine(total, value)
            made.append(total)
        return np.array(made, dtype=np.int64).reshape([x.shape[k] for k in kept])
    longest = int(np.argmax(x.shape))
    if longest in axes:
        return fold_loop(trace, x, axes, kept, longest, combine)
    shape = tuple(x.shape[k] for k in kept)
    numbers = trace.memory.numbers

    def at(index: tuple[int, ...]) -> int:
        total = None
        for inner in columns([x.shape[k] for k in axes]):
            whole: list[int] = [0] * len(x.shape)
            for k, i in zip(kept, index, strict=True):
                whole[k] = i
            for k, i in zip(axes, numbers(inner), strict=True):
                whole[k] = i
            value = x.at(tuple(whole))
            total = value if total is None else combine(total, value)
        assert total is not None
        return total

    return Long(shape, x.kind, at)


def fold_loop(
    trace: Trace, x: Long, axes: tuple[int, ...], kept: list[int], longest: int, combine: Combine
) -> Array:
    """One loop along the longest axis; one running result for each entry kept."""
    p, memory = trace.p, trace.memory
    shape = [x.shape[k] for k in kept]
    short = [k for k in axes if k != longest]

    def row(k: int, spot: int, index: tuple[int, ...]) -> int:
        return p_at(dict(zip(kept, memory.numbers(index), strict=True)) | {longest: spot}, k)

    def p_at(known: dict[int, int], _: int) -> int:
        total = None
        for inner in columns([x.shape[k] for k in short]):
            spots = known | dict(zip(short, memory.numbers(inner), strict=True))
            value = x.at(tuple(spots[k] for k in range(len(x.shape))))
            total = value if total is None else combine(total, value)
        assert total is not None
        return total

    cells = list(columns(shape))
    starts = [row(0, p.integer(0), c) for c in cells]
    if x.shape[longest] == 1:
        return np.array(starts, dtype=np.int64).reshape(shape)
    body = p.enter("loop")
    counter = p.symbol("counter", "i")
    params = [p.symbol("param", x.kind) for _ in cells]
    spot = p.op("iadd", counter, p.integer(1))
    yields = [combine(a, row(0, spot, c)) for a, c in zip(params, cells, strict=True)]
    p.leave()
    loop = Loop(x.shape[longest] - 1, counter, starts, params, body, yields)
    results = p.finish("for", loop, [x.kind] * len(cells))
    return np.array(results, dtype=np.int64).reshape(shape)


def reducer(name: str, unit: Callable[[str], float], f: str = "", i: str = "", b: str = "") -> None:
    """Registers a reduction by one operation for each kind."""

    @rule(name, long=True)
    def run(trace: Trace, eqn: Any, x: Array, *_: Array) -> list[Array]:
        dtype = eqn.outvars[0].aval.dtype
        kind = kind_of(dtype)
        op = {"f": f, "i": i, "b": b}[kind or "f"]
        if not op:
            raise NotTranslatable(f"{name} of {dtype}")
        if math.prod(x.shape) == 0:
            return [
                np.full(eqn.outvars[0].aval.shape, trace.p.const(unit(kind or "f"), kind or "f"))
            ]
        combine = lambda a, c: trace.fit(trace.p.op(op, a, c), dtype)
        return [fold(trace, x, tuple(map(int, eqn.params["axes"])), combine)]


reducer("reduce_sum", lambda k: 0, "add", "iadd")
reducer("reduce_prod", lambda k: 1, "mul", "imul")
reducer("reduce_max", lambda k: -math.inf if k == "f" else -(1 << 63), "max", "imax", "bor")
reducer("reduce_min", lambda k: math.inf if k == "f" else (1 << 63) - 1, "min", "imin", "band")
reducer("reduce_and", lambda k: -1 if k == "i" else True, i="iand", b="band")
reducer("reduce_or", lambda k: 0, i="ior", b="bor")
reducer("reduce_xor", lambda k: 0, i="ixor", b="bxor")


@rule("argmax", "argmin")
def argmax(trace: Trace, eqn: Any, x: np.ndarray) -> list[Array]:
    """The first index of the extreme entry; a NaN wins."""
    p, (axis,) = trace.p, eqn.params["axes"]
    kind = kind_of(eqn.invars[0].aval.dtype)
    rows = np.moveaxis(x, axis, -1)

    def better(a: int, c: int) -> int:
        """`a` beats the earlier `c`."""
        low, high = (c, a) if eqn.primitive.name == "argmax" else (a, c)
        if kind != "f":
            return p.op("ilt", low, high)
        later_nan = p.op("band", p.op("fne", a, a), p.op("feq", c, c))
        return p.op("bor", p.op("flt", low, high), later_nan)

    def scalar(row: list[int]) -> int:
        best, where = row[0], p.integer(0)
        for k, value in enumerate(row[1:], 1):
            wins = better(value, best)
            best, where = p.select(wins, value, best), p.select(wins, p.integer(k), where)
        return where

    made = [scalar(row) for row in rows.reshape(-1, x.shape[axis]).tolist()]
    return [np.array(made, dtype=np.int64).reshape(rows.shape[:-1])]


@rule("sort")
def sort(trace: Trace, eqn: Any, *arrays: np.ndarray) -> list[Array]:
    """Few entries, by exchanging neighbours: stable, and the same work whatever the order; NaN last."""
    p, axis, keys = trace.p, eqn.params["dimension"], eqn.params["num_keys"]
    count = arrays[0].shape[axis]
    if count > 32 or keys != 1:
        raise NotTranslatable(f"sort of {count} entries by {keys} keys")
    kind = kind_of(eqn.invars[0].aval.dtype)
    rows = [np.moveaxis(x, axis, -1).reshape(-1, count).copy() for x in arrays]

    def above(a: int, c: int) -> int:
        if kind != "f":
            return p.op("ilt", c, a)
        nan_first = p.op("band", p.op("fne", a, a), p.op("feq", c, c))
        return p.op("bor", p.op("flt", c, a), nan_first)

    for r in range(len(rows[0])):
        for end in range(count - 1, 0, -1):
            for k in range(end):
                swap = above(int(rows[0][r, k]), int(rows[0][r, k + 1]))
                for x in rows:
                    a, c = int(x[r, k]), int(x[r, k + 1])
                    x[r, k], x[r, k + 1] = p.select(swap, c, a), p.select(swap, a, c)
    moved = np.moveaxis(arrays[0], axis, -1).shape
    return [np.moveaxis(x.reshape(moved), -1, axis) for x in rows]


@rule("cumsum", "cumprod", "cummax", "cummin")
def cumulative(trace: Trace, eqn: Any, x: np.ndarray) -> list[Array]:
    p, axis, dtype = trace.p, eqn.params["axis"], eqn.outvars[0].aval.dtype
    kind = kind_of(dtype)
    name = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}[eqn.primitive.name]
    op = name if kind == "f" else "i" + name
    rows = np.moveaxis(np.flip(x, axis) if eqn.params["reverse"] else x, axis, -1)
    made = [
        list(itertools.accumulate(row, lambda a, c: trace.fit(p.op(op, a, c), dtype)))
        for row in rows.reshape(-1, x.shape[axis]).tolist()
    ]
    out = np.moveaxis(np.array(made, dtype=np.int64).reshape(rows.shape), -1, axis)
    return [np.flip(out, axis) if eqn.params["reverse"] else out]


@rule("dot_general", long=True)
def dot_general(trace: Trace, eqn: Any, x: Array, y: Array) -> list[Array]:
    """Zeros that are there by structure cost nothing."""
    dims = eqn.params["dimension_numbers"]
    dtype = eqn.outvars[0].aval.dtype
    if isinstance(x, Long) or isinstance(y, Long):
        return [long_product(trace, dims, dtype, x, y)]
    (xc, yc), (xb, yb) = dims
    xf = [k for k in range(x.ndim) if k not in (*xc, *xb)]
    yf = [k for k in range(y.ndim) if k not in (*yc, *yb)]
    depth = math.prod(x.shape[k] for k in xc)
    batch = math.prod(x.shape[k] for k in xb)
    height, width = math.prod(x.shape[k] for k in xf), math.prod(y.shape[k] for k in yf)
    left = x.transpose([*xb, *xf, *xc]).reshape(batch, height, depth).tolist()
    right = y.transpose([*yb, *yf, *yc]).reshape(batch, width, depth).tolist()
    inner = inner_product(trace, dtype)
    made = [inner(a, c) for la, lc in zip(left, right, strict=True) for a in la for c in lc]
    return [np.array(made, dtype=np.int64).reshape(eqn.outvars[0].aval.shape)]


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
        return p.op(mul, a, pick(y, tuple(right[k] for k in range(len(right)))))

    product = Long(tuple(shape), kind, at)
    if not xc:
        return product
    combine = lambda a, c: p.op(add if kind == "f" else "iadd", a, c)
    return fold(trace, product, tuple(range(nb + nx + ny, len(shape))), combine)
