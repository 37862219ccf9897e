"""Whatever the data say, the parameters found are those of bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from isthmus.errors import BadModel
from isthmus.identify.torque.realisable import (
    Prior,
    is_realisable,
    nearest_realisable,
    pseudo_of,
    ten_of_pseudo,
)
from isthmus.identify.torque.regressor import link_of, ten_of
from isthmus.spatial.inertia import pseudo_inertia
from tests import trees
from tests.identify.conic import nearest_by_cones


def random_ten(draw: np.random.Generator) -> np.ndarray:
    link = trees.random_link(draw, "a")
    return ten_of(link.mass, np.array(link.com), np.array(link.inertia))


def test_ten_numbers_and_the_pseudo_inertia_are_the_same():
    ten = random_ten(np.random.default_rng(0))
    mass, com, inertia = link_of(ten)
    theirs = pseudo_inertia(np.asarray(mass), com, inertia)
    np.testing.assert_allclose(pseudo_of(ten), theirs, atol=1e-14)
    np.testing.assert_allclose(ten_of_pseudo(pseudo_of(ten)), ten)


def random_problem(seed: int, decades: float) -> tuple[np.ndarray, np.ndarray, Prior]:
    """Noise of that size for two links, two positive numbers and one of any sign."""
    draw = np.random.default_rng(seed)
    links = np.stack([random_ten(draw) for _ in range(2)])
    prior = Prior(links, np.array([0.1, 3.0]), np.array([1.0]))
    return draw.normal(size=(30, 23)), 10.0**decades * draw.normal(size=30), prior


def assert_possible(found: np.ndarray) -> None:
    assert np.all(np.isfinite(found))
    assert all(is_realisable(ten) for ten in found[:20].reshape(2, 10))
    assert np.all(found[20:22] > 0.0)


@given(st.integers(0, 2**32 - 1), st.floats(-6, 6), st.floats(-6, 3))
def test_any_noise_gives_bodies_and_positive_numbers(seed, decades, weight):
    A, b, prior = random_problem(seed, decades)
    assert_possible(nearest_realisable(A, b, prior, weight=10.0**weight))


@pytest.mark.parametrize(
    ("seed", "decades", "weight"),
    [
        (0, 4.0, -1.0),  # singular in the old search, as are the next two
        (0, 5.0, -1.0),
        (0, 5.9375, -4.5),
        (1, 6.0, -6.0),  # bodies flatter than float64 can hold
        (198399151, 5.595347403970381, -5.563374536510352),  # as flat as rounding errors
        (3412706235, 5.9816065537206065, -4.4214800700648365),
        (2, 6.0, 3.0),
        (3, -6.0, -6.0),
        (4, -6.0, 3.0),
    ],
)
def test_the_ends_of_the_ranges_give_bodies(seed, decades, weight):
    A, b, prior = random_problem(seed, decades)
    assert_possible(nearest_realisable(A, b, prior, weight=10.0**weight))


@pytest.mark.parametrize("decades", range(-6, 7, 2))
def test_a_grid_of_noise_and_weights_gives_bodies(decades):
    for k, weight in enumerate(range(-6, 4)):
        A, b, prior = random_problem(100 * decades + k + 1000, float(decades))
        assert_possible(nearest_realisable(A, b, prior, weight=10.0**weight))


def slopes(A: np.ndarray, b: np.ndarray, prior: Prior, weight: float, x: np.ndarray) -> np.ndarray:
    """The gradient of the cost in units of the weight and of the parameters: `Cᵀ (∂/∂J) C` with `J = C Cᵀ`."""
    pull, links = A.T @ (A @ x - b) / weight, len(prior.links)
    parts = []
    for i, start in enumerate(prior.start()[: 10 * links].reshape(-1, 10)):
        C = np.linalg.cholesky(pseudo_of(x[10 * i : 10 * i + 10]))
        by_entry = np.zeros((4, 4))
        for j in range(4):
            for k in range(j, 4):
                one = np.zeros((4, 4))
                one[j, k] = one[k, j] = 1.0 if j == k else 0.5
                by_entry[j, k] = by_entry[k, j] = pull[10 * i : 10 * i + 10] @ ten_of_pseudo(one)
        inverse = np.linalg.inv(pseudo_of(start))
        parts.append((C.T @ (by_entry + inverse) @ C - np.eye(4)).ravel())
    x, pull = x[10 * links :], pull[10 * links :]
    p = len(prior.positive)
    parts.append(x[:p] * (pull[:p] + 1.0 / prior.positive) - 1.0)
    parts.append(prior.free * pull[p:] + x[p:] / prior.free)
    return np.concatenate(parts)


@pytest.mark.parametrize("weight", [-3.0, 0.0, 2.0])
@pytest.mark.parametrize("decades", [-3.0, 0.0, 2.0])
def test_the_gradient_is_zero_where_the_search_ends(decades, weight):
    A, b, prior = random_problem(7, decades)
    found = nearest_realisable(A, b, prior, weight=10.0**weight)
    np.testing.assert_allclose(slopes(A, b, prior, 10.0**weight, found), 0.0, atol=1e-5)


@pytest.mark.parametrize("weight", [-2.0, 0.0, 2.0])
@pytest.mark.parametrize("decades", [-2.0, 0.0, 1.0, 2.0])
def test_a_solver_of_conic_programs_agrees(decades, weight):
    A, b, prior = random_problem(11, decades)
    found = nearest_realisable(A, b, prior, weight=10.0**weight)
    theirs = nearest_by_cones(A, b, prior, 10.0**weight)
    np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-5 * np.max(np.abs(theirs)))


def test_without_data_nothing_changes_and_with_enough_of_it_the_truth_is_found():
    draw = np.random.default_rng(3)
    prior = Prior(np.stack([random_ten(draw)]), np.array([0.5]), np.array([2.0]))
    nothing = nearest_realisable(np.zeros((1, 12)), np.zeros(1), prior, weight=1.0)
    np.testing.assert_allclose(nothing, prior.start(), atol=1e-9)
    true = np.concatenate([random_ten(draw), [0.02], [-1.0]])
    A = 1e5 * draw.normal(size=(40, 12))
    np.testing.assert_allclose(
        nearest_realisable(A, A @ true, prior, weight=1.0), true, rtol=1e-5, atol=1e-7
    )


def test_no_neighbour_is_better():
    draw = np.random.default_rng(4)
    prior = Prior(np.stack([random_ten(draw)]), np.array([0.5]), np.zeros(0))
    A, b = draw.normal(size=(8, 11)), 3.0 * draw.normal(size=8)
    found = nearest_realisable(A, b, prior, weight=0.3)
    start = np.linalg.inv(pseudo_of(prior.links[0]))

    def cost(x: np.ndarray) -> float:
        J = start @ pseudo_of(x[:10])
        sign, logs = np.linalg.slogdet(J)
        if sign <= 0 or x[10] <= 0:
            return np.inf
        far = np.trace(J) - logs + x[10] / 0.5 - np.log(x[10])
        return 0.5 * np.sum((A @ x - b) ** 2) + 0.3 * far

    best = minimize(cost, found, method="Nelder-Mead", options={"maxfev": 2000})
    assert cost(found) <= best.fun + 1e-9 * abs(best.fun)


def test_a_flat_body_may_be_the_start_but_not_one_without_mass():
    ten = ten_of(1.0, np.zeros(3), np.array([1.0, 1.0, 2.0, 0.0, 0.0, 0.0]))
    point = ten_of(1.0, np.ones(3), np.zeros(6))
    prior = Prior(np.stack([ten, point]), np.zeros(0), np.zeros(0))
    found = nearest_realisable(np.zeros((1, 20)), np.zeros(1), prior, weight=1.0)
    assert all(map(is_realisable, found.reshape(2, 10)))
    assert not is_realisable(ten)
    with pytest.raises(BadModel, match="without mass"):
        Prior(np.zeros((1, 10)), np.zeros(0), np.zeros(0)).start()
