"""Products of small matrices, over any leading axes, as sums of products; of NumPy or JAX.

Written so, XLA fuses them with what stands around: on CPUs it compiles and runs several times faster than with
its own matrix product, and no GPU rounds them to ten bits.
"""

from __future__ import annotations

from isthmus.types import AnyArray


def mm(A: AnyArray, B: AnyArray) -> AnyArray:
    """`A B`"""
    return (A[..., :, :, None] * B[..., None, :, :]).sum(axis=-2)


def mv(A: AnyArray, x: AnyArray) -> AnyArray:
    """`A x`"""
    return (A * x[..., None, :]).sum(axis=-1)


def mtm(A: AnyArray, B: AnyArray) -> AnyArray:
    """`Aᵀ B`"""
    return (A[..., :, :, None] * B[..., :, None, :]).sum(axis=-3)


def mmt(A: AnyArray, B: AnyArray) -> AnyArray:
    """`A Bᵀ`"""
    return (A[..., :, None, :] * B[..., None, :, :]).sum(axis=-1)


def mtv(A: AnyArray, x: AnyArray) -> AnyArray:
    """`Aᵀ x`"""
    return (A * x[..., :, None]).sum(axis=-2)
