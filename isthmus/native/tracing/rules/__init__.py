"""One short function for each JAX primitive, by family; importing this package registers them all.

Start with `elementwise.py`. `control.py` and `while_loop.py` have loops and branches, `linalg.py` small
factorisations written out, and `linalg_loops.py` larger ones.
"""

from isthmus.native.tracing.rules import (
    control,
    conversions,
    elementwise,
    indexing,
    linalg,
    order,
    products,
    reduce,
    shape,
    while_loop,
)

__all__ = [
    "control",
    "conversions",
    "elementwise",
    "indexing",
    "linalg",
    "order",
    "products",
    "reduce",
    "shape",
    "while_loop",
]
