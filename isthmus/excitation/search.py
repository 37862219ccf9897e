"""The most informative motion within limits: an augmented Lagrangian with L-BFGS (Nocedal and Wright 2006, 17.4).

Everything is evaluated at samples of one period. Limits are constraints `g ≤ 0`: squares of position, velocity,
acceleration and torque over their limits less one, and distances between bodies; they hold with a small margin, so that
they also hold between the samples.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from isthmus.excitation.fourier import Series
from isthmus.excitation.information import Programs
from isthmus.excitation.limits import Limits

Aim = Literal["D", "E"]
SAMPLES, DENSE = 20, 80
"""For each harmonic: at which the search looks, and at which its result is judged."""
MARGIN, DENSE_MARGIN = 1.0 - 0.999 * math.cos(math.pi / SAMPLES), 1.0 - math.cos(math.pi / DENSE)
"""Shares of each limit that are left free at these samples: between them, a series is at most 1 / cos(π / samples)
times as large (Ehlich and Zeller 1964), and a search may end a thousandth outside."""
CLEARANCE = 0.01
"""[m] between bodies."""
LENGTH = 0.1
"""[m] by which distances are scaled."""
SHRINK, MAX_SHRINKS = 0.85, 40
"""By which factor, and how often, random motions are made smaller."""
ROUNDS, STEPS = 12, 60
"""Of multipliers, and of L-BFGS in each."""
SHARPNESS = 4.0
"""Exponent of the smooth extremes of eigenvalues."""


class Samples(NamedTuple):
    """A motion at its samples."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    rows: np.ndarray
    """Sensitivities over noise, (samples, rows, p)."""
    torque: np.ndarray
    distance: np.ndarray


