"""Whether a search ended in a local minimum: is the loss lower nearby, and where do searches from there end?

A loss through contacts is rough: where a corner begins to slide or to bounce a row earlier, the loss has a step or a
kink. A local search stops at the first one, and errors from the curvature there say nothing about the next. So the loss
is computed along a line through the estimate for each free number, in which the others follow as the quadratic model
says; if it falls anywhere, or bends, local searches begin at the lowest points. The lines cost a dozen simulations for
each number.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.identify.answer.sensitivity import EXACT
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt

DISTANCES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Where the loss is computed, in standard errors to either side."""
LOWER = 0.05
"""Decrease of the loss, in units of the noise's variance, beyond what an unfinished search leaves."""
BETTER = 2.0
"""The same that a better minimum must reach: two standard errors of one number."""
MOVED = 0.5
"""Standard errors by which an estimate must differ there; else the errors hold both."""
MAX_NUMBERS = 40
"""Free numbers up to which a fit is checked."""
MAX_STARTS, STEPS = 8, 20
"""How many searches begin at the lowest points, and as many at the lowest ones farther away; their length."""
FAR = 2.0
"""Standard errors from which on a point is farther away."""
MAX_NAMED = 3
"""Numbers that a sentence gives."""
NOMINAL = 0.1
"""Distance, as a share of a number's scale, that stands for an error that is not known."""

Vector = Float[np.ndarray, " n"]


@dataclasses.dataclass(frozen=True)
class LowerMinimum:
    """A point of lower loss than the one that a search found."""

    shift: Float[np.ndarray, " reported"]
    """By how much the reported numbers differ there."""
    sentence: str


def lower_minimum(
    evaluation: Evaluation,
    x: Vector,
    errors: Float[np.ndarray, " reported"],
    noise: float,
    *,
    bent: bool,
) -> LowerMinimum | None:
    """A better minimum near `x`, which has these standard errors; None: no lower loss was found.

    `noise`: of the residuals, in units of the noise that was assumed. `bent`: whether the loss is known to differ from
    its quadratic model; otherwise searches begin only if it is lower somewhere.
    """
    parameters = evaluation.plan.parameters
    p = parameters.size
    if not 0 < p <= MAX_NUMBERS or parameters.is_weight().any() or not noise > 0.0:
        return None
    size = _distances(evaluation, x, errors, noise)
    if not np.any(size > EXACT * np.maximum(np.abs(x[:p]), 1.0)):
        return None  # data were computed: all that differs is rounding
    points = _lines(evaluation, x, size)
    here = float(evaluation.cost(x[None])[0])
    cost = np.nan_to_num(evaluation.cost(points), nan=np.inf)
    if not bent and not np.min(cost, initial=np.inf) < here - LOWER * noise**2:
        return None
    order = np.argsort(cost)
    far = np.max(np.abs(points - x)[:, :p] / size, axis=1) >= FAR
    starts = np.concatenate([order[:MAX_STARTS], order[far[order]][:MAX_STARTS]])
    found = LevenbergMarquardt(steps=STEPS).search(evaluation, points[np.unique(starts)])
    end, cost = found.x[found.best], float(found.cost[found.best])
    moved = np.abs(end - x)[:p] / size
    if not cost < here - BETTER * noise**2 or not np.max(moved) > MOVED:
        return None
    values, there = parameters.values(x[:p]), parameters.values(end[:p])
    return LowerMinimum(there - values, _sentence(evaluation, there, moved, here, cost))


def _distances(evaluation: Evaluation, x: Vector, errors: np.ndarray, noise: float) -> np.ndarray:
    """What counts as one standard error of each entry of `z`: as reported, or by the quadratic model."""
    parameters = evaluation.plan.parameters
    p = parameters.size
    if all(group.direct for group in parameters.groups):
        size = errors / parameters.scale
    else:
        H = evaluation.normal(x[None]).matrix.reduced(p)[0]
        size = noise * np.sqrt(np.maximum(np.diag(np.linalg.pinv(H, rcond=1e-10)), 0.0))
    size = np.where(np.isfinite(size) & (size > 0.0), size, NOMINAL)
    range_ = parameters.high - parameters.low
    return np.minimum(size, np.where(np.isfinite(range_), NOMINAL * range_, np.inf))


def _lines(evaluation: Evaluation, x: Vector, size: np.ndarray) -> Float[np.ndarray, "points n"]:
    """Points on a line for each free number; the others, and starts of windows, follow by the quadratic model."""
    H = evaluation.normal(x[None]).matrix
    low, high = evaluation.low, evaluation.high
    at_bound = (x <= low) | (x >= high)
    damping = 1e-9 * np.maximum(H.diagonal(), 1e-300)
    steps = []
    for k, distance in enumerate(size):
        own = np.zeros((1, len(x)))
        own[0, k] = distance
        held = at_bound[None] | (own != 0.0)
        steps.append((own + H.solve(damping, -H.times(own), held))[0])
    far = np.concatenate([DISTANCES, -np.array(DISTANCES)])
    points = x + (far[:, None, None] * np.array(steps)[None]).reshape(-1, len(x))
    return points[np.all((points >= low) & (points <= high), axis=1)]


def _sentence(
    evaluation: Evaluation, there: np.ndarray, moved: np.ndarray, here: float, cost: float
) -> str:
    names = evaluation.plan.parameters.names
    order = np.argsort(-moved) if len(names) == len(moved) else np.arange(len(names))
    shown = [f"{names[k]} = {there[k]:.4g}" for k in order[:MAX_NAMED]]
    rest = " …" if len(names) > MAX_NAMED else ""
    return (
        f"the search stopped in a local minimum, with a loss of {here:.4g}: it is {cost:.4g} at {', '.join(shown)}"
        f"{rest}, and there may be more such minima. The errors reach that far. Start there (start=), or search from "
        "many points, for longer: ist.Population, ist.BasinHopping ([search] of a study)."
    )
