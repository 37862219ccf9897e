"""Priors that the data contradict: where each number would be without its own prior, against that prior.

Of a prior with mean `m` and precision `P` on the number `k`, the estimate without it and its variance follow from one
column of the inverse of the Gauss-Newton matrix (Sherman and Morrison), all other priors kept. If data and prior agree,
their difference over its standard deviation is a standard normal number (Evans and Moshonov 2006: prior-data conflict).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation

CONTRADICTED = 3.5
"""Standard deviations by which data and prior may differ: some fifty numbers are looked at."""
VANISHING = 1e-9
"""Share of a variance without a prior's own part, below which nothing but the prior determines the number."""


def contradicted(
    evaluation: Evaluation,
    x: Float[np.ndarray, " n"],
    H: Float[np.ndarray, "p p"],
    inverse: Float[np.ndarray, "p p"],
    noise: float,
) -> dict[str, str]:
    """A sentence for each number whose prior the data contradict.

    `H`, `inverse`: the Gauss-Newton matrix with the priors, and its inverse over what is determined; `noise`: of the
    residuals, in units of the noise that was assumed.
    """
    parameters = evaluation.plan.parameters
    p = parameters.size
    precision, mean = evaluation.prior.precision[:p], evaluation.prior.mean[:p]
    data = noise**2 * (H - np.diag(precision)) + np.diag(precision)
    owners = _owners(evaluation, x)
    found = {}
    for k in np.flatnonzero((precision > 0.0) & (np.diag(inverse) > 0.0) & ~parameters.is_weight()):
        left = 1.0 - precision[k] * inverse[k, k]
        if left < VANISHING:
            continue
        column = inverse[:, k] / left
        variance = float(column @ data @ column) - precision[k] * column[k] ** 2
        alone = x[k] + column[k] * precision[k] * (x[k] - mean[k])
        far = abs(alone - mean[k]) / np.sqrt(max(variance, 0.0) + 1.0 / precision[k])
        if far > CONTRADICTED and variance * precision[k] < 1.0:
            found[owners[k]] = f"the data place it {far:.2g} deviations from the mean of its prior"
    return found


def _owners(evaluation: Evaluation, x: np.ndarray) -> list[str]:
    """The reported number that each entry of `z` moves most, compared with what moves it in all."""
    parameters = evaluation.plan.parameters
    _, report = parameters.reported(x[: parameters.size])
    share = np.abs(report) / np.maximum(np.linalg.norm(report, axis=1), 1e-300)[:, None]
    return [parameters.names[k] for k in np.argmax(share, axis=0)]
