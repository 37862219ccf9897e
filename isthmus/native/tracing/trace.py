"""Equations of JAX -> operations of a scalar program, by the rules that are registered here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex_core

from isthmus.errors import BadOption, NotTranslatable
from isthmus.native.ir.ops import OPS
from isthmus.native.ir.program import Program
from isthmus.native.tracing.arrays import HEAVY, Array, Long, Memory, TooLarge

Rule = Callable[..., list]
RULES: dict[str, Rule] = {}
"""Primitive name -> its rule: `rule(trace, equation, *arrays) -> arrays`."""
LONG: set[str] = set()
"""Primitives whose rules take long arrays as they are; others get values."""
FREE: set[str] = set()
"""Primitives that only move entries, and count as no operation."""

INPUT_VALUES = 1024
"""Inputs with at most this many entries are read entry by entry where they are used."""
LITERAL_VALUES = 4096
"""Constants with at most this many entries are values, whose zeros and ones fold away."""
DONE_BY = {"atan": "atan2", "rsqrt": "sqrt", "rem": "fmod"}
"""Primitives that take as long as an operation of another name."""


INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr", "cond_jaxpr", "body_jaxpr")
"""Where equations keep the equations inside them."""


def rule(*names: str, long: bool = False, free: bool = False) -> Callable[[Rule], Rule]:
    """Registers the rule of the primitives `names`, of which each has one."""

    def register(function: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"the primitive {name!r} has a rule already.")
            RULES[name] = function
            if long:
                LONG.add(name)
            if free:
                FREE.add(name)
        return function

    return register


def kind_of(dtype: Any) -> str | None:
    """`f`, `i` or `b`; None for what has no place in a program."""
    dtype = np.dtype(dtype) if not jax.dtypes.issubdtype(dtype, jax.dtypes.extended) else None
    if dtype is None:
        return None
    if dtype in (np.bool_, jax.dtypes.float0):  # the latter: derivatives by booleans, never read
        return "b"
    if dtype.kind in "iu":
        return "i"
    return "f" if dtype in (np.float64, np.float32) else None


def width_of(leaves: Sequence[Any]) -> int:
    """32 if there are arrays of floats and all of them are float32, else 64; Python's numbers do not count."""
    arrays = [x for x in leaves if isinstance(x, (np.ndarray, np.generic, jax.Array))]
    floats = {x.dtype.name for x in arrays if jax.dtypes.issubdtype(x.dtype, np.floating)}
    return 32 if floats == {"float32"} else 64


