"""log, log1p, asinh, acosh, atanh, and as pairs: log2, pow, cbrt. x = 2ᵏ·m with m in [√½, √2)."""

from __future__ import annotations

import math
from fractions import Fraction

from isthmus.native.passes.functions.builder import Builder, Pair, Value
from isthmus.native.passes.functions.exponentials import exp_pair, scale
from isthmus.native.passes.functions.formats import LN2


def split(b: Builder, x: Value) -> tuple[Value, Value]:
    """(k, m) with x = 2ᵏ·m, m in [√½, √2), for positive x."""
    mantissa, lift = b.k.mantissa, b.k.mantissa + 2
    tiny = b.less(x, b.k.smallest)
    scaled = b.pick(tiny, b.mul(x, 2.0**lift), x)
    half = b.bits(math.sqrt(0.5))
    u = b.integer("iadd", b.op("bits", scaled), b.bits(1.0) - half)
    exponent = b.op(
        "unbits", b.integer("ior", b.integer("ishr", u, mantissa), b.bits(2.0**mantissa))
    )
    k = b.sub(exponent, b.pick(tiny, 2.0**mantissa + b.k.bias + lift, 2.0**mantissa + b.k.bias))
    m = b.op("unbits", b.integer("iadd", b.integer("iand", u, (1 << mantissa) - 1), half))
    return k, m


def log_of(b: Builder, x: Value, rest: Value | None = None, twice: Value | None = None) -> Value:
    """log(x + rest) of positive numbers, and one ln 2 more where `twice` holds."""
    first, second = b.k.ln2
    k, m = split(b, x)
    if twice is not None:
        k = b.add(k, b.pick(twice, 1.0, 0.0))
    f = b.sub(m, 1.0)
    s = b.div(f, b.add(2.0, f))
    z = b.mul(s, s)
    square = b.mul(b.mul(0.5, f), f)
    small = b.mul(k, second)
    if rest is not None:
        small = b.add(small, b.div(rest, x))
    small = b.fma(s, b.fma(z, b.poly(z, b.k.log), square), small)
    return b.fma(k, first, b.add(b.sub(small, square), f))


def ends(b: Builder, x: Value, value: Value) -> Value:
    """`value` for positive numbers; −∞ at zero, NaN below, ∞ and NaN as they are."""
    value = b.pick(b.less(x, math.inf), value, x)
    return b.pick(b.less(0.0, x), value, b.pick(b.same(x, 0.0), -math.inf, math.nan))


def log(b: Builder, x: Value) -> Value:
    return ends(b, x, log_of(b, x))


def log1p_pair(b: Builder, x: Value, rest: Value | float) -> Value:
    """log(1 + x + rest)."""
    u, low = b.two_sum(1.0, x)
    return log_of(b, u, b.add(low, rest))


def log1p(b: Builder, x: Value) -> Value:
    value = ends(b, b.add(1.0, x), log1p_pair(b, x, 0.0))
    tiny = b.less(b.op("abs", x), 2.0 ** -(b.k.mantissa + 2))
    return b.pick(tiny, x, value)


