"""Unbounded coordinates: there and back, with their derivatives, and a prior that is a standard normal."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.stats import truncnorm

from isthmus.posteriors.coordinates import Coordinates

INF = np.inf
KINDS = Coordinates(
    low=np.array([-1.0, 0.5, -INF, -INF, -INF, 0.0]),
    high=np.array([2.0, INF, 3.0, INF, INF, 1.0]),
    mean=np.array([0.0, 0.0, 0.0, 0.0, 0.4, 0.7]),
    precision=np.array([0.0, 0.0, 0.0, 0.0, 4.0, 9.0]),
)
"""Two bounds, one below, one above, none, a normal prior, a normal prior that two bounds cut."""


@pytest.fixture
def points() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(50, 6))


def test_the_kinds_of_numbers_are_told_apart():
    assert KINDS.box.tolist() == [True, False, False, False, False, False]
    assert KINDS.half.tolist() == [False, True, True, False, False, False]
    assert KINDS.proper.tolist() == [True, False, False, False, True, True]


def test_coordinates_go_there_and_back_inside_the_bounds(points):
    X = KINDS.to_x(points)[0]
    assert np.all((KINDS.low <= X) & (KINDS.high >= X))
    np.testing.assert_allclose(KINDS.to_u(X), points, atol=1e-8)


def test_a_point_at_its_bound_has_a_finite_coordinate():
    X = np.array([[-1.0, 0.5, 3.0, 0.0, 0.0, 1.0]])
    assert np.all(np.isfinite(KINDS.to_u(X)))


def test_first_and_second_derivatives_are_those_of_the_map(points):
    h = 1e-5
    _, slope, bend = KINDS.to_x(points)
    up, down = KINDS.to_x(points + h), KINDS.to_x(points - h)
    np.testing.assert_allclose((up[0] - down[0]) / (2 * h), slope, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * h), bend, rtol=1e-5, atol=1e-8)


def test_standard_normal_coordinates_are_draws_of_the_prior():
    U = np.random.default_rng(1).normal(size=(20_000, 6))
    X = KINDS.to_x(U)[0]
    assert abs(X[:, 0].mean() - 0.5) < 0.02
    assert abs(X[:, 0].std() - 3 / np.sqrt(12)) < 0.02
    assert abs(X[:, 4].mean() - 0.4) < 0.02
    assert abs(X[:, 4].std() - 0.5) < 0.02
    own = truncnorm(-0.7 * 3.0, 0.3 * 3.0, loc=0.7, scale=1 / 3)
    assert abs(X[:, 5].mean() - own.mean()) < 0.01
    assert abs(X[:, 5].std() - own.std()) < 0.01


def test_the_slope_of_the_potential_is_its_derivative(points):
    h = 1e-6
    for k in range(6):
        step = np.zeros(6)
        step[k] = h
        change = (KINDS.potential(points + step) - KINDS.potential(points - step)) / (2 * h)
        np.testing.assert_allclose(change, KINDS.slope(points)[:, k], atol=1e-7)


def test_maps_and_potential_are_the_same_in_jax(points):
    ours = jax.jit(lambda U: (KINDS.to_x(U), KINDS.potential(U), KINDS.slope(U)))(points)
    numpy = (KINDS.to_x(points), KINDS.potential(points), KINDS.slope(points))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), ours, numpy)
