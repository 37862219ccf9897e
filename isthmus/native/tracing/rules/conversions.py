"""From one type to another, fewer bits of a type, and the bits themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.ir.program import Program
from isthmus.native.tracing.rules.elementwise import elementwise
from isthmus.native.tracing.trace import Trace, kind_of


@elementwise("convert_element_type")
def convert(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, old, new = trace.p, eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    way = (kind_of(old) or "") + (kind_of(new) or "")
    if way == "fi":
        return lambda x: to_integer(trace, x, new)
    if way == "if" and trace.full(old):
        return lambda x: trace.fit(of_unsigned(p, x), new)
    steps: dict[str, Callable[[int], int]] = {
        "ff": lambda x: x,
        "ii": lambda x: x,
        "bb": lambda x: x,
        "if": lambda x: p.op("i2f", x),
        "bi": lambda x: p.op("b2i", x),
        "bf": lambda x: p.select(x, p.one, p.zero),
        "fb": lambda x: p.op("fne", x, p.zero),
        "ib": lambda x: p.op("ine", x, p.integer(0)),
    }
    if way not in steps:
        raise NotTranslatable(f"conversion of {old} to {new}")
    return lambda x: trace.fit(steps[way](x), new)


def to_integer(trace: Trace, x: int, dtype: Any) -> int:
    """Towards zero; what is too large becomes the largest integer of the type, what is no number zero."""
    p, dtype = trace.p, np.dtype(dtype)
    if trace.full(dtype):
        half = p.const(2.0 ** (p.width - 1))
        upper = p.op("ixor", p.op("f2i", p.op("sub", x, half)), p.integer(-(2 ** (p.width - 1))))
        low = p.op("imax", p.op("f2i", x), p.integer(0))
        whole = p.select(p.op("fle", half, x), upper, low)
        return p.select(p.op("fle", p.const(2.0**p.width), x), p.integer(-1), whole)
    whole = p.op("f2i", x)
    if 8 * dtype.itemsize >= p.width:
        return whole
    limits = np.iinfo(cast(Any, dtype))
    low, high = p.integer(int(limits.min)), p.integer(int(limits.max))
    return p.op("imax", p.op("imin", whole, high), low)


def of_unsigned(p: Program, x: int) -> int:
    """An unsigned integer that fills a number of the program, as a float: half of it, twice."""
    one = p.integer(1)
    half = p.op("ior", p.op("ishr", x, one), p.op("iand", x, one))
    large = p.op("mul", p.const(2.0), p.op("i2f", half))
    return p.select(p.op("ilt", x, p.integer(0)), large, p.op("i2f", x))


@elementwise("reduce_precision")
def reduce_precision(trace: Trace, eqn: Any) -> Callable[..., int]:
    """Rounds to fewer bits, halves to even; what leaves the range becomes infinite or zero, as in XLA."""
    p = trace.p
    bits, exponent = (52, 11) if p.width == 64 else (23, 8)
    keep, range_bits = int(eqn.params["mantissa_bits"]), int(eqn.params["exponent_bits"])
    drop = bits - min(keep, bits)
    bias = 2 ** (min(range_bits, exponent) - 1) - 1
    largest = p.const(math.ldexp(2.0 - 2.0**-keep, bias) if range_bits < exponent else math.inf)
    smallest = p.const(math.ldexp(1.0, 1 - bias))

    def rounded(x: int) -> int:
        if drop == 0:
            return x
        whole, last = p.op("bits", x), p.integer(drop)
        odd = p.op("iand", p.op("ishr", whole, last), p.integer(1))
        up = p.op("iadd", p.integer((1 << (drop - 1)) - 1), odd)
        mask = p.integer(-(1 << drop))
        return p.op("unbits", p.op("iand", p.op("iadd", whole, up), mask))

    def scalar(x: int) -> int:
        y = rounded(x)
        if range_bits < exponent:
            size = p.op("abs", y)
            y = p.select(p.op("flt", largest, size), p.op("copysign", p.const(math.inf), x), y)
            y = p.select(p.op("flt", size, smallest), p.op("copysign", p.zero, x), y)
        return p.select(p.op("feq", x, x), y, x)

    return scalar


@elementwise("population_count")
def population_count(trace: Trace, eqn: Any) -> Callable[..., int]:
    """How many bits are set."""
    dtype = np.dtype(eqn.outvars[0].aval.dtype)
    return lambda x: ones_in(trace.p, trace.fit(x, np.dtype(f"u{dtype.itemsize}")))


@elementwise("clz")
def leading_zeros(trace: Trace, eqn: Any) -> Callable[..., int]:
    """How many bits before the first that is set: those that are not set once all behind it are."""
    p, dtype = trace.p, np.dtype(eqn.outvars[0].aval.dtype)

    def scalar(x: int) -> int:
        x = trace.fit(x, np.dtype(f"u{dtype.itemsize}"))
        for k in (1, 2, 4, 8, 16, 32):
            if k < 8 * dtype.itemsize:
                x = p.op("ior", x, p.op("ishr", x, p.integer(k)))
        return p.op("isub", p.integer(8 * dtype.itemsize), ones_in(p, x))

    return scalar


def ones_in(p: Program, x: int) -> int:
    """Sums of neighbouring bits, of pairs of them, and so on."""
    for k in (1, 2, 4, 8, 16, 32):
        if k < p.width:
            pattern = sum(((1 << k) - 1) << s for s in range(0, p.width, 2 * k))
            mask = p.integer(pattern)
            parts = p.op("iand", x, mask), p.op("iand", p.op("ishr", x, p.integer(k)), mask)
            x = p.op("iadd", *parts)
    return x


@elementwise("bitcast_convert_type")
def bitcast(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, old, new = trace.p, np.dtype(eqn.invars[0].aval.dtype), np.dtype(eqn.outvars[0].aval.dtype)
    number = old.itemsize == new.itemsize == trace.p.width // 8
    if number and {old.kind, new.kind} & {"f"} and old.kind != new.kind:
        return lambda x: p.op("bits" if old.kind == "f" else "unbits", x)
    if old.kind in "iu" and new.kind in "iu" and old.itemsize == new.itemsize:
        return lambda x: trace.fit(x, new)
    raise NotTranslatable(f"bitcast of {old} to {new}")
