"""Inverse dynamics by the recursive Newton-Euler algorithm (Featherstone 2008, table 5.1)."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from isthmus.dynamics.entry import entry
from isthmus.dynamics.exact import exact
from isthmus.dynamics.kinematics import Kinematics, forward_kinematics, link_inertias
from isthmus.model.coordinates import expand_v, reduce_torque
from isthmus.model.levels import in_order, levels_of
from isthmus.model.model import Model
from isthmus.networks.signals import NO_SIGNALS, Signal
from isthmus.spatial.products import mtv, mv
from isthmus.spatial.vectors import cross_force
from isthmus.types import AnyArray, Coordinates, Joints, Spatial, Vec3


@entry
def inverse_dynamics(
    model: Model,
    q: Coordinates,
    v: Joints,
    a: Joints,
    *,
    force: Float[AnyArray, "links 6"] | None = None,
) -> Joints:
    """Joint torques [N·m, N] that give the accelerations `a`; `force` acts on the links, in their frames."""
    return inverse_dynamics_at(model, forward_kinematics(model, q, v), a, force=force)


@exact
def inverse_dynamics_at(
    model: Model,
    kinematics: Kinematics,
    a: Joints,
    signal: Signal = NO_SIGNALS,
    *,
    force: Float[AnyArray, "links 6"] | None = None,
) -> Joints:
    """`inverse_dynamics` where the kinematics are known."""
    return torques_of(model, kinematics, link_dynamics(model, kinematics, force, signal), a)


class LinkDynamics(NamedTuple):
    """What the motion of each link by itself takes: `I (a + c) + p`, for its acceleration `a` by joints and parent."""

    I: Float[AnyArray, "links 6 6"]
    """Spatial inertia about the link's origin [kg·m², kg·m, kg]."""
    c: Float[AnyArray, "links 6"]
    """Acceleration that remains when all joint accelerations are zero, less the parent's [rad/s², m/s²]."""
    p: Float[AnyArray, "links 6"]
    """`v ×* I v − f` [N·m, N]."""


def link_dynamics(
    model: Model, k: Kinematics, force: Float[AnyArray, "links 6"] | None, signal: Signal
) -> LinkDynamics:
    """Inertia, bias acceleration and bias force of each link, published to `signal` and corrected by it."""
    I = signal("link/spatial_inertia", link_inertias(model))
    c = signal("link/bias_acceleration", k.bias)
    return LinkDynamics(I, c, signal("link/bias_force", bias_forces(I, k.velocity, force)))


def torques_of(model: Model, k: Kinematics, link: LinkDynamics, a: Joints) -> Joints:
    """Joint torques [N·m, N] that give the accelerations `a` to links of known dynamics."""
    levels = levels_of(model)

    # inwards: what it takes, and each joint carries all that hangs from it
    needed = mv(link.I, _accelerations(model, k, link.c, a)) + link.p
    f = [level.of(needed) for level in levels]
    for n in reversed(range(1, len(levels))):
        f[n - 1] = f[n - 1] + levels[n].to_parents(mtv(levels[n].of(k.X), f[n]))
    carried = in_order(levels, f)
    tau = jnp.concatenate([mtv(S, carried[i]) for i, S in enumerate(k.S)])
    return reduce_torque(model, tau) + model.joint_armature * a


@exact
def link_accelerations(
    model: Model, kinematics: Kinematics, a: Joints
) -> Float[AnyArray, "links 6"]:
    """Spatial acceleration of each link in its own frame [rad/s², m/s²], in a world that rises against gravity."""
    return _accelerations(model, kinematics, kinematics.bias, a)


def _accelerations(model: Model, k: Kinematics, bias: AnyArray, a: Joints) -> AnyArray:
    levels = levels_of(model)
    full_a, spans = expand_v(model, a), model.layout.v
    own = jnp.stack([mv(S, full_a[slice(*span)]) for S, span in zip(k.S, spans, strict=True)])
    own = own + bias

    # outwards: each link is carried by its parent, and accelerated along its joint
    accelerations: list[AnyArray] = []
    for level in levels:
        rising = (
            upwards(model.gravity)[None]
            if level.above is None
            else level.from_parents(accelerations[-1])
        )
        accelerations.append(mv(level.of(k.X), rising) + level.of(own))
    return in_order(levels, accelerations)


@entry
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
    bias = cross_force(velocity, mv(I, velocity))
    return bias if force is None else bias - force


def upwards(gravity: Vec3) -> Spatial:
    """Gravity as an acceleration of the whole world upwards."""
    return jnp.concatenate([jnp.zeros(3), -jnp.asarray(gravity)])
