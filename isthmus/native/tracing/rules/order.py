"""Order along an axis: the place of an extreme entry, sorting, running sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.ir.program import Loop, Program, View
from isthmus.native.tracing.arrays import Array, Index, Long
from isthmus.native.tracing.rules.elementwise import elementwise
from isthmus.native.tracing.rules.reduce import combiner
from isthmus.native.tracing.sorting import sorted_rows
from isthmus.native.tracing.trace import Trace, kind_of, rule

ROW = 32
"""A row of so many entries, or as much work in several rows, is sorted without a loop."""
VALUES = 4096
"""With more entries, running sums and searches are loops."""


def rows_of(trace: Trace, x: Array, axis: int) -> Long:
    """`x` with `axis` moved to the end."""
    long = trace.memory.long(x)
    order = [k for k in range(len(x.shape)) if k != axis] + [axis]
    shape = tuple(x.shape[k] for k in order)
    if long.view is not None:
        strides = tuple(long.view.strides[k] for k in order)
        return trace.memory.grid(shape, View(long.view.buffer, long.view.start, strides))
    at = lambda i: long.at((*i[:axis], i[-1], *i[axis:-1]))
    return Long(shape, long.kind, at, work=long.work, ragged=long.ragged)


def back(trace: Trace, rows: Long, axis: int) -> Long:
    """The opposite of `rows_of`, of an array in memory."""
    assert rows.view is not None
    move = lambda x: (*x[:axis], x[-1], *x[axis:-1])
    view = View(rows.view.buffer, rows.view.start, move(rows.view.strides))
    return trace.memory.grid(move(rows.shape), view)


def less(trace: Trace, dtype: Any) -> Callable[[int, int], int]:
    """Whether an entry stands before another: NaN last, zeros of both signs alike."""
    p, kind = trace.p, kind_of(dtype)
    if kind == "b":
        return lambda a, c: p.op("band", p.op("bnot", a), c)
    if kind == "i":
        return lambda a, c: p.op("iult" if trace.full(dtype) else "ilt", a, c)
    if kind is None:
        raise NotTranslatable(f"the order of {dtype}")

    def before(a: int, c: int) -> int:
        last = p.op("band", p.op("fne", c, c), p.op("feq", a, a))
        return p.op("bor", p.op("flt", a, c), last)

    return before


@elementwise("lt_to", "le_to")
def total_order(trace: Trace, eqn: Any) -> Callable[[int, int], int]:
    """IEEE's total order: −0 before 0, NaN at the ends by their sign; other kinds as they are."""
    p, dtype = trace.p, eqn.invars[0].aval.dtype
    low, rest = p.integer(p.width - 1), p.integer((1 << (p.width - 1)) - 1)

    def key(x: int) -> int:
        bits = p.op("bits", x)
        return p.op("ixor", bits, p.op("iand", p.op("iashr", bits, low), rest))

    before = less(trace, dtype)
    if kind_of(dtype) == "f":
        before = lambda a, c: p.op("ilt", key(a), key(c))
    if eqn.primitive.name == "lt_to":
        return before
    return lambda a, c: p.op("bnot", before(c, a))


