"""Integrators: semi-implicit Euler (implicit in friction unless told otherwise), explicit Euler, RK4; substeps."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from isthmus.dynamics.actuators import remembered
from isthmus.dynamics.passive import bristles_after
from isthmus.entry import check_arguments
from isthmus.errors import BadOption, did_you_mean
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.networks.signals import Signal, Signals
from isthmus.simulate.accelerate import accelerate, impose, moved_by
from isthmus.simulate.forces import Forces
from isthmus.types import Coordinates, Joints, Scalar

MAX_PARTS = 1_000_000
"""Steps that one row of a log may take: a time in another unit makes more."""


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

    def in_parts_of(self, dt: float, row: float) -> Integrator:
        """The same with as many substeps as make a row of a log [s] of parts of `dt` [s]."""
        parts = row / dt
        if parts > MAX_PARTS:
            raise BadOption(
                f"dt={dt:g} s makes {parts:.2g} steps of each row of a log ({row:g} s), and {MAX_PARTS} are the"
                " most. dt is in seconds."
            )
        substeps = round(parts)
        if substeps < 1 or abs(parts - substeps) > 0.01 * parts:
            raise BadOption(
                f"dt={dt:g} s does not divide the log's {row:g} s: take a whole fraction of it."
            )
        return dataclasses.replace(self, substeps=substeps)

    def options(self) -> dict[str, Any]:
        """The integrator as the options `integrator`, `explicit` and `substeps` of `rollout`."""
        return {"integrator": self.name, "explicit": False, **dataclasses.asdict(self)}


@check_arguments
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
        implicit = None if self.explicit else dt
        acting, a = accelerate(
            model, state, control, signal, period=self.substeps * dt, implicit=implicit
        )
        return _moved(state, acting, *semi_implicit(acting, a, dt, signal, implicit), dt, signal)


@check_arguments
@dataclasses.dataclass(frozen=True, kw_only=True)
class Euler(Integrator):
    """Explicit Euler: position and velocity with the rates at the beginning of the step."""

    name = "explicit_euler"

    def move(
        self, model: Model, state: State, control: Control, dt: Scalar, signal: Signal
    ) -> State:
        acting, a = accelerate(model, state, control, signal, period=self.substeps * dt)
        v = signal("joint/new_velocity", acting.v + dt * a)
        q = coordinates.plus(model, acting.q, dt * acting.v)
        return _moved(state, acting, _new_position(model, q, signal), v, dt, signal)


@check_arguments
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
        ) -> tuple[Forces, Coordinates, Joints]:
            there = State(q, v, state.memory, state.time + share * dt)
            acting, a = accelerate(model, there, control, signal, period=self.substeps * dt)
            return acting, coordinates.rate(model, acting.q, acting.v), a

        later = lambda: Signals(model, state.memory, dt)  # networks remember the first stage
        acting, dq1, dv1 = rates(state.q, state.v, 0.0, signal)
        q, v = acting.q, acting.v
        _, dq2, dv2 = rates(q + 0.5 * dt * dq1, v + 0.5 * dt * dv1, 0.5, later())
        _, dq3, dv3 = rates(q + 0.5 * dt * dq2, v + 0.5 * dt * dv2, 0.5, later())
        _, dq4, dv4 = rates(q + dt * dq3, v + dt * dv3, 1.0, later())
        moved = q + dt / 6.0 * (dq1 + 2.0 * dq2 + 2.0 * dq3 + dq4)
        v = signal("joint/new_velocity", v + dt / 6.0 * (dv1 + 2.0 * dv2 + 2.0 * dv3 + dv4))
        q = coordinates.normalise(model, moved)
        return _moved(state, acting, _new_position(model, q, signal), v, dt, signal)


INTEGRATORS: dict[str, type[Integrator]] = {i.name: i for i in (SemiImplicit, Euler, RK4)}
"""By the names that options and files use."""


IntegratorLike = str | Integrator | type[Integrator]
"""An integrator, its class or its name."""


def integrator_of(
    integrator: IntegratorLike = "semi_implicit", explicit: bool = False, substeps: int = 1
) -> Integrator:
    """An integrator, its class or its name, with the options `explicit` and `substeps`."""
    if isinstance(integrator, str):
        if integrator not in INTEGRATORS:
            raise BadOption(
                f"no integrator is called {integrator!r}.{did_you_mean(integrator, INTEGRATORS)}"
            )
        integrator = INTEGRATORS[integrator]
    if isinstance(integrator, type):
        integrator = integrator()
    if explicit:
        if not isinstance(integrator, SemiImplicit):
            raise BadOption(
                f"explicit=True is an option of 'semi_implicit'; {integrator.name!r} is explicit without it."
            )
        integrator = dataclasses.replace(integrator, explicit=True)
    if integrator.substeps == 1 != substeps:
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
    first = None
    for _ in range(parts):
        signal = Signals(model, state.memory, h)
        state = integrator.move(model, impose(model, state, control), control, h, signal)
        state = eqx.tree_at(
            lambda s: s.memory, state, signal.remembered(state.memory), is_leaf=lambda x: x is None
        )
        first = signal if first is None else first
    assert first is not None
    if model.delay_steps:
        past = remembered(state.memory["commands"], first["joint/control"])
        state = State(state.q, state.v, {**state.memory, "commands": past}, state.time)
    return state, first


def semi_implicit(
    acting: Forces, a: Joints, dt: Scalar, signal: Signal, implicit: Scalar | None = None
) -> tuple[Coordinates, Joints]:
    """`q` and `v` after `dt` [s] of the acceleration `a` [rad/s², m/s²] and of impacts: velocity first.

    `implicit` as in `acceleration_under`, which gave `a`.
    """
    after, way = moved_by(acting, a, dt, signal, implicit)
    v = signal("joint/new_velocity", after)
    way = way if v is after else way + dt * (v - after)
    return _new_position(acting.model, coordinates.plus(acting.model, acting.q, way), signal), v


def _new_position(model: Model, q: Coordinates, signal: Signal) -> Coordinates:
    """The position `q` at the end of a step, corrected; quaternions stay of unit length."""
    found = signal("joint/new_position", q)
    return q if found is q else coordinates.normalise(model, found)


def _moved(
    state: State, acting: Forces, q: Coordinates, v: Joints, dt: Scalar, signal: Signal
) -> State:
    if acting.bristles is not None:
        signal.keep("bristles", bristles_after(acting.model, acting.bristles, v, dt))
    return State(q, v, state.memory, jnp.asarray(state.time) + dt)
