"""`predict`: a fit judged by other logs, beside the model before the fit and beside "nothing moves".

The windows, signals and integrator are those of the fit, as for its held-out motions. A window starts where the model
agrees best with the first rows of the log: a single measured row is noisy, and velocities from differences more so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.blas import on_one_thread
from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.answer.comparison import Outside, outside_lines, outside_of
from isthmus.identify.answer.quality import Differences, blocks, differences_at, rms, still
from isthmus.identify.answer.table import columns
from isthmus.identify.answer.unfitted import sensors, unfitted
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.fit import Fit
from isthmus.identify.logs.log import Log, states_of
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.losses.penalties import Quadratic
from isthmus.losses.residuals import STATE
from isthmus.losses.windows import AbstractLoss, loss_called
from isthmus.model.model import Model
from isthmus.networks.names import signals_of, unit_at
from isthmus.phases import phase

FIXED = 1e12
"""Precision of what must not move while starts are estimated."""
LEAST_NOISE = 1e-9
"""Noise of a log that seems to have none [rad, m, rad/s, m/s]."""


@dataclasses.dataclass(frozen=True)
class Score:
    """Root mean square errors of one signal of one log [unit]."""

    log: str
    signal: str
    unit: str
    error: float
    """Of the fit."""
    unfitted: float
    """Of the model before the fit; NaN: not known."""
    still: float
    """Of predicting that nothing moves; of torques, that there is none."""
    parts: dict[str, float]
    """The error of each number of the signal."""


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """What `predict` found. Prints as a table."""

    scores: tuple[Score, ...]
    """Of every signal of every log."""
    frames: int
    """Rows of each window that its start was estimated from; they are not judged. 0: windows start as measured."""
    problem: Problem
    """The logs and the fitted model; its evaluation starts windows as measured."""
    x: np.ndarray
    """The point that was judged: sensors, then what was added to the start of each window."""

    def __str__(self) -> str:
        none = "no torque" if self.problem.plan.torque else "nothing moves"
        head = ("rms error", "fit", "unfitted", none, "unit")
        number = lambda x: "–" if np.isnan(x) else f"{x:.4g}"
        rows = [
            (f"{s.log}  {s.signal}", number(s.error), number(s.unfitted), number(s.still), s.unit)
            for s in self.scores
        ]
        frames = f"estimated from the first {self.frames} rows, which are not judged"
        starts = (
            []
            if self.problem.plan.torque
            else [f"starts of windows: {frames if self.frames else 'as measured'}"]
        )
        return "\n".join([*columns([head, *rows]), *starts, *outside_lines(self.outside)])

    @property
    def outside(self) -> Outside:
        """For each network, rows of the logs outside of the range that it has seen, and all rows."""
        return outside_of(self.problem.template, [states_of(log) for log in self.problem.logs])

    def as_dict(self) -> dict[str, Any]:
        """All numbers as plain data; what is not finite is None."""
        finite = lambda x: x if np.isfinite(x) else None
        rows = [
            dataclasses.asdict(s)
            | {name: finite(getattr(s, name)) for name in ("error", "unfitted", "still")}
            | {"parts": {name: finite(x) for name, x in s.parts.items()}}
            for s in self.scores
        ]
        return {"frames": self.frames, "scores": rows, "outside": self.outside}


@check_arguments
def predict(fit: Fit, motions: Any, *, frames: int = 4) -> Prediction:
    """The errors of a fit, which may be loaded, on `motions` that it has not seen.

    `frames`: rows at the beginning of each window from which its start is estimated, with the model; 0: windows start
    as measured, as where held-out motions are judged. Losses of torques and of single steps have no use for it.
    """
    if isinstance(frames, bool) or not isinstance(frames, int) or frames < 0:
        raise BadOption(f"frames must be a whole number from 0, not {frames!r}.")
    before = unfitted(fit)
    with on_one_thread():
        with phase("predicting with the fit"):
            found = _Judged.by(fit, fit.model, "value", motions, frames)
        with phase("predicting with the model before the fit"):
            other = None if before is None else _Judged.by(fit, before, "start", motions, frames)
    resting = found.masked(still(found.problem.evaluation))
    scores = [
        _score(found, other.differences if other else None, resting, run)
        for run in range(len(found.problem.logs))
    ]
    every = tuple(score for own in scores for score in own)
    return Prediction(every, found.frames, found.problem, found.x)


@dataclasses.dataclass(frozen=True)
class _Judged:
    """One model on all logs."""

    problem: Problem
    x: np.ndarray
    frames: int
    differences: Differences

    @staticmethod
    def by(fit: Fit, model: Model, which: str, motions: Any, frames: int) -> _Judged:
        """`which`: numbers of the sensors, `value` (fitted) or `start`."""
        said = fit.settings
        time = {key: said[key] for key in ("integrator", "explicit", "substeps") if key in said}
        starts = [Free("start/position"), Free("start/velocity")]
        problem = Problem(
            model, motions, free=[*sensors(fit, which), *starts], loss=loss_of(fit), signals=said.get("signals"),
            wrap=said.get("wrap", True), **time,
        )  # fmt: skip
        evaluation = problem.evaluation
        compared = any(c.name == "joint/position" for c in problem.channels)
        longest = int(evaluation.windows.steps.max())
        used = frames if compared and not problem.plan.torque and 1 < frames < longest else 0
        x = estimated_starts(problem, used) if used else evaluation.start
        found = _Judged(problem, x, used, {})
        (raw,) = differences_at(evaluation, problem.sigma, x[None])
        return dataclasses.replace(found, differences=found.masked(raw))

    def masked(self, differences: Differences) -> Differences:
        """NaN where nothing is judged: rows that starts come from."""
        found = {}
        for c, _ in blocks(self.problem.evaluation):
            d = differences[c.text].copy()
            d[:, : max(self.frames, int(c.name in STATE))] = np.nan
            found[c.text] = d
        return found


def loss_of(fit: Fit) -> AbstractLoss:
    """The loss of a fit, as held-out motions are judged with it."""
    if not isinstance(fit.settings.get("loss"), dict):
        raise BadOption(
            "the fit does not say which loss it had, so that it cannot be judged alike: fit again."
        )
    given = dict(fit.settings["loss"])
    return loss_called(given.pop("kind"), **given).for_heldout()


def _score(
    found: _Judged, before: Differences | None, resting: Differences, run: int
) -> list[Score]:
    """Every signal of one log."""
    problem = found.problem
    model, log = problem.template, problem.logs[run]
    own = np.array([span.run == run for span in problem.windows[1]])
    units = {spec.name: spec.unit for spec in signals_of(model)}
    scores = []
    for c in problem.channels:
        d = found.differences[c.text][own]
        known = dict.fromkeys(unit_at(model, label, units.get(c.name, "1")) for label in c.labels)
        scores.append(
            Score(
                log.name, c.text, "|".join(known), rms(d),
                np.nan if before is None else rms(before[c.text][own]), rms(resting[c.text][own]),
                {label: rms(d[..., k]) for k, label in enumerate(c.labels)},
            )
        )  # fmt: skip
    return scores


# where windows start ---------------------------------------------------------------------------------------


def estimated_starts(problem: Problem, frames: int) -> np.ndarray:
    """The point at which every window starts where the model agrees best with its first `frames` rows."""
    evaluation = problem.evaluation
    windows, p = evaluation.windows, problem.parameters.size
    noise_q, noise_v = noises(problem.logs)
    weight = windows.weight.copy()
    weight[:, frames:] = 0.0
    weight[:, 0] = 0.0  # the prior stands for it
    for c, block in blocks(evaluation):
        real = {"joint/position": noise_q, "joint/velocity": noise_v}.get(c.name)
        weight[..., block] *= 0.0 if real is None else problem.sigma[c.text] / real
    dof = problem.template.dof
    own = np.repeat([1.0 / noise_q**2, 1.0 / noise_v**2], dof)
    precision = np.concatenate([np.full(p, FIXED), np.tile(own, evaluation.count)])
    first = Evaluation(
        evaluation.plan,
        dataclasses.replace(windows, weight=weight, steps=np.minimum(windows.steps, frames - 1)),
        Quadratic(evaluation.start, precision),
        compiled=evaluation.compiled,
    )
    return LevenbergMarquardt(steps=20).search(first, evaluation.start[None]).x[0]


def noises(logs: Sequence[Log]) -> tuple[float, float]:
    """Standard deviations of the noise of positions and of velocities [rad, m, rad/s, m/s]."""
    noise_q = max(float(np.median([noise_of(log.start_q) for log in logs])), LEAST_NOISE)
    if all(log.measured[1] for log in logs):
        return noise_q, max(float(np.median([noise_of(log.start_v) for log in logs])), LEAST_NOISE)
    return noise_q, 2.0 * noise_q / min(log.dt for log in logs)


def noise_of(x: np.ndarray) -> float:
    """Standard deviation of the noise of (rows, columns), by third differences: smooth motion has hardly any."""
    rough = np.diff(np.unwrap(x, axis=0), 3, axis=0)
    return float(np.sqrt(np.mean(np.square(rough)) / 20.0)) if rough.size else 0.0
