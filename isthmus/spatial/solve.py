"""Small symmetric positive definite systems in closed form, over any leading axes.

A library call for a 3×3 system costs more than the system; these are a handful of products, the same on every
device and in native code.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from isthmus.spatial.products import mm, mmt, mtm
from isthmus.types import AnyArray

Square = Float[AnyArray, "*batch k k"]


def inverse_spd(A: Square) -> Square:
    """The inverse of a symmetric positive definite matrix; in closed form for 1, 3 or 6 rows."""
    size = A.shape[-1]
    if size == 0:
        return A
    if size == 1:
        return 1.0 / A
    if size == 3:
        return _inverse3(A)
    if size == 6:
        return _inverse6(A)
    return jnp.linalg.inv(A)


def _inverse3(A: Square) -> Square:
    """By cofactors."""
    a, b, c = A[..., 0, 0], A[..., 0, 1], A[..., 0, 2]
    d, e, f = A[..., 1, 1], A[..., 1, 2], A[..., 2, 2]
    ca, cb, cc = d * f - e * e, c * e - b * f, b * e - c * d
    cd, ce, cf = a * f - c * c, b * c - a * e, a * d - b * b
    share = 1.0 / (a * ca + b * cb + c * cc)
    cofactors = jnp.stack([ca, cb, cc, cb, cd, ce, cc, ce, cf], axis=-1)
    return jnp.reshape(cofactors * share[..., None], A.shape)


def _inverse6(A: Square) -> Square:
    """By eliminating the upper left block."""
    P, Q, R = A[..., :3, :3], A[..., :3, 3:], A[..., 3:, 3:]
    Pi = _inverse3(P)
    T = mm(Pi, Q)
    Si = _inverse3(R - mtm(Q, T))
    TS = mm(T, Si)
    upper = jnp.concatenate([Pi + mmt(TS, T), -TS], axis=-1)
    lower = jnp.concatenate([-jnp.swapaxes(TS, -1, -2), Si], axis=-1)
    return jnp.concatenate([upper, lower], axis=-2)
