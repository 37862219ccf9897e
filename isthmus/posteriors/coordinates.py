"""Unbounded coordinates `u` of the numbers `x` that a search moves: a proper prior is a standard normal in `u`.

A box becomes `x = low + (high − low) Φ(u)`, a normal prior `x = mean + σ u`, a normal prior that bounds cut
`x = mean + σ Φ⁻¹(A + (B − A) Φ(u))`. A number with one bound and no prior has `x = low + exp(u)` and a flat prior on
`x`; one with neither is its own coordinate. The last two have no proper prior.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

from isthmus.identify.evaluate.evaluation import Evaluation

Points = Float[np.ndarray, "points n"]
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

    def to_x(self, U: Points) -> tuple[Points, Points, Points]:
        """`x`, `dx/du` and `d²x/du²`, entry by entry."""
        open_ = U, np.ones_like(U), np.zeros_like(U)
        found = open_
        for rows, values in ((self.box, self._of_box), (self.half, self._of_half)):
            if rows.any():
                found = _chosen(rows, values(U), found)
        return _chosen(self.normal, self._of_normal(U), found) if self.normal.any() else found

    def _of_box(self, U: Points) -> tuple[Points, Points, Points]:
        width = np.where(self.box, self.high, 1.0) - np.where(self.box, self.low, 0.0)
        slope = width * _phi(U)
        return np.where(self.box, self.low, 0.0) + width * ndtr(U), slope, -U * slope

    def _of_half(self, U: Points) -> tuple[Points, Points, Points]:
        grown = self._sign * np.exp(np.clip(U, -500.0, 500.0))
        return self._bound + grown, grown, grown

    def _of_normal(self, U: Points) -> tuple[Points, Points, Points]:
        a, b = self._cut
        plain = self.mean + self._sigma * U, np.broadcast_to(self._sigma, U.shape), 0.0 * U
        bounded = self.normal & ((a > 0.0) | (b < 1.0))
        if not bounded.any():
            return plain
        share = np.clip(a + (b - a) * ndtr(U), 1e-300, 1.0 - 1e-16)
        t = np.clip(ndtri(share), -37.0, FAR)
        slope = np.exp(np.log(np.maximum(b - a, 1e-300)) + _log_phi(U) - _log_phi(t))
        x = np.clip(self.mean + self._sigma * t, self.low, self.high)
        cut = x, self._sigma * slope, self._sigma * slope * (t * slope - U)
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

    def potential(self, U: Points) -> Float[np.ndarray, " points"]:
        """Minus the log of the prior's density in `u`, without a constant."""
        return np.where(self.proper, 0.5 * np.square(U), np.where(self.half, -U, 0.0)).sum(axis=1)

    def slope(self, U: Points) -> Points:
        """Gradient of `potential`."""
        return np.where(self.proper, U, np.where(self.half, -1.0, 0.0))

    @functools.cached_property
    def curvature(self) -> Float[np.ndarray, " n"]:
        """Second derivative of `potential`."""
        return np.where(self.proper, 1.0, 0.0)


def _chosen(rows: np.ndarray, yes: tuple, no: tuple) -> tuple:
    return tuple(np.where(rows, a, b) for a, b in zip(yes, no, strict=True))


def _log_phi(u: np.ndarray) -> np.ndarray:
    return -0.5 * np.square(u) - 0.5 * np.log(2.0 * np.pi)


def _phi(u: np.ndarray) -> np.ndarray:
    return np.exp(_log_phi(u))
