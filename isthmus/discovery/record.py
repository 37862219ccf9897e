"""The logs of a problem as rows and windows: states, noise, which row belongs to which window and block."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import jax
import numpy as np

from isthmus.discovery.linearise import Rows
from isthmus.errors import BadLog, BadOption
from isthmus.identify.evaluate.windows_from_logs import memory_before
from isthmus.identify.logs.log import Log
from isthmus.identify.problem import Problem
from isthmus.losses.windows import MultipleShooting, Windows
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import State, fresh_memory, prescribed_rows
from isthmus.phases import counted

LEAST_WINDOWS = 20
"""With fewer windows, blocks of them say nothing about significance."""
BLOCKS = 20
"""Into so many blocks of neighbouring windows the logs are divided."""
USUAL_STEPS = 25
"""Steps of a window where the loss of the problem does not say."""
SMOOTHED_ROWS = 9
"""Rows of the local cubic that velocities are the slope of, where none were measured."""
QUIET = 1e-6
"""The least noise, as a share of the spread of a signal: logs of a simulation have none."""


@dataclasses.dataclass(frozen=True)
class Record:
    """All rows of all windows."""

    rows: Rows
    window: np.ndarray
    """Of each window, the places of its rows in `rows`, (windows, steps)."""
    block: np.ndarray
    """Of each window, the block that it belongs to, (windows,)."""
    weight: np.ndarray
    """One over the noise of each number of the row after each row, 0 where it was not measured, (rows, 2 dof)."""
    start: np.ndarray
    """Standard deviation of the states that windows begin with, (2 dof,)."""
    sigma: np.ndarray
    """Noise of positions, then of velocities, (2 dof,)."""
    position: np.ndarray
    """Displacement of each row from the neutral position, (rows, dof)."""
    notes: tuple[str, ...]
    """What users should know."""

    @property
    def windows(self) -> int:
        return len(self.window)

    def thinned(self, most: int) -> Record:
        """The record with at most so many windows, evenly among all, and their rows only."""
        if self.windows <= most:
            return self
        chosen = np.linspace(0, self.windows - 1, most).round().astype(int)
        places = self.window[chosen].ravel()
        return dataclasses.replace(
            self, rows=jax.tree.map(lambda x: x[places], self.rows), block=self.block[chosen],
            window=np.arange(len(places)).reshape(most, -1), weight=self.weight[places],
            position=self.position[places],
        )  # fmt: skip


def record_of(problem: Problem) -> Record:
    """The logs of a problem, ready to be linearised."""
    model, notes = problem.template, []
    if missing := [log.name for log in problem.logs if not log.measured[0]]:
        raise BadLog(
            f"{missing[0]} has no joint positions: discover needs measured states; give q, or fit without discover."
        )
    if silent := [log.name for log in problem.logs if _does_not_say_what_acted(log)]:
        raise BadLog(
            f"{silent[0]} has measured motor torques but no commands, and discover simulates: give the torques as "
            "'joint/control'."
        )
    logs = [_continuous(model, log) for log in problem.logs]
    if not all(log.measured[1] for log in logs):
        logs = [log if log.measured[1] else _smoothed(model, log) for log in logs]
        notes.append("Velocities were not measured: they are smoothed slopes of the positions.")
    steps = _steps(problem)
    firsts = [
        (k, first) for k, log in enumerate(logs) for first in range(0, len(log) - steps, steps)
    ]
    if len(firsts) < LEAST_WINDOWS:
        shorter = max(2, sum(map(len, logs)) // (LEAST_WINDOWS + len(logs)))
        raise BadOption(
            f"discover needs {LEAST_WINDOWS} windows, but the logs give {counted(len(firsts), 'window')} of {steps} "
            f"steps: record more, or take shorter windows: loss=ist.Windows({shorter}) (steps = {shorter} under [loss] "
            "of a study)."
        )
    sigma = _noise(problem, logs, notes)
    start = sigma.copy()
    if not all(log.measured[1] for log in problem.logs):
        n = model.dof
        start[n:] = sigma[:n] / min(log.dt for log in logs)
    ends = np.cumsum([0, *(len(log) - 1 for log in logs)])
    window = np.array([ends[k] + first + np.arange(steps) for k, first in firsts])
    return Record(
        rows=_rows(model, logs), window=window,
        block=np.arange(len(window)) * min(BLOCKS, len(window)) // len(window),
        weight=np.concatenate([_weights(model, log, sigma) for log in logs]),
        start=start, sigma=sigma, notes=tuple(notes),
        position=np.concatenate([_displacement(model, log.start_q[:-1]) for log in logs]),
    )  # fmt: skip


def _does_not_say_what_acted(log: Log) -> bool:
    return log.control.torque is None and "joint/motor_torque" in log.signals


def _steps(problem: Problem) -> int:
    """Steps of a window: those of the loss, where it has windows."""
    if isinstance(problem.kind, Windows | MultipleShooting):
        return problem.kind.steps
    rows = sum(map(len, problem.logs))
    return max(2, min(USUAL_STEPS, rows // (LEAST_WINDOWS + len(problem.logs))))


def _rows(model: Model, logs: Sequence[Log]) -> Rows:
    parts = []
    for log in logs:
        count = len(log) - 1
        memory = None
        if fresh_memory(model) is not None:
            each = [memory_before(model, log, k) for k in range(count)]
            memory = jax.tree.map(lambda *x: np.stack(x), *each)
        parts.append(
            Rows(
                q=log.start_q[:-1], v=log.start_v[:-1], memory=memory,
                time=log.time + log.dt * np.arange(count), dt=np.full(count, log.dt),
                control=jax.tree.map(lambda x: np.asarray(x, np.float64)[:-1], log.control),
                next_q=log.start_q[1:], next_v=log.start_v[1:],
            )
        )  # fmt: skip
    return jax.tree.map(lambda *x: np.ascontiguousarray(np.concatenate(x)), *parts)


def _weights(model: Model, log: Log, sigma: np.ndarray) -> np.ndarray:
    n = model.dof
    known = np.ones((len(log) - 1, 2 * n))
    if model.nq == n:
        known[:, :n] = np.isfinite(log.q[1:])
    else:
        known[:, :n] = np.all(np.isfinite(log.q[1:]), axis=1, keepdims=True)
    known[:, n:] = np.isfinite(log.v[1:]) * log.measured[1]
    if model.prescribed:
        given = np.asarray(prescribed_rows(model)[1], dtype=int)
        known[:, given] = known[:, n + given] = 0.0
    return known / sigma


def _displacement(model: Model, q: np.ndarray) -> np.ndarray:
    neutral = np.broadcast_to(np.asarray(State.neutral(model).q), q.shape)
    return coordinates.minus_rows(model, q, neutral)


# noise -------------------------------------------------------------------------------------------------------


def _noise(problem: Problem, logs: Sequence[Log], notes: list[str]) -> np.ndarray:
    """Noise of positions and velocities, (2 dof,): as given, or estimated."""
    n, found, told = problem.template.dof, [], []
    for name, rows in (("joint/position", "q"), ("joint/velocity", "v")):
        given = problem.noise
        if isinstance(given, Mapping):
            given = given.get(name)
        if given is not None:
            found.append(np.broadcast_to(np.asarray(given, np.float64), (n,)))
            continue
        displaced = lambda x, rows=rows: (
            _displacement(problem.template, x) if rows == "q" else x
        )  # quaternions are no numbers to difference
        runs = [displaced(getattr(log, f"start_{rows}")) for log in logs]
        sigma = np.sqrt(np.mean([np.square(noise_of(x)) for x in runs], axis=0))
        spread = np.max([np.std(x, axis=0) for x in runs], axis=0)
        found.append(np.maximum(np.maximum(sigma, QUIET * spread), 1e-12))
        if logs[0].measured["qv".index(rows)]:
            told.append(f"{name} {np.sqrt(np.mean(np.square(sigma))):.2g}")
    if told:
        notes.append(f"Noise was not given; estimated from the rows: {', '.join(told)}.")
    return np.concatenate(found)


def noise_of(x: np.ndarray) -> np.ndarray:
    """Standard deviation of the white noise in each column of a smooth signal, by its differences of high order."""
    best = np.full(x.shape[1], np.inf)
    for order, size in ((3, 20.0), (4, 70.0), (5, 252.0)):
        if len(x) > 4 * order:
            d = np.abs(np.diff(x, order, axis=0))
            best = np.minimum(best, np.median(d, axis=0) / (0.6745 * np.sqrt(size)))
    return np.where(np.isfinite(best), best, 0.0)


def _continuous(model: Model, log: Log) -> Log:
    """The log with angles that do not jump by whole turns."""
    turns = [
        row
        for name, rows in model.rows("coordinate").items()
        for row in rows
        if model.joint_kinds[model.joint(name)] == "revolute"
    ]
    q = log.start_q.copy()
    q[:, turns] = np.unwrap(q[:, turns], axis=0)
    return dataclasses.replace(log, start_q=q)


def _smoothed(model: Model, log: Log) -> Log:
    """The log with velocities that are slopes of local cubics of the positions."""
    if model.nq != model.dof or len(log) <= SMOOTHED_ROWS:
        return log
    from scipy.signal import savgol_filter

    slope = functools.partial(savgol_filter, window_length=SMOOTHED_ROWS, polyorder=3, axis=0)
    v = slope(log.start_q, deriv=1, delta=log.dt)
    return dataclasses.replace(log, start_v=v, v=v)
