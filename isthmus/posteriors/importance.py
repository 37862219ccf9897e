"""Importance resampling with a mixture of Student's t, and the Pareto shape k̂ that says whether it can be trusted.

The largest ratios of density and proposal follow a generalised Pareto distribution, whose shape k̂ is estimated as Zhang
and Stephens (2009) do and whose quantiles replace these ratios (Vehtari et al. 2024, *Pareto smoothed importance
sampling*). Above 0.5 the ratios have no variance; above 0.7 no practical number of draws is enough.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2

from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Mode

FREEDOM = 5.0
"""Degrees of freedom of the t distributions."""
MIN_DRAWS = 8
"""Effective draws for each number from which on a covariance is taken from draws."""
LEAST_SHARE = 0.1
"""Part of the draws that all modes share evenly, whatever their evidence."""


@dataclasses.dataclass(frozen=True)
class Students:
    """A mixture of multivariate t distributions around modes."""

    modes: Sequence[Mode]
    weight: Float[np.ndarray, " modes"]

    @staticmethod
    def around(modes: Sequence[Mode], evidence: np.ndarray) -> Students:
        """With weights by evidence, none of them tiny."""
        return Students(modes, (1.0 - LEAST_SHARE) * evidence + LEAST_SHARE / len(modes))

    def draw(self, count: int, rng: np.random.Generator) -> Points:
        """Independent points; each mode has its share of them."""
        chosen = systematic(self.weight, count, rng)
        n = len(self.modes[0].u)
        normal = rng.standard_normal((count, n))
        wide = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, count))
        U = np.empty((count, n))
        for k, mode in enumerate(self.modes):
            own = chosen == k
            step = np.linalg.solve(mode.factor.T, (normal[own] * wide[own, None]).T).T
            U[own] = mode.u + step
        return U

    def fitted(
        self,
        U: Points,
        own: Float[np.ndarray, "modes points"],
        weight: Float[np.ndarray, " points"],
    ) -> Students | None:
        """The mixture with the means and covariances of weighted draws; None: they are too few for that.

        `own`: share of each mode in each draw.
        """
        n, modes, shares = U.shape[1], [], own @ weight
        for mode, share in zip(self.modes, own * weight, strict=True):
            part = share / max(share.sum(), 1e-300)
            if 1.0 / np.square(part).sum() < MIN_DRAWS * n:
                modes.append(mode)
                continue
            mean = part @ U
            C = (part[:, None] * (U - mean)).T @ (U - mean)
            modes.append(
                dataclasses.replace(mode, u=mean, H=np.linalg.inv(C + 1e-12 * np.diag(np.diag(C))))
            )
        if all(new is old for new, old in zip(modes, self.modes, strict=True)):
            return None
        return Students.around(modes, shares / shares.sum())

    def log_parts(self, U: Points) -> Float[np.ndarray, "modes points"]:
        """Log of each mode's part of the density."""
        parts = []
        for share, mode in zip(self.weight, self.modes, strict=True):
            spread = np.log(np.diag(mode.factor)).sum()
            parts.append(np.log(share) + spread + _log_t(mode.distance(U), U.shape[1]))
        return np.stack(parts)


@functools.cache
def efficiency(n: int) -> float:
    """Effective draws of a t distribution for each of its draws, where the density is the normal of `n` numbers."""
    d = chi2.ppf((np.arange(4000) + 0.5) / 4000, n)  # squared distances, all equally likely
    log_p = -0.5 * d - 0.5 * n * np.log(2.0 * np.pi)
    return float(1.0 / np.exp(log_p - _log_t(d, n)).mean())


def _log_t(distance: np.ndarray, n: int) -> np.ndarray:
    """Log density of the standard t distribution of `n` numbers at squared distances."""
    constant = (
        gammaln(0.5 * (FREEDOM + n)) - gammaln(0.5 * FREEDOM) - 0.5 * n * np.log(FREEDOM * np.pi)
    )  # fmt: skip
    return constant - 0.5 * (FREEDOM + n) * np.log1p(distance / FREEDOM)


@dataclasses.dataclass(frozen=True)
class Weighted:
    """Draws with smoothed weights."""

    weight: Float[np.ndarray, " points"]
    """Sum to one."""
    khat: float
    log_evidence: float
    """Log of the mean ratio."""

    @property
    def effective(self) -> float:
        """How many independent draws they are worth."""
        return float(1.0 / np.square(self.weight).sum())


def smoothed(log_ratio: Float[np.ndarray, " points"]) -> Weighted:
    """Weights from the logs of density over proposal."""
    log_ratio = np.where(np.isfinite(log_ratio), log_ratio, -np.inf)
    top = float(log_ratio.max())
    if not np.isfinite(top):
        return Weighted(np.full(len(log_ratio), 1.0 / len(log_ratio)), np.inf, -np.inf)
    ratio = np.exp(log_ratio - top)
    evidence = top + float(np.log(ratio.mean()))
    count = len(ratio)
    tail = int(min(0.2 * count, 3.0 * np.sqrt(count)))
    order = np.argsort(ratio, kind="stable")
    largest, khat = order[count - tail :], -np.inf
    threshold = ratio[order[count - tail - 1]] if tail >= 5 else np.inf
    excess = ratio[largest] - threshold
    if tail >= 5 and excess[-1] > 1e-12 * ratio[largest[-1]]:
        khat, scale = pareto(np.maximum(excess, 1e-300))
        if np.isfinite(khat):
            share = (np.arange(tail) + 0.5) / tail
            with np.errstate(over="ignore"):  # a tail without bound, which the largest ratio cuts
                ratio[largest] = np.minimum(threshold + quantiles(share, khat, scale), 1.0)
    return Weighted(ratio / ratio.sum(), float(khat), evidence)


def pareto(x: Float[np.ndarray, " tail"]) -> tuple[float, float]:
    """Shape and scale of a generalised Pareto distribution (Zhang and Stephens 2009); `x` rises."""
    count, prior = len(x), 3.0
    m = 30 + int(np.sqrt(count))
    quartile = x[int(count / 4.0 + 0.5) - 1]
    b = 1.0 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))
    b = b / (prior * quartile) + 1.0 / x[-1]
    shape = np.log1p(-b[:, None] * x[None]).mean(axis=1)
    with np.errstate(all="ignore"):
        profile = count * (np.log(-b / shape) - shape - 1.0)
    profile = np.where(np.isfinite(profile), profile, -np.inf)
    weight = np.exp(profile - logsumexp(profile))
    mean = float(np.sum(b * weight))
    k = float(np.log1p(-mean * x).mean())
    scale = -k / mean
    return (count * k + 10.0 * 0.5) / (count + 10.0), scale  # a weak prior for few draws


def quantiles(share: np.ndarray, k: float, scale: float) -> np.ndarray:
    """Of a generalised Pareto distribution."""
    if abs(k) < 1e-9:
        return -scale * np.log1p(-share)
    return scale * np.expm1(-k * np.log1p(-share)) / k


def systematic(
    weight: Float[np.ndarray, " points"], count: int, rng: np.random.Generator
) -> Int[np.ndarray, " count"]:
    """Indices drawn by weight with one random number: each as often as its weight says, up to one."""
    places = (np.arange(count) + rng.random()) / count
    total = np.cumsum(weight)
    return np.minimum(np.searchsorted(total / total[-1], places), len(weight) - 1)
