"""Expressions of C-like text: how tightly they hold together, and constants."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from isthmus.native.ir.program import Plain

ATOM, UNARY, PRODUCT, SUM, LOOSE = range(5)
"""How tightly an expression holds together; the outermost operator decides."""


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
