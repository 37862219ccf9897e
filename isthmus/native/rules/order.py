"""Order along an axis: the place of an extreme entry, sorting, running sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.arrays import Array
from isthmus.native.trace import Trace, kind_of, rule


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
