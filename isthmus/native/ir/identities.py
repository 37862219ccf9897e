"""The algebraic identities of the scalar program.

Exact identities hold for every number: x·1, x/1, x−0, −(−x), a choice between equals. Structural
ones treat a constant zero as "nothing there", as a sparse matrix does: x·0 = 0, x+0 = x, 0−x = −x,
and x−x = 0. They differ from IEEE only where x is NaN or infinite (x·0, x−x) or a zero with a sign;
a program that is `strict` does without them. No other rule can turn a NaN into a number.

These run once for every scalar operation of a traced function, hence `no_type_check`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, no_type_check

from isthmus.native.ir.fold import signed

if TYPE_CHECKING:
    from isthmus.native.ir.program import Program


@no_type_check
def _negative(x: float) -> bool:
    return math.copysign(1.0, x) < 0.0


@no_type_check
def _nothing(p: Program, x: float) -> bool:
    """Adding the zero `x` changes nothing: any zero, but −0 alone where the program is strict."""
    return not p.strict or _negative(x)


@no_type_check
def _add(p: Program, x: int, y: int) -> int | None:
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


@no_type_check
def _sub(p: Program, x: int, y: int) -> int | None:
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


@no_type_check
def _mul(p: Program, x: int, y: int) -> int | None:
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


@no_type_check
def _div(p: Program, x: int, y: int) -> int | None:
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


@no_type_check
def _neg(p: Program, x: int) -> int | None:
    return p.args[x][0] if p.ops[x] == "neg" else None


@no_type_check
def _select(p: Program, c: int, x: int, y: int) -> int | None:
    if x == y:
        return x
    if p.ops[c] == "const":
        return x if p.args[c][0] else y
    if p.ops[c] == "bnot":
        return p.op("select", p.args[c][0], y, x)
    if p.kinds[x] == "b" and p.ops[x] == "const" and p.ops[y] == "const":
        return c if p.args[x][0] else p.op("bnot", c)
    return None


@no_type_check
def _even(op: str) -> Callable:
    def rule(p: Program, x: int) -> int | None:
        return p.op(op, p.args[x][0]) if p.ops[x] == "neg" else None

    return rule


@no_type_check
def _odd(op: str) -> Callable:
    def rule(p: Program, x: int) -> int | None:
        return p.op("neg", p.op(op, p.args[x][0])) if p.ops[x] == "neg" else None

    return rule


@no_type_check
def _unit(op: str, unit: int, commutes: bool = True) -> Callable:
    """`x op unit = x`."""

    def rule(p: Program, x: int, y: int) -> int | None:
        if p.ops[y] == "const" and p.args[y][0] == unit:
            return x
        if commutes:
            if p.ops[x] == "const" and p.args[x][0] == unit:
                return y
            return p.op(op, y, x) if x > y else None
        return None

    return rule


@no_type_check
def _iadd(p: Program, x: int, y: int) -> int | None:
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


@no_type_check
def _isub(p: Program, x: int, y: int) -> int | None:
    if x == y:
        return p.integer(0)
    if p.ops[y] == "const":
        return p.op("iadd", x, p.integer(signed(-p.args[y][0], p.width)))
    return None


@no_type_check
def _imul(p: Program, x: int, y: int) -> int | None:
    for a, b in ((x, y), (y, x)):
        if p.ops[b] == "const" and p.args[b][0] in (0, 1):
            return a if p.args[b][0] else b
    return p.op("imul", y, x) if x > y else None


@no_type_check
def _logic(op: str, unit: bool) -> Callable:
    def rule(p: Program, x: int, y: int) -> int | None:
        if x == y:
            return x
        for a, b in ((x, y), (y, x)):
            if p.ops[b] == "const":
                return a if p.args[b][0] == unit else b
        return p.op(op, y, x) if x > y else None

    return rule


@no_type_check
def _bnot(p: Program, x: int) -> int | None:
    return p.args[x][0] if p.ops[x] == "bnot" else None


@no_type_check
def _same(answer: bool) -> Callable:
    def rule(p: Program, x: int, y: int) -> int | None:
        return p.const(answer, "b") if x == y else None

    return rule


@no_type_check
def _twice(p: Program, x: int, y: int) -> int | None:
    return x if x == y else None


@no_type_check
def _wrap(p: Program, x: int, bits: int, is_signed: int) -> int | None:
    if p.ops[x] == "b2i" or (p.ops[x] == "wrap" and p.args[x][1:] == (bits, is_signed)):
        return x
    return None


@no_type_check
def _truth(yes: bool) -> Callable:
    """Comparisons of a truth, as a number, with 0: the truth itself or its opposite."""

    def rule(p: Program, x: int, y: int) -> int | None:
        if x == y:
            return p.const(not yes, "b")
        if p.ops[x] == "b2i" and p.ops[y] == "const" and p.args[y][0] == 0:
            return p.args[x][0] if yes else p.op("bnot", p.args[x][0])
        return None

    return rule


IDENTITIES: dict[str, Callable] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "select": _select,
    "max": _twice,
    "min": _twice,
    "cos": _even("cos"),
    "abs": _even("abs"),
    "sin": _odd("sin"),
    "tanh": _odd("tanh"),
    "iadd": _iadd,
    "isub": _isub,
    "imul": _imul,
    "idiv": _unit("idiv", 1, commutes=False),
    "ishl": _unit("ishl", 0, commutes=False),
    "ishr": _unit("ishr", 0, commutes=False),
    "imax": _twice,
    "imin": _twice,
    "ior": _unit("ior", 0),
    "ixor": _unit("ixor", 0),
    "band": _logic("band", True),
    "bor": _logic("bor", False),
    "bnot": _bnot,
    "ieq": _truth(False),
    "ile": _truth(False),
    "ine": _truth(True),
    "ilt": _same(False),
    "wrap": _wrap,
}
"""What each operation may be replaced by; None: nothing simpler."""
