"""A correction of any signal changes all that follows from it: one step beside a plain one in NumPy."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.linalg import expm

import isthmus as ist
from isthmus.describe.description import Actuator, Description, Frame, Joint, Mimic, Point
from isthmus.model.state import fresh_memory
from isthmus.networks.names import shape_of, signals_of
from tests import trees
from tests.blueprint.support import attached, targets_of
from tests.oracles import plain_spatial, plain_step

DT = 0.02
FRICTION = {"damping": 0.2, "friction": 0.3, "friction_speed": 0.05, "stiffness": 1.5}


EFFORT = {"tree": 15.0, "mimic": 5.8}
"""Where the bound of the motor torque begins to act."""


@functools.cache
def mechanism(name: str) -> ist.Model:
    """A tree of every kind of joint, or a chain whose last joint mimics; springs, friction, stops, a late PD motor."""
    draw = np.random.default_rng(5)
    frame = lambda: Frame(tuple(0.2 * draw.normal(size=3)), tuple(draw.normal(size=4)))
    joints = [
        Joint("rail", "prismatic", None, "cart", frame(), (1.0, 0.2, 0.0), lower=-0.02, upper=0.02, rest=0.1,
              armature=0.1, **FRICTION),
        Joint("elbow", "revolute", "cart", "arm", frame(), (0.3, 1.0, 0.2), lower=-0.3, upper=0.1, rest=0.2,
              effort=EFFORT[name], armature=0.05, **FRICTION),
    ]  # fmt: skip
    if name == "tree":
        joints += [
            Joint("socket", "spherical", "arm", "ball", frame(), rest=(0.9, 0.2, -0.1, 0.3), **FRICTION),
            Joint("weld", "fixed", "ball", "lid", frame()),
            Joint("table", "planar", None, "plate", frame(), (0.1, -0.2, 1.0), upper=(0.05, 0.2, 0.3), **FRICTION),
            Joint("flight", "free", "plate", "drone", frame(), **FRICTION),
        ]  # fmt: skip
    else:
        mimic = Mimic("elbow", 0.7, 0.1)
        joints.append(Joint("knuckle", "revolute", "arm", "tip", frame(), mimic=mimic))
    motors = (Actuator("elbow", "pd", kp=20.0, kd=2.0, gear=1.5, delay=0.03, delay_steps=4),)
    links = tuple(trees.random_link(draw, joint.child) for joint in joints)
    model = ist.compile_model(Description(name, links, tuple(joints), actuators=motors))
    return model.set("joint/limit_width", 0.2).set("joint/limit_stiffness", 30.0)


@functools.cache
def situation(name: str) -> tuple[ist.State, ist.Control]:
    """A state in which both stops and the bound of the motor act, commands that are under way, forces."""
    draw, model = np.random.default_rng(8), mechanism(name)
    start = ist.State.neutral(model)
    q = plain_step.unit(model, start.q + 0.3 * draw.normal(size=model.nq))
    q[:2] = -0.1, 0.25
    memory = fresh_memory(model) or {}
    memory["commands"] = 0.2 + 0.1 * draw.normal(size=(4, model.dof))
    state = ist.State(q, draw.normal(size=model.dof), memory, 0.0)
    force = draw.normal(size=(len(model.link_names), 6))
    return state, ist.Control(torque=draw.normal(size=model.dof), force=force)


SOME_ROWS = (
    "joint/lower[rail]", "joint/upper[elbow]", "joint/limit_stiffness[elbow]", "joint/limit_damping[elbow]",
    "joint/limit_width[elbow]", "joint/effort[elbow]", "joint/kp[elbow]", "joint/kd[elbow]",
)  # fmt: skip
"""Signals that have an effect on some joints only."""


@functools.cache
def hybrid(name: str, mode: str) -> ist.Model:
    """A constant on every signal, all zero: one compiled step serves for all of them."""
    model = mechanism(name)
    wires = [
        ist.Wire(target, "time", ist.Constant(), mode=mode, name=f"n{k}")
        for k, target in enumerate((*targets_of(model), *SOME_ROWS))
    ]
    return attached(*wires, model=model)


@dataclasses.dataclass
class Correction:
    """The constant `y` on one signal, by the formulas of `docs/networks.md`."""

    target: str = ""
    mode: str = "add"
    y: np.ndarray | float = 0.0
    """With a row for each of the target's."""

    def __call__(self, name, value, rows=None):
        if name != self.target:
            return value
        y = self.y if rows is None else self.y[rows]
        if name in ("link/articulated_inertia", "link/spatial_inertia"):
            y = np.array([full(row) for row in y])
        elif name == "joint/transform":
            return np.array([self.moved(X, row) for X, row in zip(value, y, strict=True)])
        return {"add": value + y, "scale": value * (1.0 + y), "replace": y}[self.mode]

    def moved(self, X, y):
        """A transform: replaced, or displaced in the child's frame."""
        if self.mode == "replace":
            return plain_spatial.plucker(turned(y[:3]), y[3:])
        if self.mode == "scale":
            R = X[:3, :3].T
            P = -R @ X[3:, :3]
            y = y * np.concatenate([plain_spatial.log(R), R.T @ [P[2, 1], P[0, 2], P[1, 0]]])
        return plain_spatial.plucker(turned(y[:3]), y[3:]) @ X

    def slope(self, name, slope):
        if name != self.target or self.mode == "add":
            return slope
        return slope * (1.0 + self.y) if self.mode == "scale" else 0.0 * slope


