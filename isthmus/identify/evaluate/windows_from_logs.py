"""Logs -> windows: arrays of one shape, with a leading axis of windows, that native code runs side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from isthmus.dynamics.passive import bristles_after
from isthmus.errors import BadLog
from isthmus.identify.evaluate.window import Plan, Window
from isthmus.identify.logs.log import Log, target
from isthmus.losses.residuals import Channel
from isthmus.losses.windows import Span
from isthmus.model.model import Model
from isthmus.model.state import fresh_memory, prescribed_rows
from isthmus.motion.motion import CONTROL
from isthmus.motion.slopes import slopes
from isthmus.types import Number

ACCELERATION = "joint/acceleration"
REMEMBERED = 200
"""Rows before a window that tell how bristles are deflected where it begins."""


def cut_windows(
    model: Model,
    logs: Sequence[Log],
    plan: Plan,
    noise: dict[str, np.ndarray],
    rows: int = 0,
    foreign: int | None = None,
) -> tuple[Window, tuple[Span, ...]]:
    """All windows of all logs, stacked, of at least `rows` rows; and where each comes from.

    `foreign`: for logs that are not fitted, the run number that all their windows get.
    """
    spans = [s for k, log in enumerate(logs) for s in plan.loss.spans(k, len(log))]
    spans = [s for s in spans if s.steps > 2 * plan.margin and _has_start(logs[s.run], s, plan)]
    if not spans:
        raise BadLog(
            "no window can be cut from the logs: they are too short for this loss, or no row has all positions. "
            "Take fewer steps a window, or make start/position free."
        )
    longest = max(rows - 1, rounded_up(1 + max(span.steps for span in spans)) - 1)
    targets = [
        np.concatenate([_compared(model, log, c, plan) for c in plan.channels], axis=1)
        for log in logs
    ]
    weights = [_weights(model, log, plan, noise) for log in logs]
    moving = [rates(log) if plan.torque else None for log in logs]
    windows = [
        _window(model, logs[s.run], s, longest, plan, targets[s.run], weights[s.run], moving[s.run])
        for s in spans
    ]
    if foreign is not None:
        windows = [dataclasses.replace(w, run=np.asarray(foreign, np.int64)) for w in windows]
    if plan.loss.gap_weight is not None:
        windows = _linked(windows, spans, np.full(2 * model.dof, plan.loss.gap_weight))
    stacked = jax.tree.map(lambda *x: np.ascontiguousarray(np.stack(x)), *windows)
    return stacked, tuple(spans)


def rounded_up(rows: int) -> int:
    """`rows` rounded up to one of four lengths between two powers of two, so that few lengths are compiled."""
    step = 2 ** max(0, (rows - 1).bit_length() - 3)
    return -(-rows // step) * step


def _has_start(log: Log, span: Span, plan: Plan) -> bool:
    """Whether the start of a window is measured, or free and interpolated."""
    if plan.start_rows and log.measured[0]:
        return True
    return bool(np.all(np.isfinite(log.q[span.first])) and np.all(np.isfinite(log.v[span.first])))


def _compared(model: Model, log: Log, c: Channel, plan: Plan) -> np.ndarray:
    """What was measured; of commands, which are held from row to row, the mean of two rows, as of velocities."""
    found = target(model, log, c)
    if not plan.torque or c.name != CONTROL or ACCELERATION in log.signals:
        return found
    return 0.5 * (found + np.concatenate([found[:1], found[:-1]]))


def _weights(model: Model, log: Log, plan: Plan, noise: dict[str, np.ndarray]) -> np.ndarray:
    """One over the noise where something was measured, else zero; (rows, width)."""
    columns = []
    for c in plan.channels:
        known = np.isfinite(target(model, log, c))
        if c.width != c.size:
            known = np.repeat(known.all(axis=1, keepdims=True), c.width, axis=1)
        sigma = np.broadcast_to(noise[c.text], (c.width,))
        columns.append(known * _moves(model, c) / sigma)
    return np.concatenate(columns, axis=1)


def _moves(model: Model, c: Any) -> np.ndarray:
    """1 for each component, 0 where the motion of its joint is prescribed."""
    if c.rows is None or not model.prescribed:
        return np.ones(c.width)
    rows_q, rows_v = prescribed_rows(model)
    still = set(rows_q if c.name == "joint/position" else rows_v)
    if c.width != c.size:
        return np.ones(c.width)
    return np.array([float(row not in still) for row in c.rows])


def _window(
    model: Model,
    log: Log,
    span: Span,
    longest: int,
    plan: Plan,
    targets: np.ndarray,
    weights: np.ndarray,
    rate: tuple[np.ndarray, np.ndarray] | None,
) -> Window:
    a, b = span.first, span.first + span.steps
    padded = lambda x: np.concatenate(
        [x[a : b + 1], np.repeat(x[b : b + 1], longest - span.steps, axis=0)]
    )
    weight = padded(weights)
    weight[span.steps + 1 :] = 0.0
    _without_given_rows(weight, plan, span)
    more: dict[str, np.ndarray] = {}
    if rate is not None:
        v, slope = map(padded, rate)
        weight *= np.all(np.isfinite(slope), axis=1, keepdims=True)
        more |= {"all_q": padded(log.start_q), "all_v": v, "all_a": np.nan_to_num(slope)}
    if plan.margin:
        near = np.clip(np.arange(a - plan.margin, a + plan.margin + 1), 0, len(log) - 1)
        more |= {"around_q": log.start_q[near], "around_v": log.start_v[near]}
    return Window(
        q=log.start_q[a], v=log.start_v[a], time=np.asarray(log.time + a * log.dt), dt=np.asarray(log.dt),
        steps=np.asarray(span.steps, np.int64), run=np.asarray(span.run, np.int64),
        control=jax.tree.map(padded, log.control), target=np.nan_to_num(padded(targets)), weight=weight,
        memory=memory_before(model, log, a), **more,
    )  # fmt: skip


def rates(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and accelerations (rows, dof) from which torques follow: as measured, or slopes.

    Accelerations are nan at the ends of a run, where slopes are one-sided, and in rows whose positions or velocities
    were not measured: no torque follows from them.
    """
    a, v, t = log.signals.get(ACCELERATION), log.start_v, log.dt * np.arange(len(log))
    if a is not None and a.shape != v.shape:
        raise BadLog(f"{log.name}: {ACCELERATION!r} has shape {a.shape}; needed is {v.shape}.")
    known = np.all(np.isfinite(log.q), axis=1) & np.all(np.isfinite(log.v), axis=1)
    if not log.measured[1] and log.q.shape == v.shape:
        v = np.where(known[:, None], slopes(t, log.q), v)
    if a is None:
        a = slopes(t, log.v if log.measured[1] else v)
        a[[0, -1]] = np.nan
    return v, np.where(known[:, None], a, np.nan)


