"""Any traced JAX function as machine code; knows no physics.

A function goes through the sub-packages in this order: `tracing` (JAX to our scalar program), `ir` (the
program itself), `passes` (program to smaller program), `targets` (LLVM, C), `runtime` (compiled code as a
NumPy or JAX function). Start with `runtime/compile.py` and `runtime/pipeline.py`.
"""

from typing import TYPE_CHECKING

from isthmus.later import at_first_use

if TYPE_CHECKING:
    from isthmus.native.runtime.c_source import CCode
    from isthmus.native.runtime.call import Native
    from isthmus.native.runtime.compile import compile
    from isthmus.native.runtime.jacobian import jacobian
    from isthmus.native.runtime.stats import Stats
    from isthmus.native.runtime.to_c import to_c

__all__ = ["CCode", "Native", "Stats", "compile", "jacobian", "to_c"]

__getattr__ = at_first_use(
    __name__,
    {
        "CCode": "runtime.c_source",
        "Native": "runtime.call",
        "Stats": "runtime.stats",
        "compile": "runtime.compile",
        "jacobian": "runtime.jacobian",
        "to_c": "runtime.to_c",
    },
)
