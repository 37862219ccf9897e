"""Priors that the data contradict are named; others are not."""

import warnings

import numpy as np
import pytest

import isthmus as ist
from tests.identify.motions import SINGLE, recorded


def fitted(mass, prior, noise=1e-3):
    """A pendulum of this mass, fitted to its motion; `prior`: of the mass, about 1 kg."""
    log = recorded(SINGLE.set("link/mass", mass), 101, noise=noise)
    free = [
        ist.Free("link/*/mass", low=0.1, high=9.0, prior=prior),
        ist.Free("joint/*/damping"),
    ]
    problem = ist.Problem(SINGLE, log, free=free, loss=ist.Windows(20), noise=noise)
    with warnings.catch_warnings(action="ignore"):
        return ist.fit(problem)


def test_a_prior_that_the_data_contradict_is_named_and_counts_as_doubt():
    fit = fitted(1.5, (1.0, 0.05))
    (said,) = [text for text in fit.warnings if "contradict the prior" in text]
    assert said.startswith("link/rod_1/mass:")
    assert "Widen it" in said
    assert "deviations from the mean of its prior" in fit.doubtful["link/rod_1/mass"]


@pytest.mark.parametrize("prior", [(1.0, 0.3), (1.5, 0.01), None])
def test_a_prior_that_the_data_agree_with_is_not_named(prior):
    fit = fitted(1.5, prior)
    assert not any("contradict" in text for text in fit.warnings)
    assert not fit.doubtful


def test_the_distance_is_that_of_a_fit_without_the_prior():
    """Between the prior and what the other data say, in standard deviations of their difference."""
    mean, deviation = 1.0, 0.1
    alone, with_prior = fitted(1.5, None), fitted(1.5, (mean, deviation))
    one = alone["link/rod_1/mass"]
    expected = (one.value - mean) / np.hypot(one.error, deviation)
    said = with_prior.doubtful["link/rod_1/mass"]
    assert float(said.split()[4]) == pytest.approx(expected, rel=0.1)
