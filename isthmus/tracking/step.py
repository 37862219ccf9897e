"""One step of an extended Kalman filter on the state of a mechanism and on numbers of its model.

The error of the estimate lives on the tangent: displacements of `q` (dof), of `v` (dof), and of the numbers (p). The
covariance is predicted with the Jacobian of a simulated step and corrected by one measured number after the other, in
the form of Joseph, which keeps it positive (Bucy and Joseph 1968; Sola 2017 for errors on the tangent). What is nan was
not measured and changes nothing. The innovations of such a sequence are independent: each, divided by its standard
deviation, is averaged over the last samples, and an average that is too large raises an alarm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.identify.parameters.groups import Setting
from isthmus.identify.parameters.parameters import Parameters
from isthmus.losses.residuals import Channel
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.networks.signals import Signals
from isthmus.simulate.integrate import Integrator, advance
from isthmus.types import AnyArray

MAX_UNROLLED = 150
"""Columns of the Jacobian, times degrees of freedom, times evaluations of the dynamics in a step: beyond this, the
columns run in a loop, so that the code stays short; it is slower."""


class Belief(NamedTuple):
    """What a tracker knows at one time."""

    q: Any
    """Positions, (nq,)."""
    v: Any
    """Velocities, (dof,)."""
    numbers: Any
    """Free numbers, (p,)."""
    covariance: Any
    """Of the errors of `q` (on the tangent), `v` and `numbers`, (2 dof + p, 2 dof + p)."""
    average: Any
    """Averaged innovations, in standard deviations of one innovation, (m,)."""
    memory: Any
    """Of motors and networks; None: nothing."""
    time: Any
    """[s]"""


@dataclasses.dataclass(frozen=True)
class Setup:
    """What does not change from step to step."""

    parameters: Parameters
    channels: tuple[Channel, ...]
    scheme: Integrator
    dt: float
    noise: np.ndarray
    """Standard deviation of each measured number, (m,)."""
    walk: np.ndarray
    """Variance that each error gains in a step, (2 dof + p,)."""
    spread: np.ndarray
    """Standard deviation of each number at the beginning, and after an alarm, (p,)."""
    alarm: float
    """Averages beyond so many of their standard deviations raise an alarm; what users give, raised for many numbers."""
    share: float
    """Share of the newest innovation in the average."""

    @property
    def model(self) -> Model:
        """The model at the beginning."""
        return self.parameters.template

    @property
    def recognised(self) -> tuple:
        """All that decides the code of a step, by value."""
        frees = tuple(dict.fromkeys(group.free for group in self.parameters.groups))
        texts = tuple(channel.text for channel in self.channels)
        own = (self.scheme, self.dt, self.noise, self.walk, self.spread, self.alarm, self.share)
        return (frees, self.model, texts, *own)

    @property
    def size(self) -> int:
        """How many errors there are."""
        return len(self.walk)

    @property
    def unrolled(self) -> bool:
        """Whether each column of a Jacobian has code of its own."""
        stages = self.scheme.stages * self.scheme.substeps
        return self.size * self.model.dof * stages <= MAX_UNROLLED

    @property
    def measured(self) -> int:
        """Length of a measured row."""
        return sum(channel.size for channel in self.channels)

    def setting(self, numbers: AnyArray) -> Setting:
        """The simulation with these numbers."""
        return self.parameters.setting(numbers / self.parameters.scale)


def step(
    setup: Setup, belief: Belief, control: Control, measured: AnyArray
) -> tuple[Belief, AnyArray]:
    """What is known one sample later, and the alarm: 0, or the place (from 1) of the measured number that raised it.

    `control` acted since the last sample, `measured` (see `Setup.channels`) was seen at the end of it.
    """
    predicted = predict(setup, belief, control)
    return correct(setup, predicted, control, measured)


def predict(setup: Setup, belief: Belief, control: Control) -> Belief:
    """What is known after a simulated step, before anything is measured."""
    dof = setup.model.dof
    after = _moved(setup, belief, control, jnp.zeros(setup.size))

    def displacement(error: AnyArray) -> AnyArray:
        there = _moved(setup, belief, control, error)
        return jnp.concatenate(
            [coordinates.minus(setup.model, there.q, after.q), there.v - after.v]
        )

    F = _jacobian(setup, displacement)
    P, n = belief.covariance, 2 * dof
    moved = F @ P
    top = moved[:, :n] @ F[:, :n].T + moved[:, n:] @ F[:, n:].T
    side = moved[:, n:]
    P = jnp.block([[_symmetric(top), side], [side.T, P[n:, n:]]]) + jnp.diag(setup.walk)
    time = belief.time + setup.dt
    return Belief(after.q, after.v, belief.numbers, P, belief.average, after.memory, time)


def correct(
    setup: Setup, belief: Belief, control: Control, measured: AnyArray
) -> tuple[Belief, AnyArray]:
    """What is known after a measurement, and the alarm."""
    difference, known, H = _compared(setup, belief, control, measured)
    start = (jnp.zeros(setup.size), belief.covariance)
    rows = (difference, known, H, jnp.asarray(setup.noise**2))
    if not setup.unrolled:
        (move, P), innovations = jax.lax.scan(_one_number, start, rows)
    else:
        carry, found = start, []
        for k in range(len(H)):
            carry, innovation = _one_number(carry, tuple(x[k] for x in rows))
            found.append(innovation)
        (move, P), innovations = carry, jnp.stack(found)
    average, P, alarm = _watched(setup, belief.average, innovations, known, P)
    moved = _displaced(setup, belief, move)
    return moved._replace(covariance=P, average=average), alarm


# parts ---------------------------------------------------------------------------------------------------------


def _displaced(setup: Setup, belief: Belief, error: AnyArray) -> Belief:
    """The belief with its state and numbers moved on the tangent; numbers stay within their bounds."""
    dof, scale = setup.model.dof, setup.parameters.scale
    q = coordinates.plus(setup.model, belief.q, error[:dof])
    numbers = belief.numbers + error[2 * dof :]
    low, high = setup.parameters.low * scale, setup.parameters.high * scale
    numbers = jnp.where(numbers < low, low, jnp.where(numbers > high, high, numbers))
    return belief._replace(q=q, v=belief.v + error[dof : 2 * dof], numbers=numbers)


def _moved(setup: Setup, belief: Belief, control: Control, error: AnyArray) -> State:
    """The state one step later, from an estimate that is off by `error`."""
    dof = setup.model.dof
    q = coordinates.plus(setup.model, belief.q, error[:dof])
    state = State(q, belief.v + error[dof : 2 * dof], belief.memory, belief.time)
    model = setup.setting(belief.numbers + error[2 * dof :]).model
    return advance(model, state, control, jnp.asarray(setup.dt), setup.scheme)[0]


def _compared(
    setup: Setup, belief: Belief, control: Control, measured: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Measured minus predicted, which of these numbers were measured, and the Jacobian of the prediction."""
    here = _row(setup, belief, control, jnp.zeros(setup.size))
    raw = jnp.concatenate([c.minus(y, target) for c, y, target in _cut(setup, here, measured)])
    known = ~jnp.isnan(raw)
    target = jnp.where(jnp.isnan(measured), jnp.concatenate(here), measured)

    def difference(error: AnyArray) -> AnyArray:
        there = _row(setup, belief, control, error)
        offsets = setup.setting(belief.numbers + error[2 * setup.model.dof :]).offsets
        parts = [c.minus(y, t) + offsets.get(c.text, 0.0) for c, y, t in _cut(setup, there, target)]
        return jnp.concatenate(parts)

    H = _jacobian(setup, difference)
    return -difference(jnp.zeros(setup.size)), known, H


