"""How each operation of the scalar program is written in C-like text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container

from isthmus.native.ir.program import Program
from isthmus.native.targets.c.dialect import TYPES
from isthmus.native.targets.c.expressions import (
    ATOM,
    LOOSE,
    PRODUCT,
    SUM,
    UNARY,
    Expression,
)
from isthmus.native.targets.c.helpers import HELPERS


@dataclasses.dataclass(frozen=True)
class Scope:
    """What a formula may depend on beside its operands."""

    program: Program
    small: Container[int]
    """Integers whose sums and products cannot overflow."""
    helpers: set[str]
    """Helpers that the text uses; formulas add to it."""

    @property
    def types(self) -> dict[str, str]:
        return TYPES[self.program.width]


Write = Callable[[Scope, int, tuple[Expression, ...]], Expression]
"""(scope, value, its operands) -> the value as an expression."""


def made(text: str, level: int, operands: tuple[Expression, ...]) -> Expression:
    """An expression that reads what its operands read."""
    return Expression(text, level, any(x.reads for x in operands))


def infix(symbol: str, level: int) -> Write:
    """Two operands; those on the right keep their parentheses, so that roundings stay as they are."""
    inner = SUM if level == LOOSE else level

    def write(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
        return made(f"{x[0].within(inner)} {symbol} {x[1].behind(inner - 1)}", level, x)

    return write


def product(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
    """Constants first, as people write it."""
    swap = scope.program.constant(scope.program.args[value][1]) is not None
    return infix("*", PRODUCT)(scope, value, x[::-1] if swap else x)


def unary(symbol: str) -> Write:
    return lambda scope, value, x: made(f"{symbol}{x[0].within(ATOM)}", UNARY, x)


def function(name: str) -> Write:
    """A function of libm, or one of the helpers below."""

    def write(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
        called = name if name in HELPERS or scope.program.width == 64 else f"{name}f"
        if name in HELPERS:
            scope.helpers.add(name)
        return made(f"{called}({', '.join(operand.text for operand in x)})", ATOM, x)

    return write


def integer(symbol: str, level: int) -> Write:
    """Modulo 2⁶⁴ or 2³²; plainly where the numbers are known to be small, as indices are."""
    plain = infix(symbol, level)

    def write(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
        if value in scope.small:
            return plain(scope, value, x)
        whole = scope.types["i"]
        a, b = (f"(u{whole}){operand.within(UNARY)}" for operand in x)
        return made(f"({whole})({a} {symbol} {b})", UNARY, x)

    return write


def divide(symbol: str, helper: str) -> Write:
    """Division by a constant plainly, other divisions so that nothing traps."""
    plain, careful = infix(symbol, PRODUCT), function(helper)

    def write(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
        by = scope.program.constant(scope.program.args[value][1])
        return (careful if by is None or by in (0, -1) else plain)(scope, value, x)

    return write


def select(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
    condition, yes, no = (operand.within(SUM) for operand in x)
    return made(f"{condition} ? {yes} : {no}", LOOSE, x)


def wrap(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
    bits, is_signed = (scope.program.constant(a) for a in scope.program.args[value][1:])
    narrow = f"{'int' if is_signed else 'uint'}{bits}_t"
    return made(f"({scope.types['i']})({narrow}){x[0].within(UNARY)}", UNARY, x)


def cast(kind: str) -> Write:
    """A conversion to a kind."""
    return lambda scope, value, x: made(f"({scope.types[kind]}){x[0].within(UNARY)}", UNARY, x)


def round32(scope: Scope, value: int, x: tuple[Expression, ...]) -> Expression:
    return made(f"({scope.types['f']})(float){x[0].within(UNARY)}", UNARY, x)


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
