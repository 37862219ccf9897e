"""Unbounded coordinates `u` of the numbers `x` that a search moves: a proper prior is a standard normal in `u`.

A box becomes `x = low + (high − low) Φ(u)`, a normal prior `x = mean + σ u`, a normal prior that bounds cut
`x = mean + σ Φ⁻¹(A + (B − A) Φ(u))`. A number with one bound and no prior has `x = low + exp(u)` and a flat prior on
`x`; one with neither is its own coordinate. The last two have no proper prior. `to_x`, `potential` and `slope` take
arrays of NumPy or of JAX.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.scipy.special
import numpy as np
import scipy.special
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.spatial.arrays import namespace
from isthmus.types import AnyArray

Points = Float[np.ndarray, "points n"]
AnyPoints = Float[AnyArray, "points n"]
Maps = tuple[Any, Any, Any]
"""Three arrays (points, n) of the library that the points belong to."""
EDGE = 1e-12
"""Share of a box that a point at its bound is moved inwards, so that its coordinate is finite."""
FAR = 8.0
"""Coordinates are kept within ±FAR where a map would otherwise leave floating point."""


@dataclasses.dataclass(frozen=True)
class Coordinates:
    """The map of each entry; a precision of zero is no prior."""

    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    mean: Float[np.ndarray, " n"]
    precision: Float[np.ndarray, " n"]

    @staticmethod
    def of(evaluation: Evaluation) -> Coordinates:
        """Those of a problem: its bounds, priors and penalties."""
        prior = evaluation.prior
        return Coordinates(evaluation.low, evaluation.high, prior.mean, prior.precision)

    @functools.cached_property
    def normal(self) -> Bool[np.ndarray, " n"]:
        """Which entries have a normal prior."""
        return self.precision > 0.0

    @functools.cached_property
    def box(self) -> Bool[np.ndarray, " n"]:
        """Which entries have two bounds and no normal prior: their prior is uniform."""
        return ~self.normal & np.isfinite(self.low) & np.isfinite(self.high)

    @functools.cached_property
    def proper(self) -> Bool[np.ndarray, " n"]:
        """Which entries have a prior that can be drawn from."""
        return self.normal | self.box

    @functools.cached_property
    def half(self) -> Bool[np.ndarray, " n"]:
        """Which entries have one bound and no prior."""
        return ~self.proper & (np.isfinite(self.low) | np.isfinite(self.high))

    @functools.cached_property
    def _sign(self) -> np.ndarray:
        """1 above a lower bound, −1 below an upper one."""
        return np.where(np.isfinite(self.low), 1.0, -1.0)

    @functools.cached_property
    def _bound(self) -> np.ndarray:
        return np.where(np.isfinite(self.low), self.low, np.where(self.half, self.high, 0.0))

    @functools.cached_property
    def _sigma(self) -> np.ndarray:
        return 1.0 / np.sqrt(np.where(self.normal, self.precision, 1.0))

    @functools.cached_property
    def _cut(self) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the normal prior below the two bounds."""
        share = lambda bound: ndtr((bound - self.mean) / self._sigma)
        return share(self.low), share(self.high)

    # maps --------------------------------------------------------------------------------------------------------

    def to_x(self, U: AnyPoints) -> Maps:
        """`x`, `dx/du` and `d²x/du²`, entry by entry."""
        xp = namespace(U)
        found = U, xp.ones_like(U), xp.zeros_like(U)
        for rows, values in ((self.box, self._of_box), (self.half, self._of_half)):
            if rows.any():
                found = _chosen(rows, values(U), found)
        return _chosen(self.normal, self._of_normal(U), found) if self.normal.any() else found

    def _of_box(self, U: AnyPoints) -> Maps:
        low = np.where(self.box, self.low, 0.0)
        width = np.where(self.box, self.high, 1.0) - low
        slope = width[None] * namespace(U).exp(_log_phi(U))
        return low[None] + width[None] * _special(U).ndtr(U), slope, -U * slope

    def _of_half(self, U: AnyPoints) -> Maps:
        xp = namespace(U)
        grown = self._sign[None] * xp.exp(xp.clip(U, -500.0, 500.0))
        return self._bound[None] + grown, grown, grown

    def _of_normal(self, U: AnyPoints) -> Maps:
        (a, b), xp, special = self._cut, namespace(U), _special(U)
        mean, sigma = self.mean[None], self._sigma[None]
        plain = mean + sigma * U, xp.broadcast_to(sigma, U.shape), 0.0 * U
        bounded = self.normal & ((a > 0.0) | (b < 1.0))
        if not bounded.any():
            return plain
        share = xp.clip(a[None] + (b - a)[None] * special.ndtr(U), 1e-300, 1.0 - 1e-16)
        t = xp.clip(special.ndtri(share), -37.0, FAR)
        size = np.log(np.maximum(b - a, 1e-300))[None]
        slope = xp.exp(size + _log_phi(U) - _log_phi(t))
        x = xp.clip(mean + sigma * t, self.low[None], self.high[None])
        cut = x, sigma * slope, sigma * slope * (t * slope - U)
        return _chosen(bounded, cut, plain)

    def to_u(self, X: Points) -> Points:
        """The coordinates of points, which are moved off their bounds a little."""
        with np.errstate(all="ignore"):
            width = np.where(self.box, self.high - self.low, 1.0)
            share = np.clip((X - np.where(self.box, self.low, 0.0)) / width, EDGE, 1.0 - EDGE)
            half = np.log(np.maximum(self._sign * (X - self._bound), EDGE))
            a, b = self._cut
            t = (X - self.mean) / self._sigma
            own = np.clip((ndtr(t) - a) / np.maximum(b - a, 1e-300), EDGE, 1.0 - EDGE)
            uncut = (a <= 0.0) & (b >= 1.0)
            normal = np.where(uncut, t, ndtri(own))
        U = np.where(self.box, ndtri(share), np.where(self.half, half, X))
        return np.where(self.normal, normal, U)

    # the prior in u ------------------------------------------------------------------------------------------------

    def potential(self, U: AnyPoints) -> Any:
        """Minus the log of the prior's density in `u`, without a constant, (points,)."""
        xp = namespace(U)
        flat = xp.where(self.half[None], -U, 0.0)
        return xp.where(self.proper[None], 0.5 * xp.square(U), flat).sum(axis=1)

    def slope(self, U: AnyPoints) -> Any:
        """Gradient of `potential`, (points, n)."""
        return namespace(U).where(self.proper[None], U, np.where(self.half, -1.0, 0.0)[None])

    @functools.cached_property
    def curvature(self) -> Float[np.ndarray, " n"]:
        """Second derivative of `potential`."""
        return np.where(self.proper, 1.0, 0.0)


def _chosen(rows: np.ndarray, yes: tuple, no: tuple) -> tuple:
    return tuple(namespace(a, b).where(rows[None], a, b) for a, b in zip(yes, no, strict=True))


def _log_phi(u: AnyArray) -> AnyArray:
    return -0.5 * namespace(u).square(u) - 0.5 * np.log(2.0 * np.pi)


def _special(u: AnyArray) -> Any:
    """The special functions of the library that an array belongs to."""
    return jax.scipy.special if isinstance(u, jax.Array) else scipy.special
