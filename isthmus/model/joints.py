"""The kinds of joint: how many coordinates, where the child stands, how it moves, `q ⊕ v`.

A kind is a record of plain functions for one joint; `JOINTS` lists them, and a new kind is one more entry.
`q` and `v` are as `docs/conventions.md` has them; `axis` is a unit vector in the child's frame at `q = 0`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Float

from isthmus.spatial import rotations
from isthmus.spatial.products import mtm, mv
from isthmus.spatial.vectors import skew
from isthmus.types import AnyArray, Quaternion, Rotation, Spatial, Vec3

Q = Float[AnyArray, " k"]
V = Float[AnyArray, " d"]
Subspace = Float[AnyArray, "6 d"]


@dataclasses.dataclass(frozen=True)
class JointKind:
    """What the engine must know of a kind of joint."""

    nq: int
    nv: int
    units: tuple[str, ...]
    """Of each velocity coordinate, without the `/s`."""
    neutral: tuple[float, ...]
    """The position `q` at which parent and child frames differ by the joint's frame only."""
    axial: bool
    """Whether the axis matters."""
    turn: Callable[[Vec3, Q], Quaternion]
    """The child's quaternion in the joint's frame."""
    pose: Callable[[Vec3, Q], tuple[Rotation, Vec3]]
    """The child's axes and origin [m] in the joint's frame."""
    subspace: Callable[[Vec3, Q], Subspace]
    """`S(q)`: `v` -> velocity of the child relative to the parent, in the child's frame."""
    bias: Callable[[Vec3, Q, V], Spatial] | None
    """`Ṡ v`, or None where `S` is constant in the child's frame."""
    plus: Callable[[Q, V], Q]
    """`q ⊕ d`, for a displacement `d = v dt`."""
    minus: Callable[[Q, Q], V]
    """The `d` with `b ⊕ d = a`: `minus(a, b)`."""
    torque: Callable[[V, V], V]
    """`torque(d, f)`: the torque on `v` that does the work of a force `f` on the displacement `d`."""
    rate: Callable[[Q, V], Q]
    """`dq/dt` as plain numbers, a quaternion's four among them."""
    normalise: Callable[[Q], Q]
    """`q`, its quaternion at unit length."""


def _plain(q: Q, d: V) -> Q:
    return q + d


def _zeros(x: AnyArray, *shape: int) -> AnyArray:
    return jnp.zeros(shape, dtype=jnp.asarray(x).dtype)


def _eye(x: AnyArray) -> AnyArray:
    return jnp.eye(3, dtype=jnp.asarray(x).dtype)


# the child's frame from axis and position ---------------------------------------------------------------


def _no_turn(axis: Vec3, q: Q) -> Quaternion:
    return jnp.array(rotations.IDENTITY, dtype=jnp.asarray(axis).dtype)


def _revolute_turn(axis: Vec3, q: Q) -> Quaternion:
    return jnp.concatenate([jnp.cos(0.5 * q[-1:]), jnp.sin(0.5 * q[-1]) * axis])


def _fixed_pose(axis: Vec3, q: Q) -> tuple[Rotation, Vec3]:
    return _eye(axis), _zeros(axis, 3)


def _revolute_pose(axis: Vec3, q: Q) -> tuple[Rotation, Vec3]:
    return rotations.about(axis, q[0]), _zeros(axis, 3)


def _prismatic_pose(axis: Vec3, q: Q) -> tuple[Rotation, Vec3]:
    return _eye(axis), axis * q[0]


def _spherical_pose(axis: Vec3, q: Q) -> tuple[Rotation, Vec3]:
    return rotations.matrix(q), _zeros(axis, 3)


def _planar_pose(axis: Vec3, q: Q) -> tuple[Rotation, Vec3]:
    return rotations.about(axis, q[2]), mv(rotations.from_z_to(axis)[:, :2], q[:2])


def _free_pose(axis: Vec3, q: Q) -> tuple[Rotation, Vec3]:
    return rotations.matrix(q[3:]), q[:3]


# how velocities move the child -----------------------------------------------------------------------


def _revolute_subspace(axis: Vec3, q: Q) -> Subspace:
    return jnp.concatenate([axis, jnp.zeros_like(axis)])[:, None]


def _prismatic_subspace(axis: Vec3, q: Q) -> Subspace:
    return jnp.concatenate([jnp.zeros_like(axis), axis])[:, None]


def _spherical_subspace(axis: Vec3, q: Q) -> Subspace:
    return jnp.concatenate([_eye(axis), _zeros(axis, 3, 3)])


