"""A fit and its problem -> what was measured and what was predicted, run by run, in the windows that the loss takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.fit import Fit
from isthmus.identify.logs.log import Log, target
from isthmus.identify.problem import Problem
from isthmus.losses.residuals import Channel
from isthmus.losses.windows import Span
from isthmus.model.model import Model
from isthmus.model.state import Control
from isthmus.networks.names import signals_of, unit_at


@dataclasses.dataclass(frozen=True)
class Curve:
    """One number of one signal in one run. Windows stand one behind the other, NaN between them."""

    label: str
    unit: str
    time: np.ndarray
    """Of the log [s], from its first row."""
    measured: np.ndarray | None
    """None: only its difference can be drawn."""
    at: np.ndarray
    """Rows of the log that were predicted; −1 between windows."""
    predicted: np.ndarray
    before: np.ndarray
    """Predicted with the start values."""
    difference: np.ndarray
    """Predicted less measured; NaN where nothing was compared, as at a measured start."""
    position: np.ndarray | None
    velocity: np.ndarray | None
    """Of the joint whose number this is, at the rows of the log."""

    def over(self, rows: np.ndarray) -> np.ndarray:
        """Something of the log's rows at the rows that were predicted."""
        return np.where(self.at < 0, np.nan, rows[np.maximum(self.at, 0)])


@dataclasses.dataclass(frozen=True)
class Run:
    """One log with its predictions."""

    name: str
    heldout: bool
    dt: float
    rows: int
    curves: tuple[Curve, ...]
    spans: tuple[Span, ...]
    q: np.ndarray | None
    """Measured positions; None: not measured."""
    q_predicted: np.ndarray | None
    """Predicted ones at the rows `at`, of the windows that are shown; None: nothing was simulated."""
    at: np.ndarray
    control: Control
    """What acted, with rows as its first axis."""


def runs_of(fit: Fit, problem: Problem) -> list[Run]:
    """Fitted runs, then held-out ones."""
    p = problem.parameters.size
    first = np.concatenate([_start(fit, problem), np.zeros(len(fit.x) - p)])
    found = runs_at(
        problem,
        problem.evaluation,
        problem.windows[1],
        problem.logs,
        np.stack([first, fit.x]),
        False,
    )
    evaluation = problem.heldout_evaluation
    if evaluation is None:
        return found
    points = np.stack([first[:p], fit.x[:p]])
    spans, logs = problem.heldout_windows[1], problem.heldout_logs
    return found + runs_at(problem, evaluation, spans, logs, points, True)


def as_fitted(fit: Fit, problem: Problem) -> Problem:
    """The problem without networks, where the fit dropped them."""
    dropped = problem.trained and fit.networks is not None and not fit.networks.kept
    return problem.without_networks() if dropped else problem


def _start(fit: Fit, problem: Problem) -> np.ndarray:
    """Where the search began, as far as numbers by name tell."""
    parameters = problem.parameters
    plain = {label for group in parameters.groups if group.direct for label in group.labels}
    return parameters.from_values({n: e.start for n, e in fit.estimates.items() if n in plain})


def runs_at(
    problem: Problem,
    evaluation: Evaluation,
    spans: Sequence[Span],
    logs: Sequence[Log],
    points: np.ndarray,
    heldout: bool,
) -> list[Run]:
    """Every log with the windows cut from it; `points`: the start and what was found."""
    r, _ = evaluation.residuals(points)
    simulated = None if evaluation.plan.torque else evaluation.positions(points[1:])[0]
    found = []
    for k, log in enumerate(logs):
        shown = apart([(w, s) for w, s in enumerate(spans) if s.run == k])
        at = _rows([s for _, s in shown])
        differences = [_differences(evaluation, x, shown) for x in r]
        curves, column = [], 0
        for c in problem.channels:
            block = slice(column, column + c.width)
            sigma = np.broadcast_to(problem.sigma[c.text], (c.width,))
            before, after = (d[:, block] * sigma for d in differences)
            curves += _curves(problem.template, c, log, at, before, after)
            column += c.width
        measured = log.q if log.measured[0] else None
        chosen = tuple(s for _, s in shown)
        q = None if simulated is None else _laid_out([simulated[w] for w, _ in shown], chosen)
        found.append(
            Run(
                log.name, heldout, log.dt, len(log), tuple(curves), chosen, measured, q, at,
                log.control,
            )
        )  # fmt: skip
    return found


