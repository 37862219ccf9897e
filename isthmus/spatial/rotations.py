"""Rotations in space: quaternions (`w` first), rotation matrices, exponential and logarithm.

A quaternion or matrix says how the child's axes stand in the parent's: `v_parent = R @ v_child`.
`product`, `conjugate`, `normalise`, `matrix` and `exp` take NumPy or JAX arrays and return the same kind.
Every function is finite, with finite derivatives, at zero rotation and at quaternions near −1.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from isthmus.spatial.arrays import namespace
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

_TINY = 1e-8  # below it, sin(x)/x and similar quotients are computed by their series


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation `b` followed, in the parent's frame, by `a`."""
    return mv(mv(fresh(_PRODUCT), a).reshape(4, 4), b)


def conjugate(q: Quaternion) -> Quaternion:
    """The opposite rotation, for a unit quaternion."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def normalise(x: Vec3 | Quaternion) -> Vec3 | Quaternion:
    """`x` at unit length."""
    xp = namespace(x)
    return x / xp.sqrt(xp.sum(xp.square(x)))


def matrix(q: Quaternion) -> Rotation:
    """The rotation matrix of a quaternion of any length but zero."""
    xp, K = namespace(q), skew(q[1:])
    return xp.eye(3, dtype=q.dtype) + (2.0 / xp.sum(xp.square(q))) * (q[0] * K + mm(K, K))


def from_matrix(R: Rotation) -> Quaternion:
    """A unit quaternion of the rotation matrix `R`; its sign is arbitrary, for no rotation it is `IDENTITY`."""
    x, y, z = R[0, 0], R[1, 1], R[2, 2]
    w_x, w_y, w_z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    x_y, x_z, y_z = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    squares = jnp.stack([1.0 + x + y + z, 1.0 + x - y - z, 1.0 - x + y - z, 1.0 - x - y + z])
    products = jnp.stack([
        squares[0], w_x, w_y, w_z, w_x, squares[1], x_y, x_z,
        w_y, x_y, squares[2], y_z, w_z, x_z, y_z, squares[3],
    ]).reshape(4, 4)  # fmt: skip  # 4 q qᵀ
    row = products[3]
    for n in (2, 1, 0):  # the row of the largest component: its length is never small
        row = jnp.where(squares[n] >= jnp.max(squares[n + 1 :]), products[n], row)
    return normalise(row)


def about(axis: Vec3, angle: Scalar) -> Rotation:
    """The matrix of a turn by `angle` [rad] about the unit vector `axis` (Rodrigues)."""
    K = skew(jnp.asarray(axis))
    return jnp.eye(3, dtype=K.dtype) + jnp.sin(angle) * K + (1.0 - jnp.cos(angle)) * mm(K, K)


def exp(turn: Vec3) -> Quaternion:
    """The unit quaternion of the rotation vector `turn` [rad]."""
    xp = namespace(turn)
    square = xp.sum(xp.square(turn))
    small = square < _TINY
    angle = xp.sqrt(xp.where(small, 1.0, square))  # the root stays smooth when not used
    sinc = xp.where(small, 0.5 - square / 48.0, xp.sin(0.5 * angle) / angle)
    w = xp.where(small, 1.0 - square / 8.0, xp.cos(0.5 * angle))
    return xp.concatenate([w[None], sinc * turn])


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


def from_z_to(axis: Vec3) -> Rotation:
    """The shortest rotation that takes `z` to the unit vector `axis`; for `−z`, half a turn about x."""
    w = 1.0 + axis[2]
    opposite = w < 1e-12
    turn = jnp.stack([jnp.where(opposite, 1.0, w), -axis[1], axis[0], jnp.zeros_like(w)])
    half = jnp.array([0.0, 1.0, 0.0, 0.0], dtype=turn.dtype)
    return matrix(jnp.where(opposite, half, turn))
