"""How the acrobot study judges a model: open-loop rollouts from every 0.25 s of a run, by their squared error.

Rollouts start where a filter over 41 rows says, or where the model agrees best with the same 41 rows.
"""

from __future__ import annotations

import numpy as np

from isthmus.experiments.acrobot_fits import SMOOTH, Run
from isthmus.experiments.acrobot_model import ROW
from isthmus.experiments.starts import estimated_starts
from isthmus.identify.evaluate.windows_from_logs import REMEMBERED, bristles_along
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.simulate.many import rollout_many

HORIZONS = {"0.5 s": 250, "1 s": 500}
STRIDE = 125
"""Rows between starts: 0.25 s."""
NOISE, DOUBT = 2e-4, np.repeat([1e-3, 0.1], 2)
"""Of the encoders [rad]; how far the filter's angles [rad] and velocities [rad/s] may be off."""
DRAWS = 2000
"""Of runs, for the intervals of differences."""

Squares = tuple[np.ndarray, ...]
"""For each horizon, the mean squared error (starts,) of both joints [rad²]."""


def judge(
    model: Model,
    run: Run,
    zero: np.ndarray | float = 0.0,
    *,
    smooth: bool = True,
    by_model: bool = False,
) -> Squares:
    """Squared errors of rollouts from smoothed states, from measured ones, or from those that suit the model."""
    q, v = (run.q, run.v) if smooth else (run.seen, run.measured_v)
    rows, longest = starts(run), max(HORIZONS.values())
    first = np.maximum(rows - SMOOTH[0] // 2, 0) if by_model else rows
    x = np.concatenate([q[first] - zero, v[first]], axis=1)
    if by_model:
        seen = run.seen[first[:, None] + np.arange(SMOOTH[0])]
        early = lambda x: rolled(model, run, first, x, SMOOTH[0] - 1) + zero
        x = estimated_starts(early, x, seen, DOUBT, NOISE)
    wanted = (rows - first)[:, None] + np.arange(longest + 1)
    shown = rolled(model, run, first, x, int(wanted.max())) + zero
    return squares(np.take_along_axis(shown, wanted[..., None], axis=1), run)


def starts(run: Run) -> np.ndarray:
    """The rows from which rollouts start."""
    return np.arange(0, len(run.q) - min(HORIZONS.values()) - 1, STRIDE)


def following(run: Run, rows: np.ndarray, steps: int) -> np.ndarray:
    """These rows and the next ones, (starts, steps + 1); the last row again after the end of the run."""
    return np.minimum(rows[:, None] + np.arange(steps + 1), len(run.q) - 1)


def rolled(model: Model, run: Run, rows: np.ndarray, x: np.ndarray, steps: int) -> np.ndarray:
    """Angles (k starts, steps + 1, 2) [rad] from states `x` (k starts, 4) at these rows, all rows k times."""
    rows = np.tile(rows, len(x) // len(rows))
    before = np.maximum(rows[:, None] - 1 - np.arange(model.delay_steps), 0)
    memory = {"commands": run.torque[before]}
    if model.bristling:
        bent = lambda k: bristles_along(model, run.v[max(k - REMEMBERED, 0) : k], ROW)
        each = {k: bent(k) for k in set(rows.tolist())}
        memory["bristles"] = np.array([each[k] for k in rows.tolist()])
    torque = run.torque[following(run, rows, steps)[:, :-1]]
    return np.asarray(
        rollout_many(model, State(x[:, :2], x[:, 2:], memory), Control(torque=torque), ROW).q
    )


def squares(predictions: np.ndarray, run: Run) -> Squares:
    """Mean squared error of each start that has the whole horizon before the end of the run [rad²]."""
    rows = starts(run)
    miss = predictions - run.seen[following(run, rows, max(HORIZONS.values()))]
    left = len(run.q) - 1 - rows
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


def differences(ours: list[Squares], theirs: list[Squares]) -> list[tuple[float, float, float]]:
    """For each horizon, `pooled` of ours less theirs [rad], and the 95 % interval from drawing runs again."""
    draws = np.random.default_rng(0).integers(0, len(ours), (DRAWS, len(ours)))
    out = []
    for own, other in zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True):
        count = np.array([len(x) for x in own])
        sums = np.array([[np.sum(x) for x in own], [np.sum(x) for x in other]])
        less = lambda runs, n=count, s=sums: np.subtract(
            *np.sqrt(np.sum(s[:, runs], axis=-1) / np.sum(n[runs], axis=-1))
        )
        low, high = np.quantile(less(draws), [0.025, 0.975])
        out.append((float(less(np.arange(len(own)))), float(low), float(high)))
    return out
