"""Covariance of the parameters from the Gauss-Newton matrix, and which combinations the data does not determine.

With residuals `r`, Jacobian `J` and `N` data, the noise is `s² = rᵀr / (N − p)` and the covariance `s² (JᵀJ)⁻¹`
(Nocedal and Wright 2006, chapter 10). With a prior of precision `P`, `H = JᵀJ + P`, it is `H⁻¹ (s² JᵀJ + P) H⁻¹`: the
prior is as wide as it was given, however small the noise turns out to be. Directions in which `H` vanishes are left out
and described in words. Errors include what `model_error.py` finds that noise does not explain.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.identify.answer.columns import columns_of, fits_in_memory
from isthmus.identify.answer.model_error import model_error
from isthmus.identify.answer.null_space_text import Undetermined, undetermined
from isthmus.identify.answer.prior_conflict import contradicted
from isthmus.identify.evaluate.evaluation import Evaluation

VANISHING = 1e-10
"""Eigenvalue, relative to the largest, below which a direction is not determined at all."""
SMALL = 1e-3
"""Share of its scale below which a number has no relative change to speak of."""
DOUBTFUL, RELEVANT = 1.5, 0.05
"""An estimate is doubtful if it would move by so many of its errors by noise, and by such a share of its value."""
PRIOR_ALONE = 0.7
"""Share of the prior's deviation that is left, from which on a number is told by its prior and hardly by the data."""
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
    by_prior: tuple[str, ...] = ()
    """Numbers that the data tell little about beside their prior."""
    contradicted: dict[str, str] = dataclasses.field(default_factory=dict)
    """Numbers whose prior the data contradict, with a sentence about each."""

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

    def reaching(self, shift: Float[np.ndarray, " p"]) -> Sensitivity:
        """The same with errors that reach another minimum of the loss, so far away."""
        errors = np.where(np.isfinite(self.errors), np.hypot(self.errors, shift), self.errors)
        C = self.covariance + np.outer(shift, shift)
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
    size = np.maximum(
        np.abs(z), 1.0
    )  # changes are judged by the value or, if that is small, by the scale
    prior = np.square(size) * evaluation.prior.precision[:p]
    inverse, null = pseudo_inverse(H * size[:, None] * size[None], held, prior)
    lacking, doubtful = "", {}
    by_prior = (inverse * prior) @ inverse
    of_z = size[:, None] * (noise**2 * (inverse - by_prior) + by_prior) * size[None]
    C = report @ of_z @ report.T
    errors = _errors(C, report, size, null, held)
    spread = np.sqrt(np.diag(report @ (size[:, None] * by_prior * size[None]) @ report.T))
    guessed = spread > PRIOR_ALONE * _prior_errors(report, evaluation.prior.precision[:p])
    null = physical(relative(null, z, size), parameters.is_weight())
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
    told_before = tuple(names[k] for k in np.flatnonzero(guessed & np.isfinite(errors)))
    own = size[:, None] * inverse * size[None]
    against = contradicted(evaluation, x, H, own, noise) if prior.any() and noisy else {}
    return Sensitivity(
        values, errors, C, noise, stuck, words, lacking, doubtful, told_before, against
    )


def _prior_errors(report: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Standard deviations of the reported numbers by the prior alone; infinite where it says nothing."""
    variance = np.divide(1.0, precision, out=np.full(len(precision), np.inf), where=precision > 0)
    each = np.where(report == 0.0, 0.0, np.square(report) * np.where(report == 0.0, 0.0, variance))
    total = np.sqrt(np.sum(each, axis=1))
    return np.where(total > 0.0, total, np.inf)


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
        doubtful[names[k]] = (
            f"if the model had what it lacks, it would move by {shift[k]:+.2g}, mostly because of {cause}"
        )
    if not found.added:
        return C, "", {}
    shown = [*found.added[:MAX_CAUSES], *(["…"] if len(found.added) > MAX_CAUSES else [])]
    share = f"{100 * found.share:.3g} % of the squares of the residuals"
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
    H: Float[np.ndarray, "p p"], held: np.ndarray, prior: Float[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, "p p"], Float[np.ndarray, "p k"]]:
    """The inverse over what data or the precision `prior` in `H` determine, zero elsewhere; a basis of the rest."""
    free = np.flatnonzero(~held)
    inverse = np.zeros_like(H)
    if not len(free):
        return inverse, np.zeros((len(H), 0))
    values, vectors = np.linalg.eigh(H[np.ix_(free, free)])
    by_prior = prior[free] @ np.square(vectors)
    weak = (values <= VANISHING * max(values[-1], 1e-300)) & (by_prior <= 0.5 * np.abs(values))
    good = vectors[:, ~weak]
    inverse[np.ix_(free, free)] = good / np.maximum(values, by_prior)[~weak] @ good.T
    null = np.zeros((len(H), int(weak.sum())))
    null[free] = vectors[:, weak]
    return inverse, null


def relative(
    null: Float[np.ndarray, "p k"], z: Float[np.ndarray, " p"], size: Float[np.ndarray, " p"]
) -> Float[np.ndarray, "p k"]:
    """Directions in units of `size` as relative changes; of numbers that are nearly zero, as shares of their scale."""
    if not null.size:
        return null
    value = np.abs(z)
    return np.linalg.qr(null * (size / np.where(value > SMALL, value, 1.0))[:, None])[0]


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
