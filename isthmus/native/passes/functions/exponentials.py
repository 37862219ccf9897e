"""exp, exp2, expm1, sinh, cosh, tanh, logistic: eˣ = 2ⁿ·eʳ with |r| ≤ ln 2 / 2."""

from __future__ import annotations

import math

from isthmus.native.passes.functions.builder import Builder, Pair, Value
from isthmus.native.passes.functions.formats import LN2


def nearest(b: Builder, shifted: Value) -> tuple[Value, Value]:
    """The integer that `shifted` = x + magic was rounded to, as a float and as an integer."""
    n = b.integer("iadd", b.op("bits", shifted), -b.bits(b.k.magic))
    return b.sub(shifted, b.k.magic), n


def halve(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """(r, rest, n) with x = n·ln 2 + r + rest, |r| ≤ ln 2 / 2."""
    first, second = b.k.ln2
    whole, n = nearest(b, b.fma(x, 1.0 / math.log(2.0), b.k.magic))
    minus = b.neg(whole)
    part = b.fma(minus, first, x)
    r = b.fma(minus, second, part)
    return r, b.fma(minus, second, b.sub(part, r)), n


def scale(b: Builder, value: Value, n: Value) -> Value:
    """`value`·2ⁿ, the factor in two halves for results near the ends."""
    ample = 4 * (b.k.bias + 1)
    first = b.integer("iadd", b.integer("ishr", b.integer("iadd", n, ample), 1), -ample // 2)
    for part in (first, b.p.op("isub", n, first)):
        value = b.mul(value, b.power_of_two(part))
    return value


def grown(b: Builder, r: Value, rest: Value) -> Pair:
    """e^(r + rest) for |r| ≤ ln 2 / 2 and a tiny rest."""
    curve = b.mul(b.mul(r, r), b.poly(r, b.k.exp))
    value = b.add(1.0, b.add(r, curve))
    high, low = b.fast_sum(1.0, r)
    return high, b.add(low, b.fma(rest, value, curve))


def exp_pair(b: Builder, x: Value, rest: Value) -> tuple[Pair, Value]:
    """(e, n) with e^(x + rest) = e·2ⁿ, for a tiny rest; where x is out of range, so is the result."""
    inside = b.op("band", b.less(b.k.low, x), b.less(x, b.k.high))
    x = b.at_most(b.at_least(x, b.k.low), b.k.high)
    r, more, n = halve(b, x)
    return grown(b, r, b.add(more, b.pick(inside, rest, 0.0))), n


def exp(b: Builder, x: Value) -> Value:
    x = b.at_most(b.at_least(x, b.k.low), b.k.high)
    r, _, n = halve(b, x)
    value = b.add(1.0, b.fma(b.mul(r, r), b.poly(r, b.k.exp), r))
    return scale(b, value, n)


def exp2(b: Builder, x: Value) -> Value:
    """2ˣ = 2ⁿ·e^(r ln 2), |r| ≤ ½."""
    reach = float(b.k.bias + b.k.mantissa + 4)
    x = b.at_most(b.at_least(x, -reach), reach)
    whole, n = nearest(b, b.add(x, b.k.magic))
    high, low = b.k.pair(LN2)
    r = b.sub(x, whole)
    product, rest = b.two_product(r, high)
    return scale(b, b.add(*grown(b, product, b.fma(r, low, rest))), n)


def expm1(b: Builder, x: Value) -> Value:
    """eˣ − 1 = 2ⁿ·(eʳ − 1) + (2ⁿ − 1), both halved so that 2ⁿ does not overflow before the sum does."""
    inner = b.at_most(b.at_least(x, -b.k.settled), b.k.high)
    r, rest, n = halve(b, inner)
    more = b.fma(b.mul(r, r), b.poly(r, b.k.exp), rest)
    power = b.power_of_two(n, -1)
    high, low = b.fast_sum(b.sub(power, 0.5), b.mul(power, r))
    value = b.mul(2.0, b.add(high, b.fma(power, more, low)))
    tiny = b.less(b.op("abs", x), 2.0 ** -(b.k.mantissa + 2))
    return b.pick(tiny, x, b.op("copysign", value, x))


def hyperbola(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    """(p, m, S, C): half of cosh(n ln 2) and of sinh(n ln 2), and sinh r, cosh r − 1, for |x| = n ln 2 + r."""
    r, rest, n = halve(b, b.at_most(b.op("abs", x), b.k.high + 0.6))
    z = b.mul(r, r)
    up = b.power_of_two(n, -2)
    exponent = b.op("imax", b.op("isub", b.p.integer(b.k.bias - 2), n), b.p.integer(0))
    down = b.op("unbits", b.integer("ishl", exponent, b.k.mantissa))
    s = b.add(r, b.fma(b.mul(z, r), b.poly(z, b.k.sinh), rest))
    c = b.mul(z, b.poly(z, b.k.cosh))
    return b.add(up, down), b.sub(up, down), s, c


def sinh(b: Builder, x: Value) -> Value:
    """sinh(n ln 2)·cosh r + cosh(n ln 2)·sinh r."""
    p, m, s, c = hyperbola(b, x)
    value = b.mul(2.0, b.add(m, b.fma(m, c, b.mul(p, s))))
    tiny = b.less(b.op("abs", x), 2.0 ** -(b.k.mantissa // 2 + 2))
    return b.pick(tiny, x, b.op("copysign", value, x))


def cosh(b: Builder, x: Value) -> Value:
    """cosh(n ln 2)·cosh r + sinh(n ln 2)·sinh r."""
    p, m, s, c = hyperbola(b, x)
    return b.mul(2.0, b.add(p, b.fma(p, c, b.mul(m, s))))


def tanh(b: Builder, x: Value) -> Value:
    """A series near zero, 1 − 2/(e²ˣ + 1) elsewhere."""
    z = b.mul(x, x)
    ratio = b.div(*(b.poly(z, c) for c in b.k.tanh))
    near = b.fma(b.mul(x, z), ratio, x)
    size = b.op("abs", x)
    far = b.sub(1.0, b.div(2.0, b.add(exp(b, b.mul(2.0, size)), 1.0)))
    return b.op("copysign", b.pick(b.less(size, 0.625), near, far), x)


def logistic(b: Builder, x: Value) -> Value:
    """1/(1 + e⁻ˣ), from e^−|x| so that nothing overflows."""
    e = exp(b, b.neg(b.op("abs", x)))
    return b.div(b.pick(b.less(x, 0.0), e, 1.0), b.add(1.0, e))