def example_array(x: Any, width: int = 64) -> np.ndarray:
    """An example or argument as NumPy: floats of `width` bits, integers as they are but of `width` bits at most."""
    array = np.asarray(x)
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        return array.astype(f"f{width // 8}", copy=False)
    if array.dtype.kind in "iu":
        size = min(array.dtype.itemsize, width // 8)
        return fitting(array, np.dtype(f"{array.dtype.kind}{size}"))
    if array.dtype.kind == "b":
        return array
    raise NotTranslatable(f"an array of dtype {array.dtype}")


def fitting(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Integers in another type; refused if one of them does not fit into it."""
    if x.dtype == dtype or np.can_cast(x.dtype, dtype, "safe"):
        return x.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    if x.size and (int(x.min()) < limits.min or int(x.max()) > limits.max):
        worst = max((int(x.min()), int(x.max())), key=abs)
        raise BadOption(f"{worst} does not fit into {dtype}, for which the function was compiled.")
    return x.astype(dtype)


class Trace:
    """Translates equations into a program; rules call back into it."""

    def __init__(self, strict: bool = False, width: int = 64) -> None:
        self.p = Program(strict, width)
        self.memory = Memory(self.p)
        self.counted = 0
        """Scalar operations of the equations as they stand, before anything is pruned."""

    # numbers

    def literal(self, value: Any) -> Array:
        """A constant of the traced program; large ones stay in memory."""
        array = np.asarray(value)
        kind = kind_of(array.dtype)
        if array.dtype == jax.dtypes.float0:
            array = np.zeros(array.shape, np.bool_)
        if kind is None:
            raise NotTranslatable(f"a constant of dtype {array.dtype}")
        if kind == "f":
            array = array.astype(f"f{self.p.width // 8}", copy=False)
        elif kind == "i":
            array = self.signed(array)
        flat = array.ravel().tolist()
        if len(flat) > LITERAL_VALUES and len(set(flat)) > 1:
            p = self.p
            data = tuple(map(float, flat)) if kind == "f" else tuple(map(int, flat))
            return self.memory.whole(
                array.shape, p.buffer(f"k{len(p.buffers)}", "const", len(flat), kind, data=data)
            )
        if flat and len(flat) > LITERAL_VALUES:
            return self.memory.filled(array.shape, self.p.const(flat[0], kind))
        ids = [self.p.const(v, kind) for v in flat]
        return np.array(ids, dtype=np.int64).reshape(array.shape)

    def fit(self, value: int, dtype: Any) -> int:
        """`value` rounded or wrapped into `dtype`."""
        dtype = np.dtype(dtype)
        if 8 * dtype.itemsize >= self.p.width:
            return value
        if dtype == np.float32:
            return self.p.op("round32", value)
        if dtype.kind in "iu":
            bits, is_signed = self.p.integer(8 * dtype.itemsize), self.p.integer(dtype.kind == "i")
            return self.p.op("wrap", value, bits, is_signed)
        return value

    def signed(self, array: np.ndarray) -> np.ndarray:
        """Integers as the program holds them, in which the first bit of the largest unsigned ones is a sign."""
        if array.dtype.itemsize * 8 > self.p.width:
            array = fitting(array, np.dtype(f"{array.dtype.kind}{self.p.width // 8}"))
        return array.view(f"i{self.p.width // 8}") if self.full(array.dtype) else array

    def full(self, dtype: Any) -> bool:
        """An unsigned `dtype` that fills the integers of the program, whose sign then is just a bit."""
        return np.dtype(dtype).kind == "u" and 8 * np.dtype(dtype).itemsize >= self.p.width

    def input(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """A fresh input array; few entries as values, many in memory."""
        kind = kind_of(dtype)
        if kind is None:
            raise NotTranslatable(f"an argument of dtype {dtype}")
        buffer = self.p.buffer(name, "in", math.prod(shape), kind)
        whole = self.memory.whole(shape, buffer)
        return self.memory.values(whole) if buffer.size <= INPUT_VALUES else whole

    # equations

    def closed(self, closed: Any, arrays: Sequence[Array]) -> list[Array]:
        """Runs a closed jaxpr (or one without constants)."""
        if isinstance(closed, jex_core.ClosedJaxpr):
            return self.run(closed.jaxpr, [self.literal(c) for c in closed.consts], arrays)
        return self.run(closed, [], arrays)

    def run(self, jaxpr: Any, consts: Sequence[Array], arrays: Sequence[Array]) -> list[Array]:
        """Translates `jaxpr` applied to `arrays`."""
        env: dict[Any, Array] = {}
        env.update(zip(jaxpr.constvars, consts, strict=True))

        uses: Counter = Counter()

        def bind(var: Any, array: Array) -> Array:
            if isinstance(array, Long) and array.work > HEAVY:
                if not uses:
                    read_by = [*(v for e in jaxpr.eqns for v in e.invars), *jaxpr.outvars]
                    uses.update(v for v in read_by if not isinstance(v, jex_core.Literal))
                return self.memory.ready(array) if uses[var] > 1 else array
            return array

        env.update((v, bind(v, x)) for v, x in zip(jaxpr.invars, arrays, strict=True))

        def read(var: Any) -> Array:
            return self.literal(var.val) if isinstance(var, jex_core.Literal) else env[var]

        outer = self.p.origin
        for eqn in jaxpr.eqns:
            self.p.origin = self.p.places.number(eqn, outer)
            name = eqn.primitive.name
            ins = [read(v) for v in eqn.invars]
            try:
                outs = self.apply(name, eqn, ins)
            except TooLarge as large:
                raise NotTranslatable(name, source_line(eqn), str(large)) from None
            except NotTranslatable as unknown:
                if unknown.where:
                    raise
                raise NotTranslatable(unknown.primitive, source_line(eqn)) from None
            env.update((v, bind(v, x)) for v, x in zip(eqn.outvars, outs, strict=True))
        self.p.origin = outer
        return [read(v) for v in jaxpr.outvars]

    def apply(self, name: str, eqn: Any, ins: list[Array]) -> list[Array]:
        """One equation: its rule, or the jaxpr that it wraps."""
        if all(0 in v.aval.shape for v in eqn.outvars):
            return [np.zeros(v.aval.shape, dtype=np.int64) for v in eqn.outvars]
        if name in RULES:
            if name not in LONG:
                ins = [self.memory.values(x) for x in ins]
            if name not in FREE:
                self.counted += cost(eqn)
            outs = RULES[name](self, eqn, *ins)
            weigh(name, ins, outs)
            return outs if name == "scan" else [self.memory.tidy(x) for x in outs]
        for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
            if key in eqn.params:
                return self.closed(eqn.params[key], ins)
        raise NotTranslatable(name)


def weigh(name: str, ins: Sequence[Array], outs: Sequence[Array]) -> None:
    """Tells long results how many operations an entry takes, and whether their rows are ragged."""
    lazy = [x for x in outs if isinstance(x, Long) and x.view is None and x.everywhere is None]
    if not lazy:
        return
    given = [x for x in ins if isinstance(x, Long)]
    work = sum(x.work for x in given) + (0 if name in FREE else cost_of_entry(name))
    for x in lazy:
        x.work = max(x.work, work)
        x.ragged = x.ragged or any(y.ragged for y in given)


def cost_of_entry(primitive: str) -> int:
    """About how long one entry of a primitive's result takes, in sums."""
    op = OPS.get(DONE_BY.get(primitive, primitive))
    return 1 if op is None else op.cost


def cost(eqn: Any) -> int:
    """Scalar operations of one equation, were every entry computed."""
    size = sum(math.prod(v.aval.shape) for v in eqn.outvars)
    name = eqn.primitive.name
    if name == "dot_general":
        (contract, _), _ = eqn.params["dimension_numbers"]
        return size * max(1, 2 * math.prod(eqn.invars[0].aval.shape[k] for k in contract) - 1)
    if name.startswith("reduce_"):
        return math.prod(eqn.invars[0].aval.shape)
    if name in ("scan", "while", "cond"):
        return 0
    if name in ("cholesky", "lu", "triangular_solve"):
        return size * eqn.invars[0].aval.shape[-1]
    return size


def source_line(eqn: Any) -> str:
    """`file.py:12 (function)` of the user code behind an equation, or nothing."""
    try:
        from jax._src import source_info_util

        return source_info_util.summarize(eqn.source_info)
    except (ImportError, AttributeError):
        return ""
