"""Products of small matrices, over any leading axes, as sums of products; of NumPy or JAX.

Written so, XLA fuses them with what stands around: on CPUs it compiles and runs several times faster than with
its own matrix product, and no GPU rounds them to ten bits.
"""

from __future__ import annotations

from jax import lax
from jax.core import Tracer
from numpy import broadcast_shapes

from isthmus.types import AnyArray


def mm(A: AnyArray, B: AnyArray) -> AnyArray:
    """`A B`"""
    return _sum_of_products(A, (0, 1), B, (1, 2), 1)


def mv(A: AnyArray, x: AnyArray) -> AnyArray:
    """`A x`"""
    return _sum_of_products(A, (0, 1), x, (1,), 1)


def mtm(A: AnyArray, B: AnyArray) -> AnyArray:
    """`Aᵀ B`"""
    return _sum_of_products(A, (0, 1), B, (0, 2), 0)


def mmt(A: AnyArray, B: AnyArray) -> AnyArray:
    """`A Bᵀ`"""
    return _sum_of_products(A, (0, 2), B, (1, 2), 2)


def mtv(A: AnyArray, x: AnyArray) -> AnyArray:
    """`Aᵀ x`"""
    return _sum_of_products(A, (0, 1), x, (0,), 0)


def _sum_of_products(
    A: AnyArray, to: tuple[int, ...], B: AnyArray, where: tuple[int, ...], summed: int
) -> AnyArray:
    """The sum along `summed` of `A B`, whose last axes lie at `to` and `where` of the product's axes.

    While JAX traces, in its own operations: NumPy's indexing and broadcasting by JAX take three times as long.
    """
    axes = max(*to, *where) + 1
    shapes = [
        (
            *x.shape[: -len(at)],
            *(x.shape[at.index(k) - len(at)] if k in at else 1 for k in range(axes)),
        )
        for x, at in ((A, to), (B, where))
    ]
    traced = isinstance(A, Tracer) or isinstance(B, Tracer)
    if not traced or A.dtype != B.dtype:
        return (A.reshape(shapes[0]) * B.reshape(shapes[1])).sum(axis=summed - axes)
    shape = broadcast_shapes(*shapes)
    return lax.reduce_sum(
        lax.mul(_spread(A, to, axes, shape), _spread(B, where, axes, shape)),
        (len(shape) + summed - axes,),
    )


def _spread(x: AnyArray, at: tuple[int, ...], axes: int, shape: tuple[int, ...]) -> AnyArray:
    """`x` in the shape of the product: its last axes lie at `at` of the last `axes`."""
    if x.shape == shape:
        return x
    leading, first = x.ndim - len(at), len(shape) - axes
    dims = (*range(first - leading, first), *(first + k for k in at))
    return lax.broadcast_in_dim(x, shape, dims)
