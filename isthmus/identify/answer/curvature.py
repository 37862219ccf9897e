"""Whether a normal describes a cost around its minimum: how fast the cost rises along the axes of the normal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation

REACH = 1.5
"""Distance at which the cost is compared, in standard deviations."""
BENT = 3.0
"""Factor by which the rise may differ from that of the normal."""
MAX_NUMBERS = 40
"""Free numbers up to which a fit is checked."""

Points = Float[np.ndarray, "points n"]


def rises(
    cost: Callable[[Points], np.ndarray],
    x: Float[np.ndarray, " n"],
    H: Float[np.ndarray, "n n"],
    spread: float = 1.0,
) -> tuple[Points, Float[np.ndarray, " points"]]:
    """Points at `REACH` along both directions of each axis, and the rise of the cost there over that of the normal.

    `spread`: noise in units of what the cost assumes, by which the normal is wider.
    """
    values, vectors = np.linalg.eigh(H)
    axes = REACH * spread * (vectors / np.sqrt(np.maximum(values, 1e-300))).T
    points = np.concatenate([x + axes, x - axes])
    every = cost(np.concatenate([x[None], points]))
    with np.errstate(invalid="ignore"):
        ratio = (every[1:] - every[0]) / (0.5 * (REACH * spread) ** 2)
    return points, np.where(np.isfinite(ratio), ratio, np.inf)


def bend(ratio: Float[np.ndarray, " points"]) -> float:
    """The largest factor by which a rise differs from the normal's; 1: none does."""
    return float(np.max(np.maximum(ratio, 1.0 / np.maximum(ratio, 1e-6)), initial=1.0))


def bend_of_fit(evaluation: Evaluation, x: np.ndarray, noise: float) -> str:
    """A sentence where the errors of a fit are those of a normal and the cost is not; empty: it is, or nobody knows."""
    parameters = evaluation.plan.parameters
    p, weights = parameters.size, parameters.is_weight()
    if not 0 < p <= MAX_NUMBERS or evaluation.own or weights.any() or not noise > 0.0:
        return ""
    H = evaluation.normal(x[None]).matrix.reduced(p)[0]
    if not np.isfinite(H).all() or np.linalg.eigvalsh(H)[0] <= 1e-10 * np.linalg.eigvalsh(H)[-1]:
        return ""
    points, ratio = rises(evaluation.cost, x, H, noise)
    inside = np.all((points >= evaluation.low) & (points <= evaluation.high), axis=1)
    factor = bend(ratio[inside])
    if factor <= BENT:
        return ""
    return (
        f"the errors are those of a normal distribution, but within {REACH:g} of them the loss changes {factor:.2g} "
        "times as much, or as little: ist.posterior(problem) shows what the data leave open."
    )
