"""Covariance of the parameters from the Gauss-Newton matrix, and which combinations the data does not determine.

With residuals `r`, Jacobian `J` and `N` data, the noise is `s² = rᵀr / (N − p)` and the covariance `s² (JᵀJ)⁻¹`
(Nocedal and Wright 2006, chapter 10). Directions in which `JᵀJ` vanishes are left out of it and described in words.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.identify.answer.null_space_text import Undetermined, undetermined
from isthmus.identify.evaluate.evaluation import Evaluation

VANISHING = 1e-10
"""Eigenvalue, relative to the largest, below which a direction is not determined at all."""
AT_BOUND = 1e-6
"""Share of its scale within which a number counts as being at its bound."""


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """Uncertainty of the parameters, in the order of their names."""

    values: Float[np.ndarray, " p"]
    errors: Float[np.ndarray, " p"]
    """Standard errors; nan at a bound, infinite where the data does not determine a number."""
    covariance: Float[np.ndarray, "p p"]
    noise: float
    """Estimated noise, in units of the noise that the weights assume."""
    at_bound: tuple[str, ...]
    undetermined: tuple[str, ...]
    """In words."""

    @property
    def correlations(self) -> Float[np.ndarray, "p p"]:
        """Covariance at unit diagonal."""
        size = np.sqrt(np.diag(self.covariance))
        safe = np.where(size > 0, size, 1.0)
        return self.covariance / safe[:, None] / safe[None]


def sensitivity(evaluation: Evaluation, x: Float[np.ndarray, " n"]) -> Sensitivity:
    """The covariance around `x`, with the noise level that its residuals show."""
    parameters = evaluation.plan.parameters
    p = parameters.size
    z = x[:p]
    normal = evaluation.normal(x[None])
    H = normal.matrix.reduced(p)[0]
    held = (z <= parameters.low + AT_BOUND) | (z >= parameters.high - AT_BOUND)
    data = evaluation.data - int((~held).sum()) - (evaluation.size - p)
    noise = float(np.sqrt(max(2.0 * normal.cost[0], 0.0) / max(data, 1)))
    values, report = parameters.reported(z)
    size = np.where(np.abs(z) > 1e-9, np.abs(z), 1.0)  # directions are judged by relative change
    inverse, null = pseudo_inverse(H * size[:, None] * size[None], held)
    C = noise**2 * report @ (size[:, None] * inverse * size[None]) @ report.T
    errors = _errors(C, report, size, null, held)
    null = physical(null, parameters.is_weight())
    open_ = undetermined(evaluation, z, null) if null.size else ()
    names = parameters.names
    stuck = tuple(names[k] for k in np.flatnonzero(held)) if len(names) == p else ()
    return Sensitivity(values, errors, C, noise, stuck, tuple(map(str, open_)))


def unknown(evaluation: Evaluation, x: Float[np.ndarray, " n"]) -> Sensitivity:
    """Estimates without errors, for networks: a matrix of all weights would cost more than the search."""
    parameters = evaluation.plan.parameters
    z = x[: parameters.size]
    values, _ = parameters.reported(z)
    nothing = np.full(len(values), np.nan)
    cost = float(evaluation.cost(x[None])[0])
    noise = float(np.sqrt(max(2.0 * cost, 0.0) / max(evaluation.data - len(z), 1)))
    return Sensitivity(values, nothing, np.full((len(values),) * 2, np.nan), noise, (), ())


def pseudo_inverse(
    H: Float[np.ndarray, "p p"], held: np.ndarray
) -> tuple[Float[np.ndarray, "p p"], Float[np.ndarray, "p k"]]:
    """The inverse over what is determined, zero elsewhere; and a basis of what is not."""
    free = np.flatnonzero(~held)
    inverse = np.zeros_like(H)
    if not len(free):
        return inverse, np.zeros((len(H), 0))
    values, vectors = np.linalg.eigh(H[np.ix_(free, free)])
    weak = values <= VANISHING * max(values[-1], 1e-300)
    good = vectors[:, ~weak]
    inverse[np.ix_(free, free)] = good / values[~weak] @ good.T
    null = np.zeros((len(H), int(weak.sum())))
    null[free] = vectors[:, weak]
    return inverse, null


def physical(null: Float[np.ndarray, "p k"], weights: np.ndarray) -> Float[np.ndarray, "p m"]:
    """Directions that are not determined, as far as they move anything but weights of networks: those have many."""
    if not weights.any() or not null.size:
        return null
    _, sizes, turns = np.linalg.svd(null[~weights], full_matrices=False)
    moved = null @ turns[sizes > 0.1].T
    moved[weights] = 0.0
    return moved / np.maximum(np.linalg.norm(moved, axis=0), 1e-300)[None]


def _errors(
    C: np.ndarray, report: np.ndarray, size: np.ndarray, null: np.ndarray, held: np.ndarray
) -> np.ndarray:
    """Standard errors; infinite for what has a part in an undetermined direction."""
    errors = np.sqrt(np.maximum(np.diag(C), 0.0))
    spread = np.linalg.norm(report @ (size[:, None] * null), axis=1)
    most = np.linalg.norm(report * size[None], axis=1)
    errors = np.where(spread > 1e-3 * np.maximum(most, 1e-300), np.inf, errors)
    only_held = np.all((report == 0.0) | held[None], axis=1)
    return np.where(only_held, np.nan, errors)


__all__ = ["Sensitivity", "Undetermined", "sensitivity", "unknown"]
