"""All forces on a mechanism at one state: motors, springs, friction, cogging, stops, contact, external forces.

Every quantity passes through `signal(name, value)`, so that it can be recorded, read or corrected. The forward
simulation (`accelerate.py`) and the torques that a measured motion needs both start from this one function.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Float

from isthmus.contact.geometry import Touch, touch
from isthmus.contact.penalty import Rubbing, penalty_forces
from isthmus.dynamics.actuators import delayed, motor_torque
from isthmus.dynamics.exact import exact
from isthmus.dynamics.kinematics import Kinematics, forward_kinematics
from isthmus.dynamics.passive import limit_torque, passive_torque
from isthmus.model.model import Model, leaf_fields
from isthmus.model.state import Control, State
from isthmus.networks.signals import Signal
from isthmus.record import Record
from isthmus.types import AnyArray, Coordinates, Joints, Scalar


class Forces(Record):
    """What acts on a mechanism at one state, and the corrected model, state and kinematics it was computed for."""

    model: Model
    q: Coordinates
    v: Joints
    kinematics: Kinematics
    motor: Joints
    """Torque of the motors [N·m, N]."""
    passive: Joints
    """Torque of springs, viscous and dry friction, cogging and offset [N·m, N]."""
    stops: Joints
    """Torque of the stops at the ends of travel [N·m, N]."""
    joint: Joints
    """All generalised forces together: motor, passive and stops [N·m, N]."""
    link: Float[AnyArray, "links 6"]
    """External force on each link, in its own frame: moment [N·m], then force [N]."""
    bristles: Joints | None
    """State of the bristles, −1 to 1; None: the model has none."""
    inertia: Float[AnyArray, "dof dof"] | None
    """Inertia that networks add in joint space [kg·m²]; None: none."""
    touch: Touch | None
    """Where contacts are; None: the model has none."""
    rubbing: Rubbing | None
    """Friction of contacts by springs; None: there are none."""


@exact
def forces(
    model: Model, state: State, control: Control, signal: Signal, period: Scalar | None = None
) -> Forces:
    """All forces at `state` under `control`, each published to `signal` and corrected by it.

    `period` [s]: of the commands, for motors with a delay; None: these act at once.
    """
    signal("time", state.time)
    q = signal("joint/position", state.q)
    v = signal("joint/velocity", state.v)
    command = signal("joint/control", _or_zeros(control.torque, v))
    for name, value in control.extra.items():
        signal(f"extra/{name}", value)
    model = _corrected(model, signal)

    if model.delay_steps and period is not None:
        command = delayed(model, state.memory["commands"], command, period)
    motor = signal("joint/motor_torque", motor_torque(model, command, q, v))
    kinematics = forward_kinematics(model, q, v, signal)
    bristles = signal.recalled("bristles") if model.bristling else None
    passive = signal("joint/passive_torque", passive_torque(model, q, v, motor, bristles))
    stops = signal("joint/limit_torque", limit_torque(model, q, v))
    joint = signal("joint/torque", motor + passive + stops)
    given, touching, rubbing = _or_zeros(control.force, kinematics.velocity), None, None
    if model.contact_kinds:
        touching = touch(model, kinematics, signal)
        if "penalty" in model.contact_kinds:
            pushed, rubbing = penalty_forces(model, kinematics, touching, signal)
            given = given + pushed
    link = signal("link/external_force", given)
    inertia = signal.added_inertia()
    return Forces(
        model, q, v, kinematics, motor, passive, stops, joint, link, bristles, inertia, touching, rubbing,
    )  # fmt: skip


def _corrected(model: Model, signal: Signal) -> Model:
    """The model with every parameter published and corrected."""
    passed = {
        field: signal(spec.name, value)
        for field, spec in leaf_fields()
        if (value := getattr(model, field)).size
    }
    return dataclasses.replace(model, **passed)


def _or_zeros(value: AnyArray | None, like: AnyArray) -> AnyArray:
    return jnp.zeros_like(like) if value is None else jnp.asarray(value)
