"""Primitives that only move entries: reshape, broadcast, slice, concatenate, pad, …"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from isthmus.native.ir.program import View
from isthmus.native.tracing.arrays import LARGEST, Array, Long
from isthmus.native.tracing.trace import Trace, kind_of, rule


@rule("broadcast_in_dim", long=True, free=True)
def broadcast_in_dim(trace: Trace, eqn: Any, x: Array, *_: Array) -> list[Array]:
    shape, axes = tuple(eqn.params["shape"]), eqn.params["broadcast_dimensions"]
    zero = trace.p.integer(0)
    size = math.prod(shape)
    if isinstance(x, np.ndarray) and size <= LARGEST // 4:
        spread = [1] * len(shape)
        for k, axis in enumerate(axes):
            spread[axis] = x.shape[k]
        return [np.broadcast_to(x.reshape(spread), shape)]
    if isinstance(x, Long) and x.work > 1 and x.patch is None and size > x.size:
        x = trace.memory.settled(x)  # once, not for every copy
    source, old = x, x.shape
    if isinstance(x, np.ndarray) and x.size == 1:
        return [trace.memory.filled(shape, int(x.reshape(())))]

    if isinstance(x, Long) and x.view is not None:
        strides = [0] * len(shape)
        for k, axis in enumerate(axes):
            strides[axis] = x.view.strides[k] if old[k] > 1 else 0
        return [trace.memory.grid(shape, View(x.view.buffer, x.view.start, tuple(strides)))]

    def at(index: tuple[int, ...]) -> int:
        inner = tuple(zero if old[k] == 1 else index[axis] for k, axis in enumerate(axes))
        return trace.memory.pick(source, inner)

    return [Long(shape, kind_of(eqn.outvars[0].aval.dtype) or "f", at)]


@rule("reshape", long=True, free=True)
def reshape(trace: Trace, eqn: Any, x: Array, *_: Array) -> list[Array]:
    shape = tuple(eqn.params["new_sizes"])
    if (order := eqn.params.get("dimensions")) is not None:
        x = np.asarray(trace.memory.values(x)).transpose(order)
    if isinstance(x, np.ndarray):
        return [x.reshape(shape)]
    memory, old = trace.memory, x.shape
    if x.buffer is not None:
        return [memory.whole(shape, x.buffer)]
    if [n for n in shape if n != 1] == [n for n in old if n != 1]:  # only axes of length one differ
        if x.view is not None:
            own = iter([s for s, n in zip(x.view.strides, old, strict=True) if n != 1])
            strides = tuple(0 if n == 1 else next(own) for n in shape)
            return [memory.grid(shape, View(x.view.buffer, x.view.start, strides))]

        def moved(index: tuple[int, ...]) -> int:
            long = iter([i for i, n in zip(index, shape, strict=True) if n != 1])
            return x.at(tuple(trace.p.integer(0) if n == 1 else next(long) for n in old))

        return [Long(shape, x.kind, moved)]
    return [Long(shape, x.kind, lambda i: x.at(memory.unflat(old, memory.flat(shape, i))))]


@rule("squeeze", "expand_dims", long=True, free=True)
def squeeze(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    gone, old = {k % len(x.shape) for k in eqn.params["dimensions"]}, x.shape
    shape = tuple(n for k, n in enumerate(old) if k not in gone)
    if isinstance(x, np.ndarray):
        return [x.reshape(shape)]
    zero = trace.p.integer(0)
    if x.view is not None:
        strides = tuple(s for k, s in enumerate(x.view.strides) if k not in gone)
        return [trace.memory.grid(shape, View(x.view.buffer, x.view.start, strides))]

    def at(index: tuple[int, ...]) -> int:
        rest = iter(index)
        return x.at(tuple(zero if k in gone else next(rest) for k in range(len(old))))

    return [Long(shape, x.kind, at)]


@rule("transpose", long=True, free=True)
def transpose(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    order = tuple(eqn.params["permutation"])
    if isinstance(x, np.ndarray):
        return [x.transpose(order)]
    back = np.argsort(order)
    shape = tuple(x.shape[k] for k in order)
    if x.view is not None:
        strides = tuple(x.view.strides[k] for k in order)
        return [trace.memory.grid(shape, View(x.view.buffer, x.view.start, strides))]
    return [Long(shape, x.kind, lambda i: x.at(tuple(i[k] for k in back)))]


@rule("rev", long=True, free=True)
def reverse(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    axes = eqn.params["dimensions"]
    if isinstance(x, np.ndarray):
        return [np.flip(x, axes)]
    p = trace.p
    flip = lambda k, i: p.op("isub", p.integer(x.shape[k] - 1), i) if k in axes else i
    return [Long(x.shape, x.kind, lambda i: x.at(tuple(flip(k, j) for k, j in enumerate(i))))]


@rule("slice", long=True, free=True)
def slice_(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    start, limit = (tuple(map(int, eqn.params[k])) for k in ("start_indices", "limit_indices"))
    step = tuple(map(int, eqn.params["strides"] or (1,) * len(start)))
    if isinstance(x, np.ndarray):
        return [x[tuple(slice(a, b, s) for a, b, s in zip(start, limit, step, strict=True))]]
    p = trace.p
    shape = tuple(eqn.outvars[0].aval.shape)
    if x.view is not None:
        skip = sum(a * s for a, s in zip(start, x.view.strides, strict=True))
        strides = tuple(a * s for a, s in zip(step, x.view.strides, strict=True))
        first = p.op("iadd", x.view.start, p.integer(skip))
        return [trace.memory.grid(shape, View(x.view.buffer, first, strides))]

    def move(k: int, i: int) -> int:
        return p.op("iadd", p.op("imul", i, p.integer(step[k])), p.integer(start[k]))

    return [Long(shape, x.kind, lambda i: x.at(tuple(move(k, j) for k, j in enumerate(i))))]


@rule("concatenate", long=True, free=True)
def concatenate(trace: Trace, eqn: Any, *parts: Array) -> list[Array]:
    axis = eqn.params["dimension"]
    parts = tuple(x for x in parts if x.shape[axis])
    if len(parts) == 1:
        return [parts[0]]
    if all(isinstance(x, np.ndarray) for x in parts):
        return [np.concatenate(cast(Any, parts), axis)]
    p, pick = trace.p, trace.memory.pick
    ends = np.cumsum([x.shape[axis] for x in parts]).tolist()

    def at(index: tuple[int, ...]) -> int:
        known, chosen, first = p.constant(index[axis]), None, 0
        for x, end in zip(parts, ends, strict=True):
            if known is not None and not first <= known < end:
                first = end
                continue
            local = p.op("isub", index[axis], p.integer(first))
            if known is None:
                local = p.op("imax", p.op("imin", local, p.integer(end - first - 1)), p.integer(0))
            value = pick(x, (*index[:axis], local, *index[axis + 1 :]))
            before = p.op("ilt", index[axis], p.integer(first))
            chosen = value if chosen is None else p.select(before, chosen, value)
            first = end
        assert chosen is not None
        return chosen

    kind = kind_of(eqn.outvars[0].aval.dtype) or "f"
    return [Long(tuple(eqn.outvars[0].aval.shape), kind, at)]


@rule("pad", long=True, free=True)
def pad(trace: Trace, eqn: Any, x: Array, fill: Array) -> list[Array]:
    config = eqn.params["padding_config"]
    shape = tuple(eqn.outvars[0].aval.shape)
    filler = int(trace.memory.values(fill))
    if isinstance(x, np.ndarray) and math.prod(shape) <= LARGEST:
        out = np.full(shape, filler, dtype=np.int64)
        source = np.indices(x.shape).reshape(x.ndim, -1)
        target = np.array(
            [low + (gap + 1) * s for (low, _, gap), s in zip(config, source, strict=True)]
        )
        target = target.reshape(x.ndim, -1)
        inside = ((target >= 0) & (target < np.array(shape)[:, None])).all(0)
        out[tuple(target[:, inside])] = x.ravel()[inside]
        return [out]
    p, pick, old = trace.p, trace.memory.pick, x.shape

    def at(index: tuple[int, ...]) -> int:
        inner, inside = [], p.const(True, "b")
        for (low, _, gap), n, i in zip(config, old, index, strict=True):
            j = p.op("isub", i, p.integer(low))
            if gap:
                fits = p.op("ieq", p.op("irem", j, p.integer(gap + 1)), p.integer(0))
                inside = p.op("band", inside, fits)
                j = p.op("idiv", j, p.integer(gap + 1))
            inside = p.op("band", inside, p.op("ile", p.integer(0), j))
            inside = p.op("band", inside, p.op("ilt", j, p.integer(n)))
            inner.append(p.op("imax", p.op("imin", j, p.integer(n - 1)), p.integer(0)))
        if p.constant(inside) is False:
            return filler
        return p.select(inside, pick(x, tuple(inner)), filler)

    return [Long(shape, kind_of(eqn.outvars[0].aval.dtype) or "f", at)]


@rule("iota", long=True, free=True)
def iota(trace: Trace, eqn: Any, *_: Array) -> list[Array]:
    shape, axis = tuple(eqn.params["shape"]), eqn.params["dimension"]
    kind, p = kind_of(eqn.params["dtype"]) or "i", trace.p
    if math.prod(shape) <= 4096:
        numbers = np.array([p.const(k, kind) for k in range(shape[axis])], dtype=np.int64)
        spread = [1] * len(shape)
        spread[axis] = shape[axis]
        return [np.broadcast_to(numbers.reshape(spread), shape)]
    number = (lambda i: p.op("i2f", i)) if kind == "f" else (lambda i: i)
    return [Long(shape, kind, lambda i: number(i[axis]))]


@rule("split", long=True, free=True)
def split(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    axis, sizes = eqn.params["axis"], eqn.params["sizes"]
    firsts = np.cumsum([0, *sizes]).tolist()
    if isinstance(x, np.ndarray):
        return list(np.split(x, firsts[1:-1], axis))
    p = trace.p

    def part(first: int, size: int) -> Long:
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        move = lambda i: p.op("iadd", i, p.integer(first))
        return Long(shape, x.kind, lambda i: x.at((*i[:axis], move(i[axis]), *i[axis + 1 :])))

    return [part(a, int(n)) for a, n in zip(firsts, sizes, strict=False)]


@rule("stack", long=True, free=True)
def stack(trace: Trace, eqn: Any, *parts: Array) -> list[Array]:
    axis = eqn.params["axis"]
    if all(isinstance(x, np.ndarray) for x in parts):
        return [np.stack(cast(Any, parts), axis)]
    p, pick = trace.p, trace.memory.pick

    def at(index: tuple[int, ...]) -> int:
        rest = (*index[:axis], *index[axis + 1 :])
        known = p.constant(index[axis])
        if known is not None:
            return pick(parts[int(known)], rest)
        chosen = pick(parts[-1], rest)
        for k in range(len(parts) - 2, -1, -1):
            here = p.op("ieq", index[axis], p.integer(k))
            chosen = p.select(here, pick(parts[k], rest), chosen)
        return chosen

    kind = kind_of(eqn.outvars[0].aval.dtype) or "f"
    return [Long(tuple(eqn.outvars[0].aval.shape), kind, at)]


@rule("unstack", long=True, free=True)
def unstack(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    axis, count = eqn.params["axis"], len(eqn.outvars)
    if isinstance(x, np.ndarray):
        return [np.asarray(np.take(x, k, axis)) for k in range(count)]
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    spots = trace.memory.numbers(range(count))
    return [Long(shape, x.kind, lambda i, k=k: x.at((*i[:axis], k, *i[axis:]))) for k in spots]


@rule("tile", free=True)
def tile(trace: Trace, eqn: Any, x: np.ndarray) -> list[Array]:
    return [np.tile(x, eqn.params["reps"])]


@rule("empty", "empty2", free=True)
def empty(trace: Trace, eqn: Any) -> list[Array]:
    """Memory without content is zero here."""
    aval = eqn.outvars[0].aval
    return [trace.literal(np.zeros(aval.shape, aval.dtype))]
