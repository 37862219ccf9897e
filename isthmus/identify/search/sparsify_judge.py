"""How sets of inputs are judged: by windows that took no part in a fit, in pairs, by the logarithms of their costs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from isthmus.errors import BadOption

ERRORS = 3.0
"""Standard errors of the mean paired difference of log costs by which held-out windows must be predicted worse without
an input for it to stay, or better with it for it to return: many, as the best of several sets is taken."""
ORDINARY = 0.95
"""Share of the windows beyond which a difference counts as that of the last ordinary one: no window decides alone."""
UNSEEN = 0.632
"""Weight of the cost of a window by the fit without it; the rest is that of fits with it."""
Support = Bool[np.ndarray, " inputs"]


def held_out(count: int, share: float) -> Bool[np.ndarray, "parts windows"]:
    """Parts of `count` windows that judge in turn: of each one here and there, evenly spread; none is in two."""
    parts = np.arange(int(1.0 / share))[:, None]
    places = np.floor(share * (np.arange(count + 1) + parts) + 1e-9)
    judged = np.diff(places, axis=1) > 0
    if not judged.any(axis=1).all() or judged.all():
        raise BadOption(
            f"Sparsify with heldout={share:g} needs more than {count} windows: none would be left to fit or to judge. "
            "Take shorter windows, or more motion."
        )
    return judged


@dataclasses.dataclass(frozen=True)
class Fitted:
    """A set of inputs with the numbers that fit best, and the cost of each window by numbers fitted without it."""

    support: Support
    x: Float[np.ndarray, " n"]
    costs: Float[np.ndarray, " judged"]
    cost: float
    """That of the windows that were fitted."""

    @property
    def score(self) -> float:
        """The mean logarithm of the costs; infinite where a simulation breaks down."""
        return float(np.mean(np.log(self.costs)))


def worse(one: Fitted, other: Fitted, part: Any = slice(None)) -> float:
    """By how many standard errors `one` predicts worse than `other`, of all windows that judge or a part of them."""
    if not np.isfinite(one.score) or not np.isfinite(other.score):
        return np.inf if np.isfinite(other.score) else 0.0
    d = np.log(one.costs[part]) - np.log(other.costs[part])
    most = np.quantile(np.abs(d), ORDINARY)
    d = np.clip(d, -most, most)
    error = np.std(d, ddof=1) / np.sqrt(len(d)) if len(d) > 1 else 0.0
    return float(np.mean(d) / max(error, 1e-12))


def by_all(
    costs: Float[np.ndarray, "parts judged"], parts: Bool[np.ndarray, "parts judged"]
) -> Float[np.ndarray, " judged"]:
    """The cost of each window from those by fits without each part, as a geometric mean.

    Fits with a window count a little: their costs are too low, but scatter less (Efron's .632 rule, 1983).
    """
    logs, others = np.log(costs), len(parts) - 1
    unseen = np.sum(np.where(parts, logs, 0.0), axis=0)
    if not others:
        return np.exp(unseen)
    seen = np.sum(np.where(parts, 0.0, logs), axis=0) / others
    return np.exp(UNSEEN * unseen + (1.0 - UNSEEN) * seen)


def lowest(tried: list[Fitted]) -> Fitted:
    """The set that predicts best."""
    return min(tried, key=lambda fitted: fitted.score)


def fewest(tried: list[Fitted]) -> Fitted:
    """The set with the fewest inputs that does not predict worse than the best one."""
    best = lowest(tried)
    near = [fitted for fitted in tried if worse(fitted, best) <= ERRORS]
    return min(near, key=lambda fitted: (int(fitted.support.sum()), fitted.score))
