"""Command -> motor torque: gear, motor constant, PD controller, saturation, delay."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.dynamics.exact import exact
from isthmus.dynamics.passive import positions
from isthmus.dynamics.smooth import dead_zone, saturate, through_dead_zone
from isthmus.model.model import Model
from isthmus.types import AnyArray, Coordinates, Joints, Scalar


@exact
def motor_torque(model: Model, command: Joints, q: Coordinates, v: Joints) -> Joints:
    """Torque of the motors [N·m, N], for commands that are torques, or positions [rad, m] of a PD controller.

    A PD controller feels no error within ± half of the play. Both are multiplied by the motor constant, where a joint
    has one: commands and PD gains are then in the motor's own unit, such as A and A/rad.
    """
    tau = jnp.asarray(model.joint_gear * command)
    if model.position_controlled:
        rows = np.array(model.position_controlled)
        gear, kp, kd = (
            jnp.asarray(x)[rows] for x in (model.joint_gear, model.joint_kp, model.joint_kd)
        )
        position, speed = gear * positions(model, q)[rows], gear * jnp.asarray(v)[rows]
        error = command[rows] - position
        if model.playing:
            error = dead_zone(error, _half_play(model, rows))
        tau = tau.at[rows].set(gear * (kp * error - kd * speed))
    if model.current_driven:
        tau = model.joint_motor_constant * tau
    return tau if not model.saturated else _bounded(model, tau)


def has_motors(model: Model) -> bool:
    """Whether the model describes motors: by a controller, a largest torque, a motor constant or a delay."""
    return bool(
        model.position_controlled or model.saturated or model.current_driven or model.delay_steps
    )


@exact
def motor_slope(model: Model) -> Joints:
    """`−∂τ/∂v` of the PD controllers [N·m·s/rad, N·s/m]: the slope for an implicit step."""
    rows = np.array(model.position_controlled)
    gear, kd = jnp.asarray(model.joint_gear)[rows], jnp.asarray(model.joint_kd)[rows]
    slope = jnp.zeros(model.dof, kd.dtype).at[rows].set(gear * gear * kd)
    return model.joint_motor_constant * slope if model.current_driven else slope


@exact
def command_for(model: Model, tau: Joints, q: Coordinates, v: Joints) -> Joints:
    """The command that gives the motor torque `tau` [N·m, N] at once: `motor_torque` backwards, without its bound.

    A PD controller without `kp` obeys no command: its row is not finite.
    """
    command = tau / model.joint_gear
    if model.current_driven:
        command = command / model.joint_motor_constant
    if model.position_controlled:
        rows = np.array(model.position_controlled)
        gear, kp, kd = (
            jnp.asarray(x)[rows] for x in (model.joint_gear, model.joint_kp, model.joint_kd)
        )
        position, speed = gear * positions(model, q)[rows], gear * jnp.asarray(v)[rows]
        error = (command[rows] + kd * speed) / kp
        if model.playing:
            error = through_dead_zone(error, _half_play(model, rows))
        command = command.at[rows].set(position + error)
    return command


@exact
def delayed(
    model: Model, past: Float[AnyArray, "steps n"], command: Joints, period: Scalar
) -> Joints:
    """The command that reaches the motors now: interpolated between `command` and past ones, `period` [s] apart."""
    kept = remembered(past, command)
    place = jnp.clip(model.joint_delay / period, 0.0, kept.shape[0] - 1.0)
    before = jnp.clip(jnp.floor(place).astype(int), 0, kept.shape[0] - 2)
    share, columns = place - before.astype(place.dtype), np.arange(model.dof)
    return (1.0 - share) * kept[before, columns] + share * kept[before + 1, columns]


def remembered(past: Float[AnyArray, "steps n"], command: Joints) -> Float[AnyArray, "steps n"]:
    """Past commands with this one first; the oldest is forgotten."""
    return jnp.concatenate([command[None], past[:-1]])


def _half_play(model: Model, rows: np.ndarray) -> AnyArray:
    """Half of the play as the motor turns [rad, m]."""
    return 0.5 * jnp.abs(jnp.asarray(model.joint_gear)[rows]) * jnp.asarray(model.joint_play)[rows]


def _bounded(model: Model, tau: Joints) -> Joints:
    """Motor torques within the effort limits, where there are any."""
    rows = np.array(model.saturated)
    bound = jnp.asarray(model.joint_effort)[rows]
    endless, idle = jnp.isinf(bound), bound == 0.0
    safe = jnp.where(endless | idle, 1.0, bound)  # keeps the derivative finite where it is not used
    tau = jnp.asarray(tau)
    held = jnp.where(idle, 0.0, saturate(tau[rows], safe))
    return tau.at[rows].set(jnp.where(endless, tau[rows], held))
