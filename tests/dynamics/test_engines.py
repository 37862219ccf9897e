"""Kinematics and dynamics against Pinocchio and MuJoCo: to 1e-9 of each quantity's largest entry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import Control, State, compile_model, library, rollout, step
from tests import trees
from tests.compiled import force_at, forward_kinematics
from tests.oracles.by_mujoco import mujoco_of
from tests.oracles.by_pinocchio import pinocchio_of
from tests.oracles.quantities import assert_close, ours, sample

ROBOTS = {
    "one rod": trees.pendulum(1),
    "three rods": trees.pendulum(3, armature=0.1),
    "ball joints": trees.pendulum(3, kind="spherical"),
    "arm": trees.arm(),
    "quadruped": trees.quadruped(),
    "library pendulum": trees.description_of(library.pendulum(4)),
    "library arm": trees.description_of(library.arm()),
    "library quadruped": trees.description_of(library.quadruped(ground=False)),
}


def free_at_roots_only(description) -> bool:
    return all(joint.parent is None for joint in description.joints if joint.kind == "free")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "free_inside"), [(1, True), (3, True), (5, False), (8, True), (12, False)]
)
@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_random_trees_move_as_in_pinocchio_and_mujoco(size, free_inside, numbers):
    """One structure of each size, compiled once, with many sets of numbers."""
    description = trees.random_tree(size, size, free_inside=free_inside, numbers=numbers)
    model = compile_model(description)
    at = sample(model)
    found = ours(model, **at)
    assert_close(found, pinocchio_of(description).quantities(**at))
    if free_at_roots_only(description):
        assert_close(found, mujoco_of(description).quantities(**at))


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_move_as_in_pinocchio_and_mujoco(name):
    description = ROBOTS[name]
    model = compile_model(description)
    for seed in range(2):
        at = sample(model, seed)
        found = ours(model, **at)
        assert_close(found, pinocchio_of(description).quantities(**at))
        assert_close(found, mujoco_of(description).quantities(**at))


@pytest.mark.smoke
def test_an_undamped_double_pendulum_follows_mujocos_euler_for_a_thousand_steps():
    description = trees.pendulum(2)
    start = np.array([0.8, 0.4])
    motion = rollout(compile_model(description), State(start, np.zeros(2)), None, 1e-3, steps=1000)
    q, v = mujoco_of(description, dt=1e-3).rollout(start, np.zeros(2), 1000)
    np.testing.assert_allclose(motion.q, q, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(motion.v, v, rtol=0.0, atol=1e-8)


DAMPED = {
    "hinges": trees.pendulum(3, damping=0.5, armature=0.05),
    "balls": trees.pendulum(2, kind="spherical", damping=0.3, armature=0.05),
    "forest": trees.random_tree(5, 6, free_inside=False),
    "quadruped": trees.quadruped(),
}


@pytest.mark.parametrize("name", DAMPED)
def test_a_driven_and_damped_mechanism_follows_mujocos_euler_step_by_step(name, key):
    description = DAMPED[name]
    model = compile_model(description)
    start = State.random(model, key)
    tau = 0.3 * np.random.default_rng(1).normal(size=(100, model.dof))
    q, v = mujoco_of(description, dt=2e-3).rollout(start.q, start.v, 100, tau)
    motion = rollout(model, start, tau, 2e-3)
    assert turned_alike(model, motion.q, q) < 1e-10
    np.testing.assert_allclose(motion.v, v, rtol=0.0, atol=1e-10 * np.max(np.abs(v)))


def turned_alike(model, a, b) -> float:
    """Largest difference of positions; a quaternion and its negative are the same."""
    a, b = np.array(a), np.array(b)
    for i, kind in enumerate(model.joint_kinds):
        start, stop = model.layout.q_own[i]
        if kind in ("spherical", "free"):
            start = stop - 4
            sign = np.sign(np.sum(a[:, start:stop] * b[:, start:stop], axis=1, keepdims=True))
            b[:, start:stop] *= sign
    return float(np.max(np.abs(a - b)))


def test_a_push_at_a_place_of_a_link_moves_it_as_in_mujoco(key):
    """Given in world axes; `step` and MuJoCo's Euler agree on what it does."""
    description = trees.pendulum(2)
    model = compile_model(description)
    start = State.random(model, key)
    place, push = np.array([0.1, 0.2, -0.3]), np.array([2.0, 0.5, -1.0])
    force = force_at(model, forward_kinematics(model, start.q), "rod2", place, push)
    after = step(model, start, Control(force=force), 1e-3)
    oracle = mujoco_of(description, dt=1e-3)
    oracle.push(start.q, start.v, np.asarray(force))
    np.testing.assert_allclose(oracle.data.xfrc_applied[2, :3], push, atol=1e-12)
    _, v = oracle.rollout(start.q, start.v, 1)
    np.testing.assert_allclose(after.v, v[-1], atol=1e-12)
