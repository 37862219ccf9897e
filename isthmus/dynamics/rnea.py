"""Inverse dynamics by the recursive Newton-Euler algorithm (Featherstone 2008, table 5.1)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Float

from isthmus.dynamics.exact import exact
from isthmus.dynamics.kinematics import forward_kinematics, link_inertias
from isthmus.model.coordinates import expand_v, reduce_torque
from isthmus.model.model import Model
from isthmus.spatial.vectors import cross_force
from isthmus.types import AnyArray, Coordinates, Joints, Spatial, Vec3


@exact
def inverse_dynamics(
    model: Model,
    q: Coordinates,
    v: Joints,
    a: Joints,
    *,
    force: Float[AnyArray, "links 6"] | None = None,
) -> Joints:
    """Joint torques [N·m, N] that give the accelerations `a`; `force` acts on the links, in their frames."""
    k, I = forward_kinematics(model, q, v), link_inertias(model)
    X, S = k.X, k.S
    full_a = expand_v(model, a)
    bias = bias_forces(I, k.velocity, force)

    # outwards: the acceleration of each link, and what it takes
    acceleration: list[Spatial] = []
    f: list[Spatial] = []
    for i, parent in model.outwards():
        start, stop = model.layout.v[i]
        above = upwards(model.gravity) if parent < 0 else acceleration[parent]
        acceleration.append(X[i] @ above + S[i] @ full_a[start:stop] + k.bias[i])
        f.append(I[i] @ acceleration[i] + bias[i])

    # inwards: each joint carries all that hangs from it
    for i, parent in model.inwards():
        if parent >= 0:
            f[parent] = f[parent] + X[i].T @ f[i]
    tau = jnp.concatenate([S[i].T @ f[i] for i, _ in model.outwards()])
    return reduce_torque(model, tau) + model.joint_armature * a


def bias_torque(
    model: Model, q: Coordinates, v: Joints, *, force: Float[AnyArray, "links 6"] | None = None
) -> Joints:
    """The vector `C` of `τ = H q̈ + C` [N·m, N]: gravity, Coriolis and centrifugal, less external forces."""
    return inverse_dynamics(model, q, v, jnp.zeros_like(v), force=force)


def bias_forces(
    I: Float[AnyArray, "links 6 6"],
    velocity: Float[AnyArray, "links 6"],
    force: Float[AnyArray, "links 6"] | None,
) -> Float[AnyArray, "links 6"]:
    """`v ×* I v − f`: the force on each link that remains when it does not accelerate."""
    bias = jax.vmap(lambda I, v: cross_force(v, I @ v))(I, velocity)
    return bias if force is None else bias - force


def upwards(gravity: Vec3) -> Spatial:
    """The acceleration that stands for gravity: the whole world rises."""
    return jnp.concatenate([jnp.zeros(3), -jnp.asarray(gravity)])