def in_rows(model, plan, y):
    """The outputs `y` with a row for each of the target's, zero where the wire does not go."""
    if plan.rows is None:
        return y
    spec = next(spec for spec in signals_of(model) if spec.name == plan.target)
    whole = np.zeros((shape_of(model, spec)[0], *plan.shape))
    whole[list(plan.rows)] = y.reshape(len(plan.rows), *plan.shape)
    return whole


def full(numbers):
    """A symmetric matrix from its lower triangle."""
    A = np.zeros((6, 6))
    A[np.tril_indices(6)] = numbers
    return A + A.T - np.diag(np.diag(A))


def turned(turn):
    return expm(plain_spatial.skew(turn))


def steps_of(model, values, name, integrator) -> np.ndarray:
    """One step of ours for each row of the constants `values`: `q` and `v`."""
    state, control = situation(name)
    where = lambda m: [net.net.value for net in m.networks]
    count = len(values[0])
    whole = jax.tree.map(lambda x: np.broadcast_to(x, (count, *x.shape)), model.networks)
    many = dataclasses.replace(model, networks=whole)
    many = eqx.tree_at(where, many, values)
    options = {"integrator": integrator} if integrator != "explicit" else {"explicit": True}
    control = jax.tree.map(lambda x: x[None], control)
    motion = ist.rollout_many(many, state, control, DT, **options)
    return np.concatenate([motion.q[:, -1], motion.v[:, -1]], axis=1)


def by_numpy(model, name, integrator, correction) -> np.ndarray:
    state, control = situation(name)
    plain = dataclasses.replace(model, networks=())
    return np.concatenate(
        plain_step.step(plain, state, control.torque, control.force, DT, integrator, correction)
    )


LAW = pytest.mark.filterwarnings("ignore::isthmus.errors.StepWarning")


@LAW
@pytest.mark.parametrize("integrator", ["semi_implicit", "explicit", "explicit_euler", "rk4"])
@pytest.mark.parametrize("name", ["tree", "mimic"])
def test_what_is_added_to_any_signal_changes_all_that_follows(name, integrator):
    _compare(name, "add", integrator)


@LAW
@pytest.mark.parametrize("name", ["tree", "mimic"])
def test_a_signal_that_is_scaled_changes_all_that_follows(name):
    _compare(name, "scale", "semi_implicit")


