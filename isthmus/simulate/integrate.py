"""Integrators: semi-implicit Euler (implicit in friction unless told otherwise), explicit Euler, RK4; substeps."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Integrator(abc.ABC):
    """How a state moves on by one time step, which is made in `substeps` equal parts."""

    name: ClassVar[str]
    stages: ClassVar[int] = 1
    """How often a part evaluates the dynamics."""
    substeps: int = 1

    def __post_init__(self) -> None:
        n = self.substeps
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise BadOption(f"substeps must be a whole number from 1, not {n!r}.")

    @abc.abstractmethod
    def move(
        self, model: Model, state: State, control: Control, dt: Scalar, signal: Signal
    ) -> State:
        """The state after one part of `dt` [s]."""

    def options(self) -> dict[str, Any]:
        """The integrator as the options `integrator`, `explicit` and `substeps` of `rollout`."""
        return {"integrator": self.name, "explicit": False, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SemiImplicit(Integrator):
    """Semi-implicit Euler: velocity first, then position with the new velocity.

    Joint friction, PD damping and stops act as they will at the end of the step, so that they stay stable in long
    steps; `explicit=True`: as they are at its beginning.
    """

    name = "semi_implicit"
    explicit: bool = False

    def move(
        self, model: Model, state: State, control: Control, dt: Scalar, signal: Signal
    ) -> State:
        a = accelerate(model, state, control, signal, implicit=None if self.explicit else dt)
        v = state.v + dt * a
        return _moved(state, coordinates.plus(model, state.q, dt * v), v, dt)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Euler(Integrator):
    """Explicit Euler: position and velocity with the rates at the beginning of the step."""

    name = "explicit_euler"

    def move(
        self, model: Model, state: State, control: Control, dt: Scalar, signal: Signal
    ) -> State:
        a = accelerate(model, state, control, signal)
        return _moved(state, coordinates.plus(model, state.q, dt * state.v), state.v + dt * a, dt)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RK4(Integrator):
    """The classic Runge-Kutta scheme of fourth order, with four evaluations of the dynamics.

    Quaternions are integrated as four numbers and brought back to unit length.
    """

    name = "rk4"
    stages = 4

    def move(
        self, model: Model, state: State, control: Control, dt: Scalar, signal: Signal
    ) -> State:
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
        return _moved(state, coordinates.normalise(model, moved), v, dt)


INTEGRATORS: dict[str, type[Integrator]] = {i.name: i for i in (SemiImplicit, Euler, RK4)}
"""By the names that options and files use."""


def integrator_of(
    integrator: str | Integrator = "semi_implicit", explicit: bool = False, substeps: int = 1
) -> Integrator:
    """An integrator, or the name of one, with the options `explicit` and `substeps`."""
    if isinstance(integrator, str):
        if integrator not in INTEGRATORS:
            raise BadOption(
                f"no integrator is called {integrator!r}.{did_you_mean(integrator, INTEGRATORS)}"
            )
        integrator = INTEGRATORS[integrator]()
    if explicit:
        if not isinstance(integrator, SemiImplicit):
            raise BadOption(
                f"explicit=True is an option of 'semi_implicit'; {integrator.name!r} is explicit without it."
            )
        integrator = dataclasses.replace(integrator, explicit=True)
    if integrator.substeps == 1:
        return dataclasses.replace(integrator, substeps=substeps)
    if substeps != 1:
        raise BadOption(f"substeps is given twice: {substeps} and {integrator}.")
    return integrator


def advance(
    model: Model, state: State, control: Control, dt: Scalar, integrator: Integrator
) -> tuple[State, Signals]:
    """The state one step of `dt` [s] later, and what was published at the beginning of the step."""
    parts = integrator.substeps
    h = dt / parts if parts > 1 else dt
    control, state = _through_delay(model, state, control, dt)
    first = None
    for _ in range(parts):
        signal = Signals(model, state.memory, h)
        state = integrator.move(model, impose(model, state, control), control, h, signal)
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


def _moved(state: State, q: Coordinates, v: Joints, dt: Scalar) -> State:
    return State(q, v, state.memory, jnp.asarray(state.time) + dt)
