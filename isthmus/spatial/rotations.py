"""Rotations in space: quaternions (`w` first), rotation matrices, exponential and logarithm.

A quaternion or matrix says how the child's axes stand in the parent's: `v_parent = R @ v_child`.
Every function is finite, with finite derivatives, at zero rotation and at quaternions near −1.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from isthmus.spatial.constants import fresh
from isthmus.spatial.products import mm, mv
from isthmus.spatial.vectors import skew
from isthmus.types import Quaternion, Rotation, Scalar, Vec3

IDENTITY = (1.0, 0.0, 0.0, 0.0)

_PRODUCT = np.zeros((4, 4, 4))
for _out, _left, _right, _sign in (
    (0, 0, 0, 1), (0, 1, 1, -1), (0, 2, 2, -1), (0, 3, 3, -1),
    (1, 0, 1, 1), (1, 1, 0, 1), (1, 2, 3, 1), (1, 3, 2, -1),
    (2, 0, 2, 1), (2, 2, 0, 1), (2, 3, 1, 1), (2, 1, 3, -1),
    (3, 0, 3, 1), (3, 3, 0, 1), (3, 1, 2, 1), (3, 2, 1, -1),
):  # fmt: skip
    _PRODUCT[_out, _right, _left] = _sign
_PRODUCT = _PRODUCT.reshape(16, 4)

_TINY = 1e-8  # below it, sin(x)/x and its kin are taken from their series


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation `b` followed, in the parent's frame, by `a`."""
    left = jnp.reshape(mv(fresh(_PRODUCT), jnp.asarray(a)), (4, 4))
    return mv(left, jnp.asarray(b))


def conjugate(q: Quaternion) -> Quaternion:
    """The opposite rotation, for a unit quaternion."""
    return jnp.asarray(q) * np.array([1.0, -1.0, -1.0, -1.0])


def normalise(x: Vec3 | Quaternion) -> Vec3 | Quaternion:
    """`x` at unit length."""
    return x / jnp.sqrt(jnp.sum(jnp.square(x)))


def matrix(q: Quaternion) -> Rotation:
    """The rotation matrix of a quaternion of any length but zero."""
    q = jnp.asarray(q)
    K = skew(q[1:])
    return jnp.eye(3, dtype=q.dtype) + (2.0 / jnp.sum(jnp.square(q))) * (q[0] * K + mm(K, K))


def about(axis: Vec3, angle: Scalar) -> Rotation:
    """The matrix of a turn by `angle` [rad] about the unit vector `axis` (Rodrigues)."""
    K = skew(axis)
    return jnp.eye(3, dtype=K.dtype) + jnp.sin(angle) * K + (1.0 - jnp.cos(angle)) * mm(K, K)


def exp(turn: Vec3) -> Quaternion:
    """The unit quaternion of the rotation vector `turn` [rad]."""
    square = jnp.sum(jnp.square(turn))
    small = square < _TINY
    angle = jnp.sqrt(jnp.where(small, 1.0, square))  # the root stays smooth when not used
    sinc = jnp.where(small, 0.5 - square / 48.0, jnp.sin(0.5 * angle) / angle)
    w = jnp.where(small, 1.0 - square / 8.0, jnp.cos(0.5 * angle))
    return jnp.concatenate([w[None], sinc * turn])


def log(q: Quaternion) -> Vec3:
    """The shortest rotation vector [rad] of a unit quaternion; `q` and `−q` give the same."""
    q = jnp.where(q[0] < 0.0, -q, q)
    square = jnp.sum(jnp.square(q[1:]))
    small = square < _TINY
    sine = jnp.sqrt(jnp.where(small, 1.0, square))
    far = 2.0 * jnp.arctan2(sine, jnp.where(small, 1.0, q[0])) / sine
    near = 2.0 / jnp.where(small, q[0], 1.0) * (1.0 - square / 3.0)
    return jnp.where(small, near, far) * q[1:]


def torque_of(turn: Vec3, force: Vec3) -> Vec3:
    """The torque, in the child's axes, that does the work of `force` on the rotation vector `turn` [rad].

    `torque · ω = force · d(turn)/dt`; for a `force` along `turn` they are the same.
    """
    square = jnp.sum(jnp.square(turn))
    small = square < _TINY
    half = 0.5 * jnp.sqrt(jnp.where(small, 1.0, square))  # the root stays smooth when not used
    far = (1.0 - half * jnp.cos(half) / jnp.sin(half)) / jnp.where(small, 1.0, square)
    K = skew(turn)
    across = K @ force
    return force - 0.5 * across + jnp.where(small, 1.0 / 12.0 + square / 720.0, far) * (K @ across)


def from_matrix(R: Rotation) -> Quaternion:
    """The unit quaternion of a rotation matrix, `w ≥ 0` (NumPy: for files, not for tracing)."""
    R = np.asarray(R, dtype=np.float64)
    K = np.array([
        [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
        [R[2, 1] - R[1, 2], R[0, 0] - R[1, 1] - R[2, 2], R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]],
        [R[0, 2] - R[2, 0], R[1, 0] + R[0, 1], R[1, 1] - R[0, 0] - R[2, 2], R[2, 1] + R[1, 2]],
        [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], R[2, 2] - R[0, 0] - R[1, 1]],
    ])  # fmt: skip
    q = np.linalg.eigh(K)[1][:, -1]  # Bar-Itzhack: the best quaternion is an eigenvector
    return q if q[0] >= 0.0 else -q


def from_rpy(rpy: Vec3) -> Quaternion:
    """The unit quaternion of roll, pitch, yaw [rad] about the parent's x, then y, then z."""
    c, s = np.cos(0.5 * np.asarray(rpy, dtype=np.float64)), np.sin(0.5 * np.asarray(rpy))
    return np.array([
        c[0] * c[1] * c[2] + s[0] * s[1] * s[2],
        s[0] * c[1] * c[2] - c[0] * s[1] * s[2],
        c[0] * s[1] * c[2] + s[0] * c[1] * s[2],
        c[0] * c[1] * s[2] - s[0] * s[1] * c[2],
    ])  # fmt: skip


def from_z_to(axis: Vec3) -> Rotation:
    """The shortest rotation that takes `z` to the unit vector `axis`; for `−z`, half a turn about x."""
    w = 1.0 + axis[2]
    opposite = w < 1e-12
    turn = jnp.stack([jnp.where(opposite, 1.0, w), -axis[1], axis[0], jnp.zeros_like(w)])
    half = jnp.array([0.0, 1.0, 0.0, 0.0], dtype=turn.dtype)
    return matrix(jnp.where(opposite, half, turn))
