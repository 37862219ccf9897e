"""The quantities on which engines are compared, as isthmus computes them, and how close is close."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from isthmus import Model, State
from isthmus.dynamics import (
    bias_torque,
    centre_of_mass,
    forward_dynamics,
    forward_kinematics,
    inverse_dynamics,
    kinetic_energy,
    link_jacobian,
    mass_matrix,
    momentum,
    point_jacobian,
    point_motion,
    potential_energy,
)

Quantities = dict[str, np.ndarray]


def sample(model: Model, seed: int = 0) -> dict[str, np.ndarray]:
    """A random state, torques, accelerations and forces on the links."""
    draw = np.random.default_rng(seed)
    neutral = State.neutral(model)
    q = np.array(neutral.q) + draw.uniform(-1.0, 1.0, model.nq)
    for i, (start, stop) in enumerate(model.layout.q_own):
        if stop > start:
            q[start:stop] = model.kind(i).normalise(jnp.asarray(q[start:stop]))
    v, tau, a = draw.normal(size=(3, model.dof))
    force = draw.normal(size=(len(model.link_names), 6))
    return {"q": q, "v": v, "tau": tau, "a": a, "force": force}


def ours(model: Model, **at: np.ndarray) -> Quantities:
    """What isthmus says; the last link and the first point stand for all."""
    return {name: np.asarray(value) for name, value in _ours(model, **at).items()}


@jax.jit
def _ours(model: Model, q, v, tau, a, force) -> dict[str, jax.Array]:
    k = forward_kinematics(model, q, v)
    link, point = model.link_names[-1], model.point_names[0]
    place = jnp.asarray(model.point_origin)[0]
    at, speed = point_motion(model, k, model.link_names[model.point_links[0]], place)
    return {
        "position": k.position,
        "rotation": k.rotation,
        "velocity": k.velocity,
        "mass_matrix": mass_matrix(model, q),
        "bias_torque": bias_torque(model, q, v),
        "inverse_dynamics": inverse_dynamics(model, q, v, a, force=force),
        "link_jacobian": link_jacobian(model, q, link),
        "point_position": at,
        "point_velocity": speed,
        "point_jacobian": point_jacobian(model, q, point),
        "kinetic_energy": kinetic_energy(model, q, v),
        "potential_energy": potential_energy(model, q),
        "centre_of_mass": centre_of_mass(model, q),
        "momentum": momentum(model, q, v),
        "forward_dynamics": forward_dynamics(model, q, v, tau, force=force),
    }


def assert_close(found: Quantities, known: Quantities, tolerance: float = 1e-9) -> None:
    """Every known quantity within `tolerance` of its largest entry."""
    for name, value in known.items():
        scale = max(1e-3, float(np.max(np.abs(value), initial=0.0)))
        np.testing.assert_allclose(
            found[name], value, rtol=0.0, atol=tolerance * scale, err_msg=name
        )
