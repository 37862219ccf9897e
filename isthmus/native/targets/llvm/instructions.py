"""How each operation of the scalar program is written as LLVM instructions."""

from __future__ import annotations

from collections.abc import Callable

from isthmus.native.passes.functions.formats import FORMATS
from isthmus.native.targets.llvm.lines import Lines

Write = Callable[[Lines, int, tuple[int, ...], bool], None]
"""(lines, value, operands, whether they are vectors) writes the instructions of one value."""


def intrinsic(e: Lines, name: str, count: int, vector: bool, kind: str = "f") -> str:
    """The name of an LLVM intrinsic on `count` operands, declared."""
    short = f"{kind}{e.width}"
    full = f"@llvm.{name}." + (f"v{e.lanes}{short}" if vector else short)
    whole = e.type(kind, vector)
    e.declare(full, f"declare {whole} {full}({', '.join([whole] * count)})")
    return full


def plain(text: str) -> Write:
    """An instruction with two operands of the same type."""

    def write(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
        kind = e.type(e.p.kinds[args[0]], vector)
        e.define(value, f"{text} {kind} {e.ref(args[0], vector)}, {e.ref(args[1], vector)}")

    return write


def call(name: str, count: int, kind: str = "f") -> Write:
    """An intrinsic on operands of one type."""

    def write(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
        whole = e.type(kind, vector)
        refs = ", ".join(f"{whole} {e.ref(a, vector)}" for a in args)
        e.define(value, f"call {whole} {intrinsic(e, name, count, vector, kind)}({refs})")

    return write


def cast(text: str, target: str) -> Write:
    """A conversion to another kind."""

    def write(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
        source = e.type(e.p.kinds[args[0]], vector)
        e.define(value, f"{text} {source} {e.ref(args[0], vector)} to {e.type(target, vector)}")

    return write


def negate(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
    e.define(value, f"fneg {e.type('f', vector)} {e.ref(args[0], vector)}")


def select(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
    kind, truth = e.type(e.p.kinds[value], vector), e.type("b", vector)
    c, x, y = (e.ref(a, vector) for a in args)
    e.define(value, f"select {truth} {c}, {kind} {x}, {kind} {y}")


def invert(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
    yes = e.ref(e.p.const(True, "b"), vector)
    e.define(value, f"xor {e.type('b', vector)} {e.ref(args[0], vector)}, {yes}")


def round32(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
    wide = e.type("f", vector)
    narrow = f"<{e.lanes} x float>" if vector else "float"
    short = e.temp(f"fptrunc {wide} {e.ref(args[0], vector)} to {narrow}")
    e.define(value, f"fpext {narrow} {short} to {wide}")


def to_integer(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
    """Towards zero; the nearest integer there is where x is out of range, 0 for NaN."""
    many = f"v{e.lanes}" if vector else ""
    short = f"{many}i{e.width}.{many}f{e.width}"
    name = f"@llvm.fptosi.sat.{short}"
    out, source = e.type("i", vector), e.type("f", vector)
    e.declare(name, f"declare {out} {name}({source})")
    e.define(value, f"call {out} {name}({source} {e.ref(args[0], vector)})")


def divide(text: str) -> Write:
    """Integer division that never traps: x/0 = −1 and x rem 0 = x, as XLA has it."""

    def write(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
        kind, truth = e.type("i", vector), e.type("b", vector)
        x, y = (e.ref(a, vector) for a in args)
        known = e.p.constant(args[1])
        if known is not None and known not in (0, -1):
            e.define(value, f"{text} {kind} {x}, {y}")
            return
        zero, one, less = (e.ref(e.p.integer(k), vector) for k in (0, 1, -1))
        none = e.temp(f"icmp eq {kind} {y}, {zero}")
        odd = none
        if text[0] == "s":
            flip = e.temp(f"icmp eq {kind} {y}, {less}")
            odd = e.temp(f"or {truth} {none}, {flip}")
        safe = e.temp(f"select {truth} {odd}, {kind} {one}, {kind} {y}")
        plain_result = e.temp(f"{text} {kind} {x}, {safe}")
        if text == "sdiv":
            minus = e.temp(f"sub {kind} {zero}, {x}")
            some = e.temp(f"select {truth} {flip}, {kind} {minus}, {kind} {plain_result}")
            e.define(value, f"select {truth} {none}, {kind} {less}, {kind} {some}")
        elif text == "udiv":
            e.define(value, f"select {truth} {none}, {kind} {less}, {kind} {plain_result}")
        elif text == "srem":
            some = e.temp(f"select {truth} {flip}, {kind} {zero}, {kind} {plain_result}")
            e.define(value, f"select {truth} {none}, {kind} {x}, {kind} {some}")
        else:
            e.define(value, f"select {truth} {none}, {kind} {x}, {kind} {plain_result}")

    return write


def shift(text: str) -> Write:
    """A shift by all bits or more gives what is left: zero, or the sign."""

    def write(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
        kind, truth = e.type("i", vector), e.type("b", vector)
        x, n = (e.ref(a, vector) for a in args)
        known = e.p.constant(args[1])
        if known is not None and 0 <= known < e.width:
            e.define(value, f"{text} {kind} {x}, {n}")
            return
        last = e.ref(e.p.integer(e.width - 1), vector)
        inside = e.temp(f"icmp ule {kind} {n}, {last}")
        safe = e.temp(f"select {truth} {inside}, {kind} {n}, {kind} {last}")
        moved = e.temp(f"{text} {kind} {x}, {safe}")
        zero = moved if text == "ashr" else e.ref(e.p.integer(0), vector)
        e.define(value, f"select {truth} {inside}, {kind} {moved}, {kind} {zero}")

    return write


def wrap(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
    """Keeps the low bits and extends them again, with or without sign."""
    bits, is_signed = (e.p.constant(a) for a in args[1:])
    kind = e.type("i", vector)
    narrow = f"<{e.lanes} x i{bits}>" if vector else f"i{bits}"
    short = e.temp(f"trunc {kind} {e.ref(args[0], vector)} to {narrow}")
    e.define(value, f"{'sext' if is_signed else 'zext'} {narrow} {short} to {kind}")


def outside(e: Lines, name: str, refs: list[str]) -> str:
    """A call of libm, in float64 whatever the program; the neighbour of a number depends on its format."""
    exact = e.width == 64 or name == "nextafter"
    real = e.scalar["f"] if exact else "double"
    name = f"{name}f" if exact and e.width == 32 else name
    e.declare(name, f"declare {real} @{name}({', '.join([real] * len(refs))}) #1")
    given = refs if exact else [e.temp(f"fpext float {r} to double") for r in refs]
    found = e.temp(f"call {real} @{name}({', '.join(f'{real} {r}' for r in given)})")
    return found if exact else e.temp(f"fptrunc double {found} to float")


def each_lane(e: Lines, name: str, refs: list[str], whole: str) -> str:
    """A function of libm, once for each lane; `whole`: what the lanes are written into."""
    kind = e.type("f", True)
    for k in range(e.lanes):
        one = outside(e, name, [e.temp(f"extractelement {kind} {r}, i64 {k}") for r in refs])
        whole = e.temp(f"insertelement {kind} {whole}, {e.scalar['f']} {one}, i64 {k}")
    return whole


def libm(name: str) -> Write:
    """A function of libm, lane by lane."""

    def write(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
        refs = [e.ref(a, vector) for a in args]
        found = each_lane(e, name, refs, "poison") if vector else outside(e, name, refs)
        kind = e.type("f", vector)
        e.define(value, f"select i1 true, {kind} {found}, {kind} {found}")

    return write


def huge(name: str) -> Write:
    """(x, plain): `plain`, but libm's answer in lanes where |x| is huge; that path is hardly ever taken."""

    def write(e: Lines, value: int, args: tuple[int, ...], vector: bool) -> None:
        kind = e.type("f", vector)
        xr, yr = (e.ref(a, vector) for a in args)
        size = e.temp(f"call {kind} {intrinsic(e, 'fabs', 1, vector)}({kind} {xr})")
        limit = e.ref(e.p.const(FORMATS[e.width].huge), vector)
        far = e.temp(f"fcmp ogt {kind} {size}, {limit}")
        some = e.any(far) if vector else far
        here, slow, after = e.label, e.new_label("huge"), e.new_label("near")
        e.lines.append(f"  br i1 {some}, label %{slow}, label %{after}, !prof !0")
        e.start(slow)
        whole = each_lane(e, name, [xr], yr) if vector else outside(e, name, [xr])
        if vector:
            whole = e.temp(f"select <{e.lanes} x i1> {far}, {kind} {whole}, {kind} {yr}")
        e.lines.append(f"  br label %{after}")
        e.start(after)
        e.define(value, f"phi {kind} [ {yr}, %{here} ], [ {whole}, %{slow} ]")

    return write


STEPWISE: dict[str, Write] = {
    **{name: libm(name) for name in ("fmod", "nextafter", "lgamma")},
    **{f"{name}_huge": huge(name) for name in ("sin", "cos", "tan")},
}
"""Operations that need a call for each lane."""

INSTRUCTIONS: dict[str, Write] = {
    **STEPWISE,
    "add": plain("fadd"),
    "sub": plain("fsub"),
    "mul": plain("fmul"),
    "div": plain("fdiv"),
    "neg": negate,
    "fma": call("fma", 3),
    "abs": call("fabs", 1),
    "max": call("maximum", 2),
    "min": call("minimum", 2),
    "sqrt": call("sqrt", 1),
    "floor": call("floor", 1),
    "ceil": call("ceil", 1),
    "rint": call("rint", 1),
    "copysign": call("copysign", 2),
    "round32": round32,
    "select": select,
    "feq": plain("fcmp oeq"),
    "fne": plain("fcmp une"),
    "flt": plain("fcmp olt"),
    "fle": plain("fcmp ole"),
    "iadd": plain("add"),
    "isub": plain("sub"),
    "imul": plain("mul"),
    "idiv": divide("sdiv"),
    "irem": divide("srem"),
    "iudiv": divide("udiv"),
    "iurem": divide("urem"),
    "iand": plain("and"),
    "ior": plain("or"),
    "ixor": plain("xor"),
    "imax": call("smax", 2, "i"),
    "imin": call("smin", 2, "i"),
    "ishl": shift("shl"),
    "ishr": shift("lshr"),
    "iashr": shift("ashr"),
    "ieq": plain("icmp eq"),
    "ine": plain("icmp ne"),
    "ilt": plain("icmp slt"),
    "ile": plain("icmp sle"),
    "iult": plain("icmp ult"),
    "wrap": wrap,
    "band": plain("and"),
    "bor": plain("or"),
    "bxor": plain("xor"),
    "bnot": invert,
    "i2f": cast("sitofp", "f"),
    "f2i": to_integer,
    "b2i": cast("zext", "i"),
    "bits": cast("bitcast", "i"),
    "unbits": cast("bitcast", "f"),
}
"""Operation -> how it is written."""