@rule("argmax", "argmin", long=True)
def argmax(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    """The first index of the extreme entry; a NaN wins."""
    p, (axis,) = trace.p, eqn.params["axes"]
    kind = kind_of(eqn.invars[0].aval.dtype)
    count = x.shape[axis]

    def better(a: int, c: int) -> int:
        """`a` beats the earlier `c`."""
        low, high = (c, a) if eqn.primitive.name == "argmax" else (a, c)
        if kind != "f":
            return less(trace, eqn.invars[0].aval.dtype)(low, high)
        later_nan = p.op("band", p.op("fne", a, a), p.op("feq", c, c))
        return p.op("bor", p.op("flt", low, high), later_nan)

    def choose(best: tuple[int, int], a: int, k: int) -> tuple[int, int]:
        wins = better(a, best[0])
        return p.select(wins, a, best[0]), p.select(wins, k, best[1])

    if isinstance(x, Long) or x.size > VALUES:
        return [extreme_loop(trace, rows_of(trace, x, axis), choose)]
    made = []
    for row in np.moveaxis(x, axis, -1).reshape(-1, count).tolist():
        best = (row[0], p.integer(0))
        for k, value in enumerate(row[1:], 1):
            best = choose(best, value, p.integer(k))
        made.append(best[1])
    return [np.array(made, dtype=np.int64).reshape(np.delete(x.shape, axis))]


def extreme_loop(trace: Trace, rows: Long, choose: Callable) -> Long:
    """The same along the last axis of an array in memory."""
    p, memory = trace.p, trace.memory
    shape = rows.shape[:-1]
    places = p.buffer(f"a{len(p.buffers)}", "work", math.prod(shape), "i")

    def visit(index: Index) -> None:
        start = [rows.at((*index, p.integer(0))), p.integer(0)]
        body = p.enter("loop")
        counter = p.symbol("counter", "i")
        params = [p.symbol("param", rows.kind), p.symbol("param", "i")]
        spot = p.op("iadd", counter, p.integer(1))
        yields = list(choose(tuple(params), rows.at((*index, spot)), spot))
        p.leave()
        loop = Loop(rows.shape[-1] - 1, counter, start, params, body, yields)
        results = p.finish("for", loop, [rows.kind, "i"]) if loop.count else start
        p.store(places, memory.flat(shape, index), results[1])

    memory.nest(shape, visit, few=1)
    return memory.whole(shape, places)


@rule("sort", long=True)
def sort(trace: Trace, eqn: Any, *arrays: Array) -> list[Array]:
    """Stable, by the first `num_keys` arrays; NaN last."""
    keys = eqn.params["num_keys"]
    orders = [less(trace, v.aval.dtype) for v in eqn.invars[:keys]]
    return ordered(trace, list(arrays), eqn.params["dimension"], orders)


@rule("top_k", long=True)
def top_k(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    """The largest entries and their places, the first of equal ones first; NaN is the largest."""
    p, k = trace.p, eqn.params["k"]
    axis = eqn.params.get("axis", len(x.shape) - 1) % len(x.shape)
    below = less(trace, eqn.invars[0].aval.dtype)
    shape = [1] * len(x.shape)
    shape[axis] = x.shape[axis]
    places = np.array([p.integer(i) for i in range(x.shape[axis])], dtype=np.int64)
    index = np.broadcast_to(places.reshape(shape), x.shape)
    found = ordered(trace, [x, index], axis, [lambda a, c: below(c, a)])
    start = trace.memory.numbers([0] * len(x.shape))
    cut = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [part(trace, y, start, cut) for y in found]


def part(trace: Trace, x: Array, start: Index, shape: tuple[int, ...]) -> Array:
    """The corner of `x` with `shape`."""
    if isinstance(x, np.ndarray):
        return x[tuple(map(slice, shape))]
    assert x.view is not None
    return trace.memory.grid(shape, x.view)


def ordered(trace: Trace, arrays: list[Array], axis: int, orders: list[Callable]) -> list[Array]:
    """`arrays` sorted together along `axis` by the first ones; `orders` say what stands before what."""
    p, count = trace.p, arrays[0].shape[axis]

    def above(left: list[int], right: list[int], tie: int) -> int:
        """The entries `left` must stand behind `right`; `tie` decides between equals."""
        found = tie
        for before, a, c in reversed(list(zip(orders, left, right, strict=False))):
            same = p.op("bnot", p.op("bor", before(c, a), before(a, c)))
            found = p.op("bor", before(c, a), p.op("band", same, found))
        return found

    if count < 2:
        return arrays
    few = arrays[0].size * (count - 1) <= ROW * ROW
    if few and not any(isinstance(x, Long) for x in arrays):
        never = p.const(False, "b")
        return sort_values(p, arrays, axis, lambda a, c: above(a, c, never))
    rows = [rows_of(trace, x, axis) for x in arrays]
    return [back(trace, x, axis) for x in sorted_rows(trace.memory, rows, above)]


def sort_values(p: Program, arrays: list[Any], axis: int, above: Callable) -> list[Array]:
    """Few entries, by exchanging neighbours: the same work whatever the order."""
    count = arrays[0].shape[axis]
    moved = np.moveaxis(arrays[0], axis, -1).shape
    sides = [np.moveaxis(x, axis, -1).reshape(-1, count).copy() for x in arrays]
    for r in range(len(sides[0])):
        for end in range(count - 1, 0, -1):
            for k in range(end):
                left, right = ([int(x[r, n]) for x in sides] for n in (k, k + 1))
                swap = above(left, right)
                for x, a, c in zip(sides, left, right, strict=True):
                    x[r, k], x[r, k + 1] = p.select(swap, c, a), p.select(swap, a, c)
    return [np.moveaxis(x.reshape(moved), -1, axis) for x in sides]


def log_add(p: Program, a: int, c: int) -> int:
    """log(eᵃ + eᶜ), without overflow and right at infinities."""
    same = p.op("feq", a, c)
    gap = p.op("neg", p.op("abs", p.op("sub", a, c)))
    far = p.op("add", p.op("max", a, c), p.op("log1p", p.op("exp", gap)))
    return p.select(same, p.op("add", a, p.const(math.log(2.0))), far)


@rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", long=True)
def cumulative(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    """Running results, from the first entry on or, `reverse`, from the last."""
    p, axis, dtype = trace.p, eqn.params["axis"], eqn.outvars[0].aval.dtype
    names = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}
    name, reverse = names.get(eqn.primitive.name, ""), eqn.params["reverse"]
    op = name if kind_of(dtype) == "f" else "i" + name
    plain = combiner(trace, op, dtype) if name else lambda a, c: trace.fit(log_add(p, a, c), dtype)
    if isinstance(x, Long) or x.size > VALUES:
        return [back(trace, running(trace, rows_of(trace, x, axis), plain, reverse), axis)]
    rows = np.moveaxis(np.flip(x, axis) if reverse else x, axis, -1)
    made = [
        list(itertools.accumulate(row, plain)) for row in rows.reshape(-1, x.shape[axis]).tolist()
    ]
    out = np.moveaxis(np.array(made, dtype=np.int64).reshape(rows.shape), -1, axis)
    return [np.flip(out, axis) if reverse else out]


def running(trace: Trace, rows: Long, combine: Callable, reverse: bool) -> Long:
    """`combine` along the last axis, every result in memory."""
    p, memory, count = trace.p, trace.memory, rows.shape[-1]
    buffer = p.buffer(f"u{len(p.buffers)}", "work", rows.size, rows.kind)

    def place(k: int) -> int:
        return p.op("isub", p.integer(count - 1), k) if reverse else k

    def visit(index: Index) -> None:
        put = lambda spot, value: p.store(buffer, memory.flat(rows.shape, (*index, spot)), value)
        first = place(p.integer(0))
        start = rows.at((*index, first))
        put(first, start)
        if count == 1:
            return
        body = p.enter("loop")
        counter, before = p.symbol("counter", "i"), p.symbol("param", rows.kind)
        spot = place(p.op("iadd", counter, p.integer(1)))
        value = combine(before, rows.at((*index, spot)))
        put(spot, value)
        p.leave()
        p.finish("for", Loop(count - 1, counter, [start], [before], body, [value]), [rows.kind])

    memory.nest(rows.shape[:-1], visit, few=1)
    return memory.whole(rows.shape, buffer)
