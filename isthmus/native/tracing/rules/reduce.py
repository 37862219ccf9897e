"""Sums and extrema: many entries into one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.ir.program import Loop
from isthmus.native.tracing.arrays import FEW, SMALL, Array, Long, columns
from isthmus.native.tracing.dense import total
from isthmus.native.tracing.rules.elementwise import UNSIGNED
from isthmus.native.tracing.trace import Trace, kind_of, rule

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
    cells = math.prod(x.shape[k] for k in kept)
    folded = math.prod(x.shape[k] for k in axes)
    if longest in axes and cells * folded // x.shape[longest] <= width(x):
        return fold_loop(trace, x, axes, kept, longest, combine)
    if folded > FEW:
        return fold_nested(trace, x, axes, kept, combine)
    return Long(tuple(x.shape[k] for k in kept), x.kind, entry_of_fold(trace, x, axes, combine))


def entry_of_fold(trace: Trace, x: Long, axes: tuple[int, ...], combine: Combine) -> Callable:
    """One entry of a fold over few entries, written out."""
    kept = [k for k in range(len(x.shape)) if k not in axes]
    numbers = trace.memory.numbers

    def at(index: tuple[int, ...]) -> int:
        total = None
        for inner in columns([x.shape[k] for k in axes]):
            whole = dict(zip((*kept, *axes), (*index, *numbers(inner)), strict=True))
            value = x.at(tuple(whole[k] for k in range(len(whole))))
            total = value if total is None else combine(total, value)
        assert total is not None
        return total

    return at


def fold_nested(
    trace: Trace, x: Long, axes: tuple[int, ...], kept: list[int], combine: Combine
) -> Array:
    """Loops over the entries kept, and inside them over those folded; results in memory."""
    p, memory = trace.p, trace.memory
    shape = tuple(x.shape[k] for k in kept)
    inner = [x.shape[k] for k in axes]
    buffer = p.buffer(f"f{len(p.buffers)}", "work", math.prod(shape), x.kind)

    def entry(index: tuple[int, ...], spot: int) -> int:
        places = memory.unflat(inner, spot)
        whole = dict(zip((*kept, *axes), (*index, *places), strict=True))
        return x.at(tuple(whole[k] for k in range(len(whole))))

    def visit(index: tuple[int, ...]) -> None:
        start = entry(index, p.integer(0))
        body = p.enter("loop")
        counter, running = p.symbol("counter", "i"), p.symbol("param", x.kind)
        value = combine(running, entry(index, p.op("iadd", counter, p.integer(1))))
        p.leave()
        loop = Loop(math.prod(inner) - 1, counter, [start], [running], body, [value])
        (result,) = p.finish("for", loop, [x.kind])
        p.store(buffer, memory.flat(shape, index), result)

    memory.nest(shape, visit)
    return memory.whole(shape, buffer)


def fold_loop(
    trace: Trace, x: Long, axes: tuple[int, ...], kept: list[int], longest: int, combine: Combine
) -> Array:
    """One loop along the longest axis; one running result for each entry kept."""
    p, memory = trace.p, trace.memory
    shape = [x.shape[k] for k in kept]
    short = [k for k in axes if k != longest]

    def row(spot: int, index: tuple[int, ...]) -> int:
        known = dict(zip(kept, memory.numbers(index), strict=True)) | {longest: spot}
        total = None
        for inner in columns([x.shape[k] for k in short]):
            spots = known | dict(zip(short, memory.numbers(inner), strict=True))
            value = x.at(tuple(spots[k] for k in range(len(x.shape))))
            total = value if total is None else combine(total, value)
        assert total is not None
        return total

    cells = list(columns(shape))
    starts = [row(p.integer(0), c) for c in cells]
    if x.shape[longest] == 1:
        return np.array(starts, dtype=np.int64).reshape(shape)
    body = p.enter("loop")
    counter = p.symbol("counter", "i")
    params = [p.symbol("param", x.kind) for _ in cells]
    spot = p.op("iadd", counter, p.integer(1))
    yields = [combine(a, row(spot, c)) for a, c in zip(params, cells, strict=True)]
    p.leave()
    loop = Loop(x.shape[longest] - 1, counter, starts, params, body, yields)
    results = p.finish("for", loop, [x.kind] * len(cells))
    return np.array(results, dtype=np.int64).reshape(shape)


def limits(dtype: Any) -> tuple[float, float]:
    """The smallest and the largest number of a type."""
    kind = kind_of(dtype)
    if kind == "i":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    return (-math.inf, math.inf) if kind == "f" else (False, True)


def reducer(name: str, unit: Callable[[Any], float], f: str = "", i: str = "", b: str = "") -> None:
    """Registers a reduction by one operation for each kind."""

    @rule(name, long=True)
    def run(trace: Trace, eqn: Any, x: Array, *_: Array) -> list[Array]:
        dtype = eqn.outvars[0].aval.dtype
        kind = kind_of(dtype)
        op = {"f": f, "i": i, "b": b}[kind or "f"]
        if not op:
            raise NotTranslatable(f"{name} of {dtype}")
        if math.prod(x.shape) == 0:
            start = trace.literal(np.array(unit(dtype), dtype))
            return [np.full(eqn.outvars[0].aval.shape, start)]
        combine = combiner(trace, op, dtype)
        axes = tuple(map(int, eqn.params["axes"]))
        if op == "add" and isinstance(x, Long) and sums_in_memory(x, axes):
            shape = tuple(eqn.outvars[0].aval.shape)
            return [trace.memory.whole(shape, total(trace.memory, x, axes))]
        return [fold(trace, x, axes, combine)]


@rule("reduce")
def reduce(trace: Trace, eqn: Any, *arrays: Array) -> list[Array]:
    """By any function of two entries, or of two sets of entries: `lax.reduce`."""
    count = len(arrays) // 2
    closed, axes = eqn.params["jaxpr"], tuple(map(int, eqn.params["dimensions"]))
    kept = [k for k in range(len(arrays[0].shape)) if k not in axes]
    shape = tuple(arrays[0].shape[k] for k in kept)
    rows = [
        np.asarray(x).transpose([*kept, *axes]).reshape(math.prod(shape), -1)
        for x in arrays[:count]
    ]
    scalar = lambda value: np.array(value, dtype=np.int64)
    made: list[list[int]] = [[] for _ in range(count)]
    for r in range(math.prod(shape)):
        state = [scalar(int(np.asarray(x))) for x in arrays[count:]]
        for k in range(rows[0].shape[1]):
            entries = [scalar(x[r, k]) for x in rows]
            state = [trace.memory.values(y) for y in trace.closed(closed, [*state, *entries])]
        for out, value in zip(made, state, strict=True):
            out.append(int(value))
    return [np.array(x, dtype=np.int64).reshape(shape) for x in made]


def combiner(trace: Trace, op: str, dtype: Any) -> Combine:
    """An operation on two entries of a type."""
    if trace.full(dtype) and op in UNSIGNED:
        return functools.partial(UNSIGNED[op], trace.p)
    return lambda a, c: trace.fit(trace.p.op(op, a, c), dtype)


def sums_in_memory(x: Long, axes: tuple[int, ...]) -> bool:
    """The sum has more to keep, or to fold, than one loop with sums in registers does well."""
    folded = math.prod(x.shape[k] for k in axes)
    if folded <= FEW or x.everywhere is not None:
        return False
    longest = max(x.shape)
    alone = longest in [x.shape[k] for k in axes]
    return not alone or math.prod(x.shape) // longest > width(x)


def width(x: Long) -> int:
    """So many entries are read in each round of a loop along the longest axis."""
    return SMALL if x.ragged else FEW


reducer("reduce_sum", lambda d: 0, "add", "iadd")
reducer("reduce_prod", lambda d: 1, "mul", "imul")
reducer("reduce_max", lambda d: limits(d)[0], "max", "imax", "bor")
reducer("reduce_min", lambda d: limits(d)[1], "min", "imin", "band")
reducer("reduce_and", lambda d: limits(d)[1] if np.dtype(d).kind != "i" else -1, i="iand", b="band")
reducer("reduce_or", lambda d: 0, i="ior", b="bor")
reducer("reduce_xor", lambda d: 0, i="ixor", b="bxor")
