"""Products of small matrices, over any leading axes, as sums of products.

Written so, XLA fuses them with what stands around: on CPUs it compiles and runs several times faster than with
its own matrix product, and no GPU rounds them to ten bits.
"""

from __future__ import annotations

import jax.numpy as jnp

from isthmus.types import AnyArray


def mm(A: AnyArray, B: AnyArray) -> AnyArray:
    """`A B`"""
    return jnp.sum(A[..., :, :, None] * B[..., None, :, :], axis=-2)


def mv(A: AnyArray, x: AnyArray) -> AnyArray:
    """`A x`"""
    return jnp.sum(A * x[..., None, :], axis=-1)


def mtm(A: AnyArray, B: AnyArray) -> AnyArray:
    """`Aᵀ B`"""
    return jnp.sum(A[..., :, :, None] * B[..., :, None, :], axis=-3)


def mmt(A: AnyArray, B: AnyArray) -> AnyArray:
    """`A Bᵀ`"""
    return jnp.sum(A[..., :, None, :] * B[..., None, :, :], axis=-1)


def mtv(A: AnyArray, x: AnyArray) -> AnyArray:
    """`Aᵀ x`"""
    return jnp.sum(A * x[..., :, None], axis=-2)
