"""`Log`: a `Motion` prepared for a fit, with evenly spaced rows, what acted and what was measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.entry import described
from isthmus.errors import BadLog
from isthmus.losses.residuals import HEADING, Channel, headings
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import Control, State, prescribed_rows
from isthmus.motion import quaternions
from isthmus.motion.motion import CONTROL, EXTRA, FORCE, Motion
from isthmus.motion.rows import GAP
from isthmus.phases import counted


@dataclasses.dataclass(frozen=True)
class Log:
    """One run."""

    name: str
    time: float
    """Of the first row [s]."""
    dt: float
    q: np.ndarray
    """(rows, nq)"""
    v: np.ndarray
    """(rows, dof); by differences where it was not measured."""
    start_q: np.ndarray
    start_v: np.ndarray
    """The same with missing values interpolated: initial values of free starts."""
    measured: tuple[bool, bool]
    """Whether positions and velocities were measured."""
    control: Control
    """With rows as its first axis."""
    signals: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.q)


def states_of(log: Log, rows: np.ndarray | slice = slice(None)) -> tuple[State, Control]:
    """The states of a log, missing ones interpolated, and what acted, row by row; of all rows or some."""
    time = log.time + log.dt * np.arange(len(log))
    some = lambda x: np.asarray(x)[rows]
    state = State(some(log.start_q), some(log.start_v), None, some(time))
    return state, jax.tree.map(some, log.control)


def as_runs(motions: Any) -> list[Motion]:
    """A motion, several, or a batch of them, as a list."""
    if isinstance(motions, Motion | str | Mapping) or not isinstance(motions, Iterable):
        motions = [motions]
    given = list(motions)
    if wrong := [x for x in given if not isinstance(x, Motion)]:
        raise BadLog(
            f"motions must be Motion, but one is {described(wrong[0])}; ist.read_motion(path, model) reads files."
        )
    runs: list[Motion] = []
    for motion in given:
        if np.ndim(motion.t) > 1:
            runs += [jax.tree.map(lambda x, k=k: x[k], motion) for k in range(len(motion.t))]
        else:
            runs.append(motion)
    return runs


def read(model: Model, motion: Motion, name: str) -> Log:
    """A run as a log of this model."""
    t = np.asarray(motion.t, dtype=np.float64)
    if len(t) < 2:
        raise BadLog(f"{name} has {counted(len(t), 'row')}; a motion needs at least two.")
    _refuse_other_joints(model, motion, name)
    q, measured_q = _positions(model, motion, name, len(t))
    dt = _spacing(t, name)
    v, measured_v = _velocities(model, motion, name, q, dt)
    signals = {key: np.asarray(x, dtype=np.float64) for key, x in (motion.signals or {}).items()}
    if wrong := [key for key, x in signals.items() if len(x) != len(t)]:
        raise BadLog(
            f"{name}: signal {wrong[0]!r} has {counted(len(signals[wrong[0]]), 'row')}, time has {len(t)}."
        )
    control = _control(model, signals, q, v, dt, name)
    start = (filled(model, q), filled(model, v))
    return Log(name, float(t[0]), dt, q, v, *start, (measured_q, measured_v), control, signals)


def filled(model: Model, x: np.ndarray) -> np.ndarray:
    """Rows with nan replaced, column by column, by what lies between their neighbours."""
    if np.all(np.isfinite(x)):
        return x
    rows, made = np.arange(len(x)), x.copy()
    positions = made.shape[1] == model.nq != model.dof
    for span in _quaternions(model) if positions else ():  # half-way from q to -q is no rotation
        made[:, span] = quaternions.continuous(made[:, span])
    for column in made.T:
        known = np.isfinite(column)
        column[~known] = np.interp(rows[~known], rows[known], column[known]) if known.any() else 0.0
    if not positions:
        return made
    with jax.enable_x64(True):
        return np.array(jax.vmap(lambda q: coordinates.normalise(model, q))(jnp.asarray(made)))


def _quaternions(model: Model) -> list[slice]:
    """Columns of the positions that are quaternions."""
    joints = enumerate(model.layout.q_own)
    return [slice(b - 4, b) for i, (_, b) in joints if model.kind(i).nq != model.kind(i).nv]


def _refuse_other_joints(model: Model, motion: Motion, name: str) -> None:
    """Refuses a motion whose joint names differ from the model's."""
    said = [joint for joint, *_ in getattr(motion, "joints", ())]
    have = [joint for joint, rows in model.rows("coordinate").items() if rows]
    if said and said != have:
        raise BadLog(
            f"{name} is of the joints {', '.join(said)}, but {model.name!r} has {', '.join(have)}: the log does not "
            "match the robot."
        )


def target(model: Model, log: Log, channel: Channel) -> np.ndarray:
    """What was measured of a channel, (rows, size); nan: not measured."""
    measured = {"joint/position": log.measured[0], "joint/velocity": log.measured[1]}
    if channel.text in log.signals:
        found = log.signals[channel.text].reshape(len(log), -1)
    elif measured.get(channel.name):
        whole = log.q if channel.name == "joint/position" else log.v
        found = whole[:, list(channel.rows or ())]
    elif channel.name == HEADING and log.measured[0]:
        with jax.enable_x64(True):
            found = np.asarray(jax.vmap(lambda q: headings(model, q))(jnp.asarray(log.q)))
    elif channel.name in log.signals and channel.size == log.signals[channel.name][0].size:
        found = log.signals[channel.name].reshape(len(log), -1)
    else:
        there = [*(["joint/position"] if log.measured[0] else []), *log.signals]
        raise BadLog(
            f"{log.name} has no {channel.text!r} to compare with; it has {', '.join(there)}."
        )
    if found.shape[1] != channel.size:
        raise BadLog(
            f"{log.name}: {channel.text!r} has {counted(found.shape[1], 'number')} a row; needed are {channel.size}."
        )
    return found


