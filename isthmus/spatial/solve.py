"""Small symmetric positive definite systems in closed form: one, two, three or six unknowns.

A library call for a 3×3 system costs more than the system; these are a handful of products, the same on every
device and in native code.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from isthmus.types import AnyArray, Rotation


def inverse3(A: Rotation) -> Rotation:
    """The inverse of a symmetric 3×3 matrix by cofactors."""
    a, b, c = A[0, 0], A[0, 1], A[0, 2]
    d, e, f = A[1, 1], A[1, 2], A[2, 2]
    ca, cb, cc = d * f - e * e, c * e - b * f, b * e - c * d
    cd, ce, cf = a * f - c * c, b * c - a * e, a * d - b * b
    cofactors = jnp.stack([ca, cb, cc, cb, cd, ce, cc, ce, cf])
    return jnp.reshape(cofactors / (a * ca + b * cb + c * cc), (3, 3))


def inverse_spd(A: Float[AnyArray, "k k"]) -> Float[AnyArray, "k k"]:
    """The inverse of a symmetric positive definite matrix of 1, 3 or 6 rows."""
    size = A.shape[0]
    if size == 1:
        return 1.0 / A
    if size == 3:
        return inverse3(A)
    if size == 6:
        return _inverse6(A)
    return jnp.linalg.inv(A)


def _inverse6(A: Float[AnyArray, "6 6"]) -> Float[AnyArray, "6 6"]:
    """By eliminating the upper left block."""
    P, Q, R = A[:3, :3], A[:3, 3:], A[3:, 3:]
    Pi = inverse3(P)
    T = Pi @ Q
    Si = inverse3(R - Q.T @ T)
    TS = T @ Si
    return jnp.concatenate([
        jnp.concatenate([Pi + TS @ T.T, -TS], axis=1), jnp.concatenate([-TS.T, Si], axis=1)
    ])  # fmt: skip