def _without_given_rows(weight: np.ndarray, plan: Plan, span: Span) -> None:
    """Sets weights to zero, in place: at the measured start of a window, and where a delay may reach beyond it."""
    column = 0
    given = {"joint/position": 0, "joint/velocity": 1}
    half = plan.parameters.template.dof
    for c in plan.channels:
        block = slice(column, column + c.width)
        if c in plan.delayed:
            weight[: plan.margin, block] = 0.0
            weight[max(span.steps + 1 - plan.margin, 0) :, block] = 0.0
        if c.name in given:
            low = half * given[c.name]
            free = any(low <= row < low + half for row in plan.start_rows)
            weight[0, block] *= float(free)
        column += c.width


def bristles_along(model: Model, v: np.ndarray, dt: Number) -> np.ndarray:
    """The state of bristles (dof,), −1 to 1, after rows of velocities [rad/s, m/s] that began with slack ones."""
    state = np.zeros(model.dof)
    for row in v:
        state = bristles_after(model, state, row, dt)
    return np.asarray(state)


def memory_before(model: Model, log: Log, first: int) -> Any:
    """Commands before the window, for motors with a delay; bristles as the measured motion has deflected them."""
    memory = fresh_memory(model)
    if memory is not None and model.bristling:
        before = np.nan_to_num(log.start_v[max(first - REMEMBERED, 0) : first])
        memory |= {"bristles": bristles_along(model, before, log.dt)}
    if memory is None or not model.delay_steps or log.control.torque is None:
        return memory
    rows = np.arange(first - 1, first - 1 - model.delay_steps, -1)
    past = np.asarray(log.control.torque)[np.clip(rows, 0, len(log) - 1)]
    return memory | {"commands": np.where((rows >= 0)[:, None], past, 0.0)}


def _linked(windows: Sequence[Window], spans: Sequence[Span], weight: np.ndarray) -> list[Window]:
    """Each segment with the start of the next one and the weight of the gap; after the last one of a run, zero."""
    found = []
    for k, window in enumerate(windows):
        last = k + 1 == len(windows) or spans[k + 1].run != spans[k].run
        after = window if last else windows[k + 1]
        link = np.zeros_like(weight) if last else weight
        found.append(dataclasses.replace(window, next_q=after.q, next_v=after.v, link=link))
    return found
