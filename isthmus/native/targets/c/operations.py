"""How each operation of the scalar program is written in C99."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isthmus.native.ir.program import Plain

if TYPE_CHECKING:
    from isthmus.native.targets.c.emit import Writer

ATOM, UNARY, PRODUCT, SUM, LOOSE = range(5)
"""How tightly an expression holds together; the outermost operator decides."""
TYPES = {
    64: {"f": "double", "i": "int64_t", "b": "bool"},
    32: {"f": "float", "i": "int32_t", "b": "bool"},
}
"""Width of the program -> how C calls its kinds."""


class Expression(NamedTuple):
    """C text, how tightly it holds together, and whether it reads an array of the caller."""

    text: str
    level: int = ATOM
    reads: bool = False

    def within(self, level: int) -> str:
        """The text, in parentheses where an operator of `level` would tear it apart."""
        return f"({self.text})" if self.level > level else self.text

    def behind(self, level: int) -> str:
        """The same for an operand on the right, where a sign needs parentheses too."""
        return f"({self.text})" if self.level > level or self.text[0] == "-" else self.text


def literal(value: Plain, kind: str, width: int = 64) -> Expression:
    """A constant, exact: the shortest digits that are read back as the same number."""
    if kind == "b":
        return Expression("true" if value else "false")
    if kind == "i":
        if value == -(1 << (width - 1)):
            return Expression(f"INT{width}_MIN")
        size = str(abs(value)) if abs(value) < 1 << 31 else f"INT64_C({abs(value)})"
        text = f"-{size}" if value < 0 else size
    elif math.isnan(value):
        text = "NAN"
    elif math.isinf(value):
        text = "INFINITY" if value > 0 else "-INFINITY"
    else:
        text = repr(float(value)) if width == 64 else f"{np.float32(value)!s}f"
    return Expression(text, UNARY if text.startswith("-") else ATOM)


def narrowed(text: str, width: int) -> str:
    """The text of a helper, for numbers of 32 bits where the program has those."""
    if width == 64:
        return text
    for old, new in (
        ("9223372036854775808.0", "2147483648.0"), ("double", "float"), ("int64_t", "int32_t"),
        ("INT64_", "INT32_"), ("63", "31"), ("exp(", "expf("), ("fabs(", "fabsf("),
    ):  # fmt: skip
        text = text.replace(old, new)
    return re.sub(r"\b([0-9]+\.[0-9]+)\b", r"\1f", text)


Write = Callable[["Writer", int, "tuple[Expression, ...]"], Expression]
"""(who writes, the value, its operands) -> the value as an expression."""


def made(text: str, level: int, operands: tuple[Expression, ...]) -> Expression:
    """An expression that reads what its operands read."""
    return Expression(text, level, any(x.reads for x in operands))


def infix(symbol: str, level: int) -> Write:
    """Two operands; those on the right keep their parentheses, so that roundings stay as they are."""
    inner = SUM if level == LOOSE else level

    def write(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
        return made(f"{x[0].within(inner)} {symbol} {x[1].behind(inner - 1)}", level, x)

    return write


def product(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
    """Constants first, as people write it."""
    swap = writer.p.constant(writer.p.args[value][1]) is not None
    return infix("*", PRODUCT)(writer, value, x[::-1] if swap else x)


def unary(symbol: str) -> Write:
    return lambda writer, value, x: made(f"{symbol}{x[0].within(ATOM)}", UNARY, x)


def function(name: str) -> Write:
    """A function of libm, or one of the helpers below."""

    def write(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
        called = name if name in HELPERS or writer.p.width == 64 else f"{name}f"
        if name in HELPERS:
            writer.helpers.add(name)
        return made(f"{called}({', '.join(operand.text for operand in x)})", ATOM, x)

    return write


def integer(symbol: str, level: int) -> Write:
    """Modulo 2⁶⁴ or 2³²; plainly where the numbers are known to be small, as indices are."""
    plain = infix(symbol, level)

    def write(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
        if value in writer.small:
            return plain(writer, value, x)
        whole = writer.types["i"]
        a, b = (f"(u{whole}){operand.within(UNARY)}" for operand in x)
        return made(f"({whole})({a} {symbol} {b})", UNARY, x)

    return write


def divide(symbol: str, helper: str) -> Write:
    """Division by a constant plainly, other divisions so that nothing traps."""
    plain, careful = infix(symbol, PRODUCT), function(helper)

    def write(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
        by = writer.p.constant(writer.p.args[value][1])
        return (careful if by is None or by in (0, -1) else plain)(writer, value, x)

    return write


def select(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
    condition, yes, no = (operand.within(SUM) for operand in x)
    return made(f"{condition} ? {yes} : {no}", LOOSE, x)


def wrap(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
    bits, is_signed = (writer.p.constant(a) for a in writer.p.args[value][1:])
    narrow = f"{'int' if is_signed else 'uint'}{bits}_t"
    return made(f"({writer.types['i']})({narrow}){x[0].within(UNARY)}", UNARY, x)


def cast(kind: str) -> Write:
    """A conversion to a kind."""
    return lambda writer, value, x: made(f"({writer.types[kind]}){x[0].within(UNARY)}", UNARY, x)


def round32(writer: Writer, value: int, x: tuple[Expression, ...]) -> Expression:
    return made(f"({writer.types['f']})(float){x[0].within(UNARY)}", UNARY, x)


SAME = """sin cos tan asin acos atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log1p sqrt cbrt pow
fmod nextafter erf erfc lgamma floor ceil rint copysign fma""".split()
"""Operations with the name that C has for them."""

OPERATIONS: dict[str, Write] = {
    **{name: function(name) for name in SAME},
    "add": infix("+", SUM),
    "sub": infix("-", SUM),
    "mul": product,
    "div": infix("/", PRODUCT),
    "neg": unary("-"),
    "abs": function("fabs"),
    "max": function("ist_max"),
    "min": function("ist_min"),
    "logistic": function("ist_logistic"),
    "round32": round32,
    "select": select,
    "feq": infix("==", LOOSE),
    "fne": infix("!=", LOOSE),
    "flt": infix("<", LOOSE),
    "fle": infix("<=", LOOSE),
    "iadd": integer("+", SUM),
    "isub": integer("-", SUM),
    "imul": integer("*", PRODUCT),
    "idiv": divide("/", "ist_quotient"),
    "irem": divide("%", "ist_remainder"),
    "iudiv": function("ist_quotient_u"),
    "iurem": function("ist_remainder_u"),
    "iand": infix("&", LOOSE),
    "ior": infix("|", LOOSE),
    "ixor": infix("^", LOOSE),
    "imax": function("ist_larger"),
    "imin": function("ist_smaller"),
    "ishl": function("ist_shift_left"),
    "ishr": function("ist_shift_right_u"),
    "iashr": function("ist_shift_right"),
    "ieq": infix("==", LOOSE),
    "ine": infix("!=", LOOSE),
    "ilt": infix("<", LOOSE),
    "ile": infix("<=", LOOSE),
    "iult": function("ist_below_u"),
    "wrap": wrap,
    "band": infix("&&", LOOSE),
    "bor": infix("||", LOOSE),
    "bxor": infix("!=", LOOSE),
    "bnot": unary("!"),
    "i2f": cast("f"),
    "f2i": function("ist_truncate"),
    "b2i": cast("i"),
    "bits": function("ist_bits"),
    "unbits": function("ist_unbits"),
}
"""Operation -> how it is written."""

UNION = "    union { double number; int64_t bits; } both;\n"


def _helper(head: str, body: str) -> str:
    return f"static {head}\n{{\n{body}\n}}\n"


HELPERS: dict[str, str] = {
    "ist_max": _helper(
        "double ist_max(double x, double y) /* NaN where either is; -0 is below 0 */",
        "    if (x != x || y != y)\n        return x + y;\n"
        "    return x > y || (x == y && !signbit(x)) ? x : y;",
    ),
    "ist_min": _helper(
        "double ist_min(double x, double y) /* NaN where either is; -0 is below 0 */",
        "    if (x != x || y != y)\n        return x + y;\n"
        "    return x < y || (x == y && signbit(x)) ? x : y;",
    ),
    "ist_logistic": _helper(
        "double ist_logistic(double x) /* 1 / (1 + exp(-x)) without overflow */",
        "    const double e = exp(-fabs(x));\n    return (x < 0.0 ? e : 1.0) / (1.0 + e);",
    ),
    "ist_quotient": _helper(
        "int64_t ist_quotient(int64_t x, int64_t y) /* x / 0 is -1 */",
        "    if (y == -1)\n        return (int64_t)(0u - (uint64_t)x);\n"
        "    return y == 0 ? -1 : x / y;",
    ),
    "ist_remainder": _helper(
        "int64_t ist_remainder(int64_t x, int64_t y) /* x % 0 is x */",
        "    if (y == -1)\n        return 0;\n    return y == 0 ? x : x % y;",
    ),
    "ist_quotient_u": _helper(
        "int64_t ist_quotient_u(int64_t x, int64_t y)",
        "    return y == 0 ? -1 : (int64_t)((uint64_t)x / (uint64_t)y);",
    ),
    "ist_remainder_u": _helper(
        "int64_t ist_remainder_u(int64_t x, int64_t y)",
        "    return y == 0 ? x : (int64_t)((uint64_t)x % (uint64_t)y);",
    ),
    "ist_larger": _helper("int64_t ist_larger(int64_t x, int64_t y)", "    return x > y ? x : y;"),
    "ist_smaller": _helper(
        "int64_t ist_smaller(int64_t x, int64_t y)", "    return x < y ? x : y;"
    ),
    "ist_shift_left": _helper(
        "int64_t ist_shift_left(int64_t x, int64_t n)",
        "    return n < 0 || n > 63 ? 0 : (int64_t)((uint64_t)x << n);",
    ),
    "ist_shift_right_u": _helper(
        "int64_t ist_shift_right_u(int64_t x, int64_t n)",
        "    return n < 0 || n > 63 ? 0 : (int64_t)((uint64_t)x >> n);",
    ),
    "ist_shift_right": _helper(
        "int64_t ist_shift_right(int64_t x, int64_t n) /* keeps the sign */",
        "    const int64_t m = n < 0 || n > 63 ? 63 : n;\n    return x < 0 ? ~(~x >> m) : x >> m;",
    ),
    "ist_below_u": _helper(
        "bool ist_below_u(int64_t x, int64_t y)", "    return (uint64_t)x < (uint64_t)y;"
    ),
    "ist_truncate": _helper(
        "int64_t ist_truncate(double x) /* the nearest integer there is; 0 for NaN */",
        "    if (x != x)\n        return 0;\n"
        "    if (x >= 9223372036854775808.0)\n        return INT64_MAX;\n"
        "    return x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;",
    ),
    "ist_bits": _helper(
        "int64_t ist_bits(double x)", UNION + "    both.number = x;\n    return both.bits;"
    ),
    "ist_unbits": _helper(
        "double ist_unbits(int64_t x)", UNION + "    both.bits = x;\n    return both.number;"
    ),
}
"""Functions that C lacks; a file gets those that it uses."""
