"""Problems whose truth is drawn from the prior, for counts of posteriors: data sets of each share their native code.

`two_sided`: a link that turns without gravity, whose centre of mass is off the axis to one side or the other: the data
know only its square. `four` and `six` numbers of a driven double pendulum. `curved`: length and centre of mass of a
pendulum that swings freely, of which the data know little more than the period.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

import isthmus as ist

DT = 0.01


@dataclasses.dataclass(frozen=True)
class Case:
    """A kind of problem."""

    name: str
    free: tuple[ist.Free, ...]
    noise: float
    start: tuple[float, ...]
    controls: Callable[[np.ndarray], np.ndarray]
    """Times [s] -> torques [N·m] of each joint."""
    rows: int
    model: ist.Model | None = None
    make: Callable[[Mapping[str, Any]], ist.Model] | None = None

    @functools.cached_property
    def first(self) -> ist.Problem:
        """A problem that moves at all, which has the native code of all others."""
        t = DT * np.arange(self.rows + 1)
        torque = self.controls(t[:-1])
        model = self.model
        if self.make is not None:
            model = self.make({f.name: f.start for f in self.free})
        assert model is not None
        q, v = np.array(self.start), np.zeros(len(self.start))
        return self._problem(ist.rollout(model, ist.State(q, v), torque, DT))

    def _problem(self, motion: ist.Motion) -> ist.Problem:
        return ist.Problem(
            self.model,
            [motion],
            make=self.make,
            free=self.free,
            loss=ist.WholeRun(),
            noise=self.noise,
        )

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, ist.Problem]:
        """Numbers of the prior, and what would be measured of them: the start is known, all else is noisy."""
        parameters = self.first.parameters
        low, high = parameters.low, parameters.high
        return self.at((low + (high - low) * rng.random(parameters.size)) * parameters.scale, rng)

    def at(self, truth: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ist.Problem]:
        """Numbers, and what would be measured of them."""
        z = truth / self.first.parameters.scale
        q = self.first.evaluation.positions(z[None])[0, 0, : self.rows + 1]
        q = q + self.noise * rng.standard_normal(q.shape)
        q[0] = self.start
        log = self.first.runs[0][0]
        v = np.zeros_like(q)
        problem = self._problem(dataclasses.replace(log, q=q, v=v))
        vars(problem)["compiled"] = self.first.compiled  # the same windows of the same model
        return truth, problem


def sideways(named: Mapping[str, Any]) -> ist.Model:
    """A link whose centre of mass is `offset` [m] off its axis."""
    com = jnp.asarray(ARM.link_com) + jnp.array([[1.0, 0.0, 0.0]]) * named["offset"]
    return dataclasses.replace(ARM, link_com=com)


def _arm() -> ist.Model:
    robot = ist.Builder("arm", gravity=(0.0, 0.0, 0.0))
    robot.add_link("arm", mass=1.0, com=(0.0, 0.0, 0.0), inertia=(0.03, 0.03, 0.03))
    robot.add_joint_revolute("hinge", None, "arm", axis=(0.0, 1.0, 0.0), damping=0.1)
    return robot.model()


def swinging(named: Mapping[str, Any]) -> ist.Model:
    """A pendulum of 1 kg with a `length` [m] and a distance `centre` [m] of its centre of mass from the joint."""
    com = jnp.array([[0.0, 0.0, -1.0]]) * named["centre"]
    inertia = jnp.asarray(SWING.link_inertia) * jnp.square(named["length"])
    return dataclasses.replace(SWING, link_com=com, link_inertia=inertia)


def _swing() -> ist.Model:
    robot = ist.Builder("swing")
    robot.add_link("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
    robot.add_joint_revolute("hinge", None, "rod", axis=(0.0, 1.0, 0.0), damping=0.02)
    return robot.model()


def waves(*amplitudes: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    """Torques of two sines for each joint, of these amplitudes [N·m]."""

    def torque(t: np.ndarray) -> np.ndarray:
        columns = [
            a * np.sin((3.1 + k) * t + k) + b * np.sin((7.3 + k) * t + 1.0)
            for k, (a, b) in enumerate(amplitudes)
        ]
        return np.stack(columns, axis=1)

    return torque


ARM, SWING = _arm(), _swing()
MASSES, DAMPING = ist.Free("link/*/mass", 0.5, 2.0), ist.Free("joint/*/damping", 0.05, 1.0)
ARMATURE = ist.Free("joint/*/armature", 0.0, 0.3, start=0.1)


def cases() -> dict[str, Case]:
    """By name."""
    double = ist.library.pendulum(2, damping=0.3)
    driven = waves((2.0, 1.5), (1.0, 0.7))
    made = [
        Case(
            "two_sided", (ist.Free("offset", -0.3, 0.3, start=0.1), ist.Free("joint/*/damping", 0.0, 0.5)), 0.02,
            (0.0,), waves((0.3, 0.2)), 150, make=sideways,
        ),
        Case("four", (MASSES, DAMPING), 0.005, (0.3, -0.2), driven, 200, model=double),
        Case("six", (MASSES, DAMPING, ARMATURE), 0.005, (0.3, -0.2), driven, 200, model=double),
        Case(
            "curved", (ist.Free("length", 0.3, 2.0, start=1.0), ist.Free("centre", 0.05, 0.9, start=0.5)), 0.03,
            (0.5,), lambda t: np.zeros((len(t), 1)), 200, make=swinging,
        ),
    ]  # fmt: skip
    return {case.name: case for case in made}
