"""erf and erfc: a series up to 1, and e^(−x²) times a polynomial beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, no_type_check

from isthmus.native.passes.functions.exponentials import exp_pair, scale

if TYPE_CHECKING:
    from isthmus.native.passes.lower import Lanes, Value


@no_type_check
def tail(b: Lanes, x: Value) -> Value:
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


@no_type_check
def erf(b: Lanes, x: Value) -> Value:
    size = b.op("abs", x)
    near = b.fma(size, b.poly(b.mul(x, x), b.k.erf), size)
    far = b.sub(1.0, tail(b, b.at_most(size, b.k.far)))
    return b.op("copysign", b.pick(b.less(size, 1.0), near, far), x)


@no_type_check
def erfc(b: Lanes, x: Value) -> Value:
    """1 − erf x near zero; the tail, or two less the tail, beyond ½."""
    size = b.op("abs", x)
    value, rest = b.fast_sum(1.0, b.neg(x))
    near = b.add(value, b.fma(b.neg(x), b.poly(b.mul(x, x), b.k.erf), rest))
    beyond = tail(b, b.at_most(size, b.k.gone))
    far = b.pick(b.less(x, 0.0), b.sub(2.0, beyond), beyond)
    return b.pick(b.less(size, 0.5), near, far)
