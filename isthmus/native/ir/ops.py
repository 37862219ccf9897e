"""The operations of the scalar program: one table says all that is true of them on every target.

How an operation is written is the business of each target, which has one table of its own; statements
(loads, stores, products, loops, branches) are not operations.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from isthmus.native.ir import identities as rules
from isthmus.native.ir import intervals
from isthmus.native.ir.fold import (
    by_math,
    by_numpy,
    by_width,
    divide,
    maximum,
    minimum,
    nearest_single,
    truncated,
    wrapped,
)

Fold = Callable[..., float]
"""Constants -> the constant that the operation makes of them."""


@dataclasses.dataclass(frozen=True)
class Op:
    """What is true of an operation, whoever writes it."""

    fold: Fold | dict[int, Fold] | None = None
    """What it does to constants, as IEEE and XLA have it; by the width of numbers where bits matter."""
    kind: str | None = None
    """Kind of the result; None: that of the last operand."""
    identity: rules.Identity | None = None
    """Finds a simpler value that is equal."""
    interval: intervals.Rule | None = None
    """Smallest and largest result, from those of its operands."""
    cost: int = 1
    """Time it takes, in sums."""
    floating: bool = False
    """Counts as a floating-point operation."""
    again: int | None = None
    """What it costs to compute again instead of storing the result; None: too much."""
    index: bool = False
    """Makes an index that all worlds share from indices that they share."""

    def folds(self, width: int) -> Fold | None:
        """What it does to constants of `width` bits."""
        return self.fold[width] if isinstance(self.fold, dict) else self.fold


FUNCTION = 12
"""Time that an elementary function, a division or a root takes, in sums."""


real = functools.partial(Op, floating=True)
function = functools.partial(Op, floating=True, cost=FUNCTION)
comparison = functools.partial(Op, kind="b")

OPS: dict[str, Op] = {
    # floats
    "add": real(lambda x, y: x + y, identity=rules.add, again=1),
    "sub": real(lambda x, y: x - y, identity=rules.sub, again=1),
    "mul": real(lambda x, y: x * y, identity=rules.mul, again=1),
    "div": function(by_numpy(np.divide), identity=rules.div),
    "fma": real(None),
    "neg": real(lambda x: -x, identity=rules.neg, again=1),
    "abs": real(abs, identity=rules.even("abs"), again=1),
    "max": real(maximum, identity=rules.of_equals),
    "min": real(minimum, identity=rules.of_equals),
    "copysign": real(math.copysign, again=1),
    "sqrt": function(by_numpy(np.sqrt)),
    "floor": real(by_numpy(np.floor)),
    "ceil": real(by_numpy(np.ceil)),
    "rint": real(by_numpy(np.rint)),
    "round32": real(nearest_single),
    "nextafter": real(by_width(lambda t, x, y: float(np.nextafter(t.real(x), t.real(y))))),
    "fmod": function(by_numpy(np.fmod)),
    # comparisons of floats
    "feq": comparison(lambda x, y: x == y, again=1),
    "fne": comparison(lambda x, y: x != y, again=1),
    "flt": comparison(lambda x, y: x < y, again=1),
    "fle": comparison(lambda x, y: x <= y, again=1),
    # any kind
    "select": Op(identity=rules.select, interval=intervals.select, again=1),
    # integers
    "iadd": Op(lambda x, y: x + y, None, rules.iadd, intervals.add, again=0, index=True),
    "isub": Op(lambda x, y: x - y, None, rules.isub, intervals.sub, again=0, index=True),
    "imul": Op(lambda x, y: x * y, None, rules.imul, intervals.mul, again=0, index=True),
    "idiv": Op(divide, None, rules.right_unit(1), intervals.quotient, index=True),
    "irem": Op(
        lambda x, y: x if y == 0 else x - divide(x, y) * y,
        interval=intervals.remainder,
        index=True,
    ),
    "iudiv": Op(by_width(lambda t, x, y: -1 if y == 0 else t.unsigned(x) // t.unsigned(y))),
    "iurem": Op(by_width(lambda t, x, y: x if y == 0 else t.unsigned(x) % t.unsigned(y))),
    "imax": Op(max, None, rules.of_equals, intervals.larger, index=True),
    "imin": Op(min, None, rules.of_equals, intervals.smaller, index=True),
    "iand": Op(lambda x, y: x & y),
    "ior": Op(lambda x, y: x | y, identity=rules.unit("ior", 0)),
    "ixor": Op(lambda x, y: x ^ y, identity=rules.unit("ixor", 0)),
    "ishl": Op(
        by_width(lambda t, x, n: x << n if 0 <= n < t.width else 0), identity=rules.right_unit(0)
    ),
    "ishr": Op(
        by_width(lambda t, x, n: t.unsigned(x) >> n if 0 <= n < t.width else 0),
        identity=rules.right_unit(0),
    ),
    "iashr": Op(by_width(lambda t, x, n: x >> (n if 0 <= n < t.width else t.width - 1))),
    "wrap": Op(wrapped, "i", rules.wrap, intervals.wrap),
    # comparisons of integers
    "ieq": comparison(lambda x, y: x == y, identity=rules.truth(False)),
    "ine": comparison(lambda x, y: x != y, identity=rules.truth(True)),
    "ilt": comparison(lambda x, y: x < y, identity=rules.of_equals_is(False)),
    "ile": comparison(lambda x, y: x <= y, identity=rules.truth(False)),
    "iult": comparison(by_width(lambda t, x, y: t.unsigned(x) < t.unsigned(y))),
    # truths
    "band": Op(lambda x, y: x and y, identity=rules.logic("band", True), again=1),
    "bor": Op(lambda x, y: x or y, identity=rules.logic("bor", False), again=1),
    "bxor": Op(lambda x, y: x != y),
    "bnot": Op(lambda x: not x, identity=rules.bnot, again=1),
    # from one kind to another
    "i2f": Op(float, "f", again=1),
    "f2i": Op(by_width(lambda t, x: truncated(x, t.width)), "i"),
    "b2i": Op(int, "i", interval=intervals.truth, again=1),
    "bits": Op(by_width(lambda t, x: int(t.real(x).view(t.whole))), "i"),
    "unbits": Op(by_width(lambda t, x: float(t.whole(x).view(t.real))), "f"),
    # elementary functions
    "sin": function(by_numpy(np.sin), identity=rules.odd("sin")),
    "cos": function(by_numpy(np.cos), identity=rules.even("cos")),
    "tan": function(by_numpy(np.tan)),
    "asin": function(by_numpy(np.arcsin)),
    "acos": function(by_numpy(np.arccos)),
    "atan2": function(by_numpy(np.arctan2)),
    "sinh": function(by_numpy(np.sinh)),
    "cosh": function(by_numpy(np.cosh)),
    "tanh": function(by_numpy(np.tanh), identity=rules.odd("tanh")),
    "asinh": function(by_numpy(np.arcsinh)),
    "acosh": function(by_numpy(np.arccosh)),
    "atanh": function(by_numpy(np.arctanh)),
    "exp": function(by_numpy(np.exp)),
    "exp2": function(by_numpy(np.exp2)),
    "expm1": function(by_numpy(np.expm1)),
    "log": function(by_numpy(np.log)),
    "log2": function(by_numpy(np.log2)),
    "log1p": function(by_numpy(np.log1p)),
    "logistic": function(by_numpy(lambda x: np.exp(min(x, 0.0)) / (1.0 + np.exp(-abs(x))))),
    "cbrt": function(by_numpy(np.cbrt)),
    "pow": function(by_numpy(np.power)),
    "erf": function(by_math(math.erf)),
    "erfc": function(by_math(math.erfc)),
    "lgamma": function(by_math(math.lgamma)),
    # (x, plain): `plain`, or what libm says where |x| is too large for it; `passes/lower.py` makes them
    "sin_huge": Op(),
    "cos_huge": Op(),
    "tan_huge": Op(),
}
