"""Any traced JAX function as machine code; knows no physics.

A function goes through the sub-packages in this order: `tracing` (JAX to our scalar program), `ir` (the
program itself), `passes` (program to smaller program), `targets` (LLVM, C), `runtime` (compiled code as a
NumPy or JAX function). Start with `runtime/compile.py` and `runtime/pipeline.py`.
"""

from importlib import import_module
from typing import Any

from isthmus.native.runtime.call import Native
from isthmus.native.runtime.compile import compile
from isthmus.native.runtime.jacobian import jacobian
from isthmus.native.runtime.stats import Stats

_IN_C = ("CCode", "to_c")
"""Names that load the backend for C."""

__all__ = ["CCode", "Native", "Stats", "compile", "jacobian", "to_c"]


def __getattr__(name: str) -> Any:
    """What belongs to C, at its first use."""
    if name not in _IN_C:
        raise AttributeError(f"module 'isthmus.native' has no attribute {name!r}")
    return getattr(import_module("isthmus.native.runtime.to_c"), name)
