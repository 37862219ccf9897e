"""What belongs to one run of the acrobot study: the zeros of its encoders and its dry friction.

Dry friction differs from run to run: a random effect. The fitted runs tell its common value, how far single runs are
from it, and how far the first two seconds of a run mislead about the whole. The friction of another run is then the
best linear prediction (Robinson 1991) from its first two seconds: the less they tell, the closer to the common value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.signal import savgol_coeffs

from isthmus.experiments.acrobot_fits import (
    CALIBRATED,
    DOUBT,
    HUBER,
    NOISE,
    SMOOTH,
    ZERO,
    Run,
    own_zero,
    windows,
)
from isthmus.experiments.acrobot_model import ROW
from isthmus.experiments.quiet import found_values
from isthmus.experiments.run import Settings
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.model.model import Model

WIDE, LEAST = 0.3, 0.02
"""Prior of a run's friction, as a share of that of all runs; and the least standard deviation that is believed."""
DRAWS = 16
"""Pairs of draws: each draw and its reflection at the mean."""


@dataclasses.dataclass(frozen=True)
class Own:
    """The numbers of a single run."""

    friction: np.ndarray
    """Dry friction of both joints [N·m]."""
    zero: np.ndarray
    """Zeros of both encoders [rad]."""


@dataclasses.dataclass(frozen=True)
class Spread:
    """How runs differ, and what is not known of another run after its first two seconds; all for both joints."""

    friction: np.ndarray
    """Dry friction, the median of the runs [N·m]."""
    between: np.ndarray
    """Standard deviation of dry friction between runs [N·m]."""
    misled: np.ndarray
    """Standard deviation of the dry friction of a whole run about what its first two seconds tell [N·m]."""
    zero: np.ndarray
    """The same of the encoders' zeros [rad]."""
    q: np.ndarray
    """Standard deviation of positions where predictions start [rad]."""
    v: np.ndarray
    """The same of velocities [rad/s]."""

    @property
    def trust(self) -> np.ndarray:
        """The share of the first two seconds in the friction of a run; the rest is the common value."""
        return self.between**2 / (self.between**2 + self.misled**2)

    @property
    def left(self) -> np.ndarray:
        """Standard deviation of what two seconds leave open of the dry friction [N·m]."""
        return np.sqrt(self.trust) * self.misled

    def numbers(self) -> dict[str, list[float]]:
        """As plain data."""
        return {f.name: getattr(self, f.name).tolist() for f in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True)
class Draw:
    """One of the possible runs, and the errors of its starts."""

    own: Own
    q: np.ndarray
    v: np.ndarray
    """(starts, 2) [rad, rad/s]"""


def with_friction(model: Model, friction: np.ndarray) -> Model:
    """The model with other dry friction [N·m]; what grows with the load or at rest stays."""
    return dataclasses.replace(model, joint_friction=np.maximum(friction, 0.0))


def own_numbers(model: Model, run: Run, settings: Settings, spread: Spread) -> Own:
    """Friction and zeros of a run that was not fitted, from its first two seconds."""
    seen = alone(model, run, settings, CALIBRATED).friction
    friction = spread.friction + spread.trust * (seen - spread.friction)
    return Own(friction, own_zero(with_friction(model, friction), run, settings))


def alone(model: Model, run: Run, settings: Settings, rows: int | None = None) -> Own:
    """Friction and zeros that suit the first rows of a run (None: all of them); everything else is known."""
    common = np.asarray(model.joint_friction)
    free = [
        Free("joint/friction", low=0.0, prior=(common.tolist(), (WIDE * common).tolist())),
        Free(ZERO, prior=DOUBT),
    ]
    problem = Problem(
        model, run.log(rows=rows), free=free, noise=NOISE, huber=HUBER, wrap=False, loss=windows(settings)
    )  # fmt: skip
    found = found_values(problem).numbers
    both = lambda name: np.array([found[name.format(k)] for k in (1, 2)])
    return Own(both("joint/joint_{}/friction"), both("offset/joint/joint_{}/position"))


def spread_of(model: Model, runs: Sequence[Run], settings: Settings) -> Spread:
    """How the runs differ that a model was fitted to; standard deviations are robust, from the median deviation."""
    whole = [alone(model, run, settings) for run in runs]
    early = [alone(model, run, settings, CALIBRATED) for run in runs]
    column = lambda found, name: np.array([getattr(own, name) for own in found])
    frictions, common = column(whole, "friction"), np.asarray(model.joint_friction)
    middle = np.median(frictions, axis=0)
    least = LEAST * common
    noise = np.sqrt(np.mean([np.mean((run.seen - run.q) ** 2, axis=0) for run in runs], axis=0))
    gain = lambda order: np.linalg.norm(savgol_coeffs(*SMOOTH, deriv=order, delta=ROW))
    return Spread(
        friction=middle,
        between=np.maximum(robust_deviation(frictions - middle), least),
        misled=np.maximum(robust_deviation(frictions - column(early, "friction")), least),
        zero=robust_deviation(column(whole, "zero") - column(early, "zero")),
        q=noise * gain(0),
        v=noise * gain(1),
    )


def robust_deviation(x: np.ndarray) -> np.ndarray:
    """The standard deviation about zero of a normal distribution with this median deviation, column by column."""
    return 1.4826 * np.median(np.abs(x), axis=0)


def drawn(own: Own, spread: Spread, starts: int, *, seed: int) -> Iterator[Draw]:
    """Runs that are possible after two seconds: `DRAWS` and their reflections."""
    random = np.random.default_rng(seed)
    for _ in range(DRAWS):
        friction, zero = random.standard_normal((2, 2))
        q, v = random.standard_normal((2, starts, 2))
        for sign in (1.0, -1.0):
            numbers = Own(
                own.friction + sign * spread.left * friction,
                own.zero + sign * spread.zero * zero,
            )
            yield Draw(numbers, sign * spread.q * q, sign * spread.v * v)
