"""Rotations: exponential and logarithm, quaternions and matrices, all finite with finite derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.spatial import rotations as so3
from isthmus.spatial.vectors import skew

small_vectors = st.lists(st.floats(-1.7, 1.7), min_size=3, max_size=3).map(np.array)
quaternions = (
    st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4)
    .map(np.array)
    .filter(lambda q: np.linalg.norm(q) > 0.1)
)

exp, log, matrix, torque_of = map(jax.jit, (so3.exp, so3.log, so3.matrix, so3.torque_of))
slope_of_exp, slope_of_log = jax.jit(jax.jacfwd(so3.exp)), jax.jit(jax.jacfwd(so3.log))
reverse_slope_of_log = jax.jit(jax.jacrev(so3.log))
SIZES = [0.0, 1e-12, 1e-5, 0.99e-4, 1.01e-4, 1e-3, 1.0, 3.1]


@given(small_vectors)
def test_the_logarithm_undoes_the_exponential(turn):
    np.testing.assert_allclose(log(exp(turn)), turn, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_exponential_and_logarithm_are_right_to_the_last_digits_where_their_series_begin(size):
    turn = size * np.array([0.6, -0.48, 0.64])
    expected = np.array([np.cos(0.5 * size), *(np.sin(0.5 * size) * np.array([0.6, -0.48, 0.64]))])
    np.testing.assert_allclose(exp(turn), expected, rtol=1e-14, atol=1e-18)
    np.testing.assert_allclose(log(expected), turn, rtol=1e-13, atol=1e-18)
    np.testing.assert_allclose(log(-expected), turn, rtol=1e-13, atol=1e-18)


@given(quaternions, quaternions)
def test_matrices_multiply_as_quaternions_do(a, b):
    product = so3.product(a, b)
    np.testing.assert_allclose(matrix(product), matrix(a) @ matrix(b), atol=1e-12)
    np.testing.assert_allclose(matrix(a).T @ matrix(a), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(matrix(so3.conjugate(a)), matrix(a).T, atol=1e-12)


@given(quaternions)
def test_the_length_and_the_sign_of_a_quaternion_do_not_matter(q):
    np.testing.assert_allclose(matrix(3.0 * q), matrix(q), atol=1e-12)
    np.testing.assert_allclose(matrix(-q), matrix(q), atol=1e-12)


def test_a_turn_about_an_axis_is_the_exponential():
    axis = np.array([0.6, 0.0, 0.8])
    np.testing.assert_allclose(so3.about(axis, jnp.array(0.7)), matrix(exp(0.7 * axis)), atol=1e-14)
    np.testing.assert_allclose(
        so3.about(axis, jnp.array(0.7)), jax.scipy.linalg.expm(skew(0.7 * axis)), atol=1e-14
    )


@pytest.mark.parametrize(
    "axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.6, 0.0, -0.8), (1e-9, 0, -1)]
)
def test_the_shortest_turn_from_z_to_an_axis(axis):
    axis = np.array(axis, dtype=float) / np.linalg.norm(axis)
    R = so3.from_z_to(axis)
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-8)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(jnp.linalg.det(R), 1.0, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_derivatives_of_exponential_and_logarithm_are_finite_and_inverse(size):
    turn = size * np.array([0.6, -0.48, 0.64])
    there, back = slope_of_exp(turn), reverse_slope_of_log(exp(turn))
    np.testing.assert_allclose(back @ there, np.eye(3), atol=1e-7)
    again = slope_of_log(-exp(turn))
    np.testing.assert_allclose(again, -back, atol=1e-7)


@jax.jit
def power_on(turn, force):
    """`force · d(turn)/dt` by ω, when the child turns by ω in its own axes."""
    moved = lambda w: so3.log(so3.product(so3.exp(turn), so3.exp(w)))
    return jax.vjp(moved, jnp.zeros(3))[1](force)[0]


@pytest.mark.parametrize("size", SIZES)
def test_the_torque_of_a_force_on_a_rotation_vector_has_its_power(size):
    turn, force = size * np.array([0.6, -0.48, 0.64]), np.array([1.0, 2.0, -0.5])
    np.testing.assert_allclose(torque_of(turn, force), power_on(turn, force), atol=1e-7)
    np.testing.assert_allclose(torque_of(turn, turn), turn, atol=1e-14)


def test_numpy_in_gives_numpy_out_and_the_same_numbers():
    a, b = np.random.default_rng(0).normal(size=(2, 4))
    for f, numbers in (
        (so3.product, (a, b)),
        (so3.conjugate, (a,)),
        (so3.matrix, (a,)),
        (so3.normalise, (a,)),
    ):
        plain, traced = f(*numbers), f(*map(jnp.asarray, numbers))
        assert isinstance(plain, np.ndarray)
        assert isinstance(traced, jax.Array)
        np.testing.assert_allclose(plain, traced, rtol=1e-14)
