"""Differences on their manifolds: angles, quaternions, poses, headings; Huber's weights."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.losses.penalties import Quadratic, huber
from isthmus.losses.residuals import channel, circular, headings
from isthmus.spatial import rotations

BALLS = ist.library.pendulum(2, joints="spherical")
HINGES = ist.library.pendulum(2)


def test_angles_differ_by_less_than_half_a_turn():
    d = jnp.array([0.3, 2 * np.pi - 0.1, -7.0])
    np.testing.assert_allclose(circular(d), [0.3, -0.1, -7.0 + 2 * np.pi], atol=1e-12)
    wrapped, plain = (
        channel(HINGES, "joint/position"),
        channel(HINGES, "joint/position", wrap=False),
    )
    a, b = jnp.array([3.1, 0.0]), jnp.array([-3.1, 0.1])
    np.testing.assert_allclose(wrapped.minus(a, b), [6.2 - 2 * np.pi, -0.1])
    np.testing.assert_allclose(plain.minus(a, b), [6.2, -0.1])


def test_quaternions_differ_by_a_rotation_vector_whatever_their_sign(key):
    c = channel(BALLS, "joint/position")
    assert (c.size, c.width) == (8, 6)
    turn = np.array([0.1, -0.2, 0.3])

    @jax.jit
    def difference(a, b):
        a, b = rotations.normalise(a), rotations.normalise(b)
        moved = jnp.concatenate([rotations.product(a, rotations.exp(turn)), -b])
        return c.minus(moved, jnp.concatenate([a, b]))

    found = difference(*jax.random.normal(key, (2, 4)))
    np.testing.assert_allclose(found, [*turn, 0.0, 0.0, 0.0], atol=1e-12)
    assert c.labels[0] == "joint/joint_1/position[0]"


def test_some_joints_are_compared_by_name():
    c = channel(BALLS, "joint/joint_2/position")
    assert (c.size, c.width, c.rows) == (4, 3, (4, 5, 6, 7))
    one = channel(HINGES, "joint/joint_2/velocity")
    assert one.labels == ("joint/joint_2/velocity",)


def test_poses_differ_in_place_and_turn():
    c = channel(HINGES, "link/rod_2/pose")
    a = jnp.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    b = np.array([1.0, 2.0, 2.5, np.cos(0.1), 0.0, np.sin(0.1), 0.0])
    minus = jax.jit(c.minus)
    np.testing.assert_allclose(minus(a, b), [0.0, 0.0, 0.5, 0.0, -0.2, 0.0], atol=1e-12)


def test_headings_are_unit_vectors_that_forget_the_spin(key):
    c = channel(BALLS, "joint/heading")
    q = jnp.concatenate([rotations.normalise(x) for x in jax.random.normal(key, (2, 4))])
    spun = jnp.concatenate(
        [rotations.product(q[:4], rotations.exp(jnp.array([0.0, 0.0, 1.0]))), q[4:]]
    )
    np.testing.assert_allclose(headings(BALLS, spun), headings(BALLS, q), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(headings(BALLS, q).reshape(2, 3), axis=1), 1.0)
    assert (c.size, c.width) == (6, 6)


@pytest.mark.compiles_much("two fits")
def test_spherical_joints_are_fitted_by_their_headings_and_by_a_marker():
    start = ist.State(np.asarray(rotations.exp(jnp.array([0.8, 0.3, 0.1]))), np.zeros(3))
    model = ist.library.pendulum(1, joints="spherical").set("joint/damping", 0.2)
    motion = ist.rollout(model, start, None, 0.01, 40, record=["point/tip/position"])
    for signal in ("joint/heading", "point/tip/position"):
        problem = ist.Problem(
            model.set("joint/damping", 0.1), motion, free=[ist.Free("joint/*/damping", shared=True)], loss="whole_run",
            signals=[signal],
        )  # fmt: skip
        assert ist.fit(problem)["joint/*/damping"].value == pytest.approx(0.2, abs=1e-6)


def test_huber_is_smooth_and_its_weight_is_its_slope():
    r = jnp.array([-3.0, -0.5, 0.2, 4.0])
    cost, weight = huber(r, 1.0)
    np.testing.assert_allclose(cost, [2.5, 0.125, 0.02, 3.5])
    slope = jax.vmap(jax.grad(lambda x: huber(x, 1.0)[0]))(r)
    np.testing.assert_allclose(weight * r, slope)


def test_a_quadratic_penalty_has_its_gradient():
    penalty = Quadratic(np.array([1.0, 0.0]), np.array([2.0, 0.5]))
    X = np.array([[2.0, 4.0], [1.0, 0.0]])
    np.testing.assert_allclose(penalty.cost(X), [5.0, 0.0])
    np.testing.assert_allclose(penalty.gradient(X), [[2.0, 2.0], [0.0, 0.0]])
