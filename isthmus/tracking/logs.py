"""Whole logs through the step of a tracker: one, or several side by side in the lanes of native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.errors import BadLog
from isthmus.identify.logs.beyond import warn_beyond_effort, warn_beyond_stops
from isthmus.identify.logs.log import Log, names_of, read, target
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.motion.motion import Motion
from isthmus.phases import phase
from isthmus.tracking.layout import Layout, beginning
from isthmus.tracking.result import Alarm, Track, errors_of, raised, values_of
from isthmus.tracking.step import Setup


def tracked(
    layout: Layout, code: Callable[[Control], Any], motions: Sequence[Motion]
) -> tuple[list[Track], np.ndarray]:
    """The track of each log, and the rows of all that is known at their ends, (logs, size)."""
    setup = layout.setup
    pairs = zip(motions, names_of(motions, "log"), strict=True)
    logs = [read(setup.model, motion, name) for motion, name in pairs]
    _refuse_misfits(setup, logs)
    warn_beyond_stops(setup.model, logs)
    warn_beyond_effort(setup.model, logs)
    rows = max(map(len, logs))
    measured = np.stack([_longer(_measured(setup, log), rows, np.nan) for log in logs])
    controls = [_acting(setup.model, log) for log in logs]
    leaves = [
        np.stack([_longer(x, rows) for x in each])
        for each in zip(*map(jax.tree.leaves, controls), strict=True)
    ]
    run = code(jax.tree.map(lambda x: x[0], controls[0]))
    ends = np.array([len(log) - 1 for log in logs])
    with phase("tracking"):
        seen, fired, last = _rows(layout, run, _starts(layout, logs), measured, leaves, ends)
    tracks = [
        _track(layout, log, seen[k, : len(log)], fired[k, : len(log)]) for k, log in enumerate(logs)
    ]
    return tracks, last


def _rows(
    layout: Layout,
    run: Any,
    now: np.ndarray,
    measured: np.ndarray,
    leaves: list[np.ndarray],
    ends: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is told of each row, (logs, rows, …), see `Layout.told`; alarms; all that is known where logs end."""
    told, last = layout.told, now.copy()
    seen, fired = np.zeros((*measured.shape[:2], len(told))), np.zeros(measured.shape[:2])
    seen[:, 0] = now[:, told]
    single = len(now) == 1
    for k in range(1, measured.shape[1]):
        given = [now, measured[:, k], *(x[:, k - 1] for x in leaves)]
        if single:
            now, fired[:, k] = (x[None] for x in run.run([x[0] for x in given]))
        else:
            now, fired[:, k] = run.flat_map(given, threads=1)
        seen[:, k] = now[:, told]
        last[ends == k] = now[ends == k]
    return seen, fired, last


def _starts(layout: Layout, logs: Sequence[Log]) -> np.ndarray:
    """What is known at the first row of each log."""
    states = [State(log.start_q[0], log.start_v[0], time=log.time) for log in logs]
    return np.stack([layout.pack(beginning(layout.setup, state)) for state in states])


def _measured(setup: Setup, log: Log) -> np.ndarray:
    return np.concatenate([target(setup.model, log, c) for c in setup.channels], axis=1)


def _acting(model: Model, log: Log) -> Control:
    """What acted at each row; without commands, none."""
    if jax.tree.leaves(log.control):
        return log.control
    return Control(np.zeros((len(log), model.dof)))


def _longer(x: np.ndarray, rows: int, value: float | None = None) -> np.ndarray:
    """`x` with rows added at its end: of this value, or its last row again."""
    more = rows - len(x)
    fill = (
        np.repeat(x[-1:], more, axis=0) if value is None else np.full((more, *x.shape[1:]), value)
    )
    return np.concatenate([x, fill])


def _refuse_misfits(setup: Setup, logs: Sequence[Log]) -> None:
    if not logs:
        raise BadLog("there is no log to track.")
    for log in logs:
        if abs(log.dt - setup.dt) > 0.01 * setup.dt:
            raise BadLog(
                f"{log.name} has a row every {log.dt:.4g} s, but the tracker one every {setup.dt:.4g} s: give Tracker "
                "that dt, or resample the log."
            )
    if len({str(jax.tree.structure(log.control)) for log in logs}) > 1:
        raise BadLog("the logs differ in what acted (commands, forces): track them one by one.")


def _track(layout: Layout, log: Log, seen: np.ndarray, fired: np.ndarray) -> Track:
    setup, model = layout.setup, layout.setup.model
    p = len(setup.spread)
    q, v, numbers, covariance = np.split(seen, np.cumsum([model.nq, model.dof, p]), axis=1)
    t = log.time + log.dt * np.arange(len(log))
    covariance = covariance.reshape(len(log), p, p)
    alarms: list[Alarm] = []
    for k in np.flatnonzero(fired):
        alarms = raised(setup, alarms, float(t[k]), float(fired[k]))
    return Track(
        name=log.name,
        t=t,
        names=setup.parameters.names,
        units=setup.parameters.units,
        values=values_of(setup, numbers),
        errors=errors_of(setup, numbers, covariance),
        q=q,
        v=v,
        alarms=tuple(alarms),
    )
