"""From a function of flat arrays to the scalar program that a target gets, pass by pass."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Generator, Sequence

import jax
import numpy as np

from isthmus.native.passes.prune import prune
from isthmus.native.runtime.known import Facts
from isthmus.native.runtime.plan import Plan
from isthmus.native.runtime.stats import count
from isthmus.native.targets.target import AbstractTarget
from isthmus.native.tracing.translate import trace_jaxpr, translate


@contextlib.contextmanager
def no_collections() -> Generator[None]:
    """Python does not look for garbage meanwhile: tracing makes very many small objects, and all of them stay."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@no_collections()
def plan_of(
    fn: Callable,
    examples: Sequence[np.ndarray],
    baked: Sequence[bool],
    strict: bool,
    width: int,
    target: AbstractTarget,
) -> Plan:
    """Traces `fn` in numbers of `width` bits, translates it, prunes it and prepares it for `target`."""
    began = time.perf_counter()
    closed, out = trace_jaxpr(fn, examples, width)
    program, before = translate(closed, examples, baked, strict, width)
    pruned = prune(program)
    operations, flops = count(pruned)
    program = target.prepare(pruned)
    outputs = [(tuple(v.aval.shape), str(v.aval.dtype)) for v in closed.jaxpr.outvars]
    facts = Facts(outputs, before, operations, flops)
    return Plan(pruned, program, jax.tree.structure(out), facts, time.perf_counter() - began)
