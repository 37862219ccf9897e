"""With impulses, accelerations come from the mass matrix: they are those of the recursion, corrections included."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.describe.description import Mimic, Shape
from tests import trees

JOINTS = {
    "free": {},
    "mimicking": {"mimic": Mimic("hinge1", -0.7, 0.2)},
    "given": {"prescribed": True},
}
Q, V, TORQUE = np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, -1.5]), np.array([0.4, -0.2, 0.6])


def swung(tree, contact):
    """Joint velocities after a step of three links with a ball at the end, far above the ground."""
    ball = Shape("ball", "sphere", "rod3", size=(0.1, 0.0, 0.0))
    model = ist.compile_model(dataclasses.replace(tree, shapes=(ball,)))
    if contact:
        model = ist.with_contact(model, ist.Contact(), ground=ist.Ground(-10.0))
    n = model.dof
    given = np.array([0.7]) if model.prescribed else None
    control = ist.Control(TORQUE[:n], position=given, velocity=given, acceleration=given)
    return ist.step(model, ist.State(Q[: model.nq], V[:n]), control, 1e-2).v


@pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)
def test_a_robot_that_touches_nothing_moves_as_without_contact(joint):
    tree = trees.with_joint(trees.pendulum(3, damping=0.2, friction=0.1), "hinge3", **joint)
    np.testing.assert_allclose(swung(tree, True), swung(tree, False), rtol=1e-11, atol=1e-12)


def test_a_network_on_the_acceleration_acts_beside_impulses(key):
    model = ist.library.cube(contact="impulse")
    wire = ist.Wire("joint/acceleration", ["joint/velocity"], ist.MLP(4, 1), mode="replace")
    model = ist.Blueprint([wire]).attach(model, key=key)
    wired = model.networks[0]  # fresh networks change nothing
    pushing = dataclasses.replace(wired, net=jax.tree.map(lambda x: x + 0.1, wired.net))
    model = dataclasses.replace(model, networks=(pushing,))
    start = ist.State(np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]), np.ones(6))
    motion = ist.rollout(model, start, None, 1e-2, 1, record="joint/acceleration")
    falls = motion.v[1] - motion.v[0]
    np.testing.assert_allclose(falls, 1e-2 * motion.signals["joint/acceleration"][0], atol=1e-14)
    assert abs(falls[2] + 0.0981) > 1e-3
