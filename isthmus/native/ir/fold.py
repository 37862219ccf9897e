"""Constant folding: what each operation of the scalar program does to constants, as IEEE and XLA have it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import no_type_check

import numpy as np


@no_type_check
def signed(x: int, width: int = 64) -> int:
    """`x` modulo 2^`width` as a signed integer."""
    x &= (1 << width) - 1
    return x - (1 << width) if x >> (width - 1) else x


@no_type_check
def single(x: float) -> float:
    """The nearest float32."""
    with np.errstate(over="ignore"):
        return float(np.float32(x))


@no_type_check
def wrapped(x: int, bits: int, is_signed: int) -> int:
    """`x` modulo 2^`bits`, signed or not."""
    x &= (1 << bits) - 1
    return x - (1 << bits) if is_signed and x >> (bits - 1) else x


@no_type_check
def divide_int(x: int, y: int) -> int:
    """Towards zero; −1 for y = 0, as XLA has it."""
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


@no_type_check
def _numpy(function: Callable) -> Callable:
    def run(*args):
        with np.errstate(all="ignore"):
            return float(function(*map(np.float64, args)))

    return run


@no_type_check
def _math(function: Callable) -> Callable:
    """`function` of the math module, NaN where that raises."""

    def run(*args):
        try:
            return function(*args)
        except (ValueError, OverflowError):
            return math.nan if function is not math.lgamma else math.inf

    return run


@no_type_check
def truncated(x: float, width: int) -> int:
    """Towards zero; the nearest integer there is where x is out of range, 0 for NaN."""
    if math.isnan(x):
        return 0
    limit = 1 << (width - 1)
    return -limit if x < -limit else limit - 1 if x >= limit else int(x)


@no_type_check
def _maximum(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) else max(x, y)


@no_type_check
def _minimum(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) else min(x, y)


ANY: dict[str, Callable] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": _numpy(np.divide),
    "neg": lambda x: -x,
    "abs": abs,
    "max": _maximum,
    "min": _minimum,
    "sqrt": _numpy(np.sqrt),
    "floor": _numpy(np.floor),
    "ceil": _numpy(np.ceil),
    "rint": _numpy(np.rint),
    "copysign": math.copysign,
    "round32": single,
    "feq": lambda x, y: x == y,
    "fne": lambda x, y: x != y,
    "flt": lambda x, y: x < y,
    "fle": lambda x, y: x <= y,
    "idiv": divide_int,
    "irem": lambda x, y: x if y == 0 else x - divide_int(x, y) * y,
    "iand": lambda x, y: x & y,
    "ior": lambda x, y: x | y,
    "ixor": lambda x, y: x ^ y,
    "imax": max,
    "imin": min,
    "ieq": lambda x, y: x == y,
    "ine": lambda x, y: x != y,
    "ilt": lambda x, y: x < y,
    "ile": lambda x, y: x <= y,
    "wrap": wrapped,
    "band": lambda x, y: x and y,
    "bor": lambda x, y: x or y,
    "bxor": lambda x, y: x != y,
    "bnot": lambda x: not x,
    "i2f": float,
    "b2i": int,
    "sin": _numpy(np.sin),
    "cos": _numpy(np.cos),
    "exp": _numpy(np.exp),
    "log": _numpy(np.log),
    "tanh": _numpy(np.tanh),
    "atan2": _numpy(np.arctan2),
    "logistic": _numpy(lambda x: np.exp(min(x, 0.0)) / (1.0 + np.exp(-abs(x)))),
    "tan": _numpy(np.tan),
    "asin": _numpy(np.arcsin),
    "acos": _numpy(np.arccos),
    "sinh": _numpy(np.sinh),
    "cosh": _numpy(np.cosh),
    "asinh": _numpy(np.arcsinh),
    "acosh": _numpy(np.arccosh),
    "atanh": _numpy(np.arctanh),
    "expm1": _numpy(np.expm1),
    "log1p": _numpy(np.log1p),
    "exp2": _numpy(np.exp2),
    "log2": _numpy(np.log2),
    "cbrt": _numpy(np.cbrt),
    "pow": _numpy(np.power),
    "fmod": _numpy(np.fmod),
    "erf": _math(math.erf),
    "erfc": _math(math.erfc),
    "lgamma": _math(math.lgamma),
}
"""What operations do to constants, whatever their width; results are rounded or wrapped later."""


@no_type_check
def by_width(width: int) -> dict[str, Callable]:
    """What the operations do that look at bits, for numbers of so many."""
    mask = (1 << width) - 1
    real, whole = (np.float64, np.int64) if width == 64 else (np.float32, np.int32)
    return {
        "iadd": lambda x, y: x + y,
        "isub": lambda x, y: x - y,
        "imul": lambda x, y: x * y,
        "iudiv": lambda x, y: -1 if y == 0 else (x & mask) // (y & mask),
        "iurem": lambda x, y: x if y == 0 else (x & mask) % (y & mask),
        "ishl": lambda x, y: x << y if 0 <= y < width else 0,
        "ishr": lambda x, y: (x & mask) >> y if 0 <= y < width else 0,
        "iashr": lambda x, y: x >> (y if 0 <= y < width else width - 1),
        "iult": lambda x, y: (x & mask) < (y & mask),
        "f2i": lambda x: truncated(x, width),
        "bits": lambda x: int(real(x).view(whole)),
        "unbits": lambda x: float(whole(x).view(real)),
        "nextafter": lambda x, y: float(np.nextafter(real(x), real(y))),
    }


FOLD = {width: ANY | by_width(width) for width in (64, 32)}
"""Width -> operation -> what it does to constants."""

KIND: dict[str, str] = {
    **dict.fromkeys(("feq", "fne", "flt", "fle", "ieq", "ine", "ilt", "ile", "iult"), "b"),
    **dict.fromkeys(("i2f", "unbits"), "f"),
    **dict.fromkeys(("f2i", "b2i", "bits", "wrap"), "i"),
}
"""The kind of a result where it is not that of the last operand."""
