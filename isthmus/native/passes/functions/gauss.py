"""erf and erfc: a series up to 1, and e^(−x²) times a polynomial beyond."""

from __future__ import annotations

from isthmus.native.passes.functions.builder import Builder, Value
from isthmus.native.passes.functions.exponentials import exp_pair, scale


def tail(b: Builder, x: Value) -> Value:
    """erfc x for x ≥ ½."""
    square, rest = b.two_product(x, x)
    (e, low), n = exp_pair(b, b.neg(square), b.neg(rest))
    e, low = b.fast_sum(e, low)
    t = b.div(b.sub(x, 4.0), b.add(x, 4.0))
    others = b.poly(t, b.k.erfc[1:])
    curve = b.fma(t, others, b.k.erfc[0])
    bend = b.fma(t, others, b.sub(b.k.erfc[0], curve))
    top, left = b.two_product(e, curve)
    left = b.add(left, b.fma(low, curve, b.mul(e, bend)))
    bottom = b.two_sum(1.0, b.mul(2.0, x))
    return scale(b, b.add(*b.quotient((top, left), bottom)), n)


def erf(b: Builder, x: Value) -> Value:
    size = b.op("abs", x)
    near = b.fma(size, b.poly(b.mul(x, x), b.k.erf), size)
    far = b.sub(1.0, tail(b, b.at_most(size, b.k.far)))
    return b.op("copysign", b.pick(b.less(size, 1.0), near, far), x)


def erfc(b: Builder, x: Value) -> Value:
    """1 − erf x near zero; the tail, or two less the tail, beyond ½."""
    size = b.op("abs", x)
    value, rest = b.fast_sum(1.0, b.neg(x))
    near = b.add(value, b.fma(b.neg(x), b.poly(b.mul(x, x), b.k.erf), rest))
    beyond = tail(b, b.at_most(size, b.k.gone))
    far = b.pick(b.less(x, 0.0), b.sub(2.0, beyond), beyond)
    return b.pick(b.less(size, 0.5), near, far)
