"""Covariance of the parameters from the Gauss-Newton matrix, and which combinations the data does not determine.

With residuals `r`, Jacobian `J` and `N` data, the noise is `s² = rᵀr / (N − p)` and the covariance `s² (JᵀJ)⁻¹`
(Nocedal and Wright 2006, chapter 10). Directions in which `JᵀJ` vanishes are left out of it and described in words.
Errors include what `model_error.py` finds that noise does not explain.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.identify.answer.columns import columns_of, fits_in_memory
from isthmus.identify.answer.model_error import model_error
from isthmus.identify.answer.null_space_text import Undetermined, undetermined
from isthmus.identify.evaluate.evaluation import Evaluation

VANISHING = 1e-10
"""Eigenvalue, relative to the largest, below which a direction is not determined at all."""
DOUBTFUL, RELEVANT = 1.5, 0.05
"""An estimate is doubtful if it would move by so many of its errors by noise, and by such a share of its value."""
EXACT = 1e-7
"""Errors by noise, as a share of the numbers' sizes, below which data were computed and not measured."""
MAX_RATIO = 1e6
"""Largest factor by which errors are widened: a prediction may break down, and is then infinitely far off."""
MAX_CAUSES = 4
"""Number of causes that are listed."""
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
    lacking: str = ""
    """What the model lacks, by its residuals, in words."""
    doubtful: dict[str, str] = dataclasses.field(default_factory=dict)
    """Estimates that would move far if the model had what it lacks, with a sentence about each."""

    @property
    def correlations(self) -> Float[np.ndarray, "p p"]:
        """Covariance at unit diagonal."""
        size = np.sqrt(np.diag(self.covariance))
        safe = np.where(size > 0, size, 1.0)
        return self.covariance / safe[:, None] / safe[None]

    def widened(self, ratio: float) -> Sensitivity:
        """The same where held-out data differ by `ratio` times as much as fitted data; never narrower."""
        wide = float(np.clip(ratio, 1.0, MAX_RATIO)) if not np.isnan(ratio) else 1.0
        errors, C = wide * self.errors, wide**2 * self.covariance
        return dataclasses.replace(self, errors=errors, covariance=C)


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
    lacking, doubtful = "", {}
    C = noise**2 * report @ (size[:, None] * inverse * size[None]) @ report.T
    errors = _errors(C, report, size, null, held)
    null = physical(null, parameters.is_weight())
    open_ = undetermined(evaluation, z, null) if null.size else ()
    names = parameters.names
    least = EXACT * np.linalg.norm(report * size[None], axis=1)
    noisy = np.any(np.isfinite(errors) & (errors > least))
    if noisy and not parameters.is_weight().any() and fits_in_memory(evaluation, p):
        C, lacking, doubtful = of_model_error(evaluation, x, values, report, held)
        doubtful = {
            n: doubtful[n]
            for n, e in zip(names, errors, strict=True)
            if np.isfinite(e) and n in doubtful
        }
        errors = np.where(np.isfinite(errors), np.sqrt(np.diag(C)), errors)
    stuck = tuple(names[k] for k in np.flatnonzero(held)) if len(names) == p else ()
    words = tuple(map(str, open_))
    return Sensitivity(values, errors, C, noise, stuck, words, lacking, doubtful)


def of_model_error(
    evaluation: Evaluation, x: np.ndarray, values: np.ndarray, report: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, str, dict[str, str]]:
    """Covariance of the reported numbers, scaled to errors that include the shift by what lacks; what lacks; doubts."""
    p = evaluation.plan.parameters.size
    precision, pull = evaluation.prior.precision[:p], evaluation.prior.gradient(x[None])[0, :p]
    found = model_error(columns_of(evaluation, x), precision, pull, ~held)
    by_noise = [report @ C @ report.T for C in (found.alone, found.beside)]
    by_starts, parts = report @ found.by_starts, found.parts @ report.T
    noise = np.hypot(np.sqrt(np.maximum(*(np.diag(C) for C in by_noise))), by_starts)
    shift = parts.sum(axis=0)
    scale = np.hypot(noise, shift) / np.sqrt(np.maximum(np.diag(by_noise[1]), 1e-300))
    C = by_noise[1] * scale[:, None] * scale[None]
    far = np.abs(shift) > np.maximum(DOUBTFUL * noise, RELEVANT * np.abs(values))
    names = evaluation.plan.parameters.names
    doubtful = {}
    for k in np.flatnonzero(far):
        cause = found.added[int(np.argmax(parts[:, k] * np.sign(shift[k])))]
        doubtful[names[k]] = f"it would move by {shift[k]:+.2g}, mostly because of {cause}"
    if not found.added:
        return C, "", {}
    shown = [*found.added[:MAX_CAUSES], *(["…"] if len(found.added) > MAX_CAUSES else [])]
    share = f"{100 * found.share:.2g} % of the squares of the residuals"
    return C, f"{', '.join(shown)} would explain {share}", doubtful


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
