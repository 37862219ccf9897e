"""Cross products of motions and forces (Featherstone 2008, section 2.9).

Spatial vectors have the angular part first. Each cross product is a constant tensor times a vector, which keeps
traced programs short; `isthmus.native` and XLA drop the zeros.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from isthmus.spatial.constants import fresh
from isthmus.types import Rotation, Spatial, Spatial66, Vec3

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


def skew(a: Vec3) -> Rotation:
    """The matrix `a×`: `skew(a) @ b` is the cross product."""
    return jnp.reshape(fresh(SKEW) @ jnp.asarray(a), (3, 3))


def cross_matrix(v: Spatial) -> Spatial66:
    """The matrix `v×` that acts on motions; on forces acts `-cross_matrix(v).T`."""
    return jnp.reshape(fresh(MOTION) @ jnp.asarray(v), (6, 6))


def cross_motion(v: Spatial, m: Spatial) -> Spatial:
    """`v × m`: the rate of a motion vector `m` that moves with velocity `v`."""
    return cross_matrix(v) @ m


def cross_force(v: Spatial, f: Spatial) -> Spatial:
    """`v ×* f`: the rate of a force vector `f` that moves with velocity `v`."""
    return -(f @ cross_matrix(v))
