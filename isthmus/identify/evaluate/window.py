"""One stretch of a log as a pure function: free numbers and a window of data -> weighted differences.

`u` are the numbers that one window depends on: those of the simulation (`θ`, or the search's own `z` where the code is
small), then the free part of the window's own start, then, for multiple shooting, that of the next window's start.
`programs.py` makes the functions of these pieces that native code compiles.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.dynamics.actuators import command_for
from isthmus.dynamics.passive import bristles_after
from isthmus.identify.evaluate.inputs import Inputs
from isthmus.identify.parameters.groups import Setting
from isthmus.identify.parameters.parameters import Parameters
from isthmus.losses.residuals import Channel
from isthmus.losses.windows import AbstractLoss
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.motion.motion import CONTROL
from isthmus.networks.signals import Signals
from isthmus.record import Record
from isthmus.simulate.accelerate import acceleration_under, needed_torque
from isthmus.simulate.forces import Forces, forces
from isthmus.simulate.integrate import Integrator, advance, semi_implicit
from isthmus.types import AnyArray


class Window(Record):
    """The data of one window; stacked, with a leading axis of windows in every array. See `windows_from_logs.py`."""

    q: AnyArray
    """Measured positions at the start, (nq,)."""
    v: AnyArray
    """Measured velocities at the start, (dof,)."""
    time: AnyArray
    """Of the start [s]."""
    dt: AnyArray
    """Time between two rows of the log [s]."""
    steps: AnyArray
    """How many steps are compared; later rows are padding, all of whose weights are zero."""
    run: AnyArray
    """Number of the run that the window is cut from."""
    control: Control
    """What acted, row by row."""
    target: AnyArray
    """What was measured of all channels, (rows, sum of their sizes)."""
    weight: AnyArray
    """One over the noise, or zero where nothing is compared, (rows, sum of their widths)."""
    memory: Any
    """What the simulation remembers at the start; None: nothing."""
    next_q: AnyArray | None = None
    next_v: AnyArray | None = None
    """Measured start of the next window, for multiple shooting."""
    link: AnyArray | None = None
    """Weight of the gap to the next window, (2 dof,)."""
    all_q: AnyArray | None = None
    all_v: AnyArray | None = None
    all_a: AnyArray | None = None
    """Measured motion, row by row, for torques by inverse dynamics."""
    around_q: AnyArray | None = None
    around_v: AnyArray | None = None
    """Rows of the log around the start, for sensors with a delay, (2 margin + 1, …)."""

    def named(self) -> dict[str, Any]:
        """All parts by name, without the optional ones that are not there."""
        parts = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: x for name, x in parts.items() if x is not None or name == "memory"}


class Carry(Record):
    """What one row hands to the next."""

    q: AnyArray
    v: AnyArray
    memory: Any
    """Of motors and networks."""
    past: Mapping[str, AnyArray]
    """The last three rows of each delayed signal."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What does not change from window to window."""

    parameters: Parameters
    channels: tuple[Channel, ...]
    scheme: Integrator
    loss: AbstractLoss
    huber: float | None = None
    start_rows: tuple[int, ...] = ()
    """Which numbers of a start (displacement of `q`, then `v`) are free."""
    margin: int = 0
    """Rows at either end of a window that are not compared, because a delay may move them out."""
    inputs: Inputs | None = None
    """The layout of `θ`; None: `u` begins with `z`, and the map from there to the simulation is part of the code."""
    probe: Callable[[Setting], Setting] | None = None
    """Changes the simulation before it runs: see `door.py`."""

    @property
    def shooting(self) -> bool:
        """Whether a window depends on the start of the next one too."""
        return self.loss.gap_weight is not None

    @property
    def torque(self) -> bool:
        """Whether nothing is simulated: torques that the measured motion needs are compared."""
        return not self.loss.simulates

    @property
    def starts(self) -> int:
        """How many numbers of `u` belong to starts of windows."""
        return len(self.start_rows) * (2 if self.shooting else 1)

    @property
    def size(self) -> int:
        """How many free numbers a window depends on."""
        return self.parameters.size + self.starts

    @property
    def inner(self) -> int:
        """How many numbers of `u` make the simulation: `θ` or `z`."""
        return self.parameters.size if self.inputs is None else self.inputs.size

    @property
    def length(self) -> int:
        """Length of `u`."""
        return self.inner + self.starts

    @property
    def gaps(self) -> int:
        """How many numbers compare the end of a window with the start of the next one."""
        return 2 * self.parameters.template.dof if self.shooting else 0

    @property
    def splits_steps(self) -> bool:
        """Whether the code takes the number of substeps as an argument: not where commands arrive late."""
        return not self.torque and not self.parameters.template.delay_steps

    @property
    def width(self) -> int:
        """How many numbers are compared in each row."""
        return sum(channel.width for channel in self.channels)

    @property
    def delayed(self) -> tuple[Channel, ...]:
        """Channels with a free delay."""
        names = {g.free.name for g in self.parameters.groups}
        return tuple(c for c in self.channels if f"delay/{c.text}" in names)

    @functools.cached_property
    def substep(self) -> Callable[..., tuple[Carry, AnyArray]]:
        """`part_of_row` of this plan, which JAX traces once for all functions that are made of it."""
        return jax.jit(functools.partial(part_of_row, self))