@dataclasses.dataclass(frozen=True)
class Search:
    """What does not change while motions are compared. A motion is `x`, (size, dof), in halves of the travel."""

    series: Series
    limits: Limits
    programs: Programs
    prior: np.ndarray
    start: np.ndarray | None
    aim: Aim

    @functools.cached_property
    def basis(self) -> Float[np.ndarray, "3 samples size"]:
        """Of the samples."""
        return self.series.basis(self.series.times(SAMPLES * self.series.harmonics))

    def coefficients(self, x: np.ndarray) -> np.ndarray:
        """Of the series [rad, m]; with a start, the middle is where it must be."""
        c = x.reshape(self.series.size, self.series.dof) * self.limits.half
        c[0] += self.limits.middle
        if self.start is not None:
            c[0] = self.start - self._first[1:] @ c[1:]
        return c

    @functools.cached_property
    def _first(self) -> np.ndarray:
        """Position at the beginning, for each coefficient."""
        return self.series.basis(np.zeros(1))[0, 0]

    def _back(self, slope: np.ndarray) -> np.ndarray:
        """The derivative by `x` from that by the coefficients."""
        slope = slope.copy()
        if self.start is not None:
            slope[1:] -= self._first[1:, None] * slope[0]
            slope[0] = 0.0
        return (slope * self.limits.half).ravel()

    def samples(self, c: np.ndarray, basis: np.ndarray | None = None) -> Samples:
        """A motion of these coefficients at its samples."""
        q, v, a = (self.basis if basis is None else basis) @ c
        return Samples(q, v, a, *self.programs.values.flat_map([q, v, a], threads=1))

    def information(self, s: Samples) -> Float[np.ndarray, "p p"]:
        """Of one period."""
        flat = s.rows.reshape(-1, s.rows.shape[-1])
        return flat.T @ flat + np.diag(self.prior)

    def loads(self, s: Samples, margin: float) -> list[np.ndarray]:
        """Positions (from the middle), velocities, accelerations and torques as shares of their limits."""
        room, limits = 1.0 - margin, self.limits
        scales = (limits.half, limits.velocity, limits.acceleration, limits.torque)
        values = (s.q - limits.middle, s.v, s.a, s.torque)
        return [x / (room * scale) for x, scale in zip(values, scales, strict=True)]

    def keeps(self, s: Samples) -> bool:
        """Whether a motion, by its dense samples, keeps to all limits at any time."""
        loads = self.loads(s, DENSE_MARGIN)
        within = all(np.max(np.abs(load), initial=0.0) <= 1.0 for load in loads)
        return within and bool(np.all(s.distance >= 0.0))

    # the augmented Lagrangian ------------------------------------------------------------------------------------

    def constraints(self, s: Samples) -> np.ndarray:
        """`g`, feasible where not positive; those of one kind one behind the other."""
        g = [(load**2 - 1.0).ravel() for load in self.loads(s, MARGIN)]
        return np.concatenate([*g, ((CLEARANCE - s.distance) / LENGTH).ravel()])

    def lagrangian(
        self, x: np.ndarray, multipliers: np.ndarray, weight: float
    ) -> tuple[float, np.ndarray]:
        """The value that L-BFGS makes small, and its derivative."""
        s = self.samples(self.coefficients(x))
        f, by_information = objective(self.information(s), self.aim)
        active = np.maximum(0.0, multipliers + weight * self.constraints(s))
        value = f + float(active @ active - multipliers @ multipliers) / (2.0 * weight)
        loads, n = self.loads(s, MARGIN), s.q.size
        pushes = [
            2.0 * load * active[k * n : (k + 1) * n].reshape(load.shape)
            for k, load in enumerate(loads)
        ]
        room, limits = 1.0 - MARGIN, self.limits
        by_torque = pushes[3] / (room * limits.torque)
        by_distance = -active[4 * n :].reshape(s.distance.shape) / LENGTH
        by_rows = 2.0 * s.rows @ by_information
        slopes = self.programs.pull.flat_map(
            [s.q, s.v, s.a, by_rows, by_torque, by_distance], threads=1
        )
        scales = (limits.half, limits.velocity, limits.acceleration)
        whole = [
            slope + push / (room * scale)
            for slope, push, scale in zip(slopes, pushes, scales, strict=False)
        ]
        by_c = sum(B.T @ slope for B, slope in zip(self.basis, whole, strict=True))
        return value, self._back(by_c)

    def best_from(self, x: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The motion that is found from `x`, with its value; None where it does not keep to the limits."""
        from scipy.optimize import minimize  # slow to import

        first = self.constraints(self.samples(self.coefficients(x)))
        multipliers, weight, worst = np.zeros(len(first)), 0.02, np.inf
        found = None
        for _ in range(ROUNDS):
            options: dict[str, Any] = {"maxiter": STEPS, "maxcor": 20}
            args = (multipliers, weight)
            x = minimize(self.lagrangian, x, args, jac=True, method="L-BFGS-B", options=options).x
            s = self.samples(self.coefficients(x))
            g = self.constraints(s)
            multipliers = np.maximum(0.0, multipliers + weight * g)
            if self.keeps(self.samples(self.coefficients(x), self.dense)):
                value = objective(self.information(s), self.aim)[0]
                if found is not None and value > found[0] - 1e-3:
                    return min(found, (value, x), key=lambda pair: pair[0])
                found = (value, x) if found is None or value < found[0] else found
            violation = float(np.max(g))
            weight = weight * 4.0 if violation > max(0.5 * worst, 1e-3) else weight
            worst = violation
        return found

    @functools.cached_property
    def dense(self) -> np.ndarray:
        """The basis at the samples that judge a motion."""
        return self.series.basis(self.series.times(DENSE * self.series.harmonics))

    # random motions ----------------------------------------------------------------------------------------------

    def random(self, rng: np.random.Generator) -> np.ndarray | None:
        """A random motion, each joint as far and fast as its limits allow.

        While bodies come too near, the joints between them move less; while torques are too large, all do. None where
        that does not help.
        """
        x = self.series.random(rng, self.limits.middle, self.limits.half) / self.limits.half
        x[0] -= self.limits.middle / self.limits.half
        x[1:] *= self._room(x)
        for _ in range(MAX_SHRINKS):
            s = self.samples(self.coefficients(x))
            near = np.any(s.distance < CLEARANCE, axis=0)
            heavy = np.any(np.abs(self.loads(s, MARGIN)[3]) > 1.0)
            if not near.any() and not heavy:
                return x
            moved = self.programs.capsules.between[near].any(axis=0) | heavy
            x = x * np.where(moved, SHRINK, 1.0)
        return None

    def _room(self, x: np.ndarray) -> np.ndarray:
        """By which factor the motion of each joint may grow within its own limits, (dof,)."""
        c, limits = self.coefficients(x), self.limits
        still = self.coefficients(_sized(x, 0.0))
        q, v, a = self.basis @ c
        rest = self.basis[0] @ still
        ways = np.abs(q - rest).max(axis=0)
        space = limits.half - np.abs(rest - limits.middle).max(axis=0)
        loads = [
            ways / space,
            np.abs(v).max(0) / limits.velocity,
            np.abs(a).max(0) / limits.acceleration,
        ]
        return (1.0 - 2.0 * MARGIN) / np.maximum(np.max(loads, axis=0), 1e-12)


def _sized(x: np.ndarray, size: float) -> np.ndarray:
    """A motion as many times as large about its middle."""
    return np.concatenate([x[:1], size * x[1:]])


def objective(M: Float[np.ndarray, "p p"], aim: Aim) -> tuple[float, np.ndarray]:
    """The logarithm of what is made small, and its derivative by the information `M`.

    D: the geometric mean of the errors along the axes of their ellipsoid. E: the condition of the sensitivities with
    columns of one length, by smooth extremes of the eigenvalues.
    """
    p = len(M)
    d = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-100))  # finite after squares, too
    C = M * d[:, None] * d[None]
    eigenvalues, U = np.linalg.eigh(C)
    eigenvalues = np.maximum(eigenvalues, 1e-14)
    if aim == "D":
        value = (-np.sum(np.log(eigenvalues)) + 2.0 * np.sum(np.log(d))) / (2.0 * p)
        inverse = (U / eigenvalues) @ U.T * d[:, None] * d[None]
        return float(value), -inverse / (2.0 * p)
    logs, k = np.log(eigenvalues), SHARPNESS
    least, most = _softmax(-k * logs), _softmax(k * logs)
    value = 0.5 * (least[0] + most[0]) / k
    slope = 0.5 * (most[1] - least[1]) / eigenvalues
    G = (U * slope) @ U.T
    by_M = G * d[:, None] * d[None]
    by_M[np.diag_indices(p)] -= np.sum(G * C, axis=1) * d**2
    return float(value), by_M


def _softmax(x: np.ndarray) -> tuple[float, np.ndarray]:
    """`log Σ exp x`, and its derivative."""
    top = float(np.max(x))
    parts = np.exp(x - top)
    return top + float(np.log(np.sum(parts))), parts / np.sum(parts)


def conditions(M: np.ndarray) -> tuple[float, float]:
    """Of the sensitivities: with columns of one length, and as they are."""
    d = 1.0 / np.sqrt(np.diag(M))
    found = []
    for matrix in (M * d[:, None] * d[None], M):
        eigenvalues = np.linalg.eigvalsh(matrix)
        least = max(float(eigenvalues[0]), 0.0)
        found.append(float(np.sqrt(eigenvalues[-1] / least)) if least else np.inf)
    return found[0], found[1]
