"""Factorisations of larger matrices: loops over memory, with the sums in the order of those that are written out.

Sums run over whole rows. What is not computed yet is zero, or is left out by a choice, so that every loop has a
fixed number of rounds.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

from isthmus.native.ir.program import Buffer, Loop
from isthmus.native.tracing.arrays import Array, Long, columns
from isthmus.native.tracing.trace import Trace

WRITTEN_OUT = 16
"""Matrices with at most so many rows are factorised without loops."""
PARTS = 6
"""Of the columns that an elimination goes through: loops of a part leave out the rows and columns before it.

They take 0.42 of the rounds of loops over the whole matrix; a third of them are needed.
"""


@dataclasses.dataclass
class Matrix:
    """One matrix of a batch in a buffer, row-major."""

    trace: Trace
    buffer: Buffer
    first: int
    width: int

    def _place(self, i: int, j: int) -> int:
        p = self.trace.p
        row = p.op("iadd", p.op("imul", i, p.integer(self.width)), j)
        return p.op("iadd", row, p.integer(self.first))

    def __getitem__(self, index: tuple[int, int]) -> int:
        return self.trace.p.load(self.buffer, self._place(*index))

    def __setitem__(self, index: tuple[int, int], value: int) -> None:
        self.trace.p.store(self.buffer, self._place(*index), value)


def loop(trace: Trace, count: int, visit: Callable[[int], None]) -> None:
    """`visit` in each round."""
    trace.memory.nest((count,), lambda i: visit(*i), few=1)


def running(
    trace: Trace, count: int, starts: list[int], step: Callable[[int, list[int]], list[int]]
) -> list[int]:
    """The last of values that each round makes from those of the round before."""
    p = trace.p
    kinds = [p.kinds[x] for x in starts]
    body = p.enter("loop")
    counter = p.symbol("counter", "i")
    params = [p.symbol("param", kind) for kind in kinds]
    yields = step(counter, params)
    p.leave()
    return list(p.finish("for", Loop(count, counter, starts, params, body, yields), kinds))


def copied(trace: Trace, x: Array) -> Buffer:
    """A buffer of our own with the entries of `x`."""
    buffer = trace.memory.settle(trace.memory.long(x)).buffer
    assert buffer is not None
    return buffer


def blank(trace: Trace, size: int, kind: str = "f") -> Buffer:
    """A buffer of zeros."""
    p = trace.p
    buffer = p.buffer(f"l{len(p.buffers)}", "work", size, kind)
    trace.memory.write(trace.memory.filled((size,), p.const(0, kind)), buffer)
    return buffer


def less_products(
    trace: Trace, count: int, start: int, left: Callable[[int], int], right: Callable[[int], int]
) -> int:
    """`start` less Σ left(k) right(k)."""
    p = trace.p
    step = lambda k, run: [p.op("sub", run[0], p.op("mul", left(k), right(k)))]
    return running(trace, count, [start], step)[0]


def cholesky(trace: Trace, x: Array) -> Long:
    """Lower factors of a batch; all NaN where a matrix is not positive definite."""
    n = x.shape[-1]
    source = trace.memory.long(x)
    factors = blank(trace, source.size)
    made = blank(trace, source.size)
    for b, cell in enumerate(columns(x.shape[:-2])):
        low, out = (Matrix(trace, buffer, b * n * n, n) for buffer in (factors, made))
        at = trace.memory.numbers(cell)
        _lower_factor(trace, n, lambda i, j, at=at: source.at((*at, i, j)), low, out)
    return trace.memory.whole(tuple(x.shape), made)


def _lower_factor(
    trace: Trace, n: int, given: Callable[[int, int], int], low: Matrix, out: Matrix
) -> None:
    """The factor of one matrix; `low` is where it is built."""
    p = trace.p
    loop(trace, n, lambda j: _column(trace, n, low, given, j))
    sound = lambda k, run: [p.op("band", run[0], p.op("flt", p.zero, low[k, k]))]
    (good,) = running(trace, n, [p.const(True, "b")], sound)

    def entry(i: int, j: int) -> None:
        value = p.select(good, low[i, j], p.const(math.nan))
        out[i, j] = p.select(p.op("ile", j, i), value, p.zero)

    loop(trace, n, lambda i: loop(trace, n, lambda j: entry(i, j)))


def _column(trace: Trace, n: int, low: Matrix, given: Callable[[int, int], int], j: int) -> None:
    """Column `j` of a lower factor."""
    p = trace.p
    pivot = less_products(trace, n, given(j, j), lambda k: low[j, k], lambda k: low[j, k])
    root = p.op("sqrt", pivot)

    def below(i: int) -> None:
        value = less_products(trace, n, given(i, j), lambda k: low[i, k], lambda k: low[j, k])
        low[i, j] = p.select(p.op("ilt", j, i), p.op("div", value, root), p.zero)

    loop(trace, n, below)
    low[j, j] = root


def solve_lower(
    trace: Trace, a: Callable[[int, int], int], b: Matrix, rows: int, unit: bool
) -> None:
    """`b` becomes `x` with `a x = b`, `a` lower triangular."""
    p = trace.p

    def column(c: int) -> None:
        def row(i: int) -> None:
            known = lambda k: p.select(p.op("ilt", k, i), a(i, k), p.zero)
            value = less_products(trace, rows, b[i, c], known, lambda k: b[k, c])
            b[i, c] = value if unit else p.op("div", value, a(i, i))

        loop(trace, rows, row)

    loop(trace, b.width, column)


def lu(trace: Trace, x: Array) -> tuple[Long, Long, Long]:
    """Factors with partial pivoting, the exchanged rows, and the order of rows that results."""
    (m, n), batch = x.shape[-2:], tuple(x.shape[:-2])
    factors, count = copied(trace, x), math.prod(batch)
    pivots, order = blank(trace, count * min(m, n), "i"), blank(trace, count * m, "i")
    size = -(-min(m, n) // PARTS)
    for b in range(count):
        one = Factors(
            Matrix(trace, factors, b * m * n, n), Matrix(trace, order, b * m, 1),
            Matrix(trace, pivots, b * min(m, n), 1), (m, n),
        )  # fmt: skip
        loop(trace, m, one.number)
        for first in range(0, min(m, n), size):
            loop(trace, min(size, min(m, n) - first), functools.partial(one.eliminate, first))
    whole = trace.memory.whole
    return (
        whole(tuple(x.shape), factors),
        whole((*batch, min(m, n)), pivots),
        whole((*batch, m), order),
    )


@dataclasses.dataclass
class Factors:
    """One matrix of a batch while it is eliminated in place."""

    a: Matrix
    order: Matrix
    """The rows as they are now."""
    exchanged: Matrix
    """The row that each row was exchanged with."""
    shape: tuple[int, int]

    def number(self, i: int) -> None:
        """Row `i` at the beginning."""
        self.order[i, self.a.trace.p.integer(0)] = i

    def eliminate(self, first: int, j: int) -> None:
        """Brings the largest entry of a column to the diagonal and takes its row from those below.

        It is column `first + j`; rows and columns before `first` are done.
        """
        trace, a, (m, n) = self.a.trace, self.a, self.shape
        p, zero = trace.p, trace.p.integer(0)
        later = lambda k: p.op("iadd", k, p.integer(first))
        j = later(j)

        def larger(i: int, best: list[int]) -> list[int]:
            size = p.op("abs", a[later(i), j])
            wins = p.op("band", p.op("ilt", j, later(i)), p.op("flt", best[0], size))
            return [p.select(wins, size, best[0]), p.select(wins, later(i), best[1])]

        _, pivot = running(trace, m - first, [p.op("abs", a[j, j]), j], larger)
        self.exchanged[j, zero] = pivot

        def swap(target: Matrix, k: int) -> None:
            upper, lower = target[j, k], target[pivot, k]
            target[j, k] = lower
            target[pivot, k] = upper

        loop(trace, n, lambda k: swap(a, k))
        swap(self.order, zero)
        head = a[j, j]
        nonzero = p.op("fne", head, p.zero)

        def below(i: int) -> None:
            beneath = p.op("ilt", j, i)
            old = a[i, j]
            ratio = p.select(p.op("band", beneath, nonzero), p.op("div", old, head), old)
            a[i, j] = ratio

            def entry(k: int) -> None:
                inside = p.op("band", beneath, p.op("ilt", j, k))
                new = p.op("sub", a[i, k], p.op("mul", ratio, a[j, k]))
                a[i, k] = p.select(inside, new, a[i, k])

            loop(trace, n - first, lambda k: entry(later(k)))

        loop(trace, m - first, lambda i: below(later(i)))
