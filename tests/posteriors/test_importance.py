"""Importance ratios: smoothed weights, the Pareto shape, draws of t distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_t

from isthmus.posteriors.density import Mode
from isthmus.posteriors.importance import (
    FREEDOM,
    Students,
    efficiency,
    pareto,
    smoothed,
    systematic,
)

H = np.array([[4.0, 1.0], [1.0, 2.0]])
MODES = (Mode(np.array([0.0, 1.0]), 0.0, H), Mode(np.array([3.0, -1.0]), 0.0, 2.0 * H))


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.9])
def test_the_shape_of_a_pareto_tail_is_found(shape):
    x = np.sort(np.random.default_rng(0).pareto(1.0 / shape, 4000))
    assert abs(pareto(x)[0] - shape) < 0.06


def test_the_density_of_the_proposal_is_that_of_t_distributions():
    proposal, U = (
        Students(MODES, np.array([0.3, 0.7])),
        np.random.default_rng(0).normal(size=(5, 2)),
    )
    own = [multivariate_t(m.u, np.linalg.inv(m.H), df=FREEDOM).logpdf(U) for m in MODES]
    np.testing.assert_allclose(proposal.log_parts(U), np.array(own) + np.log([[0.3], [0.7]]))


def test_draws_have_the_covariance_of_their_mode():
    rng = np.random.default_rng(0)
    U = Students(MODES[:1], np.ones(1)).draw(100_000, rng)
    wide = FREEDOM / (FREEDOM - 2.0)
    np.testing.assert_allclose(np.cov(U.T), wide * np.linalg.inv(H), atol=0.03)


def test_a_proposal_with_light_tails_is_warned_of_and_one_with_heavy_tails_is_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    narrow = smoothed(-0.5 * x**2 / 9.0 + 0.5 * x**2)  # a wide normal by draws of a narrow one
    t = rng.standard_t(FREEDOM, 2000)
    heavy = smoothed(-0.5 * t**2 + 0.5 * (FREEDOM + 1) * np.log1p(t**2 / FREEDOM))
    assert narrow.khat > 0.7 > heavy.khat
    assert heavy.effective > 1500
    assert abs(heavy.weight.sum() - 1.0) < 1e-12


@pytest.mark.parametrize("n", [1, 4, 20])
def test_draws_for_a_normal_are_worth_what_efficiency_says(n):
    rng, normal = np.random.default_rng(0), (Mode(np.zeros(n), 0.0, np.eye(n)),)
    proposal = Students(normal, np.ones(1))
    U = proposal.draw(20_000, rng)
    log_p = -0.5 * np.square(U).sum(axis=1)
    found = smoothed(log_p - proposal.log_parts(U)[0]).effective / len(U)
    assert abs(found - efficiency(n)) < 0.03


def test_ratios_of_which_one_is_all_are_not_trusted_and_overflow_nowhere():
    log_ratio = -np.random.default_rng(0).exponential(1e4, 1000)
    found = smoothed(log_ratio)
    assert found.khat > 5.0
    assert np.isfinite(found.weight).all()


def test_ratios_that_are_nowhere_finite_are_not_trusted():
    assert smoothed(np.full(100, -np.inf)).khat == np.inf


def test_systematic_resampling_takes_each_as_often_as_its_weight_says():
    weight = np.array([0.5, 0.2, 0.3])
    counts = np.bincount(systematic(weight, 1000, np.random.default_rng(0)))
    assert np.all(np.abs(counts - 1000 * weight) <= 1)
