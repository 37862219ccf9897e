"""One stretch of a log as a pure function: free numbers and a window of data -> weighted differences.

`u` are the numbers that one window depends on: `z` (all parameters), then the free part of its own start, then, for
multiple shooting, that of the next window's start. The three functions at the end are what native code compiles:
the Gauss-Newton matrix is summed up inside the loop over time, so that a window gives back some `n²/2` numbers,
however long it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.augment.signals import Signals
from isthmus.dynamics.rnea import inverse_dynamics
from isthmus.identify.groups import Setting
from isthmus.identify.parameters import Parameters
from isthmus.losses.penalties import huber
from isthmus.losses.residuals import Channel
from isthmus.model import coordinates
from isthmus.model.model import leaf_fields
from isthmus.model.state import Control, State
from isthmus.simulate.accelerate import accelerate
from isthmus.simulate.integrate import Scheme, advance
from isthmus.types import AnyArray

Window = dict[str, Any]
"""Arrays of one window: see `cut.py`."""
Carry = dict[str, Any]
"""What one row hands to the next: `q`, `v`, memory of the motors, and the last rows of delayed signals."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What does not change from window to window."""

    parameters: Parameters
    channels: tuple[Channel, ...]
    scheme: Scheme
    huber: float | None = None
    start_rows: tuple[int, ...] = ()
    """Which numbers of a start (displacement of `q`, then `v`) are free."""
    shooting: bool = False
    torque: bool = False
    """Nothing is simulated: torques that the measured motion needs are compared."""
    margin: int = 0
    """Rows at either end of a window that are not compared, because a delay may move them out."""

    @property
    def size(self) -> int:
        """Length of `u`."""
        return self.parameters.size + len(self.start_rows) * (2 if self.shooting else 1)

    @property
    def width(self) -> int:
        """How many numbers are compared in each row."""
        return sum(channel.width for channel in self.channels)

    @property
    def delayed(self) -> tuple[Channel, ...]:
        """Channels with a free delay."""
        names = {g.free.name for g in self.parameters.groups}
        return tuple(c for c in self.channels if f"delay/{c.text}" in names)


# where a window begins -----------------------------------------------------------------------------------------


def setting_of(plan: Plan, u: AnyArray, window: Window) -> Setting:
    """The simulation that `u` stands for."""
    setting = plan.parameters.setting(u[: plan.parameters.size])
    setting.dt = window["dt"] if setting.dt is None else setting.dt
    for name, offset in setting.offsets.items():
        if offset.ndim > 1:
            setting.offsets[name] = jax.lax.dynamic_index_in_dim(
                offset, window["run"], keepdims=False
            )
    return setting


def begin(plan: Plan, u: AnyArray, window: Window) -> Carry:
    """The start of a window: as measured, less what the sensors add, plus what is free of it."""
    setting = setting_of(plan, u, window)
    q, v = measured_start(plan, setting, window)
    p, m = plan.parameters.size, len(plan.start_rows)
    q, v = displaced(plan, setting, q, v, u[p : p + m])
    carry = {"q": q, "v": v, "memory": window["memory"]}
    carry["past"] = {c.text: jnp.zeros((3, c.size), q.dtype) for c in plan.delayed}
    return carry


def measured_start(plan: Plan, setting: Setting, window: Window) -> tuple[AnyArray, AnyArray]:
    """`q` and `v` of the log where the window begins, offsets and delays of their sensors taken off."""
    model, found = setting.model, []
    for name, measured in (("joint/position", window["q"]), ("joint/velocity", window["v"])):
        delay = setting.delays.get(
            name, setting.delays.get("joint/position")
        )  # one encoder gives both
        if delay is not None:
            place = plan.margin + delay / setting.dt
            rows = window["around_q" if name == "joint/position" else "around_v"]
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
    control = jax.tree.map(take, window["control"])
    time = window["time"] + setting.dt * k.astype(carry["q"].dtype)
    if plan.torque:
        here = State(take(window["all_q"]), take(window["all_v"]), carry["memory"], time)
        memory, signal = needed(plan, setting, here, take(window["all_a"]), control)
        past, r = compare(plan, setting, signal, carry, k, window)
        return {**carry, "memory": memory, "past": past}, r
    here = State(carry["q"], carry["v"], carry["memory"], time)
    after, signal = advance(setting.model, here, control, setting.dt, plan.scheme)
    past, r = compare(plan, setting, signal, carry, k, window)
    return {"q": after.q, "v": after.v, "memory": after.memory, "past": past}, r


