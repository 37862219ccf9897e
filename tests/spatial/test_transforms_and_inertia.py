"""Plücker transforms, cross products, spatial inertia, and the log-Cholesky map."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.spatial import inertia, rotations, transforms
from isthmus.spatial.inertia import (
    pseudo_inertia,
    second_moment,
    six_of,
    spatial_inertia,
    symmetric,
)
from isthmus.spatial.solve import inverse_spd
from isthmus.spatial.vectors import cross_force, cross_matrix, cross_motion, skew
from tests.trees import random_link

from_log_cholesky, to_log_cholesky = map(
    jax.jit, (inertia.from_log_cholesky, inertia.to_log_cholesky)
)
DRAW = np.random.default_rng(0)
V, M, F = DRAW.normal(size=(3, 6))
P = DRAW.normal(size=3)
R = np.asarray(rotations.matrix(DRAW.normal(size=4)))
X = transforms.into_child(R, P)
BODY = random_link(DRAW, "body")
NUMBERS = (np.array(BODY.mass), np.array(BODY.com), np.array(BODY.inertia))


def test_a_cross_product_is_a_cross_product():
    np.testing.assert_allclose(skew(P) @ V[:3], np.cross(P, V[:3]), atol=1e-14)


def test_the_inverse_of_a_transform_undoes_it():
    np.testing.assert_allclose(transforms.inverse(X) @ X, np.eye(6), atol=1e-12)


def test_a_transform_moves_a_velocity_to_another_point_and_other_axes():
    """The child at `P`, turned by `R`: it feels `ω` and `v + ω × P`, in its own axes."""
    linear = V[3:] + np.cross(V[:3], P)
    np.testing.assert_allclose(X @ V, np.concatenate([R.T @ V[:3], R.T @ linear]), atol=1e-12)


def test_power_does_not_depend_on_the_frame():
    np.testing.assert_allclose((X.T @ F) @ V, F @ (X @ V), rtol=1e-12)


def test_cross_products_of_motions_and_forces_are_dual():
    np.testing.assert_allclose(cross_force(V, F) @ M, -F @ cross_motion(V, M), rtol=1e-12)
    np.testing.assert_allclose(cross_motion(V, V), 0.0, atol=1e-14)
    np.testing.assert_allclose(cross_motion(V, M), -cross_motion(M, V), atol=1e-14)


def test_cross_products_travel_with_the_frame():
    np.testing.assert_allclose(X @ cross_motion(V, M), cross_motion(X @ V, X @ M), atol=1e-12)
    np.testing.assert_allclose(
        X @ cross_matrix(V) @ np.linalg.inv(X), cross_matrix(X @ V), atol=1e-11
    )


def test_spatial_inertia_gives_the_kinetic_energy_of_a_body():
    mass, com, six = NUMBERS
    speed = V[3:] + np.cross(V[:3], com)
    energy = 0.5 * mass * speed @ speed + 0.5 * V[:3] @ symmetric(six) @ V[:3]
    np.testing.assert_allclose(0.5 * V @ spatial_inertia(*NUMBERS) @ V, energy, rtol=1e-12)


def test_six_numbers_make_a_symmetric_matrix_and_back():
    np.testing.assert_array_equal(six_of(symmetric(NUMBERS[2])), NUMBERS[2])


@pytest.mark.smoke
def test_the_log_cholesky_map_goes_there_and_back():
    for number, again in zip(NUMBERS, from_log_cholesky(to_log_cholesky(*NUMBERS)), strict=True):
        np.testing.assert_allclose(again, number, rtol=1e-10, atol=1e-12)
    free = DRAW.normal(size=10)
    np.testing.assert_allclose(to_log_cholesky(*from_log_cholesky(free)), free, atol=1e-9)


@given(st.lists(st.floats(-2.0, 2.0), min_size=10, max_size=10).map(np.array))
def test_any_ten_numbers_give_a_body_that_can_exist(free):
    mass, com, six = from_log_cholesky(free)
    assert float(mass) > 0.0
    assert np.all(np.linalg.eigvalsh(pseudo_inertia(mass, com, six)) > 0.0)
    assert np.all(np.linalg.eigvalsh(second_moment(symmetric(six))) > 0.0)
    a, b, c = np.linalg.eigvalsh(symmetric(six))
    assert a + b > c


def test_derivatives_of_the_log_cholesky_map_are_finite_and_inverse():
    flat = lambda free: jnp.concatenate([jnp.ravel(x) for x in from_log_cholesky(free)])
    back = lambda x: to_log_cholesky(x[0], x[1:4], x[4:])
    product = jax.jit(lambda free: jax.jacfwd(back)(flat(free)) @ jax.jacrev(flat)(free))
    np.testing.assert_allclose(product(DRAW.normal(size=10)), np.eye(10), atol=1e-7)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_small_systems_are_inverted(size):
    A = DRAW.normal(size=(size, size))
    A = A @ A.T + np.eye(size)
    np.testing.assert_allclose(inverse_spd(A) @ A, np.eye(size), atol=1e-11)