# where a window begins -----------------------------------------------------------------------------------------


def setting_of(plan: Plan, u: AnyArray, window: Window) -> Setting:
    """The simulation that `u` stands for."""
    source = plan.parameters if plan.inputs is None else plan.inputs
    setting = source.setting(u[: plan.inner])
    setting = setting if plan.probe is None else plan.probe(setting)
    of_run = lambda x: jax.lax.dynamic_index_in_dim(x, window.run, keepdims=False)
    offsets = {name: of_run(x) if x.ndim > 1 else x for name, x in setting.offsets.items()}
    dt = window.dt if setting.dt is None else setting.dt
    return dataclasses.replace(setting, dt=dt, offsets=offsets)


def begin(plan: Plan, u: AnyArray, window: Window) -> Carry:
    """The start of a window: as measured, less what the sensors add, plus what is free of it."""
    setting = setting_of(plan, u, window)
    q, v = measured_start(plan, setting, window)
    p, m = plan.inner, len(plan.start_rows)
    q, v = displaced(plan, setting, q, v, u[p : p + m])
    past = {c.text: jnp.zeros((3, c.size), q.dtype) for c in plan.delayed}
    return Carry(q, v, window.memory, past)


def measured_start(plan: Plan, setting: Setting, window: Window) -> tuple[AnyArray, AnyArray]:
    """`q` and `v` of the log where the window begins, offsets and delays of their sensors taken off."""
    model, found = setting.model, []
    for name, measured in (("joint/position", window.q), ("joint/velocity", window.v)):
        delay = setting.delays.get(
            name, setting.delays.get("joint/position")
        )  # one encoder gives both
        if delay is not None:
            place = plan.margin + delay / setting.dt
            rows = window.around_q if name == "joint/position" else window.around_v
            assert rows is not None
            measured = at_place(rows, place)
        found.append(measured)
    q, v = found
    if "joint/position" in setting.delays:
        q = coordinates.normalise(model, q)
    if "joint/position" in setting.offsets:
        q = coordinates.plus(model, q, -setting.offsets["joint/position"])
    return q, v - setting.offsets.get("joint/velocity", jnp.zeros_like(v))


