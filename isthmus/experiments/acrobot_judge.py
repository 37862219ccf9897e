"""How the acrobot study judges a model: open-loop rollouts from every 0.25 s of a run, by their squared error.

Where an arm stands upright, a little more friction decides whether it falls. The prediction with the least expected
squared error is then not one rollout but the mean of many, over all that is not known of the run.
"""

from __future__ import annotations

import numpy as np

from isthmus.experiments.acrobot_fits import Run
from isthmus.experiments.acrobot_model import ROW
from isthmus.experiments.acrobot_own import Own, Spread, drawn, with_friction
from isthmus.identify.evaluate.windows_from_logs import REMEMBERED, bristles_along
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.simulate.many import rollout_many

HORIZONS = {"0.5 s": 250, "1 s": 500}
STRIDE = 125
"""Rows between starts: 0.25 s."""

Squares = tuple[np.ndarray, ...]
"""For each horizon, the mean squared error (starts,) of both joints [rad²]."""


def judge(
    model: Model, run: Run, zero: np.ndarray | float = 0.0, *, smooth: bool = True
) -> Squares:
    """Squared errors of rollouts from smoothed or from measured states."""
    return squares(predicted(model, run, zero, smooth=smooth), run)


def judge_mean(model: Model, run: Run, own: Own, spread: Spread, *, seed: int) -> Squares:
    """Squared errors of the mean of rollouts with all that `spread` leaves open about the run and its starts."""
    found = [
        predicted(with_friction(model, draw.own.friction), run, draw.own.zero, (draw.q, draw.v))
        for draw in drawn(own, spread, len(starts(run)), seed=seed)
    ]
    return squares(np.mean(found, axis=0), run)


def starts(run: Run) -> np.ndarray:
    """The rows from which rollouts start."""
    return np.arange(0, len(run.q) - min(HORIZONS.values()) - 1, STRIDE)


def following(run: Run) -> np.ndarray:
    """The rows of each rollout, (starts, rows); the last row again after the end of the run."""
    longest = max(HORIZONS.values())
    return np.minimum(starts(run)[:, None] + np.arange(longest + 1), len(run.q) - 1)


def predicted(
    model: Model,
    run: Run,
    zero: np.ndarray | float = 0.0,
    off: tuple[np.ndarray | float, np.ndarray | float] = (0.0, 0.0),
    *,
    smooth: bool = True,
) -> np.ndarray:
    """What the encoders will show (starts, rows, 2) [rad], if positions and velocities at the starts are `off`."""
    rows, ahead = starts(run), following(run)
    q, v = (run.q, run.v) if smooth else (run.seen, run.measured_v)
    before = np.maximum(rows[:, None] - 1 - np.arange(model.delay_steps), 0)
    memory = {"commands": run.torque[before]}
    if model.bristling:
        memory["bristles"] = np.array(
            [bristles_along(model, v[max(k - REMEMBERED, 0) : k], ROW) for k in rows]
        )
    start = State(q[rows] - zero + off[0], v[rows] + off[1], memory)
    motion = rollout_many(model, start, Control(torque=run.torque[ahead[:, :-1]]), ROW)
    return np.asarray(motion.q) + zero


def squares(predictions: np.ndarray, run: Run) -> Squares:
    """Mean squared error of each start that has the whole horizon before the end of the run [rad²]."""
    miss, left = predictions - run.seen[following(run)], len(run.q) - 1 - starts(run)
    whole = lambda steps: miss[left > steps, 1 : steps + 1]
    return tuple(np.mean(whole(steps) ** 2, axis=(1, 2)) for steps in HORIZONS.values())


def pooled(found: list[Squares], first: int = 0) -> list[float]:
    """Root mean square over all starts of all runs from row `first` on, for each horizon [rad]."""
    skipped = -(-first // STRIDE)
    kept = [[x[skipped:] for x in horizon] for horizon in zip(*found, strict=True)]
    return [float(np.sqrt(np.mean(np.concatenate(x)))) for x in kept]


def by_run(found: dict[str, list[Squares]]) -> dict[str, list[list[float]]]:
    """Method -> run -> horizon: root mean square [rad]."""
    return {
        name: [[float(np.sqrt(x.mean())) for x in run] for run in runs]
        for name, runs in found.items()
    }