def asinh(b: Builder, x: Value) -> Value:
    """log1p(|x| + x²/(1 + √(1 + x²))); log 2|x| where x² + 1 is x²."""
    size = b.op("abs", x)
    wide = b.less(b.k.wide, size)
    inner = b.pick(wide, 1.0, size)
    square, rest = b.two_product(inner, inner)
    total, low = b.two_sum(1.0, square)
    root, more = b.root((total, b.add(low, rest)))
    bottom, below = b.fast_sum(root, 1.0)
    q, left = b.quotient((square, rest), (bottom, b.add(below, more)))
    y, least = b.fast_sum(inner, q)
    u, low = b.two_sum(1.0, y)
    low = b.add(low, b.add(least, left))
    value = log_of(b, b.pick(wide, size, u), b.pick(wide, 0.0, low), wide)
    value = b.pick(b.less(size, math.inf), value, size)
    tiny = b.less(size, 2.0 ** -(b.k.mantissa // 2 + 2))
    return b.op("copysign", b.pick(tiny, size, value), x)


def acosh(b: Builder, x: Value) -> Value:
    """log1p(x − 1 + √(x² − 1)); log 2x where x² − 1 is x²."""
    wide = b.less(b.k.wide, x)
    inner = b.pick(wide, 1.0, x)
    square, rest = b.two_product(inner, inner)
    total, low = b.fast_sum(square, -1.0)
    root, more = b.root((total, b.add(low, rest)))
    t, left = b.fast_sum(inner, -1.0)
    y, least = b.fast_sum(root, t)
    u, low = b.two_sum(1.0, y)
    low = b.add(b.add(low, least), b.add(more, left))
    value = log_of(b, b.pick(wide, x, u), b.pick(wide, 0.0, low), wide)
    value = b.pick(b.less(x, math.inf), value, x)
    return b.pick(b.less(x, 1.0), math.nan, value)


def atanh(b: Builder, x: Value) -> Value:
    """½ log1p(2|x|/(1 − |x|))."""
    size = b.op("abs", x)
    inside = b.less(size, 1.0)
    inner = b.pick(inside, size, 0.5)
    q = b.quotient((b.mul(2.0, inner), b.c(0.0)), b.fast_sum(1.0, b.neg(inner)))
    edge = b.pick(b.same(size, 1.0), math.inf, math.nan)
    value = b.pick(inside, b.mul(0.5, log1p_pair(b, *q)), edge)
    tiny = b.less(size, 2.0 ** -(b.k.mantissa // 2 + 2))
    return b.op("copysign", b.pick(tiny, size, value), x)


def log_mantissa(b: Builder, m: Value) -> Pair:
    """log m for m in [√½, √2), to twice the bits: 2s + s³(2/3 + s²·…), s = (m − 1)/(m + 1)."""
    s, rest = b.quotient((b.sub(m, 1.0), b.c(0.0)), b.fast_sum(1.0, m))
    z, z_rest = b.two_product(s, s)
    z_rest = b.fma(b.mul(2.0, s), rest, z_rest)
    high, low = b.k.pair(Fraction(2, 3))
    c, c_rest = b.fast_sum(high, b.mul(z, b.poly(z, b.k.log_rest)))
    c_rest = b.add(c_rest, low)
    p, p_rest = b.two_product(z, c)
    p_rest = b.add(p_rest, b.fma(z, c_rest, b.mul(z_rest, c)))
    t, t_rest = b.two_product(s, p)
    t_rest = b.add(t_rest, b.fma(s, p_rest, b.mul(rest, p)))
    value, more = b.fast_sum(b.mul(2.0, s), t)
    return value, b.add(more, b.fma(2.0, rest, t_rest))


def log_pair(b: Builder, x: Value) -> Pair:
    """log x to twice the bits, for positive x; −∞ at zero, ∞ and NaN as they are."""
    first, second = b.k.ln2
    k, m = split(b, x)
    value, rest = log_mantissa(b, m)
    high, low = b.fast_sum(b.mul(k, first), value)
    high, low = b.fast_sum(high, b.add(low, b.fma(k, second, rest)))
    inside = b.op("band", b.less(0.0, x), b.less(x, math.inf))
    edge = b.pick(b.same(x, 0.0), -math.inf, x)
    return b.pick(inside, high, edge), b.pick(inside, low, 0.0)


def log2(b: Builder, x: Value) -> Value:
    k, m = split(b, x)
    high, low = b.k.pair(1 / LN2)
    value, rest = log_mantissa(b, m)
    p, more = b.two_product(value, high)
    more = b.add(more, b.fma(value, low, b.mul(rest, high)))
    total, left = b.fast_sum(k, p)
    return ends(b, x, b.add(total, b.add(left, more)))


def power_of(b: Builder, log_x: Pair, y: Value | float, y_rest: float = 0.0) -> Value:
    """e^((y + y_rest)·log x)."""
    p, rest = b.two_product(log_x[0], y)
    rest = b.fma(log_x[1], y, rest)
    if y_rest:
        rest = b.fma(log_x[0], y_rest, rest)
    e, n = exp_pair(b, p, rest)
    return scale(b, b.add(*e), n)


def pow(b: Builder, x: Value, y: Value) -> Value:
    """As IEEE has it: x⁰ and 1ʸ are 1 for any x and y; below zero, y must be whole."""
    size = b.op("abs", x)
    value = power_of(b, log_pair(b, size), y)
    halves = b.mul(0.5, y)
    whole = b.same(b.op("floor", y), y)
    odd = b.op("band", whole, b.op("fne", b.op("floor", halves), halves))
    value = b.op("copysign", value, b.pick(odd, x, 1.0))
    below = b.op("band", b.less(x, 0.0), b.less(-math.inf, x))
    value = b.pick(b.op("band", below, b.op("bnot", whole)), math.nan, value)
    endless = b.op("band", b.same(b.op("abs", y), math.inf), b.same(size, 1.0))
    one = b.op("bor", b.same(y, 0.0), b.op("bor", b.same(x, 1.0), endless))
    return b.pick(one, 1.0, value)


def cbrt(b: Builder, x: Value) -> Value:
    """e^(log|x| / 3), with the sign of x."""
    value = power_of(b, log_pair(b, b.op("abs", x)), *b.k.pair(Fraction(1, 3)))
    return b.op("copysign", value, x)
