"""Kinetic and potential energy, centre of mass, momentum."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from isthmus.dynamics.entry import entry
from isthmus.dynamics.kinematics import Kinematics, forward_kinematics, link_inertias
from isthmus.dynamics.passive import cogging_energy, spring_energy
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.spatial import transforms
from isthmus.spatial.products import mtv, mv
from isthmus.types import AnyArray, Coordinates, Joints, Scalar, Spatial, Vec3


@entry
def energy(model: Model, q: Coordinates | State, v: Joints | None = None) -> Scalar:
    """Kinetic plus potential energy [J], of a state or of `q` and `v`."""
    if isinstance(q, State):
        q, v = q.q, q.v
    return kinetic_energy(model, q, v) + potential_energy(model, q)


@entry
def kinetic_energy(model: Model, q: Coordinates, v: Joints | None) -> Scalar:
    """`½ vᵀ H v` [J], rotors included; `v` None: at rest."""
    if v is None:
        return jnp.zeros(())
    twists = forward_kinematics(model, q, v).velocity
    links = jnp.sum(twists * mv(link_inertias(model), twists))
    return 0.5 * (links + jnp.sum(model.joint_armature * jnp.square(v)))


@entry
def potential_energy(model: Model, q: Coordinates) -> Scalar:
    """Of gravity, zero for a mass at the world's origin, of joint springs and cogging [J]; stops are left out."""
    heights = _centres(model, forward_kinematics(model, q)) @ jnp.asarray(model.gravity)
    total = spring_energy(model, q) - jnp.sum(model.link_mass * heights)
    return total + cogging_energy(model, q) if model.cogging else total


@entry
def centre_of_mass(model: Model, q: Coordinates) -> Vec3:
    """Of the whole mechanism, in the world [m]."""
    centres = _centres(model, forward_kinematics(model, q))
    return model.link_mass @ centres / jnp.sum(model.link_mass)


@entry
def momentum(model: Model, q: Coordinates, v: Joints) -> Spatial:
    """About the world's origin, in world axes: angular [kg·m²/s], then linear [kg·m/s]; rotors left out."""
    k = forward_kinematics(model, q, v)
    own = mv(link_inertias(model), k.velocity)
    X_link_world = jax.vmap(transforms.into_child)(k.rotation, k.position)
    return jnp.sum(mtv(X_link_world, own), axis=0)


def _centres(model: Model, k: Kinematics) -> AnyArray:
    """Centre of mass of each link in the world [m]."""
    return k.position + mv(k.rotation, jnp.asarray(model.link_com))
