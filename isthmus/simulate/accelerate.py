"""State and control -> acceleration: the whole pipeline of a step on one page, every quantity through its door."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp

from isthmus.dynamics.aba import forward_dynamics
from isthmus.dynamics.actuators import motor_slope, motor_torque
from isthmus.dynamics.exact import exact
from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.dynamics.passive import limit_slopes, limit_torque, passive_slope, passive_torque
from isthmus.model.model import Model, leaf_fields
from isthmus.model.state import Control, State, prescribed_rows
from isthmus.networks.signals import NoSignals
from isthmus.types import AnyArray, Coordinates, Joints, Scalar


@exact
def accelerate(
    model: Model, state: State, control: Control, signal: NoSignals, implicit: Scalar | None = None
) -> Joints:
    """`dv/dt` [rad/s², m/s²]; with a time step as `implicit`, as an implicit step takes friction and stops."""
    signal("time", state.time)
    q = signal("joint/position", state.q)
    v = signal("joint/velocity", state.v)
    command = signal("joint/control", _or_zeros(control.torque, v))
    for name, value in control.extra.items():
        signal(f"extra/{name}", value)
    model = _parameters(model, signal)

    motor = signal("joint/motor_torque", motor_torque(model, command, q, v))
    kinematics = forward_kinematics(model, q, v, signal)
    passive = signal("joint/passive_torque", passive_torque(model, q, v))
    stops = signal("joint/limit_torque", limit_torque(model, q, v))
    tau = signal("joint/torque", motor + passive + stops)
    force = signal("link/external_force", _or_zeros(control.force, kinematics.velocity))

    resistance, ahead = _ahead(model, q, v, implicit, signal)
    a = forward_dynamics(
        model, q, v, tau if ahead is None else tau + ahead, signal,
        force=force, prescribed=control.acceleration, implicit=resistance, drag=_drag(signal, implicit),
        added=signal.added_inertia(), kinematics=kinematics,
    )  # fmt: skip
    return signal("joint/acceleration", a)


def impose(model: Model, state: State, control: Control) -> State:
    """The state with the prescribed joints where the control has them."""
    if not model.prescribed:
        return state
    rows_q, rows_v = prescribed_rows(model)
    q = jnp.asarray(state.q).at[rows_q].set(control.position)
    v = jnp.asarray(state.v).at[rows_v].set(0.0 if control.velocity is None else control.velocity)
    return State(q, v, state.memory, state.time)


def _parameters(model: Model, signal: NoSignals) -> Model:
    """Every leaf through its door."""
    passed = {
        field: signal(spec.name, value)
        for field, spec in leaf_fields()
        if (value := getattr(model, field)).size
    }
    return dataclasses.replace(model, **passed)


def _drag(signal: NoSignals, dt: Scalar | None) -> AnyArray | None:
    """What an implicit step adds to the inertia of the links for learned drag at its end."""
    slope = signal.slope("link/external_force")
    return None if dt is None or slope is None else dt * slope


def _ahead(
    model: Model, q: Coordinates, v: Joints, dt: Scalar | None, signal: NoSignals
) -> tuple[Joints | None, Joints | None]:
    """What an implicit step adds to the armature, and to the torque, for friction and stops at its end."""
    if dt is None:
        return None, None
    resistance = dt * passive_slope(model, v)
    if (learned := signal.slope("joint/passive_torque")) is not None:
        resistance = resistance + dt * learned
    if model.position_controlled:
        resistance = resistance + dt * motor_slope(model)
    if not model.limited:
        return resistance, None
    stiffness, damping = limit_slopes(model, q)
    return resistance + dt * (damping + dt * stiffness), -dt * stiffness * v


def _or_zeros(value: AnyArray | None, like: AnyArray) -> AnyArray:
    return jnp.zeros_like(like) if value is None else jnp.asarray(value)
