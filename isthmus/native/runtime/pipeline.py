"""From a function of flat arrays to the scalar program that LLVM gets, pass by pass."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.native.ir.program import Program
from isthmus.native.passes.lower import lower
from isthmus.native.passes.prune import prune
from isthmus.native.runtime.known import Facts
from isthmus.native.runtime.stats import count
from isthmus.native.targets.llvm.processor import has_fma
from isthmus.native.tracing.translate import trace_jaxpr, translate


@dataclasses.dataclass(frozen=True)
class Plan:
    """The program of a function, and what was found out on the way."""

    pruned: Program
    """Nothing idle is left; functions and products stand as they were written."""
    program: Program
    """For LLVM: products fused with sums, sines and exponentials written out."""
    out_tree: Any
    facts: Facts
    seconds: float


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
    width: int = 64,
) -> Plan:
    """Traces `fn`, translates it, prunes it, fuses products with sums, writes out sines and exponentials."""
    began = time.perf_counter()
    closed, out = trace_jaxpr(fn, examples, width)
    program, before = translate(closed, examples, baked, strict, width)
    pruned = prune(program)
    operations, flops = count(pruned)
    program = lower(pruned, fused=has_fma())
    outputs = [(tuple(v.aval.shape), str(v.aval.dtype)) for v in closed.jaxpr.outvars]
    facts = Facts(outputs, before, operations, flops)
    return Plan(pruned, program, jax.tree.structure(out), facts, time.perf_counter() - began)
