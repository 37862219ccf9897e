"""Whatever the data say, the parameters found are those of bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from isthmus.errors import BadModel
from isthmus.identify.realisable import (
    Prior,
    is_realisable,
    nearest_realisable,
    pseudo_of,
    ten_of_pseudo,
)
from isthmus.identify.regressor import link_of, ten_of
from isthmus.spatial.inertia import pseudo_inertia
from tests import trees


def random_ten(draw: np.random.Generator) -> np.ndarray:
    link = trees.random_link(draw, "a")
    return ten_of(link.mass, np.array(link.com), np.array(link.inertia))


def test_ten_numbers_and_the_pseudo_inertia_are_the_same():
    ten = random_ten(np.random.default_rng(0))
    mass, com, inertia = link_of(ten)
    theirs = pseudo_inertia(np.asarray(mass), com, inertia)
    np.testing.assert_allclose(pseudo_of(ten), theirs, atol=1e-14)
    np.testing.assert_allclose(ten_of_pseudo(pseudo_of(ten)), ten)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(-6, 6), st.floats(-6, 3))
def test_any_noise_gives_bodies_and_positive_numbers(seed, decades, weight):
    draw = np.random.default_rng(seed)
    prior = Prior(
        np.stack([random_ten(draw) for _ in range(2)]), np.array([0.1, 3.0]), np.array([1.0])
    )
    A, b = draw.normal(size=(30, 23)), 10.0**decades * draw.normal(size=30)
    found = nearest_realisable(A, b, prior, weight=10.0**weight)
    assert all(is_realisable(ten) for ten in found[:20].reshape(2, 10))
    assert np.all(found[20:22] > 0.0)


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