def apart(windows: Sequence[tuple[int, Span]]) -> list[tuple[int, Span]]:
    """Windows that do not overlap, the earlier ones first."""
    kept: list[tuple[int, Span]] = []
    for w, span in sorted(windows, key=lambda pair: pair[1].first):
        if not kept or span.first >= kept[-1][1].first + kept[-1][1].steps:
            kept.append((w, span))
    return kept


def _rows(spans: Sequence[Span]) -> np.ndarray:
    """Rows of the log in each window, with −1 after each."""
    parts = [np.append(np.arange(s.first, s.first + s.steps + 1), -1) for s in spans]
    return np.concatenate(parts) if parts else np.zeros(0, int)


def _laid_out(windows: Sequence[np.ndarray], spans: Sequence[Span]) -> np.ndarray:
    """The valid rows of each window, with a row of NaN after each."""
    parts = []
    for x, s in zip(windows, spans, strict=True):
        parts += [x[: s.steps + 1], np.full((1, *x.shape[1:]), np.nan)]
    return np.concatenate(parts)


def _differences(
    evaluation: Evaluation, r: np.ndarray, shown: Sequence[tuple[int, Span]]
) -> np.ndarray:
    """Differences in units of the noise; NaN where nothing was compared."""
    d = np.where(evaluation.windows.weight > 0, r, np.nan)
    return _laid_out([d[w] for w, _ in shown], [s for _, s in shown])


def _started(d: np.ndarray, at: np.ndarray) -> np.ndarray:
    """With zero, instead of NaN, where a window starts as measured and goes on."""
    begins = np.concatenate([[True], at[:-1] < 0]) & (at >= 0)
    goes_on = np.concatenate([np.isfinite(d[1:]), [False]])
    return np.where(begins & np.isnan(d) & goes_on, 0.0, d)


def _curves(
    model: Model,
    c: Channel,
    log: Log,
    at: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
) -> list[Curve]:
    """The numbers of one signal of one run."""
    measured = target(model, log, c)
    time = log.dt * np.arange(len(log))
    units = {spec.name: spec.unit for spec in signals_of(model)}
    found = []
    for k, label in enumerate(c.labels):
        own = measured[:, k] if c.width == c.size else None
        there = np.full(len(at), np.nan)
        if own is not None:
            there = np.where(at < 0, np.nan, own[np.maximum(at, 0)])
        position, velocity = _own_motion(model, log, label)
        found.append(
            Curve(
                label,
                unit_at(model, label, units.get(c.name, "")),
                time,
                own,
                at,
                there + _started(after[:, k], at),
                there + _started(before[:, k], at),
                after[:, k],
                position,
                velocity,
            )
        )
    return found


def _own_motion(model: Model, log: Log, label: str) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Position and velocity of the joint that a label names; positions of one number only."""
    part = label.split("/")
    if part[0] != "joint" or len(part) < 3 or part[1] not in model.joint_names:
        return None, None
    i = model.joint(part[1])
    q, v = model.layout.q_own[i], model.layout.v_own[i]
    k = int(label.rsplit("[", 1)[1][:-1]) if label.endswith("]") and label[-2].isdigit() else 0
    if v[0] + k >= v[1]:
        return None, None
    single = q[1] - q[0] == v[1] - v[0] and log.measured[0]
    return (log.q[:, q[0] + k] if single else None), log.v[:, v[0] + k]


def pooled(curves: Sequence[Curve], what: str) -> tuple[np.ndarray, np.ndarray]:
    """`position` or `velocity` of several runs with the differences there, one behind the other."""
    pairs: list[tuple[Any, np.ndarray]] = [
        (c.over(rows), c.difference) for c in curves if (rows := getattr(c, what)) is not None
    ]
    if not pairs:
        return np.zeros(0), np.zeros(0)
    return np.concatenate([x for x, _ in pairs]), np.concatenate([d for _, d in pairs])
