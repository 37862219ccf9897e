"""Springs, friction, cogging and offsets of the joints, and the stops at their ends of travel."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from isthmus.dynamics.entry import entry
from isthmus.dynamics.exact import exact
from isthmus.dynamics.smooth import dead_zone, dead_zone_work
from isthmus.model.coordinates import minus, torque
from isthmus.model.model import Model
from isthmus.types import AnyArray, Coordinates, Joints, Number, Scalar

LOAD_CORNER = 1e-3
"""Motor torque within which the growth of friction with it sets in smoothly [N·m, N]."""
STRIBECK_CORNER = 1e-16
"""Square of the speed, as a share of `stiction_speed`, within which the fall of stiction is rounded."""


@entry
def passive_torque(
    model: Model,
    q: Coordinates,
    v: Joints,
    load: Joints | None = None,
    bristles: Joints | None = None,
) -> Joints:
    """Torques of springs, friction, cogging and offset [N·m, N]; dry friction is `−limit · tanh(v / friction_speed)`.

    `load`: motor torque [N·m, N], for friction that grows with it; None: zero. `bristles`: see `dry_share`.
    """
    stretch = minus(model, q, jnp.asarray(model.joint_rest_position))
    total = (
        -torque(model, stretch, model.joint_stiffness * taut(model, stretch))
        - model.joint_damping * v
        - friction_limit(model, v, load) * dry_share(model, v, bristles)
    )
    if model.cogging:
        total = total + cogging_torque(model, q)
    return total - model.joint_torque_offset if model.biased else total


def taut(model: Model, stretch: Joints) -> Joints:
    """The displacement from rest [rad, m] that the springs feel: what is outside ± half of the play."""
    return dead_zone(stretch, 0.5 * model.joint_play) if model.playing else stretch


@exact
def spring_energy(model: Model, q: Coordinates) -> Scalar:
    """The potential of the springs of the joints [J]."""
    stretch = minus(model, jnp.asarray(q), jnp.asarray(model.joint_rest_position))
    if model.playing:
        return jnp.sum(model.joint_stiffness * dead_zone_work(stretch, 0.5 * model.joint_play))
    return 0.5 * jnp.sum(model.joint_stiffness * jnp.square(stretch))


@exact
def passive_slope(
    model: Model, v: Joints, load: Joints | None = None, bristles: Joints | None = None
) -> Joints:
    """`−τ/v` of viscous and dry friction [N·m·s/rad, N·s/m]: the slope for an implicit step.

    For dry friction it is the slope of the chord from zero, not of the tangent: an implicit step then never
    pushes a joint through standstill, whatever its speed before.
    """
    limit, speed = friction_limit(model, v, load), model.joint_friction_speed
    if bristles is not None:
        limit = (1.0 - _bristled(model)) * limit  # `bristle_ahead` has the rest
    return model.joint_damping + limit / speed * _tanhc(v / speed)


def friction_limit(model: Model, v: Joints, load: Joints | None = None) -> AnyArray:
    """The largest dry friction at this speed and under this motor torque [N·m, N].

    It is `friction + stiction · stribeck + load_friction · |load|`, with the corner of `|load|` rounded.
    """
    limit = model.joint_friction
    if model.sticking:
        limit = limit + model.joint_stiction * stribeck(model, v)
    if model.load_rubbing and load is not None:
        limit = limit + model.joint_load_friction * rounded_load(load)
    return limit


def stribeck(model: Model, v: Joints) -> AnyArray:
    """The share of stiction that is left at this speed, 1 at rest: `exp(−|v / stiction_speed| ^ stiction_exponent)`.

    Stribeck's curve (Armstrong-Hélouvry, Dupont and Canudas de Wit 1994), rounded at rest.
    """
    square = jnp.square(v / model.joint_stiction_speed) + STRIBECK_CORNER
    return jnp.exp(-(square ** (0.5 * model.joint_stiction_exponent)))


@exact
def transmitted_torque(
    model: Model, tau: Joints, v: Joints, bristles: Joints | None = None
) -> Joints:
    """The motor torque `m` [N·m, N] of which its own load friction leaves `tau`: `m − load_friction |m| s = tau`.

    With `s` of `dry_share` and the rounded `|m|` that is a quadratic equation.
    """
    k = model.joint_load_friction * dry_share(model, v, bristles)
    rest = 1.0 - k * k
    return (tau + k * jnp.sqrt(tau * tau + rest * LOAD_CORNER**2)) / rest


@exact
def load_friction_torque(
    model: Model, v: Joints, load: Joints, bristles: Joints | None = None
) -> Joints:
    """The part of the dry friction that `load`, the motor torque, causes [N·m, N]."""
    return -model.joint_load_friction * rounded_load(load) * dry_share(model, v, bristles)


def dry_share(model: Model, v: Joints, bristles: Joints | None = None) -> AnyArray:
    """The share of the largest dry friction that acts against the motion, −1 to 1.

    It is `tanh(v / friction_speed)`, or, for joints with a `bristle_deflection`, the state `z` of their bristles
    (Dahl 1968): `dz/dt = (v − |v| z) / bristle_deflection`. Without a state, `bristles` None, all are as the first.
    """
    smooth = jnp.tanh(v / model.joint_friction_speed)
    if not model.bristling or bristles is None:
        return smooth
    return jnp.where(_bristled(model) > 0.0, bristles, smooth)


def bristles_after(model: Model, bristles: Joints, v: Joints, dt: Number) -> Joints:
    """The state of the bristles, −1 to 1, after `dt` [s] with the velocity `v` at its end (implicit Euler)."""
    way: Any = dt * v
    full = _deflection(model)
    return _bristled(model) * (full * bristles + way) / (full + abs(way))


@exact
def bristle_ahead(
    model: Model, v: Joints, load: Joints, bristles: Joints, dt: Scalar
) -> tuple[Joints, Joints]:
    """For an implicit step: by how much torques of bristles at its end differ at the same `v`, and their `−dτ/dv`."""
    limit = _bristled(model) * friction_limit(model, v, load)
    slope = limit * dt / (_deflection(model) + dt * jnp.abs(v))
    return slope * (jnp.abs(v) * bristles - v), slope


def _bristled(model: Model) -> np.ndarray:
    """1 for each degree of freedom with bristles, else 0."""
    return np.isin(np.arange(model.dof), model.bristling).astype(np.float64)


def _deflection(model: Model) -> AnyArray:
    """`bristle_deflection`, or a harmless number where there are no bristles [rad, m]."""
    return model.joint_bristle_deflection + (1.0 - _bristled(model))


@exact
def cogging_torque(model: Model, q: Coordinates) -> Joints:
    """`cogging_sin · sin(n q) + cogging_cos · cos(n q)` with `n` periods in a turn, or in a metre [N·m, N]."""
    angle = _cogging_rate(model) * positions(model, q)
    return model.joint_cogging_sin * jnp.sin(angle) + model.joint_cogging_cos * jnp.cos(angle)


@exact
def cogging_energy(model: Model, q: Coordinates) -> Scalar:
    """The potential of the cogging torque [J]."""
    rate, x = _cogging_rate(model), positions(model, q)
    idle = rate == 0.0  # a constant torque, whose potential grows with the position
    safe = jnp.where(idle, 1.0, rate)
    wave = model.joint_cogging_sin * jnp.cos(safe * x) - model.joint_cogging_cos * jnp.sin(safe * x)
    return jnp.sum(jnp.where(idle, -model.joint_cogging_cos * x, wave / safe))


def _cogging_rate(model: Model) -> AnyArray:
    """Radians of the sine for a radian or a metre of the joint."""
    kinds = [model.kind(i) for i in range(len(model.joint_names))]
    turning = [
        "rad" in (*kinds[i].units, *kinds[i].units[-1:])[k]
        for i, (a, b) in enumerate(model.layout.v_own)
        for k in range(b - a)
    ]
    return model.joint_cogging_periods * np.where(turning, 1.0, 2.0 * np.pi)


def rounded_load(load: AnyArray) -> AnyArray:
    """`|load|`, smooth at zero."""
    return jnp.sqrt(load * load + LOAD_CORNER**2)


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
