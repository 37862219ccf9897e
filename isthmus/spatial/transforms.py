"""Plücker transforms: make, invert, and what they do to points (Featherstone 2008, section 2.8).

`X_b_a` takes motions from frame `a` to frame `b`; forces travel the other way, `f_a = X_b_a.T @ f_b`.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from isthmus.spatial.products import mm, mtm
from isthmus.spatial.vectors import skew
from isthmus.types import AnyArray, Rotation, Spatial66, Vec3

Matrices = Float[AnyArray, "*batch 6 6"]


def into_child(R: Rotation, p: Vec3) -> Spatial66:
    """`X_child_parent`, for a child whose axes are the columns of `R` and whose origin is `p` [m]."""
    E = jnp.asarray(R).T
    top = jnp.concatenate([E, jnp.zeros_like(E)], axis=1)
    return jnp.concatenate([top, jnp.concatenate([-mm(E, skew(p)), E], axis=1)])


def pose_of(X: Spatial66) -> tuple[Rotation, Vec3]:
    """The `R` and `p` [m] of which `into_child` makes `X`."""
    R = X[:3, :3].T
    P = -mm(R, X[3:, :3])
    return R, jnp.stack([P[2, 1], P[0, 2], P[1, 0]])


def carried_back(X: Matrices, I: Matrices) -> Matrices:
    """`Xᵀ I X`: a symmetric inertia of frame `b`, seen from frame `a`, for `X_b_a`: turned, then shifted."""
    E = X[..., :3, :3]
    P = -mtm(E, X[..., 3:, :3])
    blocks = jnp.stack([I[..., :3, :3], I[..., :3, 3:], I[..., 3:, 3:]], axis=-3)
    turned = mm(mtm(E[..., None, :, :], blocks), E[..., None, :, :])
    A, H, M = turned[..., 0, :, :], turned[..., 1, :, :], turned[..., 2, :, :]
    PM = mm(P, M)
    K = mm(H + 0.5 * PM, P)
    side = H + PM
    upper = jnp.concatenate([A - K - jnp.swapaxes(K, -1, -2), side], axis=-1)
    lower = jnp.concatenate([jnp.swapaxes(side, -1, -2), M], axis=-1)
    return jnp.concatenate([upper, lower], axis=-2)


def inverse(X: Spatial66) -> Spatial66:
    """`X_a_b` of `X_b_a`."""
    E, B = X[:3, :3].T, X[3:, :3].T
    return jnp.concatenate([
        jnp.concatenate([E, jnp.zeros_like(E)], axis=1), jnp.concatenate([B, E], axis=1)
    ])  # fmt: skip
