"""Primitives that act entry by entry: arithmetic, comparisons, choices, functions, conversions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.ir.ops import FUNCTION
from isthmus.native.ir.program import Program
from isthmus.native.tracing.arrays import Array, Long
from isthmus.native.tracing.rules.indexing import replaced
from isthmus.native.tracing.trace import RULES, Trace, cost_of_entry, kind_of, rule

WRITTEN_OUT = 64
"""Elementary functions of so many entries are written out one by one."""


def entrywise(
    trace: Trace, scalar: Callable[..., int], shape: tuple[int, ...], kind: str, *arrays: Array
) -> Array:
    """`scalar` of the entries of `arrays` at each index; axes of length one, or missing, are shared."""
    if any(isinstance(a, Long) for a in arrays):
        zero, pick = trace.p.integer(0), trace.memory.pick

        def entry(a: Array, index: tuple[int, ...]) -> int:
            own = index[len(index) - len(a.shape) :]
            return pick(a, tuple(zero if n == 1 else i for i, n in zip(own, a.shape, strict=True)))

        return Long(shape, kind, lambda i: scalar(*(entry(a, i) for a in arrays)))
    spread: Any = lambda a: a if a.shape == shape else np.broadcast_to(cast(Any, a), shape)
    lists = [spread(a).ravel().tolist() for a in arrays]
    made = list(map(scalar, *lists))
    return np.array(made, dtype=np.int64).reshape(shape)


def in_a_loop(trace: Trace, eqn: Any, arrays: Sequence[Array]) -> bool:
    """Whether a function of many values is a loop over memory instead of being written out for each of them."""
    if math.prod(eqn.outvars[0].aval.shape) <= WRITTEN_OUT:
        return False
    if cost_of_entry(eqn.primitive.name) < FUNCTION or any(isinstance(a, Long) for a in arrays):
        return False
    return any(trace.p.constant(v) is None for a in arrays for v in cast(Any, a).ravel().tolist())


def elementwise(*names: str) -> Callable:
    """Registers `make(trace, equation) -> scalar function` for the primitives `names`."""

    def register(make: Callable[[Trace, Any], Callable[..., int]]) -> Callable:
        @rule(*names, long=True)
        def run(trace: Trace, eqn: Any, *arrays: Array) -> list[Array]:
            kind = kind_of(eqn.outvars[0].aval.dtype)
            if kind is None:
                raise NotTranslatable(f"{eqn.primitive.name} of {eqn.outvars[0].aval.dtype}")
            shape = tuple(eqn.outvars[0].aval.shape)
            if in_a_loop(trace, eqn, arrays):
                made = entrywise(
                    trace, make(trace, eqn), shape, kind, *map(trace.memory.long, arrays)
                )
                return [trace.memory.settled(made)]
            return [entrywise(trace, make(trace, eqn), shape, kind, *arrays)]

        return make

    return register


def unsigned_max(p: Program, x: int, y: int) -> int:
    """The larger of two unsigned integers."""
    return p.select(p.op("iult", x, y), y, x)


def unsigned_min(p: Program, x: int, y: int) -> int:
    """The smaller of two unsigned integers."""
    return p.select(p.op("iult", y, x), y, x)


UNSIGNED: dict[str, Callable[..., int]] = {
    "idiv": lambda p, x, y: p.op("iudiv", x, y),
    "irem": lambda p, x, y: p.op("iurem", x, y),
    "imax": unsigned_max,
    "imin": unsigned_min,
}
"""Operations on integers that differ where the first bit is no sign."""


def by_kind(name: str, f: str = "", i: str = "", b: str = "", fits: bool = True) -> None:
    """A primitive that is one operation for each kind of operand."""

    @elementwise(name)
    def make(trace: Trace, eqn: Any) -> Callable[..., int]:
        op = {"f": f, "i": i, "b": b}.get(kind_of(eqn.invars[0].aval.dtype) or "", "")
        if not op:
            raise NotTranslatable(f"{name} of {eqn.invars[0].aval.dtype}")
        dtype = eqn.outvars[0].aval.dtype
        if trace.full(eqn.invars[0].aval.dtype) and op in UNSIGNED:
            return functools.partial(UNSIGNED[op], trace.p)
        if fits and dtype != np.bool_ and 8 * np.dtype(dtype).itemsize < trace.p.width:
            return lambda *x: trace.fit(trace.p.op(op, *x), dtype)
        return functools.partial(trace.p.op, op)


by_kind("add", "add", "iadd")
by_kind("sub", "sub", "isub")
by_kind("mul", "mul", "imul")
by_kind("div", "div", "idiv")
by_kind("rem", "fmod", "irem")
by_kind("max", "max", "imax", "bor")
by_kind("min", "min", "imin", "band")
by_kind("ne", "fne", "ine", "bxor")
by_kind("and", i="iand", b="band")
by_kind("or", i="ior", b="bor")
by_kind("xor", i="ixor", b="bxor")
for (
    _name
) in """sin cos tan asin acos atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log1p log2
sqrt cbrt logistic erf erfc lgamma floor ceil""".split():
    by_kind(_name, _name)
by_kind("nextafter", "nextafter", fits=False)


@rule("add_any", long=True)
def accumulate(trace: Trace, eqn: Any, x: Array, y: Array) -> list[Array]:
    """A sum; one part of a long array changed in an array of zeros is added to that part alone."""
    p = trace.p
    for a, c in ((x, y), (y, x)):
        patch = a.patch if isinstance(a, Long) else None
        if isinstance(c, Long) and patch is not None and patch.base.everywhere == p.zero:
            combine = lambda old, new, patch=patch: p.op("add", old, patch.combine(p.zero, new))
            return [replaced(trace, c, (patch.start, patch.update, combine, patch.valid))]
    return RULES["add"](trace, eqn, x, y)


@elementwise("eq")
def equal(trace: Trace, eqn: Any) -> Callable[..., int]:
    """Truths are equal where their exclusive or fails."""
    p, kind = trace.p, kind_of(eqn.invars[0].aval.dtype)
    if kind == "b":
        return lambda x, y: p.op("bnot", p.op("bxor", x, y))
    return lambda x, y: p.op("feq" if kind == "f" else "ieq", x, y)


@elementwise("lt", "le", "gt", "ge")
def compare(trace: Trace, eqn: Any) -> Callable[..., int]:
    """`gt` and `ge` are `lt` and `le` with the operands exchanged."""
    p, name, dtype = trace.p, eqn.primitive.name, eqn.invars[0].aval.dtype
    kind = kind_of(dtype)
    op = f"l{name[1]}"
    swap = name[0] == "g"
    widen = (lambda x: p.op("b2i", x)) if kind == "b" else lambda x: x

    def scalar(x: int, y: int) -> int:
        x, y = (widen(y), widen(x)) if swap else (widen(x), widen(y))
        if trace.full(dtype):
            below = p.op("iult", y, x) if op == "le" else p.op("iult", x, y)
            return p.op("bnot", below) if op == "le" else below
        return p.op(("f" if kind == "f" else "i") + op, x, y)

    return scalar


@elementwise("neg")
def negative(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    if kind_of(dtype) == "f":
        return lambda x: p.op("neg", x)
    return lambda x: trace.fit(p.op("isub", p.integer(0), x), dtype)


@elementwise("abs")
def absolute(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    if kind_of(dtype) == "f":
        return lambda x: p.op("abs", x)
    if np.dtype(dtype).kind == "u":
        return lambda x: x
    return lambda x: trace.fit(p.op("imax", x, p.op("isub", p.integer(0), x)), dtype)


@elementwise("sign")
def sign(trace: Trace, eqn: Any) -> Callable[..., int]:
    """−1, 0 or 1; NaN and signed zeros pass through."""
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    if np.dtype(dtype).kind == "u":
        return lambda x: p.op("b2i", p.op("ine", x, p.integer(0)))
    if kind_of(dtype) == "i":
        one = p.integer(1)
        return lambda x: p.op("imax", p.op("imin", x, one), p.integer(-1))

    def scalar(x: int) -> int:
        plain = p.op("fne", p.op("abs", x), p.zero)
        number = p.op("feq", x, x)
        return p.select(p.op("band", plain, number), p.op("copysign", p.one, x), x)

    return scalar


@elementwise("not")
def invert(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    if kind_of(dtype) == "b":
        return lambda x: p.op("bnot", x)
    return lambda x: trace.fit(p.op("ixor", x, p.integer(-1)), dtype)


@elementwise("select_n")
def select(trace: Trace, eqn: Any) -> Callable[..., int]:
    p = trace.p
    if kind_of(eqn.invars[0].aval.dtype) == "b":
        return lambda c, *cases: p.select(c, cases[-1], cases[0])

    def scalar(c: int, *cases: int) -> int:
        chosen = cases[-1]
        for k in range(len(cases) - 2, -1, -1):
            chosen = p.select(p.op("ieq", c, p.integer(k)), cases[k], chosen)
        return chosen

    return scalar


@elementwise("clamp")
def clamp(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    if trace.full(dtype):
        return lambda a, x, b: unsigned_min(p, unsigned_max(p, x, a), b)
    low, high = ("max", "min") if kind_of(dtype) == "f" else ("imax", "imin")
    return lambda a, x, b: p.op(high, p.op(low, x, a), b)


@elementwise("is_finite")
def is_finite(trace: Trace, eqn: Any) -> Callable[..., int]:
    p = trace.p
    return lambda x: p.op("flt", p.op("abs", x), p.const(math.inf))


@elementwise("integer_pow")
def integer_power(trace: Trace, eqn: Any) -> Callable[..., int]:
    """By squaring; a negative power is the reciprocal."""
    p, y, kind = trace.p, eqn.params["y"], kind_of(eqn.outvars[0].aval.dtype)
    mul = "mul" if kind == "f" else "imul"

    def scalar(x: int) -> int:
        result, square, n = None, x, abs(y)
        while n:
            if n & 1:
                result = square if result is None else p.op(mul, result, square)
            n >>= 1
            if n:
                square = p.op(mul, square, square)
        if result is None:
            result = p.const(1, kind or "f")
        return trace.fit(p.op("div", p.one, result) if y < 0 else result, eqn.outvars[0].aval.dtype)

    return scalar


@elementwise("square")
def square(trace: Trace, eqn: Any) -> Callable[..., int]:
    dtype = eqn.outvars[0].aval.dtype
    op = "mul" if kind_of(dtype) == "f" else "imul"
    return lambda x: trace.fit(trace.p.op(op, x, x), dtype)


@elementwise("one_minus_square")
def one_minus_square(trace: Trace, eqn: Any) -> Callable[..., int]:
    """1 − x² as (1 − x)(1 + x), which is exact near 1; a primitive since JAX 0.12."""
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    minus, plus = (lambda x: p.op("sub", p.one, x)), (lambda x: p.op("add", p.one, x))
    return lambda x: trace.fit(p.op("mul", minus(x), plus(x)), dtype)


@elementwise("rsqrt")
def rsqrt(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    return lambda x: trace.fit(p.op("div", p.one, p.op("sqrt", x)), dtype)


@elementwise("atan")
def arctangent(trace: Trace, eqn: Any) -> Callable[..., int]:
    p = trace.p
    return lambda x: p.op("atan2", x, p.one)


@elementwise("pow")
def power(trace: Trace, eqn: Any) -> Callable[..., int]:
    """An exponent that is a small constant integer, or a half, needs no logarithm."""
    p, dtype = trace.p, eqn.outvars[0].aval.dtype

    def whole(x: int, n: int) -> int:
        result = x
        for _ in range(n - 1):
            result = p.op("mul", result, x)
        return result

    def scalar(x: int, y: int) -> int:
        if p.kinds[y] == "i":
            y = p.op("i2f", y)
        known = p.constant(y)
        if known is not None and known in (1.0, 2.0, 3.0, 4.0):
            return trace.fit(whole(x, int(known)), dtype)
        if known == 0.0:
            return p.one
        if known == -1.0:
            return trace.fit(p.op("div", p.one, x), dtype)
        return trace.fit(p.op("pow", x, y), dtype)

    return scalar


@elementwise("round")
def nearest(trace: Trace, eqn: Any) -> Callable[..., int]:
    """Halves away from zero (method 0) or to even (method 1)."""
    p = trace.p
    if int(eqn.params["rounding_method"]) == 1:
        return lambda x: p.op("rint", x)

    def scalar(x: int) -> int:
        size = p.op("abs", x)
        down = p.op("floor", size)
        up = p.op("fle", p.const(0.5), p.op("sub", size, down))
        return p.op("copysign", p.select(up, p.op("add", down, p.one), down), x)

    return scalar


@elementwise("shift_left", "shift_right_logical", "shift_right_arithmetic")
def shift(trace: Trace, eqn: Any) -> Callable[..., int]:
    p, name, dtype = trace.p, eqn.primitive.name, np.dtype(eqn.outvars[0].aval.dtype)
    if name == "shift_left":
        return lambda x, n: trace.fit(p.op("ishl", x, n), dtype)
    if name == "shift_right_arithmetic":
        return lambda x, n: trace.fit(p.op("iashr", x, n), dtype)
    plain = np.dtype(f"u{dtype.itemsize * 8 // 8}")
    return lambda x, n: trace.fit(p.op("ishr", trace.fit(x, plain), n), dtype)


@elementwise("copy", "copy_p", "stop_gradient", "real")
def same(trace: Trace, eqn: Any) -> Callable[..., int]:
    return lambda x: x


@rule(
    "optimization_barrier",
    "name",
    "pvary",
    "device_put",
    "sharding_constraint",
    long=True,
    free=True,
)
def barrier(trace: Trace, eqn: Any, *arrays: Array) -> list[Array]:
    """Recomputation is decided here, not by a barrier."""
    return list(arrays)
