"""Cross products of motions and forces (Featherstone 2008, section 2.9).

Spatial vectors have the angular part first. Each cross product is a constant tensor times a vector, which keeps
traced programs short; `isthmus.native` and XLA drop the zeros.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.spatial.constants import fresh
from isthmus.spatial.products import mv
from isthmus.types import AnyArray

Vectors = Float[AnyArray, "*batch 3"]
Spatials = Float[AnyArray, "*batch 6"]

_LEVI_CIVITA = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _LEVI_CIVITA[_i, _k, _j], _LEVI_CIVITA[_i, _j, _k] = 1.0, -1.0
SKEW = _LEVI_CIVITA.reshape(9, 3)
"""`skew(a) = (SKEW @ a)` as a 3×3 matrix."""

_MOTION = np.zeros((6, 6, 6))
_MOTION[:3, :3, :3] = _LEVI_CIVITA
_MOTION[3:, 3:, :3] = _LEVI_CIVITA
_MOTION[3:, :3, 3:] = _LEVI_CIVITA
MOTION = _MOTION.reshape(36, 6)
"""`cross_matrix(v) = (MOTION @ v)` as a 6×6 matrix."""


def skew(a: Float[AnyArray, "*batch 3"]) -> Float[AnyArray, "*batch 3 3"]:
    """The matrix `a×`: `skew(a) @ b` is the cross product."""
    return mv(_like(SKEW, a), a).reshape(*a.shape[:-1], 3, 3)


def cross_matrix(v: Float[AnyArray, "*batch 6"]) -> Float[AnyArray, "*batch 6 6"]:
    """The matrix `v×` that acts on motions; on forces acts `-cross_matrix(v).T`."""
    return mv(_like(MOTION, v), v).reshape(*v.shape[:-1], 6, 6)


def cross(a: Vectors, b: Vectors) -> Vectors:
    """`a × b`"""
    return _turned(a, 1) * _turned(b, 2) - _turned(a, 2) * _turned(b, 1)


def cross_motion(v: Spatials, m: Spatials) -> Spatials:
    """`v × m`: the rate of a motion vector `m` that moves with velocity `v`."""
    angular, linear = v[..., :3], v[..., 3:]
    return jnp.concatenate(
        [cross(angular, m[..., :3]), cross(angular, m[..., 3:]) + cross(linear, m[..., :3])],
        axis=-1,
    )


def cross_force(v: Spatials, f: Spatials) -> Spatials:
    """`v ×* f`: the rate of a force vector `f` that moves with velocity `v`."""
    angular, linear = v[..., :3], v[..., 3:]
    return jnp.concatenate(
        [cross(angular, f[..., :3]) + cross(linear, f[..., 3:]), cross(angular, f[..., 3:])],
        axis=-1,
    )


def _turned(a: Vectors, by: int) -> Vectors:
    """The three components, `by` places further."""
    return jnp.concatenate([a[..., by:], a[..., :by]], axis=-1)


def _like(constant: np.ndarray, x: AnyArray) -> np.ndarray:
    """The constant with as many leading axes as `x` has."""
    return fresh(constant).reshape((1,) * (x.ndim - 1) + constant.shape)
