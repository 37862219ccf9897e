"""Models, faults and motions for `isthmus.bench.discovery`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np

import isthmus as ist
from isthmus.dynamics import inverse_dynamics
from isthmus.spatial.vectors import skew

DT = 0.01
"""Between rows [s]; of the double pendulum 1/500."""
NOISE = 1e-3
RUNS, STEPS = 4, 500


@dataclasses.dataclass(frozen=True)
class Case:
    """A data set."""

    model: ist.Model
    motions: list[ist.Motion]
    noise: float
    faults: tuple[str, ...]
    """Names of the places that should be found."""


def recorded(t: Any, q: Any, v: Any, command: Any, noise: float, rng: Any) -> ist.Motion:
    """A motion with noise."""
    noisy = lambda x: np.asarray(x) + noise * rng.standard_normal(np.shape(x))
    signals = {} if command is None else {"joint/control": command}
    return ist.Motion(np.asarray(t), noisy(q), noisy(v), signals)


def pendulum_case(seed: int, truth: int, noise: float) -> Case:
    """The double pendulum of NeuralSim, figure 10: 2,500 steps of 1/500 s, damping or dry friction in its joints."""
    rng = np.random.default_rng(seed)
    model = ist.library.pendulum(2)
    damping, friction = (((0.2, 0.0), 0.0), ((0.2, 0.1), 0.0), ((0.2, 0.0), 0.3))[truth]
    real = model.set("joint/damping", damping).set("joint/friction", (0.0, friction))
    start = ist.State(rng.uniform(-2.5, 2.5, 2), rng.standard_normal(2))
    m = ist.rollout(real, start, None, 1 / 500, steps=2500, integrator="rk4", substeps=4)
    rubs = (1,) if truth == 0 else (1, 2)
    faults = tuple(f"joint/joint_{k}/passive_torque by joint/joint_{k}/velocity" for k in rubs)
    return Case(model, [recorded(m.t, m.q, m.v, None, noise, rng)], noise, faults)


# faults ----------------------------------------------------------------------------------------------------------


def added(name: str, size: Any) -> Callable[[ist.Model, int, float], ist.Model]:
    """Adds `size` (a number, or one for each row) to one row of a leaf."""

    def make(model: ist.Model, k: int, effect: float) -> ist.Model:
        value = np.array(model.get(name), dtype=np.float64)
        value[k] += effect * np.broadcast_to(size, value.shape)[k]
        return model.set(name, value)

    return make


def tilted(model: ist.Model, k: int, effect: float) -> ist.Model:
    """Gravity of another direction and size."""
    return model.set("gravity", np.array([0.5 * effect, 0.2 * effect, -9.81 + 0.3 * effect]))


def dragged(model: ist.Model, k: int, effect: float) -> ist.Model:
    """A force against the velocity of the centre of mass of one link."""
    link = model.link_names[k]
    wire = ist.Wire(
        f"link/{link}/external_force", [f"link/{link}/velocity"], ist.Linear(), fade=False
    )
    hybrid = ist.Blueprint([wire]).attach(model, key=0)
    S = np.asarray(skew(np.asarray(model.get("link/com"))[k]))
    force = -0.3 * effect * np.hstack([-S, np.eye(3)])
    weight = np.vstack([S @ force, force])
    net = eqx.tree_at(lambda n: n.layers[-1].weight, hybrid.networks[0].net, weight)
    wired = dataclasses.replace(hybrid.networks[0], net=net)
    return dataclasses.replace(hybrid, networks=(wired,))


Fault = tuple[Callable[[ist.Model, int, float], ist.Model], str]
"""What changes the model, and the name of the place, `{j}` for the joint and `{l}` for the link."""
FRICTION = "joint/{j}/passive_torque by joint/{j}/velocity"
SPRING = "joint/{j}/passive_torque by joint/{j}/position"
LOAD = "joint/{j}/passive_torque by joint/{j}/motor_torque, joint/{j}/velocity"
GAIN = "joint/{j}/motor_torque by joint/{j}/control"
SOFT = np.array([0.5, 0.5, 0.25, 0.25, 0.05, 0.03, 0.01])
"""Friction of the joints of the arm [N·m]."""

CHAIN: dict[str, Fault] = {
    "viscous": (added("joint/damping", 0.3), FRICTION),
    "dry": (added("joint/friction", 0.3), FRICTION),
    "spring": (added("joint/stiffness", 1.0), SPRING),
    "load": (added("joint/load_friction", 0.3), LOAD),
    "gain": (added("joint/motor_constant", -0.2), GAIN),
    "drag": (dragged, "link/{l}/external_force by link/{l}/velocity"),
    "inertial": (added("link/mass", 0.3), "link/{l}/inertial"),
    "gravity": (tilted, "gravity"),
    "delay": (lambda model, k, effect: model, "delay"),
}
"""Of a chain of three rods."""
ARM: dict[str, Fault] = {
    "viscous": (added("joint/damping", 2.0 * SOFT), FRICTION),
    "dry": (added("joint/friction", SOFT), FRICTION),
    "spring": (added("joint/stiffness", 8.0 * SOFT), SPRING),
    "load": (added("joint/load_friction", 0.2), LOAD),
    "gain": (added("joint/motor_constant", -0.1), GAIN),
    "inertial": (added("link/mass", 0.5), "link/{l}/inertial"),
    "gravity": (tilted, "gravity"),
    "delay": (lambda model, k, effect: model, "delay"),
}
"""Of the arm with seven joints."""


def _faulty(model: ist.Model, kinds: Any, faults: dict[str, Fault], effect: float, rng: Any) -> tuple:  # fmt: skip
    """The model with these faults at joints drawn at random, and the names of their places."""
    real, names = model, []
    for kind in sorted(kinds, key=lambda kind: kind == "drag"):  # a network is attached last
        k = int(rng.integers(model.dof))
        real = faults[kind][0](real, k, effect)
        names.append(faults[kind][1].format(j=model.joint_names[k], l=model.link_names[k]))
    return real, tuple(names)


# motions ---------------------------------------------------------------------------------------------------------


def waves(rng: Any, t: np.ndarray, n: int) -> np.ndarray:
    """Sums of five sines of random size, frequency and phase, (rows, n)."""
    size, phase = rng.standard_normal((5, n)), rng.uniform(0.0, 6.3, (5, n))
    rate = 2.0 * np.pi * rng.uniform(0.2, 2.0, (5, n))
    return np.sum(size[:, None] * np.sin(rate[:, None] * t[None, :, None] + phase[:, None]), axis=0)


def chain_case(seed: int, *kinds: str, effect: float = 1.0) -> Case:
    """Three rods under torques that vary smoothly; a delay is one row."""
    rng = np.random.default_rng(seed)
    model = ist.library.pendulum(3)
    real, faults = _faulty(model, kinds, CHAIN, effect, rng)
    motions = []
    for _ in range(RUNS):
        u = waves(rng, DT * np.arange(STEPS + 1), 3) * np.array([4.0, 2.0, 1.0])
        late = "delay" in kinds
        acts = np.concatenate([u[:1], u[:-1]]) if late else u
        start = ist.State(rng.standard_normal(3), rng.standard_normal(3))
        m = ist.rollout(real, start, acts[:-1], DT, integrator="rk4", substeps=4)
        motions.append(recorded(m.t, m.q, m.v, u, NOISE, rng))
    return Case(model, motions, NOISE, faults)


@functools.cache
def _inverse() -> Any:
    model, zero = _arm(), np.zeros(7)
    return ist.native.compile(lambda q, v, a: inverse_dynamics(model, q, v, a), zero, zero, zero)


@functools.cache
def _arm() -> ist.Model:
    return ist.library.arm().set("joint/friction_speed", np.full(7, 0.1))


def arm_case(seed: int, kind: str) -> Case:
    """The arm under computed torques that follow smooth paths inside its travel."""
    rng = np.random.default_rng(seed)
    model = _arm()
    real, faults = _faulty(model, (kind,), ARM, 1.0, rng)
    low, high = (np.asarray(model.get(f"joint/{end}")) for end in ("lower", "upper"))
    reach = np.minimum(0.5 * (high - low), 1.5)
    motions = []
    for _ in range(RUNS):
        centre = 0.5 * (low + high) + 0.2 * reach * rng.uniform(-1.0, 1.0, 7)
        motions.append(_followed(real, centre, reach, kind == "delay", rng))
    return Case(model, motions, NOISE, faults)


def _followed(
    real: ist.Model, centre: np.ndarray, reach: np.ndarray, late: bool, rng: Any
) -> ist.Motion:
    t = DT * np.arange(STEPS + 1)
    shape = (4, 7)
    rate = 2.0 * np.pi * rng.uniform(0.15, 0.8, shape)[:, None]
    angle = rate * t[None, :, None] + rng.uniform(0.0, 6.3, shape)[:, None]
    size = (rng.uniform(0.05, 0.18, shape) * reach)[:, None]
    q = centre + np.sum(size * np.sin(angle), axis=0)
    v, a = np.sum(size * rate * np.cos(angle), axis=0), -np.sum(size * rate**2 * np.sin(angle), 0)
    needed, state, before = _inverse(), ist.State(q[0], v[0]), None
    found = []
    for k in range(len(t)):
        x, xd = np.asarray(state.q), np.asarray(state.v)
        u = np.asarray(needed(x, xd, a[k] + 25.0 * (q[k] - x) + 10.0 * (v[k] - xd)))
        found.append((x, xd, u))
        acts = before if late and before is not None else u
        state = ist.step(real, ist.State(x, xd), acts, DT, integrator="rk4", substeps=4)
        before = u
    x, xd, u = (np.array(column) for column in zip(*found, strict=True))
    return recorded(t, x, xd, u, NOISE, rng)
