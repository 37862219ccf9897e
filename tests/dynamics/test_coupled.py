"""Joints that mimic others, and joints that are driven: against the projected and the partitioned equations."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

from isthmus import Control, State, compile_model, rollout, step
from isthmus.describe.description import Mimic
from isthmus.model.coordinates import expand_q, expand_v
from tests import trees
from tests.compiled import (
    bias_torque,
    energy,
    forward_dynamics,
    forward_kinematics,
    inverse_dynamics,
    link_jacobian,
    mass_matrix,
)
from tests.oracles.by_pinocchio import pinocchio_of
from tests.oracles.quantities import assert_close, ours, sample
from tests.trees import with_joint

ARM, RODS = trees.arm(), trees.pendulum(3, armature=0.1)
GRIPPER = with_joint(
    with_joint(ARM, "axis5", mimic=Mimic("axis2", -0.7, 0.2)),
    "axis7",
    mimic=Mimic("axis3", 1.5, -0.1),
)


def test_mimicking_joints_move_as_in_pinocchio():
    model = compile_model(GRIPPER)
    assert model.dof == 5
    at = sample(model)
    found = ours(model, **at)
    assert_close(found, pinocchio_of(GRIPPER).quantities(**at, dynamics=False))


def test_mimicking_joints_obey_the_projected_equations():
    """`GᵀHG` and `GᵀC` of the mechanism without mimicry; a chain of mimics multiplies through."""
    chained = with_joint(GRIPPER, "axis7", mimic=Mimic("axis5", 2.0, 0.3))
    model, whole = compile_model(chained), compile_model(ARM)
    at = sample(model)
    expand = jax.jit(jax.vmap(lambda v: expand_v(model, v)))
    q, v = np.asarray(jax.jit(expand_q)(model, at["q"])), np.asarray(expand(at["v"][None])[0])
    np.testing.assert_allclose(q[6], 2.0 * q[4] + 0.3)
    G = np.asarray(expand(np.eye(model.dof))).T
    H = G.T @ np.asarray(mass_matrix(whole, q)) @ G
    C = G.T @ np.asarray(bias_torque(whole, q, v, force=at["force"]))
    a = np.linalg.solve(H, at["tau"] - C)
    found = forward_dynamics(model, at["q"], at["v"], at["tau"], force=at["force"])
    np.testing.assert_allclose(found, a, rtol=1e-9)
    back = inverse_dynamics(model, at["q"], at["v"], a, force=at["force"])
    np.testing.assert_allclose(back, at["tau"], rtol=1e-9)
    J = np.asarray(link_jacobian(model, at["q"], "arm7"))
    there = np.asarray(forward_kinematics(whole, q, v).velocity)
    np.testing.assert_allclose(J @ at["v"], there[-1], atol=1e-12)


def test_a_mechanism_with_mimicking_joints_keeps_its_energy(key):
    model = compile_model(with_joint(RODS, "hinge3", mimic=Mimic("hinge1", -0.7, 0.2)))
    start = State.random(model, key)
    motion = rollout(model, start, None, 1e-3, steps=200, integrator="rk4")
    np.testing.assert_allclose(energy(model, motion.state(-1)), energy(model, start), rtol=1e-9)


DRIVEN = with_joint(ARM, "axis3", prescribed=True)


def test_a_driven_joint_moves_as_told_and_the_rest_obeys_the_partitioned_equations():
    model = compile_model(DRIVEN)
    at = sample(model)
    given = np.array([1.7])
    a = forward_dynamics(model, at["q"], at["v"], at["tau"], force=at["force"], prescribed=given)
    H = np.asarray(mass_matrix(model, at["q"]))
    C = np.asarray(bias_torque(model, at["q"], at["v"], force=at["force"]))
    free = np.array([0, 1, 3, 4, 5, 6])
    rest = np.linalg.solve(H[free][:, free], (at["tau"] - C)[free] - H[free, 2] * 1.7)
    a = np.asarray(a)
    np.testing.assert_allclose(a[2], 1.7)
    np.testing.assert_allclose(a[free], rest, rtol=1e-9)


def test_a_driven_joint_of_a_mechanism_with_mimicking_joints_does_the_same():
    both = with_joint(GRIPPER, "axis1", prescribed=True)
    model, plain = compile_model(both), compile_model(GRIPPER)
    at = sample(model)
    a = forward_dynamics(model, at["q"], at["v"], at["tau"], prescribed=np.array([0.4]))
    tau = inverse_dynamics(plain, at["q"], at["v"], a)
    np.testing.assert_allclose(a[0], 0.4)
    np.testing.assert_allclose(tau[1:], at["tau"][1:], rtol=1e-9)


def test_what_a_driven_joint_carries_does_not_push_back():
    """The base does not feel how heavy the load is, nor what pushes at it; the load feels the base."""
    model = compile_model(with_joint(ARM, "axis1", prescribed=True))
    heavy = model.set("link/arm5/mass", 50.0)
    state = State(np.full(7, 0.3), np.full(7, 0.1))
    control = Control(
        position=np.array([0.3]), velocity=np.array([0.1]), acceleration=np.array([2.0])
    )
    light, loaded = (step(m, state, control, 1e-2) for m in (model, heavy))
    np.testing.assert_array_equal(light.v[0], 0.1 + 2.0 * 1e-2)
    np.testing.assert_array_equal(light.v[0], loaded.v[0])
    assert abs(light.v[1] - loaded.v[1]) > 1e-6
    still = step(model, state, dataclasses.replace(control, acceleration=np.array([0.0])), 1e-2)
    assert abs(light.v[3] - still.v[3]) > 1e-6


def test_a_joint_driven_along_a_motion_carries_the_rest_as_if_motors_had_moved_it(key):
    """Driving joint 2 along the motion that it had by itself gives that motion."""
    model, driven = compile_model(RODS), compile_model(with_joint(RODS, "hinge2", prescribed=True))
    start, dt = State.random(model, key), 1e-3
    motion = rollout(model, start, None, dt, steps=40, record=["joint/acceleration"], explicit=True)
    a = motion.signals["joint/acceleration"]
    control = Control(
        position=motion.q[:-1, 1:2], velocity=motion.v[:-1, 1:2], acceleration=a[:-1, 1:2]
    )
    again = rollout(driven, start, control, dt, explicit=True)
    np.testing.assert_allclose(again.q, motion.q, atol=1e-11)
    np.testing.assert_allclose(again.v, motion.v, atol=1e-10)
    assert jax.tree.structure(again) == jax.tree.structure(rollout(driven, start, control, dt))
