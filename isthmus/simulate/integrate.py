"""Integrators: semi-implicit Euler (implicit in friction unless told otherwise), explicit Euler, RK4; substeps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax.numpy as jnp

from isthmus.dynamics.actuators import delayed
from isthmus.errors import BadOption, did_you_mean
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.networks.signals import Signal, Signals
from isthmus.simulate.accelerate import accelerate, impose
from isthmus.types import Coordinates, Joints, Scalar

IntegratorName = Literal["semi_implicit", "explicit_euler", "rk4"]


@dataclasses.dataclass(frozen=True)
class Scheme:
    """How time is stepped; static."""

    integrator: str = "semi_implicit"
    explicit: bool = False
    """Plain semi-implicit Euler, as in the papers: nothing is taken implicitly."""
    substeps: int = 1

    def __post_init__(self) -> None:
        if self.integrator not in INTEGRATORS:
            raise BadOption(
                f"no integrator is called {self.integrator!r}.{did_you_mean(self.integrator, INTEGRATORS)}"
            )
        if (
            isinstance(self.substeps, bool)
            or not isinstance(self.substeps, int)
            or self.substeps < 1
        ):
            raise BadOption(f"substeps must be a whole number from 1, not {self.substeps!r}.")


def advance(
    model: Model, state: State, control: Control, dt: Scalar, scheme: Scheme
) -> tuple[State, Signals]:
    """The state one step of `dt` [s] later, and what was published at the beginning of the step."""
    h = dt / scheme.substeps if scheme.substeps > 1 else dt
    control, state = _through_delay(model, state, control, dt)
    first = None
    for _ in range(scheme.substeps):
        signal = Signals(model, state.memory, h)
        state = INTEGRATORS[scheme.integrator](model, state, control, h, scheme.explicit, signal)
        state = eqx.tree_at(
            lambda s: s.memory, state, signal.remembered(state.memory), is_leaf=lambda x: x is None
        )
        first = signal if first is None else first
    assert first is not None
    return state, first


def _through_delay(
    model: Model, state: State, control: Control, dt: Scalar
) -> tuple[Control, State]:
    """The commands that reach the motors during this step, and the state that remembers this one."""
    if not model.delay_steps:
        return control, state
    command = jnp.zeros_like(state.v) if control.torque is None else jnp.asarray(control.torque)
    arriving, past = delayed(model, state.memory["commands"], command, dt)
    remembering = State(state.q, state.v, {**state.memory, "commands": past}, state.time)
    return eqx.tree_at(
        lambda c: c.torque, control, arriving, is_leaf=lambda x: x is None
    ), remembering


def semi_implicit(
    model: Model, state: State, control: Control, dt: Scalar, explicit: bool, signal: Signal
) -> State:
    """Velocity first, then position with the new velocity."""
    state = impose(model, state, control)
    a = accelerate(model, state, control, signal, implicit=None if explicit else dt)
    v = state.v + dt * a
    return _moved(model, state, coordinates.plus(model, state.q, dt * v), v, dt)


def explicit_euler(
    model: Model, state: State, control: Control, dt: Scalar, explicit: bool, signal: Signal
) -> State:
    """Position and velocity with the rates at the beginning."""
    state = impose(model, state, control)
    a = accelerate(model, state, control, signal)
    return _moved(
        model, state, coordinates.plus(model, state.q, dt * state.v), state.v + dt * a, dt
    )


def rk4(
    model: Model, state: State, control: Control, dt: Scalar, explicit: bool, signal: Signal
) -> State:
    """The classic four stages; quaternions are carried as four numbers and brought back to unit length."""
    state = impose(model, state, control)

    def rates(
        q: Coordinates, v: Joints, share: float, signal: Signal
    ) -> tuple[Coordinates, Joints]:
        there = State(q, v, state.memory, state.time + share * dt)
        return coordinates.rate(model, q, v), accelerate(model, there, control, signal)

    later = lambda: Signals(model, state.memory, dt)  # networks remember the first stage
    q, v = state.q, state.v
    dq1, dv1 = rates(q, v, 0.0, signal)
    dq2, dv2 = rates(q + 0.5 * dt * dq1, v + 0.5 * dt * dv1, 0.5, later())
    dq3, dv3 = rates(q + 0.5 * dt * dq2, v + 0.5 * dt * dv2, 0.5, later())
    dq4, dv4 = rates(q + dt * dq3, v + dt * dv3, 1.0, later())
    moved = q + dt / 6.0 * (dq1 + 2.0 * dq2 + 2.0 * dq3 + dq4)
    v = v + dt / 6.0 * (dv1 + 2.0 * dv2 + 2.0 * dv3 + dv4)
    return _moved(model, state, coordinates.normalise(model, moved), v, dt)


def _moved(model: Model, state: State, q: Coordinates, v: Joints, dt: Scalar) -> State:
    return State(q, v, state.memory, jnp.asarray(state.time) + dt)


INTEGRATORS: dict[str, Callable[..., State]] = {
    "semi_implicit": semi_implicit,
    "explicit_euler": explicit_euler,
    "rk4": rk4,
}
