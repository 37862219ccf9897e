"""A JAX function -> the scalar program: trace it in float64 or float32, then translate equation by equation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import isthmus.native.tracing.rules  # noqa: F401  the rules register themselves
from isthmus.errors import NotTranslatable
from isthmus.native.ir.program import Program
from isthmus.native.tracing.captured import widened
from isthmus.native.tracing.trace import INNER, RULES, Trace, kind_of, source_line


def refuse_unknown(jaxpr: Any, outer: str = "") -> None:
    """Names the first primitive without a rule, before any work is done."""
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        inner = [eqn.params[k] for k in INNER if k in eqn.params]
        inner.extend(eqn.params.get("branches", ()))
        where = source_line(eqn) or outer
        if name not in RULES and not inner:
            raise NotTranslatable(name, where)
        for part in inner:
            refuse_unknown(getattr(part, "jaxpr", part), where)


def trace_jaxpr(fn: Callable, examples: Sequence[Any], width: int = 64) -> tuple[Any, Any]:
    """The jaxpr of `fn` in numbers of `width` bits, whatever the user's setting, and the tree of its outputs."""
    with jax.enable_x64(width == 64):
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in examples]
        # a fresh function for each trace: JAX finds nothing of it in its caches, and leaves nothing there
        try:
            return jax.make_jaxpr(lambda *x: fn(*x), return_shape=True)(*shapes)
        except TypeError as mismatch:
            own: Any = getattr(fn, "widened", None)
            other = widened(fn, width) if own is None else own()
            if other is fn:
                raise
            try:
                return jax.make_jaxpr(lambda *x: other(*x), return_shape=True)(*shapes)
            except TypeError:
                raise mismatch from None


def translate(
    closed: Any,
    examples: Sequence[np.ndarray],
    static: Sequence[bool],
    strict: bool = False,
    width: int = 64,
) -> tuple[Program, int]:
    """The program of a closed jaxpr, static arguments baked in, and its count of operations unpruned.

    Input `k` is the buffer `in{k}` (none for a static one), output `k` the buffer `out{k}`.
    """
    refuse_unknown(closed.jaxpr)
    trace = Trace(strict, width)
    arrays = [
        trace.literal(x) if fixed else trace.input(f"in{k}", x.shape, x.dtype)
        for k, (x, fixed) in enumerate(zip(examples, static, strict=True))
    ]
    outs = trace.closed(closed, arrays)
    p = trace.p
    written = []
    for k, out in enumerate(outs):
        aval = closed.jaxpr.outvars[k].aval
        kind = kind_of(aval.dtype)
        if kind is None:
            raise NotTranslatable(f"a result of dtype {aval.dtype}")
        buffer = p.buffer(f"out{k}", "out", math.prod(aval.shape), kind)
        if isinstance(out, np.ndarray) and out.size > 1 and len(set(out.ravel().tolist())) == 1:
            out = trace.memory.long(out)
        written.append((out, buffer))
    for out, buffer in written:
        trace.memory.write(out, buffer)
    return p, trace.counted
