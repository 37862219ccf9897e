"""Inverse dynamics as a matrix: `τ = Y(q, v, a) π` (Atkeson, An and Hollerbach 1986).

The ten numbers of a link in `π` are its mass m [kg]; m·cx, m·cy, m·cz [kg·m], mass times centre of mass; and Ixx, Iyy,
Izz, Ixy, Ixz, Iyz [kg·m²] about the origin of the link's frame (not about its centre of mass), all in the link's
axes. Links come in the order of `model.link_names`. Behind them stand, if asked for, numbers of the joints, one for
each degree of freedom, in this order: `armature` (times a), `damping` (times v), `friction` (times
tanh(v / friction_speed), as the engine smooths it), `stiction` and `load_friction` (which add to it at low speed and
under load), `stiffness` (times q − rest_position), `offset` (a constant torque, `joint/torque_offset`).
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.describe.options import must_be_one_of
from isthmus.dynamics.exact import exact
from isthmus.dynamics.jacobians import link_jacobians
from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.dynamics.passive import rounded_load, stribeck, taut
from isthmus.dynamics.rnea import inverse_dynamics_at, link_accelerations
from isthmus.model.coordinates import minus
from isthmus.model.model import Model
from isthmus.motion.files import dof_names
from isthmus.spatial.products import mm, mtm
from isthmus.spatial.vectors import cross, skew
from isthmus.types import AnyArray, Coordinates, Joints, Spatial

OF_LINK = ("m", "m·cx", "m·cy", "m·cz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
"""The ten numbers of a link."""
LEAVES = {
    "armature": "joint_armature", "damping": "joint_damping", "friction": "joint_friction",
    "stiction": "joint_stiction", "load_friction": "joint_load_friction", "stiffness": "joint_stiffness",
    "offset": "joint_torque_offset",
}  # fmt: skip
"""What a joint may have besides, and the field of the model that holds it."""
OF_JOINT = tuple(LEAVES)


@exact
def regressor(
    model: Model,
    q: Coordinates,
    v: Joints,
    a: Joints,
    *,
    joints: Sequence[str] = (),
    load: Joints | None = None,
) -> Float[AnyArray, "n parameters"]:
    """The matrix `Y` of `τ = Y π`, for `π = parameter_vector(model, joints=joints)`.

    Without `joints`, `Y π` is the inverse dynamics [N·m, N] less the armature's share; with all of them it is the
    torque of the motors of a robot off its stops. Rows are degrees of freedom, laid out as `v`. `load` [N·m, N] is the
    motor torque with which `load_friction` grows; None: the inverse dynamics of the model.
    """
    joints = ordered(joints)
    k = forward_kinematics(model, q, v)
    forces = jax.vmap(_forces)(k.velocity, link_accelerations(model, k, a))
    Y = mtm(link_jacobians(model, k), forces)
    links = jnp.reshape(jnp.swapaxes(Y, 0, 1), (model.dof, 10 * len(model.link_names)))
    v, a = jnp.asarray(v), jnp.asarray(a)
    if load is None and "load_friction" in joints:
        load = inverse_dynamics_at(model, k, a)
    sign = jnp.tanh(v / jnp.asarray(model.joint_friction_speed))
    columns = {
        "armature": a,
        "damping": v,
        "friction": sign,
        "stiction": sign * stribeck(model, v),
        "load_friction": sign * rounded_load(0.0 * v if load is None else load),
        "stiffness": taut(model, minus(model, q, jnp.asarray(model.joint_rest_position))),
        "offset": jnp.ones_like(v),
    }
    return jnp.concatenate([links, *(jnp.diag(columns[name]) for name in joints)], axis=1)


def parameter_vector(
    model: Model, *, joints: Sequence[str] = ()
) -> Float[np.ndarray, " parameters"]:
    """The vector `π` of a model."""
    joints = ordered(joints)
    rows = [
        ten_of(m, c, I)
        for m, c, I in zip(model.link_mass, model.link_com, model.link_inertia, strict=True)
    ]
    return np.concatenate([*rows, *(np.asarray(getattr(model, LEAVES[name])) for name in joints)])


def parameter_names(model: Model, *, joints: Sequence[str] = ()) -> tuple[str, ...]:
    """What each number of `π` is, in words: `m·cx of 'lower'`, `damping of 'elbow'`."""
    joints = ordered(joints)
    links = [f"{word} of {link!r}" for link in model.link_names for word in OF_LINK]
    return (*links, *(f"{word} of {dof!r}" for word in joints for dof in dof_names(model)))


def ten_of(mass: float, com: np.ndarray, inertia: np.ndarray) -> Float[np.ndarray, "10"]:
    """The ten numbers of a link of this mass, centre of mass and inertia about it."""
    x, y, z = com
    shift = np.array([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z])
    return np.concatenate([[mass], mass * com, inertia + mass * shift])


def link_of(ten: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about it, of ten numbers; the mass must not be zero."""
    mass, com = ten[0], ten[1:4] / ten[0]
    return float(mass), com, ten[4:] - (ten_of(mass, com, np.zeros(6)))[4:]


def ordered(joints: Sequence[str]) -> tuple[str, ...]:
    """Numbers of joints, each once, in the order of `OF_JOINT`; refuses what is none."""
    for name in joints:
        must_be_one_of("joints", name, OF_JOINT)
    return tuple(name for name in OF_JOINT if name in joints)


def _forces(velocity: Spatial, acceleration: Spatial) -> Float[AnyArray, "6 10"]:
    """The matrix that takes a link's ten numbers to the force `I a + v ×* I v` on it, about its origin."""
    turn, turning = velocity[:3], acceleration[:3]
    rising = acceleration[3:] + cross(turn, velocity[3:])
    W = skew(turn)
    zero = jnp.zeros_like(turn)
    moment = [zero[:, None], -skew(rising), _times(turning) + mm(W, _times(turn))]
    push = [rising[:, None], skew(turning) + mm(W, W), jnp.zeros((3, 6), zero.dtype)]
    return jnp.concatenate([jnp.concatenate(moment, axis=1), jnp.concatenate(push, axis=1)])


def _times(w: Float[AnyArray, "3"]) -> Float[AnyArray, "3 6"]:
    """The matrix that takes six numbers of an inertia `I` to `I w`."""
    x, y, z = w
    o = jnp.zeros_like(x)
    return jnp.stack([
        jnp.stack([x, o, o, y, z, o]),
        jnp.stack([o, y, o, x, o, z]),
        jnp.stack([o, o, z, o, x, y]),
    ])  # fmt: skip