def needed(
    plan: Plan, setting: Setting, here: State, a: AnyArray, control: Control
) -> tuple[Any, Signals]:
    """The torques that motors must have given for the acceleration `a`, as the signals that are compared."""
    seen = Signals(setting.model, here.memory, setting.dt)
    accelerate(setting.model, here, control, seen)
    leaves = {
        field: seen[spec.name] for field, spec in leaf_fields() if spec.name in seen.published
    }
    model = dataclasses.replace(setting.model, **leaves)
    tau = inverse_dynamics(model, here.q, here.v, a, force=seen["link/external_force"])
    tau = tau - seen["joint/passive_torque"] - seen["joint/limit_torque"]
    found = Signals()
    for c in plan.channels:
        found(c.name, tau)
    return seen.remembered(here.memory), found


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
        y, at = c.read(signal, carry["q"], carry["v"]), k
        if c.text in carry["past"]:
            rows = jnp.concatenate([carry["past"][c.text], y[None]])
            past[c.text] = rows[1:]
            y, at = behind(rows, setting.delays[c.text] / setting.dt, k, window["target"].shape[0])
            y = c.tidy(y)
        target = jax.lax.dynamic_index_in_dim(window["target"], at, keepdims=False)
        weight = jax.lax.dynamic_index_in_dim(window["weight"], at, keepdims=False)
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
    p, m = plan.parameters.size, len(plan.start_rows)
    setting = setting_of(plan, u, window)
    q, v = displaced(plan, setting, window["next_q"], window["next_v"], u[p + m :])
    d = jnp.concatenate([coordinates.minus(setting.model, end["q"], q), end["v"] - v])
    return jnp.where(window["link"] > 0.0, d * window["link"], 0.0)


# what is compiled ----------------------------------------------------------------------------------------------


def normal(plan: Plan, *, matrix: bool = True) -> Callable[[AnyArray, Window], tuple]:
    """`(u, window) -> cost, gradient, upper triangle of JᵀWJ`, by forward mode inside the loop over time."""
    n = plan.size
    upper = np.triu_indices(n)

    def tangents(f: Callable, u: AnyArray, carry: Any, moves: Any) -> tuple[Any, Any]:
        push = lambda seed, move: jax.jvp(f, (u, carry), (seed, move))
        return jax.vmap(push, out_axes=(None, 0))(jnp.eye(n, dtype=u.dtype), moves)

    def add(sums: tuple, r: AnyArray, J: AnyArray) -> tuple:
        cost, weight = huber(r, plan.huber)
        gradient = jnp.sum(J * (weight * r)[None], axis=1)
        sums = (sums[0] + jnp.sum(cost), sums[1] + gradient, *sums[2:])
        if not matrix:
            return sums
        heavy = J * weight[None] if plan.huber is not None else J
        rows, columns = (x.astype(np.int32) for x in upper)
        return (*sums[:2], sums[2] + jnp.sum(heavy[rows] * J[columns], axis=1))

    def run(u: AnyArray, window: Window) -> tuple:
        def body(k: AnyArray, state: tuple) -> tuple:
            carry, moves, sums = state
            (after, r), (moves, J) = tangents(
                lambda u, c: row(plan, u, c, k, window), u, carry, moves
            )
            return after, moves, add(sums, r, J)

        start, moves = tangents(lambda u, _: begin(plan, u, window), u, (), ())
        sums = (jnp.zeros((), u.dtype), jnp.zeros(n, u.dtype))
        if matrix:
            sums = (*sums, jnp.zeros(len(upper[0]), u.dtype))
        state = jax.lax.fori_loop(0, window["steps"], body, (start, moves, sums))
        carry, moves, sums = state
        last = lambda u, c: ending(plan, u, c, window)
        r, J = tangents(last, u, carry, moves)
        return add(sums, r, J)

    return run


def ending(plan: Plan, u: AnyArray, carry: Carry, window: Window) -> AnyArray:
    """Differences at the last row, and the gap to the next window."""
    r = last_row(plan, u, carry, window["steps"], window)
    return jnp.concatenate([r, gap(plan, u, carry, window)]) if plan.shooting else r


def residuals(plan: Plan) -> Callable[[AnyArray, Window], tuple]:
    """`(u, window) -> differences (rows, width), gap`; rows after the end of a window are zero."""

    def run(u: AnyArray, window: Window) -> tuple:
        def body(carry: Carry, k: AnyArray) -> tuple[Carry, AnyArray]:
            after, r = row(plan, u, carry, k, window)
            on = k < window["steps"]
            return jax.tree.map(lambda a, b: jnp.where(on, a, b), after, carry), r

        carry = begin(plan, u, window)
        rows = window["target"].shape[0]
        carry, r = jax.lax.scan(body, carry, jnp.arange(rows - 1, dtype=window["steps"].dtype))
        last = last_row(plan, u, carry, jnp.asarray(rows - 1, window["steps"].dtype), window)
        end = gap(plan, u, carry, window) if plan.shooting else jnp.zeros(0, u.dtype)
        return jnp.concatenate([r, last[None]]), end

    return run


def cost(plan: Plan) -> Callable[[AnyArray, Window], AnyArray]:
    """`(u, window) -> cost`; its gradient is taken by reverse mode."""
    compare = residuals(plan)

    def run(u: AnyArray, window: Window) -> AnyArray:
        r, end = compare(u, window)
        total = jnp.sum(huber(r, plan.huber)[0])
        return total + jnp.sum(huber(end, plan.huber)[0]) if plan.shooting else total

    return run
