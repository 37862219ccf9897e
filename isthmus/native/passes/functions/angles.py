"""sin, cos, tan and their inverses. Angles: less multiples of π/2, then polynomials up to π/4."""

from __future__ import annotations

import math

from isthmus.native.passes.functions.builder import Builder, Pair, Value


def reduce(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """(r, rest, n) with x = n·π/2 + r + rest, |r| ≤ π/4; n modulo 4 is in the low bits."""
    first, second, third = b.k.pi(2, 3)
    shifted = b.fma(x, 2.0 / math.pi, b.k.magic)
    minus = b.neg(b.sub(shifted, b.k.magic))
    whole = b.fma(minus, first, x)
    part = b.fma(minus, second, whole)
    r = b.fma(minus, third, part)
    product, low = b.two_product(minus, second)
    total, left = b.two_sum(whole, product)
    rest = b.add(b.add(b.sub(total, part), left), low)
    rest = b.add(rest, b.fma(minus, third, b.sub(part, r)))
    return r, rest, b.op("bits", shifted)


def sine(b: Builder, r: Value, rest: Value | None = None) -> Value:
    """sin r for |r| ≤ π/4, or what it is more than r, with the `rest` of r."""
    z = b.mul(r, r)
    return b.fma(b.mul(z, r), b.poly(z, b.k.sin), r if rest is None else rest)


def cosine(b: Builder, r: Value) -> Pair:
    """cos r for |r| ≤ π/4."""
    z = b.mul(r, r)
    half = b.mul(z, 0.5)
    w = b.sub(1.0, half)
    return w, b.fma(b.mul(z, z), b.poly(z, b.k.cos), b.sub(b.sub(1.0, w), half))


def is_odd(b: Builder, n: Value) -> Value:
    """The lowest bit of `n` is set."""
    return b.p.op("ieq", b.integer("iand", n, 1), b.p.integer(1))


def wave(b: Builder, x: Value, turn: int) -> Value:
    """sin (turn 0) or cos (turn 1) of x: those of |x|, with the sign of x for the sine."""
    r, _, n = reduce(b, b.op("abs", x))
    n = b.integer("iadd", n, turn)
    value = b.pick(is_odd(b, n), b.add(*cosine(b, r)), sine(b, r))
    signs = b.integer("ishl", b.integer("iand", n, 2), b.k.bits - 2)
    if not turn:
        signs = b.op("ixor", signs, b.sign(x))
    return b.p.place("cos_huge" if turn else "sin_huge", (x, b.flip(value, signs)), "f")


def sin(b: Builder, x: Value) -> Value:
    return wave(b, x, 0)


def cos(b: Builder, x: Value) -> Value:
    return wave(b, x, 1)


def tan(b: Builder, x: Value) -> Value:
    """sin/cos of the reduced angle, or −cos/sin, as quotients of pairs."""
    r, rest, n = reduce(b, b.op("abs", x))
    odd = is_odd(b, n)
    w, low = cosine(b, r)
    s = b.fast_sum(r, sine(b, r, rest))
    c = b.fast_sum(w, b.fma(b.neg(r), rest, low))
    top = b.pick(odd, c[0], s[0]), b.pick(odd, c[1], s[1])
    bottom = b.pick(odd, s[0], c[0]), b.pick(odd, s[1], c[1])
    signs = b.op("ixor", b.integer("ishl", n, b.k.bits - 1), b.sign(x))
    value = b.flip(b.add(*b.quotient(top, bottom)), signs)
    return b.p.place("tan_huge", (x, value), "f")


def arc(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    """(near, s, more, size): asin s = s + more, where s = size = |x| if `near` (below ½), else √((1 − |x|)/2)."""
    size = b.op("abs", x)
    near = b.less(size, 0.5)
    half = b.mul(b.sub(1.0, size), 0.5)
    z = b.pick(near, b.mul(size, size), half)
    root, rest = b.root((half, b.c(0.0)))
    s = b.pick(near, size, root)
    more = b.fma(s, b.mul(z, b.poly(z, b.k.asin)), b.pick(near, 0.0, rest))
    return near, s, more, size


def less_from(b: Builder, high: float, low: float, s: Value, more: Value) -> Value:
    """(high + low) − (s + more), for s below `high`."""
    value, rest = b.fast_sum(high, b.neg(s))
    return b.add(value, b.sub(b.add(rest, low), more))


def asin(b: Builder, x: Value) -> Value:
    """By its series below ½, as π/2 − 2 asin √((1 − |x|)/2) above."""
    near, s, more, _ = arc(b, x)
    far = less_from(b, *b.k.pi(2), b.mul(2.0, s), b.mul(2.0, more))
    return b.op("copysign", b.pick(near, b.add(s, more), far), x)


def acos(b: Builder, x: Value) -> Value:
    """π/2 − asin x; twice the angle of the half near 1, and π less that near −1."""
    near, s, more, _ = arc(b, x)
    negative = b.less(x, 0.0)
    signs = b.sign(x)
    middle = less_from(b, *b.k.pi(2), b.flip(s, signs), b.flip(more, signs))
    s, more = b.mul(2.0, s), b.mul(2.0, more)
    far = b.pick(negative, less_from(b, *b.k.pi(1), s, more), b.add(s, more))
    return b.pick(near, middle, far)


def atan2(b: Builder, y: Value, x: Value) -> Value:
    """The angle of (x, y), from the smaller over the larger of |x|, |y|."""
    ax, ay = b.op("abs", x), b.op("abs", y)
    steep = b.less(ax, ay)
    small, large = b.pick(steep, ax, ay), b.pick(steep, ay, ax)
    endless = b.op("band", b.same(small, math.inf), b.same(ax, ay))
    small, large = b.pick(endless, 1.0, small), b.pick(endless, 1.0, large)
    tiny, up, big, down = b.k.ends
    scale = b.pick(b.less(large, tiny), up, b.pick(b.less(large, big), 1.0, down))
    small, large = b.mul(small, scale), b.mul(large, scale)
    middle = b.less(b.mul(large, 0.66), small)
    top = b.pick(middle, b.sub(small, large), small)
    bottom = b.pick(middle, b.add(small, large), large)
    q = b.div(top, b.pick(b.same(bottom, 0.0), 1.0, bottom))
    z = b.mul(q, q)
    ratio = b.div(*(b.horner(z, c) for c in b.k.atan))
    angle = b.fma(b.mul(q, z), ratio, q)
    high, low = b.k.pi(4)
    angle = b.pick(middle, b.add(high, b.add(angle, low)), angle)
    high, low = b.k.pi(2)
    angle = b.pick(steep, b.sub(high, b.sub(angle, low)), angle)
    high, low = b.k.pi(1)
    behind = b.integer("ilt", b.op("bits", x), 0)
    return b.op("copysign", b.pick(behind, b.sub(high, b.sub(angle, low)), angle), y)
