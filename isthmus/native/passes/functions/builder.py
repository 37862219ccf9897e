"""What elementary functions are written with: operations of a scalar program whose operands may be plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.native.ir.program import Plain, Program
from isthmus.native.passes.functions.formats import FORMATS

Value = int
"""A value of the program, by its number."""
Pair = tuple[Value, Value]
"""A number as a sum of two: what the first cannot hold is in the second."""


class Builder:
    """What the functions are written with: operations whose operands may be plain numbers."""

    def __init__(self, program: Program) -> None:
        self.p = program
        self.k = FORMATS[program.width]
        """Bits, limits and coefficients of the program's format."""
        self.c = program.const

    def op(self, name: str, *args: Value | float) -> Value:
        """An operation; plain floats become constants."""
        return self.p.op(name, *(self.c(a) if isinstance(a, float) else a for a in args))

    def integer(self, name: str, x: Value, y: int) -> Value:
        """An integer operation with the number `y`."""
        return self.p.op(name, x, self.p.integer(y))

    def fma(self, *args: Value | float) -> Value:
        """x·y + z, rounded once."""
        return self.p.place(
            "fma", tuple(self.c(a) if isinstance(a, float) else a for a in args), "f"
        )

    def add(self, x: Value | float, y: Value | float) -> Value:
        return self.op("add", x, y)

    def sub(self, x: Value | float, y: Value | float) -> Value:
        return self.op("sub", x, y)

    def mul(self, x: Value | float, y: Value | float) -> Value:
        return self.op("mul", x, y)

    def div(self, x: Value | float, y: Value | float) -> Value:
        return self.op("div", x, y)

    def neg(self, x: Value) -> Value:
        return self.op("neg", x)

    def less(self, x: Value | float, y: Value | float) -> Value:
        """x < y; false where one is NaN."""
        return self.op("flt", x, y)

    def same(self, x: Value | float, y: Value | float) -> Value:
        """x = y."""
        return self.op("feq", x, y)

    def pick(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """`yes` where `condition` holds, else `no`."""
        return self.op("select", condition, yes, no)

    def at_most(self, x: Value, limit: float) -> Value:
        """`x`, or `limit` where x is above it; NaN stays."""
        return self.pick(self.less(limit, x), limit, x)

    def at_least(self, x: Value, limit: float) -> Value:
        """`x`, or `limit` where x is below it; NaN stays."""
        return self.pick(self.less(x, limit), limit, x)

    # polynomials

    def poly(self, x: Value, coefficients: Sequence[Plain]) -> Value:
        """Σ cₖ xᵏ: pairs, then pairs of pairs (Estrin), so that little waits for little."""
        level = [self.c(c) for c in coefficients]
        power = x
        while len(level) > 1:
            nxt = []
            for k in range(0, len(level) - 1, 2):
                nxt.append(self.fma(level[k + 1], power, level[k]))
            if len(level) % 2:
                nxt.append(level[-1])
            level = nxt
            if len(level) > 1:
                power = self.mul(power, power)
        return level[0]

    def horner(self, x: Value, coefficients: Sequence[Plain]) -> Value:
        """Σ cₖ xᵏ from the highest power down."""
        total = self.c(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, c)
        return total

    # sums and products without rounding

    def fast_sum(self, x: Value | float, y: Value | float) -> Pair:
        """x + y as a pair, for |x| ≥ |y| or x = 0."""
        total = self.add(x, y)
        return total, self.sub(y, self.sub(total, x))

    def two_sum(self, x: Value | float, y: Value | float) -> Pair:
        """x + y as a pair."""
        total = self.add(x, y)
        part = self.sub(total, x)
        return total, self.add(self.sub(x, self.sub(total, part)), self.sub(y, part))

    def two_product(self, x: Value, y: Value | float) -> Pair:
        """x·y as a pair."""
        product = self.mul(x, y)
        return product, self.fma(x, y, self.neg(product))

    def quotient(self, top: Pair, bottom: Pair) -> Pair:
        """top / bottom as a pair, by one division."""
        inverse = self.div(1.0, bottom[0])
        q = self.mul(top[0], inverse)
        rest = self.add(self.fma(self.neg(q), bottom[0], top[0]), top[1])
        return q, self.mul(self.fma(self.neg(q), bottom[1], rest), inverse)

    def root(self, x: Pair) -> Pair:
        """√x as a pair; (0, 0) for zero."""
        q = self.op("sqrt", x[0])
        rest = self.add(self.fma(self.neg(q), q, x[0]), x[1])
        twice = self.pick(self.same(q, 0.0), 1.0, self.add(q, q))
        return q, self.div(rest, twice)

    # bits

    def bits(self, number: float) -> int:
        """The bits of a plain number, as an integer."""
        found = self.p.constant(self.op("bits", number))
        assert isinstance(found, int)
        return found

    def power_of_two(self, n: Value, more: int = 0) -> Value:
        """2^(n + more) for an integer n, where that is a normal number."""
        return self.op(
            "unbits",
            self.integer("ishl", self.integer("iadd", n, self.k.bias + more), self.k.mantissa),
        )

    def sign(self, x: Value) -> Value:
        """The sign bit of `x`, alone."""
        return self.integer("iand", self.op("bits", x), -(1 << (self.k.bits - 1)))

    def flip(self, x: Value, signs: Value) -> Value:
        """`x` with its sign changed where the bit is set."""
        return self.op("unbits", self.op("ixor", self.op("bits", x), signs))
