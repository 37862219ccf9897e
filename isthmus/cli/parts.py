"""A long rollout in parts of equal length: compiled once, with progress, and Ctrl-C stops it between parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import isthmus as ist
from isthmus.cli.controls import Commands
from isthmus.cli.output import in_background
from isthmus.model.state import decides, prescribed_rows
from isthmus.motion.rows import mapped

PART = 10_000
"""Steps."""


def held(model: ist.Model, state: ist.State, torque: np.ndarray) -> ist.Control:
    """Controls with these torques; joints with prescribed motion stay where `state` has them."""
    rows_q, _ = prescribed_rows(model)
    position = np.tile(np.asarray(state.q)[rows_q], (len(torque), 1)) if model.prescribed else None
    return ist.Control(torque=torque, position=position)


def simulate_in_parts(
    model: ist.Model,
    state: ist.State,
    commands: Commands,
    dt: float,
    steps: int,
    record: tuple[str, ...],
    progress: Callable[[int], None],
    **options: Any,
) -> ist.Motion:
    """The motion that one rollout would give; `progress` is called with the number of steps done."""
    whole = steps <= PART or decides(state.memory)  # what motors remember is not in a Motion
    size = steps if whole else PART
    motions, here = [], state
    for first in range(0, max(steps, 1), max(size, 1)):
        rows = np.minimum(np.arange(first, first + size), steps - 1)  # the last part is filled up
        controls = held(model, state, commands.at(rows, dt, steps))
        start = here
        if motions and not _is_finite(start):
            part = mapped(motions[-1], lambda x: np.full_like(x, np.nan))
        else:
            part = in_background(
                lambda start=start, controls=controls: _in_numpy(
                    ist.rollout(model, start, controls, dt, record=record, **options)
                )
            )
        motions.append(part)
        here = part.state(-1)
        progress(min(first + size, steps))
    return _joined(motions, dt, steps, record)


def _is_finite(state: ist.State) -> bool:
    return bool(np.all(np.isfinite(state.q)) and np.all(np.isfinite(state.v)))


def _in_numpy(motion: ist.Motion) -> ist.Motion:
    """The same motion with NumPy arrays; waits until they are computed."""
    signals: dict[str, Any] = {name: np.asarray(value) for name, value in motion.signals.items()}
    return ist.Motion(
        np.asarray(motion.t), np.asarray(motion.q), np.asarray(motion.v), signals, motion.joints
    )


def _joined(
    motions: list[ist.Motion], dt: float, steps: int, record: tuple[str, ...]
) -> ist.Motion:
    """Each part without its last row, which is the first of the next one; first the signals that were asked for."""
    names = dict.fromkeys((*record, *motions[0].signals))

    def join(of: Callable[[ist.Motion], Any]) -> np.ndarray:
        parts = [of(motion)[:-1] for motion in motions[:-1]]
        return np.concatenate([*parts, of(motions[-1])])[: steps + 1]

    signals: dict[str, Any] = {name: join(lambda m, n=name: m.signals[n]) for name in names}
    return ist.Motion(
        dt * np.arange(steps + 1.0),
        join(lambda m: m.q),
        join(lambda m: m.v),
        signals,
        motions[0].joints,
    )
