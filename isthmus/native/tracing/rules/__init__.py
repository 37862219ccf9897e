"""One short function for each JAX primitive, by family; importing this registers them all."""

from isthmus.native.tracing.rules import (
    control,
    elementwise,
    indexing,
    linalg,
    order,
    products,
    reduce,
    shape,
)

__all__ = [
    "control",
    "elementwise",
    "indexing",
    "linalg",
    "order",
    "products",
    "reduce",
    "shape",
]
