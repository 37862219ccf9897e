"""The noise that a begun study suggests is that of the sensors, for angles and lengths apart."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

import isthmus as ist
from isthmus.spatial.rotations import product
from isthmus.study.begin_loss import loss_text
from isthmus.study.begin_noise import noises

STEPS = 2001


def gantry() -> ist.Model:
    """A carriage on a rail, and an arm that swings below it."""
    robot = ist.Builder("gantry")
    robot.add_link("carriage", mass=2.0)
    robot.add_link("arm", mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    robot.add_joint_prismatic("rail", parent=None, child="carriage", axis=(1, 0, 0))
    robot.add_joint_revolute("pivot", parent="carriage", child="arm", axis=(0, 1, 0))
    return robot.model()


def swinging(*noise: float) -> ist.Motion:
    """Both coordinates of the gantry, measured with the noise of each [m, rad]."""
    t = 0.01 * np.arange(STEPS)
    q = np.stack([0.1 * np.sin(t), 0.5 * np.sin(1.3 * t)], axis=1)
    q += np.random.default_rng(0).standard_normal(q.shape) * noise
    joints = (("rail", "prismatic"), ("pivot", "revolute"))
    return ist.Motion(t, q, None, {}, joints)


def test_joints_in_metres_and_radians_get_their_own_noise_in_the_order_of_their_coordinates():
    model, motion = gantry(), swinging(5e-5, 1e-3)
    loss = tomllib.loads(loss_text(model, [motion]))["loss"]
    np.testing.assert_allclose(loss["noise"]["joint/position"], [5e-5, 1e-3], rtol=0.1)
    problem = ist.Problem(model, motion, free=["joint/*/damping"], noise=loss["noise"])
    np.testing.assert_allclose(problem.sigma["joint/position"], [5e-5, 1e-3], rtol=0.1)


def test_one_number_is_suggested_where_both_kinds_are_alike_or_one_of_them_rests():
    alike = tomllib.loads(loss_text(gantry(), [swinging(1e-3, 1e-3)]))["loss"]
    assert alike["noise"] == pytest.approx(1e-3, rel=0.1)
    motion = swinging(0.0, 1e-3)
    motion.q[:, 0] = 0.0
    assert tomllib.loads(loss_text(gantry(), [motion]))["loss"]["noise"] == pytest.approx(
        1e-3, rel=0.1
    )


def test_the_noise_of_rotations_is_an_angle_not_that_of_a_quaternion():
    """A quaternion scatters by half the angle, and not along itself."""
    rng, t = np.random.default_rng(0), 0.01 * np.arange(STEPS)
    half = 0.5 * (5e-3 * rng.standard_normal((STEPS, 3)))
    small = np.concatenate([np.sqrt(1.0 - np.sum(half**2, axis=1, keepdims=True)), half], axis=1)
    zero = np.zeros(STEPS)
    turning = np.stack([np.cos(0.4 * t), zero, np.sin(0.4 * t), zero], axis=1)
    turned = np.array([product(a, b) for a, b in zip(turning[:400], small[:400], strict=True)])
    place = np.sin(t[:400, None]) * np.ones(3) + 2e-4 * rng.standard_normal((400, 3))
    cube = ist.library.cube()
    motion = ist.Motion(t[:400], np.concatenate([place, turned], axis=1), None, {}).matched(cube)
    lengths, angles = noises(cube, [motion])
    assert (lengths.unit, angles.unit) == ("m", "rad")
    assert lengths.scatter == pytest.approx(2e-4, rel=0.15)
    assert angles.scatter == pytest.approx(5e-3, rel=0.15)