def _compare(name: str, mode: str, integrator: str) -> None:
    draw, wired = np.random.default_rng(1), hybrid(name, mode)
    nets = [net.net.value for net in wired.networks]
    sizes = [draw.uniform(0.02, 0.1, value.shape) for value in nets]
    only = lambda k: [y if n == k else 0.0 * y for n, y in enumerate(sizes)]
    values = [np.stack(x) for x in zip(*map(only, range(-1, len(sizes))), strict=True)]
    found = steps_of(wired, values, name, integrator)
    plans = [None, *(net.plan for net in wired.networks)]
    wrong, without = [], []
    for plan, y, ours in zip(plans, [None, *sizes], found, strict=True):
        what = (
            Correction() if plan is None else Correction(plan.target, mode, in_rows(wired, plan, y))
        )
        if not np.allclose(ours, by_numpy(wired, name, integrator, what), rtol=1e-8, atol=1e-10):
            wrong.append(what.target)
        if plan is not None and np.max(np.abs(ours - found[0])) < 1e-9:
            without.append(what.target)
    assert wrong == []
    assert without == []


REPLACED = (
    "joint/motor_torque", "joint/passive_torque", "joint/limit_torque", "joint/torque", "joint/position",
    "joint/transform", "link/spatial_inertia", "link/articulated_inertia",
)  # fmt: skip


@pytest.mark.parametrize("target", REPLACED)
def test_a_signal_that_is_replaced_leaves_nothing_of_the_old_one(target):
    name = "mimic" if target in targets_of(mechanism("mimic")) else "tree"
    wired = attached(
        ist.Wire(target, "time", ist.Constant(), mode="replace"), model=mechanism(name)
    )
    net = wired.networks[0]
    y = np.random.default_rng(2).uniform(0.02, 0.1, net.net.value.shape)
    whole = in_rows(wired, net.plan, y) + np.asarray(net.offset)
    found = steps_of(wired, [y[None]], name, "semi_implicit")[0]
    wanted = by_numpy(wired, name, "semi_implicit", Correction(target, "replace", whole))
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


def test_damping_that_is_replaced_by_nothing_does_not_damp():
    free, damped = (ist.library.pendulum(1, damping=d) for d in (0.0, 5.0))
    wired = attached(
        ist.Wire("joint/passive_torque", "time", ist.Constant(), mode="replace"), model=damped
    )
    end = lambda model: ist.rollout(model, ist.State([0.3], [0.0]), None, 0.01, 100).q[-1]
    np.testing.assert_allclose(end(wired), end(free), rtol=1e-12)


def test_poses_follow_a_corrected_transform():
    """`link/pose` and `point/position` are where the published transforms lead."""
    points = (Point("p", "lower", Frame((0.1, 0.2, 0.3))),)
    model = ist.compile_model(dataclasses.replace(trees.floating(), points=points))
    wired = attached(ist.Wire("joint/transform", "time", ist.Constant()), model=model)
    names = ("joint/transform", "link/pose", "point/position")
    q = ist.State.neutral(model).q + 0.4 * np.random.default_rng(4).normal(size=model.nq)
    state = ist.State(plain_step.unit(model, q), np.zeros(model.dof))
    fresh, plain = (ist.observe(m, state, names=names) for m in (wired, model))
    for name in names:
        np.testing.assert_allclose(fresh[name], plain[name], atol=1e-15)
    y = np.random.default_rng(3).normal(size=18)
    wired = eqx.tree_at(lambda m: m.networks[0].net.value, wired, y)
    found = ist.observe(wired, state, names=names)
    R, p = np.eye(3), np.zeros(3)
    for X, pose in zip(found["joint/transform"], found["link/pose"], strict=True):
        P = -X[:3, :3].T @ X[3:, :3]
        R, p = R @ X[:3, :3].T, p + R @ [P[2, 1], P[0, 2], P[1, 0]]
        np.testing.assert_allclose(pose[:3], p, atol=1e-12)
        np.testing.assert_allclose(plain_spatial.matrix(pose[3:]), R, atol=1e-12)
    np.testing.assert_allclose(found["point/position"][0], p + R @ [0.1, 0.2, 0.3], atol=1e-12)
