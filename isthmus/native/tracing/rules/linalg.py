"""Small dense linear algebra, written out: Cholesky, LU with pivots, triangular solves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.tracing.arrays import Array, Index, Long, columns
from isthmus.native.tracing.rules import linalg_loops
from isthmus.native.tracing.rules.elementwise import entrywise
from isthmus.native.tracing.trace import Trace, rule


def stacked(x: np.ndarray) -> list[np.ndarray]:
    """The matrices of a batch, one by one."""
    return list(x.reshape(-1, *x.shape[-2:]))


def gathered(parts: list, shape: tuple[int, ...]) -> np.ndarray:
    """The opposite of `stacked`."""
    return np.array(parts, dtype=np.int64).reshape(shape)


@rule("cholesky", long=True)
def cholesky(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    """Lower factor; where the matrix is not positive definite, all of it is NaN."""
    p = trace.p
    if eqn.params.get("symmetrize_input", False):
        half, other = p.const(0.5), turned(trace, x)
        mean = lambda a, c: p.op("mul", half, p.op("add", a, c))
        x = entrywise(trace, mean, x.shape, "f", x, other)
    if x.shape[-1] > linalg_loops.WRITTEN_OUT:
        return [linalg_loops.cholesky(trace, trace.memory.settled(x))]

    def one(a: np.ndarray) -> np.ndarray:
        n = len(a)
        low = np.full((n, n), p.zero, dtype=np.int64)
        for j in range(n):
            pivot = int(a[j, j])
            for k in range(j):
                pivot = p.op("sub", pivot, p.op("mul", int(low[j, k]), int(low[j, k])))
            low[j, j] = p.op("sqrt", pivot)
            for i in range(j + 1, n):
                value = int(a[i, j])
                for k in range(j):
                    value = p.op("sub", value, p.op("mul", int(low[i, k]), int(low[j, k])))
                low[i, j] = p.op("div", value, int(low[j, j]))
        good = p.const(True, "b")
        for j in range(n):
            good = p.op("band", good, p.op("flt", p.zero, int(low[j, j])))
        for i, j in zip(*np.tril_indices(n), strict=True):
            low[i, j] = p.select(good, int(low[i, j]), p.const(math.nan))
        return low

    return [gathered([one(a) for a in stacked(trace.memory.values(x))], x.shape)]


def turned(trace: Trace, x: Array) -> Array:
    """Matrices transposed."""
    if isinstance(x, np.ndarray):
        return np.swapaxes(x, -1, -2)
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    return Long(shape, x.kind, lambda i: x.at((*i[:-2], i[-1], i[-2])))


def solve_lower(p: Any, a: np.ndarray, b: np.ndarray, unit: bool) -> np.ndarray:
    """`x` with `a x = b`, `a` lower triangular, `b` with one column for each right side."""
    out = b.copy()
    for c in range(b.shape[1]):
        for i in range(len(a)):
            value = int(b[i, c])
            for k in range(i):
                value = p.op("sub", value, p.op("mul", int(a[i, k]), int(out[k, c])))
            out[i, c] = value if unit else p.op("div", value, int(a[i, i]))
    return out


@rule("triangular_solve", long=True)
def triangular_solve(trace: Trace, eqn: Any, a: Array, b: Array) -> list[Array]:
    """Any side, triangle and transposition, brought to a lower triangle on the left."""
    params = eqn.params
    turn = bool(params["transpose_a"])
    lower = bool(params["lower"])
    if a.shape[-1] > linalg_loops.WRITTEN_OUT:
        return [solved_in_loops(trace, params, a, b)]
    a, b = trace.memory.values(a), trace.memory.values(b)

    def one(m: np.ndarray, r: np.ndarray) -> np.ndarray:
        if not params["left_side"]:  # x m = r  <=>  mᵀ xᵀ = rᵀ
            m, r = m.T, r.T
        m = m.T if turn else m
        is_lower = lower ^ turn ^ (not params["left_side"])
        if is_lower:
            x = solve_lower(trace.p, m, r, params["unit_diagonal"])
        else:
            x = solve_lower(trace.p, m[::-1, ::-1], r[::-1], params["unit_diagonal"])[::-1]
        return x if params["left_side"] else x.T

    made = [one(m, r) for m, r in zip(stacked(a), stacked(b), strict=True)]
    return [gathered(made, b.shape)]


def solved_in_loops(trace: Trace, params: Any, a: Array, b: Array) -> Array:
    """The same for larger matrices."""
    p, memory, left = trace.p, trace.memory, bool(params["left_side"])
    a, b = memory.settled(a), memory.long(b if left else turned(trace, b))
    n, width = b.shape[-2:]
    flip = bool(params["transpose_a"]) != (not left)
    lower = bool(params["lower"]) != flip
    mirror = lambda i: i if lower else p.op("isub", p.integer(n - 1), i)
    given = b if lower else Long(b.shape, "f", lambda i: b.at((*i[:-2], mirror(i[-2]), i[-1])))
    buffer = linalg_loops.copied(trace, given)
    for k, cell in enumerate(columns(b.shape[:-2])):
        at = memory.numbers(cell)

        def entry(i: int, j: int, at: Index = at) -> int:
            i, j = mirror(i), mirror(j)
            return a.at((*at, j, i) if flip else (*at, i, j))

        right = linalg_loops.Matrix(trace, buffer, k * n * width, width)
        linalg_loops.solve_lower(trace, entry, right, n, bool(params["unit_diagonal"]))
    found = memory.whole(b.shape, buffer)
    if not lower:
        made = found
        found = Long(b.shape, "f", lambda i: made.at((*i[:-2], mirror(i[-2]), i[-1])))
    return found if left else turned(trace, found)


@rule("lu", long=True)
def lu(trace: Trace, eqn: Any, x: Array) -> list[Array]:
    """LU with partial pivoting; rows are exchanged by choices, so that lanes may pivot differently."""
    p = trace.p
    if min(x.shape[-2:]) > linalg_loops.WRITTEN_OUT:
        return list(linalg_loops.lu(trace, x))
    x = trace.memory.values(x)

    def one(a: np.ndarray) -> tuple[np.ndarray, list[int], list[int]]:
        a = a.copy()
        m, n = a.shape
        order, pivots = [p.integer(k) for k in range(m)], []
        for j in range(min(m, n)):
            best, where = p.op("abs", int(a[j, j])), p.integer(j)
            for i in range(j + 1, m):
                size = p.op("abs", int(a[i, j]))
                wins = p.op("flt", best, size)
                best, where = p.select(wins, size, best), p.select(wins, p.integer(i), where)
            pivots.append(where)
            for i in range(j + 1, m):
                exchange_rows(p, a, order, p.op("ieq", where, p.integer(i)), i, j)
            nonzero = p.op("fne", int(a[j, j]), p.zero)
            for i in range(j + 1, m):
                ratio = p.op("div", int(a[i, j]), int(a[j, j]))
                a[i, j] = p.select(nonzero, ratio, int(a[i, j]))
                for k in range(j + 1, n):
                    product = p.op("mul", int(a[i, j]), int(a[j, k]))
                    a[i, k] = p.op("sub", int(a[i, k]), product)
        return a, pivots, order

    made = [one(a) for a in stacked(x)]
    avals = [v.aval.shape for v in eqn.outvars]
    return [gathered([part[k] for part in made], avals[k]) for k in range(3)]


def exchange_rows(p: Any, a: np.ndarray, order: list[int], swap: int, i: int, j: int) -> None:
    """Rows `i` and `j` of `a`, and of the record of their order, change places where `swap` holds."""
    for k in range(a.shape[1]):
        upper, lower = int(a[j, k]), int(a[i, k])
        a[j, k], a[i, k] = p.select(swap, lower, upper), p.select(swap, upper, lower)
    order[i], order[j] = p.select(swap, order[j], order[i]), p.select(swap, order[i], order[j])


@rule("lu_pivots_to_permutation")
def pivots_to_permutation(trace: Trace, eqn: Any, pivots: np.ndarray) -> list[Array]:
    p, n = trace.p, eqn.params["permutation_size"]

    def one(row: list[int]) -> list[int]:
        order = [p.integer(k) for k in range(n)]
        for j, where in enumerate(row):
            for i in range(j + 1, n):
                swap = p.op("ieq", where, p.integer(i))
                order[i], order[j] = (
                    p.select(swap, order[j], order[i]),
                    p.select(swap, order[i], order[j]),
                )
        return order

    made = [one(row) for row in pivots.reshape(-1, pivots.shape[-1]).tolist()]
    return [np.array(made, dtype=np.int64).reshape(eqn.outvars[0].aval.shape)]


@rule("custom_linear_solve", long=True, free=True)
def custom_linear_solve(trace: Trace, eqn: Any, *arrays: Array) -> list[Array]:
    """The solve that the user's code (or `jnp.linalg.solve`) came with."""
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    first = lengths.matvec + lengths.vecmat
    consts = arrays[first : first + lengths.solve]
    rest = arrays[sum(lengths) :]
    if jaxprs.solve is None:
        raise NotTranslatable("custom_linear_solve without a solve")
    return trace.closed(jaxprs.solve, [*consts, *rest])