def _planar_subspace(axis: Vec3, q: Q) -> Subspace:
    across = mtm(rotations.about(axis, q[2]), rotations.from_z_to(axis)[:, :2])
    linear = jnp.concatenate([_zeros(axis, 3, 2), across])
    return jnp.concatenate([linear, _revolute_subspace(axis, q)], axis=1)


def _free_subspace(axis: Vec3, q: Q) -> Subspace:
    linear = jnp.concatenate([_zeros(axis, 3, 3), rotations.matrix(q[3:]).T])
    return jnp.concatenate([linear, _spherical_subspace(axis, q)], axis=1)


def _turning_bias(S: Subspace, v: V, turn: Vec3) -> Spatial:
    """`Ṡ v` where the linear columns are fixed in the parent: seen by the child, they turn backwards."""
    linear = mv(S[3:], v)
    return jnp.concatenate([jnp.zeros_like(linear), -mv(skew(turn), linear)])


def _planar_bias(axis: Vec3, q: Q, v: V) -> Spatial:
    return _turning_bias(_planar_subspace(axis, q), v, axis * v[2])


def _free_bias(axis: Vec3, q: Q, v: V) -> Spatial:
    return _turning_bias(_free_subspace(axis, q), v, v[3:])


# positions on their manifold ---------------------------------------------------------------------------


def _spherical_plus(q: Q, d: V) -> Q:
    return rotations.normalise(rotations.product(q, rotations.exp(d)))


def _spherical_minus(a: Q, b: Q) -> V:
    relative = rotations.product(rotations.conjugate(b), jnp.asarray(a))
    return rotations.log(rotations.normalise(relative))


def _spherical_rate(q: Q, v: V) -> Q:
    return 0.5 * rotations.product(q, jnp.concatenate([jnp.zeros_like(v[:1]), v]))


def _free_plus(q: Q, d: V) -> Q:
    return jnp.concatenate([q[:3] + d[:3], _spherical_plus(q[3:], d[3:])])


def _free_minus(a: Q, b: Q) -> V:
    return jnp.concatenate([a[:3] - b[:3], _spherical_minus(a[3:], b[3:])])


def _free_torque(d: V, f: V) -> V:
    return jnp.concatenate([f[:3], rotations.torque_of(d[3:], f[3:])])


def _free_rate(q: Q, v: V) -> Q:
    return jnp.concatenate([v[:3], _spherical_rate(q[3:], v[3:])])


def _free_normalise(q: Q) -> Q:
    return jnp.concatenate([q[:3], rotations.normalise(q[3:])])


def _simple(units: tuple[str, ...], turn, pose, subspace, bias=None) -> JointKind:
    """A kind whose positions are plain numbers; `turn` is by its last one, or not at all."""
    n = len(units)
    return JointKind(
        nq=n, nv=n, units=units, neutral=(0.0,) * n, axial=n > 0,
        turn=turn, pose=pose, subspace=subspace, bias=bias,
        plus=_plain, minus=lambda a, b: a - b, torque=lambda d, f: f,
        rate=lambda q, v: v, normalise=lambda q: q,
    )  # fmt: skip


def _no_subspace(axis: Vec3, q: Q) -> Subspace:
    return _zeros(axis, 6, 0)


JOINTS: dict[str, JointKind] = {
    "fixed": _simple((), _no_turn, _fixed_pose, _no_subspace),
    "revolute": _simple(("rad",), _revolute_turn, _revolute_pose, _revolute_subspace),
    "prismatic": _simple(("m",), _no_turn, _prismatic_pose, _prismatic_subspace),
    "planar": _simple(
        ("m", "m", "rad"), _revolute_turn, _planar_pose, _planar_subspace, _planar_bias
    ),
    "spherical": JointKind(
        nq=4, nv=3, units=("rad",) * 3, neutral=rotations.IDENTITY,
        axial=False, turn=lambda axis, q: rotations.normalise(q),
        pose=_spherical_pose, subspace=_spherical_subspace, bias=None,
        plus=_spherical_plus, minus=_spherical_minus, torque=rotations.torque_of,
        rate=_spherical_rate,
        normalise=rotations.normalise,
    ),
    "free": JointKind(
        nq=7, nv=6, units=("m",) * 3 + ("rad",) * 3, neutral=(0.0, 0.0, 0.0, *rotations.IDENTITY),
        axial=False, turn=lambda axis, q: rotations.normalise(q[3:]), pose=_free_pose,
        subspace=_free_subspace, bias=_free_bias, plus=_free_plus, minus=_free_minus,
        torque=_free_torque, rate=_free_rate, normalise=_free_normalise,
    ),
}  # fmt: skip
