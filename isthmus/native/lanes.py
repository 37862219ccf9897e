"""sin, cos, exp, expm1, log, tanh, logistic, atan2 out of plain arithmetic, within 2 ulp.

Each function builds values of the scalar program, so one world and many lanes run the same
operations and give the same bits, and work that two functions share (the reduction of an angle for
its sine and its cosine) is done once. Coefficients: fdlibm (sin, cos, log) and Cephes (tanh, atan).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import no_type_check

from isthmus.native.passes import Rebuild
from isthmus.native.program import Plain, Program

MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer that sits in the low bits
HUGE = 2.0**30
"""Above this the reduction of an angle loses bits, and libm does it."""
PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
"""π/2 in three parts."""

SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
EXP = tuple(1.0 / math.factorial(k) for k in range(2, 14))
LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
TANH_P = (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1)
TANH_Q = (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0)
ATAN_P = (
    -6.485021904942025371773e1,
    -1.228866684490136173410e2,
    -7.500855792314704667340e1,
    -1.615753718733365076637e1,
    -8.750608600031904122785e-1,
)
ATAN_Q = (
    1.945506571482613964425e2,
    4.853903996359136964868e2,
    4.328810604912902668951e2,
    1.650270098316988542046e2,
    2.485846490142306297962e1,
    1.0,
)


def as_bits(x: float) -> int:
    """The 64 bits of `x`."""
    return struct.unpack("<q", struct.pack("<d", x))[0]


Value = int
"""A value of the program, by its number."""


@no_type_check
class Lanes:
    """The functions, written for one program."""

    def __init__(self, program: Program) -> None:
        self.p = program
        self.c = program.const

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x·y + z, rounded once."""
        return self.p.place("fma", (x, y, z), "f")

    def op(self, name: str, *args: Plain) -> Value:
        """An operation; plain numbers become constants."""
        return self.p.op(name, *(self.c(a) if isinstance(a, float) else a for a in args))

    def int(self, name: str, x: Value, y: Value) -> Value:
        """An integer operation with the number `y`."""
        return self.p.op(name, x, self.p.integer(y))

    def poly(self, x: Value, coefficients: Sequence[float]) -> Value:
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
                power = self.op("mul", power, power)
        return level[0]

    def horner(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Σ cₖ xᵏ from the highest power down."""
        total = self.c(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.c(c))
        return total

    # angles

    def reduce(self, x: Value) -> tuple[Value, Value]:
        """(r, n) with x = n·π/2 + r, |r| ≤ π/4; n modulo 4 is in the low bits."""
        shifted = self.fma(x, self.c(2.0 / math.pi), self.c(MAGIC))
        n = self.op("sub", shifted, MAGIC)
        minus = self.op("neg", n)
        r = self.fma(minus, self.c(PI_2[0]), x)
        r = self.fma(minus, self.c(PI_2[1]), r)
        r = self.fma(minus, self.c(PI_2[2]), r)
        return r, self.op("bits", shifted)

    def sine(self, r: Value) -> Value:
        """sin r for |r| ≤ π/4."""
        z = self.op("mul", r, r)
        return self.fma(self.op("mul", z, r), self.poly(z, SIN), r)

    def cosine(self, r: Value) -> Value:
        """cos r for |r| ≤ π/4."""
        z = self.op("mul", r, r)
        half = self.op("mul", z, 0.5)
        w = self.op("sub", 1.0, half)
        rest = self.op("sub", self.op("sub", 1.0, w), half)
        return self.op("add", w, self.fma(self.op("mul", z, z), self.poly(z, COS), rest))

    def wave(self, x: Value, turn: Value) -> Value:
        """sin (turn 0) or cos (turn 1) of x: those of |x|, with the sign of x for the sine."""
        r, n = self.reduce(self.op("abs", x))
        n = self.int("iadd", n, turn)
        odd = self.p.op("ieq", self.int("iand", n, 1), self.p.integer(1))
        value = self.op("select", odd, self.cosine(r), self.sine(r))
        flip = self.int("ishl", self.int("iand", n, 2), 62)
        if not turn:
            flip = self.op("ixor", flip, self.int("iand", self.op("bits", x), -(1 << 63)))
        value = self.op("unbits", self.op("ixor", self.op("bits", value), flip))
        return self.p.place("cos_huge" if turn else "sin_huge", (x, value), "f")

    def sin(self, x: Value) -> Value:
        return self.wave(x, 0)

    def cos(self, x: Value) -> Value:
        return self.wave(x, 1)

    # exponentials

    def halve(self, x: Value) -> tuple[Value, Value]:
        """(r, n) with x = n·ln 2 + r, |r| ≤ ln 2 / 2."""
        shifted = self.fma(x, self.c(1.0 / math.log(2.0)), self.c(MAGIC))
        minus = self.op("neg", self.op("sub", shifted, MAGIC))
        r = self.fma(minus, self.c(6.93147180369123816490e-01), x)
        r = self.fma(minus, self.c(1.90821492927058770002e-10), r)
        return r, self.int("iadd", self.op("bits", shifted), -as_bits(MAGIC))

    def exp(self, x: Value) -> Value:
        """By 2ᵏ·eʳ, |r| ≤ ln 2 / 2; the factor 2ᵏ in two halves, for results near the ends."""
        x = self.op("select", self.op("flt", x, -746.0), self.c(-746.0), x)
        x = self.op("select", self.op("flt", 710.0, x), self.c(710.0), x)
        r, n = self.halve(x)
        square = self.op("mul", r, r)
        value = self.op("add", 1.0, self.fma(square, self.poly(r, EXP), r))
        first = self.int("iadd", self.int("ishr", self.int("iadd", n, 4096), 1), -2048)
        second = self.p.op("isub", n, first)
        for part in (first, second):
            power = self.int("ishl", self.int("iadd", part, 1023), 52)
            value = self.op("mul", value, self.op("unbits", power))
        return value

    def expm1(self, x: Value) -> Value:
        """eˣ − 1 = 2ᵏ·(eʳ − 1) + (2ᵏ − 1), both halved so that 2ᵏ does not overflow before the sum does."""
        sign = x
        x = self.op("select", self.op("flt", x, -40.0), self.c(-40.0), x)
        x = self.op("select", self.op("flt", 710.0, x), self.c(710.0), x)
        r, n = self.halve(x)
        part = self.fma(self.op("mul", r, r), self.poly(r, EXP), r)
        power = self.op("unbits", self.int("ishl", self.int("iadd", n, 1022), 52))
        value = self.op("mul", 2.0, self.fma(part, power, self.op("sub", power, 0.5)))
        tiny = self.op("flt", self.op("abs", sign), 1e-290)
        return self.op("select", tiny, sign, self.op("copysign", value, sign))

    def log(self, x: Value) -> Value:
        """By 2ᵏ·m, m in [√½, √2): k ln 2 + log m."""
        tiny = self.op("flt", x, 2.2250738585072014e-308)
        scaled = self.op("select", tiny, self.op("mul", x, 2.0**54), x)
        half = as_bits(math.sqrt(0.5))
        u = self.int("iadd", self.op("bits", scaled), as_bits(1.0) - half)
        exponent = self.op("unbits", self.int("ior", self.int("ishr", u, 52), as_bits(2.0**52)))
        k = self.op("sub", exponent, 2.0**52 + 1023.0)
        k = self.op("sub", k, self.op("select", tiny, self.c(54.0), self.c(0.0)))
        m = self.op("unbits", self.int("iadd", self.int("iand", u, (1 << 52) - 1), half))
        f = self.op("sub", m, 1.0)
        s = self.op("div", f, self.op("add", 2.0, f))
        z = self.op("mul", s, s)
        rest = self.op("mul", z, self.poly(z, LOG))
        square = self.op("mul", self.op("mul", 0.5, f), f)
        small = self.fma(
            s, self.op("add", square, rest), self.op("mul", k, 1.90821492927058770002e-10)
        )
        value = self.op("add", self.op("sub", small, square), f)
        value = self.fma(k, self.c(6.93147180369123816490e-01), value)
        value = self.op("select", self.op("flt", x, math.inf), value, x)
        bottom = self.op("select", self.op("feq", x, 0.0), self.c(-math.inf), self.c(math.nan))
        return self.op("select", self.op("flt", 0.0, x), value, bottom)

    def tanh(self, x: Value) -> Value:
        """A rational function near zero, 1 − 2/(e²ˣ + 1) elsewhere."""
        z = self.op("mul", x, x)
        ratio = self.op("div", self.poly(z, TANH_P), self.poly(z, TANH_Q))
        near = self.fma(self.op("mul", x, z), ratio, x)
        size = self.op("abs", x)
        e = self.exp(self.op("mul", 2.0, size))
        far = self.op("sub", 1.0, self.op("div", 2.0, self.op("add", e, 1.0)))
        value = self.op("select", self.op("flt", size, 0.625), near, far)
        return self.op("copysign", value, x)

    def logistic(self, x: Value) -> Value:
        """1/(1 + e⁻ˣ), from e^−|x| so that nothing overflows."""
        e = self.exp(self.op("neg", self.op("abs", x)))
        top = self.op("select", self.op("flt", x, 0.0), e, self.c(1.0))
        return self.op("div", top, self.op("add", 1.0, e))

    def atan2(self, y: Value, x: Value) -> Value:
        """The angle of (x, y), from the smaller over the larger of |x|, |y|."""
        ax, ay = self.op("abs", x), self.op("abs", y)
        steep = self.op("flt", ax, ay)
        small, large = self.op("select", steep, ax, ay), self.op("select", steep, ay, ax)
        endless = self.op("band", self.op("feq", small, math.inf), self.op("feq", ax, ay))
        small = self.op("select", endless, self.c(1.0), small)
        large = self.op("select", endless, self.c(1.0), large)
        scale = self.op("select", self.op("flt", large, 1e300), self.c(1.0), self.c(2.0**-60))
        scale = self.op("select", self.op("flt", large, 1e-290), self.c(2.0**200), scale)
        small, large = self.op("mul", small, scale), self.op("mul", large, scale)
        middle = self.op("flt", self.op("mul", large, 0.66), small)
        top = self.op("select", middle, self.op("sub", small, large), small)
        bottom = self.op("select", middle, self.op("add", small, large), large)
        bottom = self.op("select", self.op("feq", bottom, 0.0), self.c(1.0), bottom)
        q = self.op("div", top, bottom)
        z = self.op("mul", q, q)
        ratio = self.op("div", self.horner(z, ATAN_P), self.horner(z, ATAN_Q))
        angle = self.fma(self.op("mul", q, z), ratio, q)
        quarter = self.op("add", math.pi / 4, self.op("add", angle, 3.061616997868383e-17))
        angle = self.op("select", middle, quarter, angle)
        upright = self.op("sub", math.pi / 2, self.op("sub", angle, 6.123233995736766e-17))
        angle = self.op("select", steep, upright, angle)
        behind = self.op("sub", math.pi, self.op("sub", angle, 1.2246467991473532e-16))
        angle = self.op("select", self.int("ilt", self.op("bits", x), 0), behind, angle)
        return self.op("copysign", angle, y)


NAMES = ("sin", "cos", "exp", "expm1", "log", "tanh", "logistic", "atan2")


def lower(program: Program) -> Program:
    """The program with the functions above written out."""
    made: dict[str, Callable] = {}

    def rewrite(build: Rebuild, item: Value) -> Value | None:
        op = program.ops[item]
        if op not in NAMES:
            return None
        if not made:
            lanes = Lanes(build.new)
            made.update((name, getattr(lanes, name)) for name in NAMES)
        return made[op](*build.values(list(program.args[item])))

    return Rebuild(program, rewrite).run()