def displaced(
    plan: Plan, setting: Setting, q: AnyArray, v: AnyArray, move: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """A start, moved by the free part of it."""
    if not plan.start_rows:
        return q, v
    n = v.shape[0]
    full = jnp.zeros(2 * n, v.dtype).at[np.array(plan.start_rows, dtype=np.int32)].set(move)
    return coordinates.plus(setting.model, q, full[:n]), v + full[n:]


# one row -------------------------------------------------------------------------------------------------------


def row(
    plan: Plan, u: AnyArray, carry: Carry, k: AnyArray, window: Window
) -> tuple[Carry, AnyArray]:
    """The state one step later, and the weighted differences at row `k`."""
    setting = setting_of(plan, u, window)
    take = lambda x: jax.lax.dynamic_index_in_dim(x, k, keepdims=False)
    control = jax.tree.map(take, window.control)
    time = window.time + setting.dt * k.astype(carry.q.dtype)
    if plan.torque:
        here = State(take(window.all_q), take(window.all_v), carry.memory, time)
        memory, signal = needed(plan, setting, here, take(window.all_a), control)
        past, r = compare(plan, setting, signal, carry, k, window)
        return Carry(carry.q, carry.v, memory, past), r
    here = State(carry.q, carry.v, carry.memory, time)
    after, signal = advance(setting.model, here, control, setting.dt, plan.scheme)
    past, r = compare(plan, setting, signal, carry, k, window)
    return Carry(after.q, after.v, after.memory, past), r


def part_of_row(
    plan: Plan, u: AnyArray, carry: Carry, i: AnyArray, substeps: AnyArray, window: Window
) -> tuple[Carry, AnyArray]:
    """The state one substep later, and the weighted differences at the row that substep `i` of a window belongs to.

    The number of substeps is an argument of the code; the differences count where a row begins.
    """
    if not plan.splits_steps:
        return row(plan, u, carry, i, window)
    setting = setting_of(plan, u, window)
    k, part = i // substeps, i % substeps
    take = lambda x: jax.lax.dynamic_index_in_dim(x, k, keepdims=False)
    real = lambda count: count.astype(carry.q.dtype)
    h = setting.dt / real(substeps)
    time = window.time + setting.dt * real(k) + h * real(part)
    here = State(carry.q, carry.v, carry.memory, time)
    once = dataclasses.replace(plan.scheme, substeps=1)
    control = jax.tree.map(take, window.control)
    after, signal = advance(setting.model, here, control, h, once)
    past, r = compare(plan, setting, signal, carry, k, window)
    past = jax.tree.map(lambda new, old: jnp.where(part == 0, new, old), past, carry.past)
    return Carry(after.q, after.v, after.memory, past), r


def needed(
    plan: Plan, setting: Setting, here: State, a: AnyArray, control: Control
) -> tuple[Any, Signals]:
    """The torques that motors must have given for the acceleration `a`, as the signals that are compared.

    Where commands are compared, the prediction is the command that gives the torque, in the command's own unit.
    """
    memory, tau, acting = _backwards(setting.model, setting.dt, here, a, control)
    found = Signals()
    for c in plan.channels:
        commanded = c.name == CONTROL
        found(c.name, command_for(acting.model, tau, acting.q, acting.v) if commanded else tau)
    return memory, found


def torque_at(
    model: Model, dt: AnyArray, here: State, a: AnyArray, control: Control
) -> tuple[Any, AnyArray]:
    """What is remembered one row later, and the motor torques [N·m, N] for the acceleration `a`."""
    return _backwards(model, dt, here, a, control)[:2]


def _backwards(
    model: Model, dt: AnyArray, here: State, a: AnyArray, control: Control
) -> tuple[Any, AnyArray, Forces]:
    """What is remembered one row later, the motor torques for the acceleration `a`, and what acted beside them."""
    seen = Signals(model, here.memory, dt)
    acting = forces(model, here, control, seen)
    tau = needed_torque(acting, a, seen)
    if acting.bristles is not None:
        seen.keep("bristles", bristles_after(acting.model, acting.bristles, acting.v, dt))
    if not seen.has(here.memory):  # a network reads a signal that only a step forward computes
        semi_implicit(acting, acceleration_under(acting, control, seen), dt, seen)
    return seen.remembered(here.memory), tau, acting


def last_row(plan: Plan, u: AnyArray, carry: Carry, k: AnyArray, window: Window) -> AnyArray:
    """The weighted differences at row `k`, where no step follows."""
    if all(c.of_state for c in plan.channels):
        return compare(plan, setting_of(plan, u, window), Signals(), carry, k, window)[1]
    return row(plan, u, carry, k, window)[1]


def compare(
    plan: Plan, setting: Setting, signal: Signals, carry: Carry, k: AnyArray, window: Window
) -> tuple[dict[str, AnyArray], AnyArray]:
    """The last rows of delayed signals, and the weighted differences of all signals at row `k`."""
    past, parts, place, column = {}, [], 0, 0
    for c in plan.channels:
        y, at = c.read(signal, carry.q, carry.v), k
        if c.text in carry.past:
            rows = jnp.concatenate([carry.past[c.text], y[None]])
            past[c.text] = rows[1:]
            y, at = behind(rows, setting.delays[c.text] / setting.dt, k, window.target.shape[0])
            y = c.tidy(y)
        target = jax.lax.dynamic_index_in_dim(window.target, at, keepdims=False)
        weight = jax.lax.dynamic_index_in_dim(window.weight, at, keepdims=False)
        d = c.minus(y, target[place : place + c.size])
        if c.text in setting.offsets:
            d = d + setting.offsets[c.text]
        w = weight[column : column + c.width]
        parts.append(jnp.where(w > 0.0, d * w, 0.0))
        place, column = place + c.size, column + c.width
    return past, jnp.concatenate(parts)


def behind(rows: AnyArray, delay: AnyArray, k: AnyArray, length: int) -> tuple[AnyArray, AnyArray]:
    """What a sensor that lags by `delay` rows shows, from the last four rows; and the row of the log it is for."""
    whole = jnp.floor(delay)
    y = cubic(rows, 1.0 - (delay - whole))
    at = jnp.clip(k - 1 + whole.astype(k.dtype), 0, length - 1)
    return y, at


def cubic(rows: AnyArray, share: AnyArray) -> AnyArray:
    """Between the second and the third of four rows: a smooth curve through all of them (Catmull and Rom)."""
    a, b, c, d = rows[0], rows[1], rows[2], rows[3]
    s = share
    return b + 0.5 * s * (
        c - a + s * (2.0 * a - 5.0 * b + 4.0 * c - d + s * (3.0 * (b - c) + d - a))
    )


def at_place(rows: AnyArray, place: AnyArray) -> AnyArray:
    """Rows at a place between two of them."""
    first = jnp.clip(jnp.floor(place).astype(int) - 1, 0, rows.shape[0] - 4)
    four = jax.lax.dynamic_slice_in_dim(rows, first, 4)
    return cubic(four, place - first.astype(place.dtype) - 1.0)


def gap(plan: Plan, u: AnyArray, end: Carry, window: Window) -> AnyArray:
    """Weighted gap between the end of a window and the start of the next one."""
    p, m = plan.inner, len(plan.start_rows)
    setting = setting_of(plan, u, window)
    assert window.next_q is not None
    assert window.next_v is not None
    assert window.link is not None
    q, v = displaced(plan, setting, window.next_q, window.next_v, u[p + m :])
    d = jnp.concatenate([coordinates.minus(setting.model, end.q, q), end.v - v])
    return jnp.where(window.link > 0.0, d * window.link, 0.0)