def compared_rows(model: Model, log: Log, channels: Sequence[Channel]) -> np.ndarray:
    """Which rows have anything measured of these channels; all, if there are none."""
    if not channels:
        return np.ones(len(log), dtype=bool)
    found = [np.isfinite(target(model, log, c)) for c in channels]
    return np.any(np.concatenate(found, axis=1), axis=1)


def _positions(model: Model, motion: Motion, name: str, rows: int) -> tuple[np.ndarray, bool]:
    if motion.q is None or np.all(np.isnan(motion.q)):
        return np.tile(State.neutral(model).q, (rows, 1)), False
    q = np.array(motion.q, dtype=np.float64)
    if q.shape != (rows, model.nq):
        raise BadLog(
            f"{name} has positions of shape {q.shape}, but {model.name!r} has {model.nq} coordinates "
            f"({', '.join(model.joint_names)}): the log does not match the robot."
        )
    return q, True


def _velocities(
    model: Model, motion: Motion, name: str, q: np.ndarray, dt: float
) -> tuple[np.ndarray, bool]:
    if motion.v is not None and not np.all(np.isnan(motion.v)):
        v = np.array(motion.v, dtype=np.float64)
        if v.shape != (len(q), model.dof):
            raise BadLog(
                f"{name} has velocities of shape {v.shape}, but {model.name!r} has {model.dof} degrees of freedom: "
                "the log does not match the robot."
            )
        return v, True
    return differentiated(model, filled(model, q), dt), False


def differentiated(model: Model, q: np.ndarray, dt: float) -> np.ndarray:
    """Velocities by central differences of positions, (rows, dof)."""
    if len(q) < 3:
        return np.zeros((len(q), model.dof))
    d = coordinates.minus_rows(model, q[1:], q[:-1]) / dt
    inner = 0.5 * (d[1:] + d[:-1])
    return np.concatenate(
        [(1.5 * d[0] - 0.5 * d[1])[None], inner, (1.5 * d[-1] - 0.5 * d[-2])[None]]
    )


def _spacing(t: np.ndarray, name: str) -> float:
    steps = np.diff(t)
    dt = float(np.median(steps))
    if not np.all(np.isfinite(t)) or dt <= 0 or np.any(steps <= 0):
        raise BadLog(f"{name}: time must increase from row to row.")
    if np.max(np.abs(steps - dt)) > 0.02 * dt + 1e-9:
        k = int(np.argmax(np.abs(steps - dt)))
        cure = (
            "Split it at such gaps first: gaps='split'"
            if steps[k] > GAP * dt
            else "Say stamps='fill' if rows were lost, 'even' if only the clock is uneven, or motion.resample(dt)"
        )
        raise BadLog(
            f"{name} is not evenly sampled: rows {k} and {k + 1} are {steps[k]:.4g} s apart, most {dt:.4g} s. "
            f"{cure} ([read] of a study)."
        )
    return float((t[-1] - t[0]) / (len(t) - 1))


def _control(
    model: Model, signals: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray, dt: float, name: str
) -> Control:
    """What acted: commands, forces, the motion of prescribed joints, channels that networks read."""
    torque = signals.get(CONTROL)
    if torque is not None and torque.shape != (len(q), model.dof):
        raise BadLog(
            f"{name}: {CONTROL!r} has shape {torque.shape}; needed is {(len(q), model.dof)}."
        )
    if torque is not None:
        torque = _acting(model, torque, name)
    given: dict[str, Any] = {"torque": torque, "force": signals.get(FORCE)}
    if model.prescribed:
        rows_q, rows_v = prescribed_rows(model)
        given["position"], given["velocity"] = q[:, rows_q], v[:, rows_v]
        given["acceleration"] = np.gradient(v[:, rows_v], dt, axis=0)
    extra: dict[str, Any] = {
        key.removeprefix(EXTRA): x for key, x in signals.items() if key.startswith(EXTRA)
    }
    return Control(**given, extra=extra)


def _acting(model: Model, torque: np.ndarray, name: str) -> np.ndarray:
    """Commands of every row; joints of which the log has none, as a floating base, are not driven."""
    known = np.isfinite(torque)
    if known.any():
        torque, known = np.where(known.any(axis=0), torque, 0.0), known | ~known.any(axis=0)
    if known.all():
        return torque
    row, dof = np.argwhere(~known)[0]
    joint = next(joint for joint, rows in model.rows("dof").items() if dof in rows)
    raise BadLog(
        f"{name}: {CONTROL!r} of {joint!r} is missing at row {row}; what acted must be known throughout. Where only a "
        "few rows are missing, read it with holes='fill'."
    )


def names_of(runs: Sequence[Motion], what: str) -> list[str]:
    """The name of each run in messages: its file, or `run 1`, `run 2` …"""
    return [str(getattr(m, "name", "")) or f"{what} {k + 1}" for k, m in enumerate(runs)]
