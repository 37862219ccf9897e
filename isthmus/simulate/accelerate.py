"""Forces -> accelerations, and accelerations -> the motor torques that they need."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from isthmus.dynamics.aba import AddedInertia, forward_dynamics_at
from isthmus.dynamics.actuators import motor_slope
from isthmus.dynamics.exact import exact
from isthmus.dynamics.jacobians import link_jacobians
from isthmus.dynamics.passive import (
    bristle_ahead,
    limit_slopes,
    load_friction_torque,
    passive_slope,
    transmitted_torque,
)
from isthmus.dynamics.rnea import inverse_dynamics_at
from isthmus.model.model import Model
from isthmus.model.state import Control, State, prescribed_rows
from isthmus.networks.signals import Signal
from isthmus.simulate.forces import Forces, forces
from isthmus.types import AnyArray, Joints, Scalar


def accelerate(
    model: Model,
    state: State,
    control: Control,
    signal: Signal,
    *,
    period: Scalar | None = None,
    implicit: Scalar | None = None,
) -> tuple[Forces, Joints]:
    """What acts at `state` under `control`, with the corrected state, and the `dv/dt` [rad/s², m/s²] that it gives.

    `period` as in `forces`, `implicit` as in `acceleration_under`.
    """
    acting = forces(model, state, control, signal, period)
    return acting, acceleration_under(acting, control, signal, implicit)


@exact
def acceleration_under(
    acting: Forces, control: Control, signal: Signal, implicit: Scalar | None = None
) -> Joints:
    """`dv/dt` [rad/s², m/s²] under given forces.

    With a time step [s] as `implicit`, friction, PD damping and stops act as they will at the end of that step.
    """
    added, ahead = _at_end_of_step(acting, implicit, signal)
    a = forward_dynamics_at(
        acting.model, acting.kinematics, acting.joint if ahead is None else acting.joint + ahead,
        signal, force=acting.link, prescribed=control.acceleration, added=added,
    )  # fmt: skip
    return signal("joint/acceleration", a)


@exact
def needed_torque(acting: Forces, a: Joints, signal: Signal) -> Joints:
    """Motor torques [N·m, N] that give the accelerations `a` [rad/s², m/s²] beside all other forces.

    Friction that grows with the motor torque is that of the torque which is returned, not of `acting.motor`.
    """
    tau = inverse_dynamics_at(acting.model, acting.kinematics, a, signal, force=acting.link)
    if acting.inertia is not None:
        tau = tau + acting.inertia @ a
    tau = tau - acting.passive - acting.stops
    if not acting.model.load_rubbing:
        return tau
    rest = tau + load_friction_torque(acting.model, acting.v, acting.motor, acting.bristles)
    return transmitted_torque(acting.model, rest, acting.v, acting.bristles)


@exact
def moved_by(
    acting: Forces, a: Joints, dt: Scalar, signal: Signal, implicit: Scalar | None
) -> tuple[Joints, Joints]:
    """The velocity `dt` [s] later under the acceleration `a` and impacts, and by what `q` moves until then."""
    model = acting.model
    if "impulse" not in model.contact_kinds:
        v = acting.v + dt * a
        return v, dt * v
    from isthmus.simulate.impacts import after_impacts  # few models have contact by impulses

    return after_impacts(acting, a, dt, signal, *_at_end_of_step(acting, implicit, signal))


def impose(model: Model, state: State, control: Control) -> State:
    """The state with the prescribed joints where the control has them."""
    if not model.prescribed:
        return state
    rows_q, rows_v = prescribed_rows(model)
    q = jnp.asarray(state.q).at[rows_q].set(control.position)
    v = jnp.asarray(state.v).at[rows_v].set(0.0 if control.velocity is None else control.velocity)
    return State(q, v, state.memory, state.time)


def _at_end_of_step(
    acting: Forces, dt: Scalar | None, signal: Signal
) -> tuple[AddedInertia, Joints | None]:
    """What an implicit step adds to the inertia, and to the torque, for resistance at its end; `dt` None: nothing."""
    if dt is None:
        return AddedInertia(dof=acting.inertia), None
    model = acting.model
    joint, link, dof = _learned_damping(acting, signal)
    resistance = dt * signal.slope(
        "joint/passive_torque", passive_slope(model, acting.v, acting.motor, acting.bristles)
    )
    if (learned := _sum(joint)) is not None:
        resistance = resistance + dt * learned
    if model.position_controlled:
        resistance = resistance + dt * signal.slope("joint/motor_torque", motor_slope(model))
    ahead = None
    if acting.bristles is not None:
        ahead, slope = (
            signal.slope("joint/passive_torque", x)
            for x in bristle_ahead(model, acting.v, acting.motor, acting.bristles, dt)
        )
        resistance = resistance + dt * slope
        ahead = signal.slope("joint/torque", ahead)
    if model.limited:
        stiffness, damping = (
            signal.slope("joint/limit_torque", x) for x in limit_slopes(model, acting.q)
        )
        resistance = resistance + dt * (damping + dt * stiffness)
        stop = signal.slope("joint/torque", -dt * stiffness * acting.v)
        ahead = stop if ahead is None else ahead + stop
    resistance = signal.slope("joint/torque", resistance)
    link = [dt * D for D in link]
    if acting.rubbing is not None:
        link.append(acting.rubbing.added(dt))
    dof = [dt * D for D in dof] + ([] if acting.inertia is None else [acting.inertia])
    return AddedInertia(resistance, _sum(link), _sum(dof)), ahead


def _learned_damping(acting: Forces, signal: Signal) -> tuple[list, list, list]:
    """Damping by networks: of each degree of freedom, of each link (6, 6), and matrices in joint space."""
    joint, link = signal.damping("joint/passive_torque"), signal.damping("link/external_force")
    dof = [D for D in joint if D.ndim == 2]
    if several := [D for D in link if D.ndim == 4]:
        J = link_jacobians(acting.model, acting.kinematics)
        dof += [jnp.einsum("lin,likj,kjm->nm", J, D, J) for D in several]
    diagonal = [D[:, :, None] * np.eye(6)[None] for D in link if D.ndim == 2]
    blocks = [D for D in link if D.ndim == 3]
    return [D for D in joint if D.ndim == 1], diagonal + blocks, dof


def _sum(parts: list) -> AnyArray | None:
    return sum(parts[1:], start=parts[0]) if parts else None