def _row(setup: Setup, belief: Belief, control: Control, error: AnyArray) -> list[AnyArray]:
    """What would be measured, channel by channel, if the estimate were off by `error`."""
    dof = setup.model.dof
    q = coordinates.plus(setup.model, belief.q, error[:dof])
    v = belief.v + error[dof : 2 * dof]
    signal = Signals()
    if not all(c.of_state for c in setup.channels):
        model = setup.setting(belief.numbers + error[2 * dof :]).model
        state = State(q, v, belief.memory, belief.time)
        _, signal = advance(model, state, control, jnp.asarray(setup.dt), setup.scheme)
    return [c.read(signal, q, v) for c in setup.channels]


def _cut(setup: Setup, rows: list[AnyArray], measured: AnyArray) -> list[tuple]:
    """Each channel with what it would read and what was measured."""
    ends = np.cumsum([c.size for c in setup.channels])
    return [
        (c, y, measured[end - c.size : end])
        for c, y, end in zip(setup.channels, rows, ends.tolist(), strict=True)
    ]


def _one_number(carry: tuple, row: tuple) -> tuple[tuple, AnyArray]:
    """Takes in one measured number; returns its innovation in standard deviations."""
    (move, P), (difference, known, h, variance) = carry, row
    p = P @ h
    s = h @ p + variance
    innovation = difference - h @ move
    gain = jnp.where(known, p / s, 0.0)
    outer = gain[:, None] * p[None]
    P = _symmetric(P - outer - outer.T + s * gain[:, None] * gain[None])
    return (move + gain * jnp.where(known, innovation, 0.0), P), innovation / jnp.sqrt(s)


def _watched(
    setup: Setup, average: AnyArray, innovations: AnyArray, known: AnyArray, P: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The averaged innovations, the covariance (widened where they raise an alarm), and the alarm."""
    share, n = setup.share, 2 * setup.model.dof
    average = jnp.where(known, average + share * (innovations - average), average)
    largest = setup.alarm * float(np.sqrt(share / (2.0 - share)))
    size = jnp.abs(average)
    fires = jnp.max(size) > largest
    widening = np.concatenate([np.zeros(n), setup.spread**2])
    P = P + jnp.where(fires, 1.0, 0.0) * jnp.diag(widening)
    alarm = jnp.where(fires, 1.0 + jnp.argmax(size).astype(P.dtype), 0.0)
    return jnp.where(fires, 0.0, average), P, alarm


def _symmetric(P: AnyArray) -> AnyArray:
    """The matrix whose lower triangle mirrors its upper one."""
    return jnp.triu(P) + jnp.triu(P, 1).T


def _jacobian(setup: Setup, f: Callable[[AnyArray], AnyArray]) -> AnyArray:
    """Of `f` at zero, (rows, size)."""
    push = lambda unit: jax.jvp(f, (jnp.zeros(setup.size),), (unit,))[1]
    if setup.unrolled:
        return jnp.stack([push(unit) for unit in np.eye(setup.size)], axis=1)
    return jax.lax.map(push, jnp.eye(setup.size)).T
