"""One short function for each JAX primitive, by family; importing this registers them all."""

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
