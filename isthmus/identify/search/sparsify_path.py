"""The path of the sparse-group lasso (Simon, Friedman, Hastie, Tibshirani 2013): points of rising penalty.

`cost(x) + λ Σ_g [(1 − share) √|g| ‖x_g‖₂ + share ‖x_g‖₁] + λ/2 ‖other weights‖²`, where a group `g` has the weights of
one input in the first layer. Without the last part a network could shrink its first layer and grow the others. Each
step minimises the Gauss-Newton model of the cost plus the penalty by proximal steps, which make exact zeros.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.sparsify_inputs import Inputs

STEPS = 6
"""Gauss-Newton steps for each strength."""
SWEEPS = 60
"""Over all groups, in each step."""
RANGE = 1e-4
"""Weakest penalty, relative to the strongest one, under which nothing would be left."""
Vector = Float[np.ndarray, " n"]


@dataclasses.dataclass(frozen=True)
class Penalty:
    """The penalty of one strength."""

    strength: float
    share: float
    groups: list[np.ndarray]
    ridge: Vector
    """1 for the other weights of networks, else 0."""

    def cost(self, x: Vector) -> float:
        """Its value."""
        parts = [
            (1.0 - self.share) * np.sqrt(len(g)) * np.linalg.norm(x[g])
            + self.share * np.abs(x[g]).sum()
            for g in self.groups
        ]
        return float(self.strength * (sum(parts) + 0.5 * np.sum(self.ridge * x * x)))

    def shrunk(self, w: np.ndarray, step: float) -> np.ndarray:
        """The proximal point of the weights of one group."""
        t = step * self.strength
        each = self.share * t
        w = w - np.minimum(np.maximum(w, -each), each)
        size = math.sqrt(w @ w)
        least = (1.0 - self.share) * math.sqrt(len(w)) * t
        return w * max(0.0, 1.0 - least / size) if size > 0 else w


def path(evaluation: Evaluation, inputs: Inputs, x: Vector, options: Any) -> Iterator[Vector]:
    """Points of rising penalty, each from the one before, until no input is left."""
    groups = [g for g in inputs.columns() if len(g)]
    ridge = np.zeros(len(x))
    weights = evaluation.plan.parameters.is_weight()
    ridge[: len(weights)] = weights
    ridge[np.concatenate(groups)] = 0.0
    nothing = np.where(inputs.entries.any(axis=0), 0.0, x)
    unit = Penalty(1.0, options.share, groups, ridge)
    most = max(float(evaluation.cost(nothing[None])[0] - evaluation.cost(x[None])[0]), 1e-12)
    strongest = most / max(unit.cost(x), 1e-12)
    for strength in strongest * np.geomspace(RANGE, 1.0, options.strengths):
        x = _minimum(evaluation, x, dataclasses.replace(unit, strength=float(strength)))
        yield x
        if not any(np.any(x[g]) for g in groups):
            return


def _minimum(evaluation: Evaluation, x: Vector, penalty: Penalty) -> Vector:
    """The minimum of cost and penalty near `x`, by a few damped Gauss-Newton steps."""
    damping = 1e-3
    normal = evaluation.normal(x[None])
    total = float(normal.cost[0]) + penalty.cost(x)
    for _ in range(STEPS):
        H, g = normal.matrix.reduced(len(x))[0], normal.gradient[0]
        new = _step(H + damping * np.diag(np.maximum(np.diag(H), 1e-12)), g, x, penalty)
        new = np.clip(new, evaluation.low, evaluation.high)
        tried = evaluation.normal(new[None])
        after = float(tried.cost[0]) + penalty.cost(new)
        if np.isfinite(after) and after < total:
            small = total - after <= 1e-3 * abs(total)
            x, normal, total, damping = new, tried, after, damping / 5.0
            if small:
                break
        else:
            damping *= 10.0
    return x


def _step(Q: np.ndarray, g: Vector, x: Vector, penalty: Penalty) -> Vector:
    """The minimum of `½ dᵀ Q d + gᵀ d` and the penalty of `x + d`, as `x + d`.

    All that is not in a group is eliminated; proximal steps then go round the groups.
    """
    inside = np.concatenate(penalty.groups)
    rest = np.setdiff1d(np.arange(len(x)), inside)
    ridge = penalty.strength * penalty.ridge[rest]
    A = Q[np.ix_(rest, rest)] + np.diag(ridge + 1e-12)
    b = g[rest] + ridge * x[rest]
    solved = np.linalg.solve(A, np.column_stack([Q[np.ix_(rest, inside)], b]))
    S = Q[np.ix_(inside, inside)] - Q[np.ix_(inside, rest)] @ solved[:, :-1]
    slope = g[inside] - Q[np.ix_(inside, rest)] @ solved[:, -1]
    ends = np.cumsum([len(group) for group in penalty.groups])
    places = [slice(end - len(group), end) for group, end in zip(penalty.groups, ends, strict=True)]
    curvature = [max(float(np.linalg.norm(S[p, p], 2)), 1e-12) for p in places]
    start, w = x[inside], x[inside].copy()
    at_zero = slope - S @ start
    parts = [(w[p], S[p], at_zero[p], L) for p, L in zip(places, curvature, strict=True)]
    for _ in range(SWEEPS):
        before = w.copy()
        for own, rows, offset, L in parts:  # `own` is a view of `w`
            for _ in range(3):
                own[:] = penalty.shrunk(own - (offset + rows @ w) / L, 1.0 / L)
        if np.abs(w - before).max() <= 1e-6 * max(np.abs(w).max(), 1e-12):
            break
    d = w - start
    new = x.copy()
    new[inside] = w
    new[rest] -= solved[:, :-1] @ d + solved[:, -1]
    return new
