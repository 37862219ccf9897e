"""A search that leaves what bodies can be says so, and not that it has converged."""

import warnings

import numpy as np
import pytest

import isthmus as ist
from tests.identify.motions import SINGLE, recorded


def small(mass: float, inertia: float) -> ist.Model:
    """The pendulum with a far too small body."""
    light = SINGLE.set("link/mass", mass * SINGLE.link_mass)
    return light.set("link/inertia", inertia * SINGLE.link_inertia)


@pytest.mark.parametrize("loss", ["whole_run", ist.Windows(20)])
def test_a_body_that_begins_far_too_small_ends_at_an_edge_and_is_named(loss):
    log = recorded(SINGLE, 301, start=(0.5,))
    problem = ist.Problem(small(1e-3, 1e-6), log, free="link/*/inertial", loss=loss, noise=1e-3)
    with warnings.catch_warnings(action="ignore", category=ist.errors.FitWarning):
        fit = ist.fit(problem)
    assert fit.warnings[0].startswith("link/rod_1/inertial is at an edge of what bodies can be")
    assert fit.status.startswith("stopped at an edge")
    assert "converged" not in fit.status


def test_a_body_of_about_the_right_size_converges():
    log = recorded(SINGLE, 301, start=(0.5,))
    start = small(0.7, 0.7)
    free = ist.Free("link/*/inertial", prior=1.0)
    with warnings.catch_warnings(action="ignore", category=ist.errors.FitWarning):
        fit = ist.fit(ist.Problem(start, log, free=free, loss=ist.Windows(20), noise=1e-3))
    assert fit.status == "converged"
    assert np.all(np.isfinite([e.value for e in fit.estimates.values()]))
