"""Spatial inertia and pseudo-inertia: make, shift, and the log-Cholesky map (Rucker and Wensing 2022).

`symmetric`, `six_of`, `second_moment` and `inertia_of_second` take NumPy or JAX arrays.
Six numbers of a symmetric matrix always come as xx, yy, zz, xy, xz, yz.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.spatial.arrays import namespace
from isthmus.spatial.constants import fresh
from isthmus.spatial.products import mm, mv
from isthmus.spatial.vectors import skew
from isthmus.types import AnyArray, Rotation, Scalar, Spatial66, Vec3

Six = Float[AnyArray, "6"]
Ten = Float[AnyArray, "10"]

_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_UNPACK = np.zeros((3, 3, 6))
for _k, (_i, _j) in enumerate(_ENTRIES):
    _UNPACK[_i, _j, _k] = _UNPACK[_j, _i, _k] = 1.0
_UNPACK = _UNPACK.reshape(9, 6)


def symmetric(six: Six) -> Rotation:
    """Six numbers as a symmetric 3×3 matrix."""
    return mv(fresh(_UNPACK), six).reshape(3, 3)


def six_of(matrix: Rotation) -> Six:
    """The six numbers of a symmetric 3×3 matrix."""
    rows, columns = zip(*_ENTRIES, strict=True)
    return matrix[np.array(rows), np.array(columns)]


def second_moment(inertia: Rotation) -> Rotation:
    """`Σ = ½ tr(I) 1 − I` of an inertia matrix [kg·m²]: positive semi-definite for any real body."""
    xp = namespace(inertia)
    return 0.5 * xp.trace(inertia) * xp.eye(3, dtype=inertia.dtype) - inertia


def inertia_of_second(moment: Rotation) -> Rotation:
    """The inertia matrix `tr(Σ) 1 − Σ` of a second moment [kg·m²]."""
    xp = namespace(moment)
    return xp.trace(moment) * xp.eye(3, dtype=moment.dtype) - moment


def spatial_inertia(mass: Scalar, com: Vec3, inertia: Six) -> Spatial66:
    """The 6×6 inertia about the frame's origin, of `inertia` about the centre of mass [kg, kg·m, kg·m²]."""
    C = skew(jnp.asarray(com))
    mC = mass * C
    top = jnp.concatenate([symmetric(inertia) - mm(mC, C), mC], axis=1)
    return jnp.concatenate([top, jnp.concatenate([-mC, mass * jnp.eye(3, dtype=C.dtype)], axis=1)])


def pseudo_inertia(mass: Scalar, com: Vec3, inertia: Six) -> Float[AnyArray, "4 4"]:
    """The matrix of second, first and zeroth moments of mass; positive definite for any real body."""
    com = jnp.asarray(com)
    second = second_moment(symmetric(inertia)) + mass * jnp.outer(com, com)
    first = (mass * com)[:, None]
    return jnp.concatenate([
        jnp.concatenate([second, first], axis=1),
        jnp.concatenate([first.T, jnp.reshape(jnp.asarray(mass, first.dtype), (1, 1))], axis=1),
    ])  # fmt: skip


def inertia_of_pseudo(J: Float[AnyArray, "4 4"]) -> tuple[Scalar, Vec3, Six]:
    """Mass, centre of mass and inertia about it, of a pseudo-inertia."""
    mass = J[3, 3]
    com = J[:3, 3] / mass
    second = J[:3, :3] - mass * jnp.outer(com, com)
    return mass, com, six_of(inertia_of_second(second))


def from_log_cholesky(free: Ten) -> tuple[Scalar, Vec3, Six]:
    """Ten free numbers -> mass, centre of mass, inertia about it: always of a possible body.

    The pseudo-inertia is `U Uᵀ` with an upper triangular `U`, whose diagonal is the exponential of `free[:4]`.
    """
    rows, columns = np.triu_indices(4, 1)
    U = jnp.diag(jnp.exp(free[:4])).at[rows, columns].set(free[4:])
    return inertia_of_pseudo(U @ U.T)


def to_log_cholesky(mass: Scalar, com: Vec3, inertia: Six) -> Ten:
    """The ten numbers that `from_log_cholesky` takes; nan where no such body can exist."""
    J = pseudo_inertia(mass, com, inertia)
    lower = jnp.linalg.cholesky(J[::-1, ::-1])  # reversed, a lower factor is the upper one
    U = lower[::-1, ::-1]
    rows, columns = np.triu_indices(4, 1)
    return jnp.concatenate([jnp.log(jnp.diag(U)), U[rows, columns]])
