"""The algebraic identities of the scalar program.

Exact identities hold for every number: x·1, x/1, x−0, −(−x), a choice between equals. Structural
ones treat a constant zero as "nothing there", as a sparse matrix does: x·0 = 0, x+0 = x, 0−x = −x,
and x−x = 0. They differ from IEEE only where x is NaN or infinite (x·0, x−x) or a zero with a sign;
a program that is `strict` does without them. No other rule can turn a NaN into a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from isthmus.native.ir.fold import signed


class Values(Protocol):
    """What an identity sees of a program."""

    strict: bool
    width: int
    ops: list[str]
    args: list[tuple]
    kinds: list[str]
    known: list[float | None]
    zero: int

    def op(self, op: str, *args: int) -> int: ...
    def place(self, op: str, args: tuple, kind: str) -> int: ...
    def const(self, value: float, kind: str = "f") -> int: ...
    def integer(self, value: int) -> int: ...


Identity = Callable[..., int | None]
"""(program, *operands) -> an equal value that is simpler, or None."""


def _negative(x: float | None) -> bool:
    return x is not None and math.copysign(1.0, x) < 0.0


def _nothing(p: Values, x: float | None) -> bool:
    """Adding the zero `x` changes nothing: any zero, but −0 alone where the program is strict."""
    return not p.strict or _negative(x)


def add(p: Values, x: int, y: int) -> int | None:
    known, ops = p.known, p.ops
    if known[x] == 0.0 and _nothing(p, known[x]):
        return y
    if known[y] == 0.0 and _nothing(p, known[y]):
        return x
    if ops[y] == "neg":
        return p.op("sub", x, p.args[y][0])
    if ops[x] == "neg":
        return p.op("sub", y, p.args[x][0])
    if x > y:  # one order, so that x+y and y+x are one value
        if known[x] is not None and known[y] is not None:
            return p.op("add", y, x)
        return p.place("add", (y, x), "f")
    return None


def sub(p: Values, x: int, y: int) -> int | None:
    known = p.known
    if known[y] == 0.0 and (not p.strict or not _negative(known[y])):
        return x
    if known[x] == 0.0 and _nothing(p, known[x]):
        return p.op("neg", y)
    if x == y and not p.strict:
        return p.zero
    if p.ops[y] == "neg":
        return p.op("add", x, p.args[y][0])
    return None


def mul(p: Values, x: int, y: int) -> int | None:
    known = p.known
    a, c = x, known[y]
    if c is None:
        a, c = y, known[x]
    elif known[x] is not None:
        c = None  # both are known: folded later
    if c is not None:
        if c == 0.0 and not p.strict:
            return p.zero
        if c == 1.0:
            return a
        if c == -1.0:
            return p.op("neg", a)
    ops, args = p.ops, p.args
    if ops[x] == "neg":  # signs travel outwards, where they meet and vanish
        if ops[y] == "neg":
            return p.op("mul", args[x][0], args[y][0])
        return p.op("neg", p.op("mul", args[x][0], y))
    if ops[y] == "neg":
        return p.op("neg", p.op("mul", x, args[y][0]))
    if x <= y:
        return None
    if known[x] is not None and known[y] is not None:
        return p.op("mul", y, x)
    return p.place("mul", (y, x), "f")


def div(p: Values, x: int, y: int) -> int | None:
    ops, args = p.ops, p.args
    if ops[y] == "const":
        c = args[y][0]
        if c == 1.0:
            return x
        if c == -1.0:
            return p.op("neg", x)
        if (
            c != 0.0
            and math.isfinite(c)
            and abs(math.frexp(c)[0]) == 0.5
            and 1e-300 < abs(c) < 1e300
        ):
            return p.op("mul", x, p.const(1.0 / c))
    if ops[x] == "neg":
        return p.op("neg", p.op("div", args[x][0], y))
    if ops[y] == "neg":
        return p.op("neg", p.op("div", x, args[y][0]))
    return None


def neg(p: Values, x: int) -> int | None:
    return p.args[x][0] if p.ops[x] == "neg" else None


def select(p: Values, c: int, x: int, y: int) -> int | None:
    if x == y:
        return x
    if p.ops[c] == "const":
        return x if p.args[c][0] else y
    if p.ops[c] == "bnot":
        return p.op("select", p.args[c][0], y, x)
    if p.kinds[x] == "b" and p.ops[x] == "const" and p.ops[y] == "const":
        return c if p.args[x][0] else p.op("bnot", c)
    return None


def even(op: str) -> Identity:
    def rule(p: Values, x: int) -> int | None:
        return p.op(op, p.args[x][0]) if p.ops[x] == "neg" else None

    return rule


def odd(op: str) -> Identity:
    def rule(p: Values, x: int) -> int | None:
        return p.op("neg", p.op(op, p.args[x][0])) if p.ops[x] == "neg" else None

    return rule


def unit(op: str, unit: int) -> Identity:
    """`x op unit = x`, where operands may be exchanged."""

    def rule(p: Values, x: int, y: int) -> int | None:
        if p.ops[y] == "const" and p.args[y][0] == unit:
            return x
        if p.ops[x] == "const" and p.args[x][0] == unit:
            return y
        return p.op(op, y, x) if x > y else None

    return rule


def right_unit(unit: int) -> Identity:
    """`x op unit = x`, where operands may not be exchanged."""
    return lambda p, x, y: x if p.ops[y] == "const" and p.args[y][0] == unit else None


def iadd(p: Values, x: int, y: int) -> int | None:
    if p.ops[x] == "const" and p.ops[y] != "const":
        x, y = y, x
    if p.ops[y] == "const":
        if p.args[y][0] == 0:
            return x
        if p.ops[x] == "iadd" and p.ops[p.args[x][1]] == "const":  # (z + a) + b = z + (a + b)
            total = signed(p.args[p.args[x][1]][0] + p.args[y][0], p.width)
            return p.op("iadd", p.args[x][0], p.integer(total))
        return None if p.ops[x] == "const" else p.place("iadd", (x, y), "i")
    return p.op("iadd", y, x) if x > y else None


def isub(p: Values, x: int, y: int) -> int | None:
    if x == y:
        return p.integer(0)
    if p.ops[y] == "const":
        return p.op("iadd", x, p.integer(signed(-p.args[y][0], p.width)))
    return None


def imul(p: Values, x: int, y: int) -> int | None:
    for a, b in ((x, y), (y, x)):
        if p.ops[b] == "const" and p.args[b][0] in (0, 1):
            return a if p.args[b][0] else b
    return p.op("imul", y, x) if x > y else None


def logic(op: str, unit: bool) -> Identity:
    def rule(p: Values, x: int, y: int) -> int | None:
        if x == y:
            return x
        for a, b in ((x, y), (y, x)):
            if p.ops[b] == "const":
                return a if p.args[b][0] == unit else b
        return p.op(op, y, x) if x > y else None

    return rule


def bnot(p: Values, x: int) -> int | None:
    return p.args[x][0] if p.ops[x] == "bnot" else None


def of_equals_is(answer: bool) -> Identity:
    def rule(p: Values, x: int, y: int) -> int | None:
        return p.const(answer, "b") if x == y else None

    return rule


def of_equals(p: Values, x: int, y: int) -> int | None:
    return x if x == y else None


def wrap(p: Values, x: int, bits: int, is_signed: int) -> int | None:
    if p.ops[x] == "b2i" or (p.ops[x] == "wrap" and p.args[x][1:] == (bits, is_signed)):
        return x
    return None


def truth(yes: bool) -> Identity:
    """Comparisons of a truth, as a number, with 0: the truth itself or its opposite."""

    def rule(p: Values, x: int, y: int) -> int | None:
        if x == y:
            return p.const(not yes, "b")
        if p.ops[x] == "b2i" and p.ops[y] == "const" and p.args[y][0] == 0:
            return p.args[x][0] if yes else p.op("bnot", p.args[x][0])
        return None

    return rule
