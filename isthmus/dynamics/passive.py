"""Springs, dampers and dry friction of the joints, and the stops at their ends of travel."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from isthmus.dynamics.entry import entry
from isthmus.dynamics.exact import exact
from isthmus.model.coordinates import minus, torque
from isthmus.model.model import Model
from isthmus.types import AnyArray, Coordinates, Joints


@entry
def passive_torque(model: Model, q: Coordinates, v: Joints) -> Joints:
    """Spring, viscous and dry friction torques [N·m, N]; dry friction is `−friction · tanh(v / friction_speed)`."""
    stretch = minus(model, q, jnp.asarray(model.joint_rest_position))
    spring = -torque(model, stretch, model.joint_stiffness * stretch)
    return (
        spring
        - model.joint_damping * v
        - model.joint_friction * jnp.tanh(v / model.joint_friction_speed)
    )


@exact
def passive_slope(model: Model, v: Joints) -> Joints:
    """`−τ/v` of viscous and dry friction [N·m·s/rad, N·s/m]: the slope for an implicit step.

    For dry friction it is the slope of the chord from zero, not of the tangent: an implicit step then never
    pushes a joint through standstill, whatever its speed before.
    """
    return model.joint_damping + model.joint_friction / model.joint_friction_speed * _tanhc(
        v / model.joint_friction_speed
    )


@entry
def limit_torque(model: Model, q: Coordinates, v: Joints) -> Joints:
    """Torque of the stops [N·m, N]: a one-sided spring and damper that set in smoothly over `limit_width`."""
    if not model.limited:
        return jnp.zeros_like(v)
    depth, _, contact, rows, k, d = _stops(model, q)
    return jnp.zeros_like(v).at[rows].set(-contact * (k * depth + d * jnp.asarray(v)[rows]))


@exact
def limit_slopes(model: Model, q: Coordinates) -> tuple[Joints, Joints]:
    """Stiffness and damping of the stops at `q`, for an implicit step."""
    if not model.limited:
        return jnp.zeros(model.dof), jnp.zeros(model.dof)
    depth, slope, contact, rows, k, d = _stops(model, q)
    zero = jnp.zeros(model.dof, depth.dtype)
    return zero.at[rows].set(k * (contact + jnp.abs(depth) * slope)), zero.at[rows].set(d * contact)


def _stops(model: Model, q: Coordinates):
    """Penetration [rad, m], signed; derivative of the contact by it; contact in [0, 1]; rows; stiffness; damping."""
    rows = np.array(model.limited)
    lower, upper, width, k, d = (
        jnp.asarray(leaf)[rows]
        for leaf in (
            model.joint_lower, model.joint_upper, model.joint_limit_width,
            model.joint_limit_stiffness, model.joint_limit_damping,
        )
    )  # fmt: skip
    x = positions(model, q)[rows]
    over, under = jnp.maximum(x - upper, 0.0), jnp.maximum(lower - x, 0.0)
    share = jnp.minimum((over + under) / width, 1.0)
    contact = share * share * (3.0 - 2.0 * share)
    return over - under, 6.0 * share * (1.0 - share) / width, contact, rows, k, d


def positions(model: Model, q: Coordinates) -> AnyArray:
    """The coordinate of each degree of freedom; those of quaternions have no meaning."""
    if model.nq == model.dof:
        return jnp.asarray(q)
    spans = zip(model.layout.q_own, model.layout.v_own, strict=True)
    return jnp.asarray(q)[
        np.array([a + n for (a, _), (c, d) in spans for n in range(d - c)], dtype=int)
    ]


def _tanhc(x: AnyArray) -> AnyArray:
    """`tanh(x)/x`, smooth at zero."""
    small = jnp.abs(x) < 1e-3
    safe = jnp.where(small, 1.0, x)  # the quotient stays finite when not used
    square = x * x
    return jnp.where(
        small, 1.0 - square / 3.0 + 2.0 / 15.0 * square * square, jnp.tanh(safe) / safe
    )
