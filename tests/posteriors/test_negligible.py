"""A mode of negligible share is left out of moments that it would spoil, and named; others stay."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import isthmus as ist
from isthmus.bench.posterior_cases import cases

TRUTH = np.array([0.15, 0.2])
WIDTH = 0.2
"""Standard deviation of the prior of the offset."""


@pytest.fixture(scope="module")
def posterior_with():
    """The posterior of an offset of 0.15 m or -0.15 m, where a prior gives the second a share."""
    case = cases()["two_sided"]

    def found(share: float) -> ist.Posterior:
        mean = np.log(1.0 / share - 1.0) * WIDTH**2 / (2.0 * TRUTH[0])
        offset = ist.Free("offset", start=0.1, prior=(float(mean), WIDTH))
        own = dataclasses.replace(case, free=(offset, *case.free[1:]))
        _, problem = own.at(TRUTH, np.random.default_rng(0))
        with warnings.catch_warnings(action="ignore"):
            return ist.posterior(problem, ist.Laplace(draws=2000))

    return found


def test_a_mode_of_half_a_percent_is_left_out_of_the_deviation_and_said_to_be_so(posterior_with):
    """With it, the deviation would be sqrt(0.005) times the distance of the modes: 21 mm in place of some 3 mm."""
    found = posterior_with(0.005)
    assert found.weights.tolist() == [1.0]
    assert np.all(found["offset"] > 0.0)
    assert abs(found.mean[0] - TRUTH[0]) < 0.02
    low, high = found.interval(0.9)[0]
    assert found.deviation[0] == pytest.approx((high - low) / (2.0 * 1.645), rel=0.15)
    (note,) = [text for text in found.notes if "left out" in text]
    assert note.startswith("1 mode that has 0.")
    told = float(note.split("has ")[1].split(" %")[0])
    assert told == pytest.approx(0.5, abs=0.15)  # of the ratio of the priors
    assert "offset = -0.1" in note


def test_a_mode_of_a_few_percent_stays(posterior_with):
    found = posterior_with(0.05)
    assert not [text for text in found.notes if "left out" in text]
    np.testing.assert_allclose(found.weights, [0.95, 0.05], atol=0.02)
    assert np.mean(found["offset"] < 0.0) == pytest.approx(found.weights[1], abs=0.01)
    assert found.deviation[0] > 0.04
