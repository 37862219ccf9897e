"""Windows over which derivatives are of no use are told, with shorter ones that find the truth."""

from __future__ import annotations

import re

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import FitWarning
from isthmus.identify.answer.quality import errors_of
from isthmus.identify.answer.too_long import gradient_error, useless_derivatives
from isthmus.identify.search.search import Status
from tests.identify.motions import double_problem

CHAOTIC = ist.library.pendulum(2)
STEPS = 2500


@pytest.fixture(scope="module")
def tumbling():
    """25 s of a double pendulum without friction, exactly measured: errors grow by some ten powers of ten."""
    truth = CHAOTIC.set("link/mass", [1.0, 0.7])
    return ist.rollout(truth, ist.State(np.full(2, 2.0), np.zeros(2)), None, 0.01, STEPS)


def problem(motion, steps):
    free = [ist.Free("link/rod_2/mass", low=0.1, high=5.0)]
    return ist.Problem(CHAOTIC, motion, free=free, loss=ist.Windows(steps), noise=1e-3)


def test_a_search_from_an_exploding_start_did_not_converge_and_shorter_windows_do(tumbling):
    with pytest.warns(FitWarning) as caught:
        stuck = ist.fit(problem(tumbling, STEPS))
    assert any("so sensitive over 2,500 steps" in str(w.message) for w in caught)
    assert stuck.status == Status.NO_DERIVATIVES.value
    (said,) = [text for text in stuck.warnings if "did not converge" in text]
    (steps,) = re.findall(r"loss=ist\.Windows\((\d+)\)", said)
    assert f'(kind = "windows", steps = {steps} under [loss] of a study)' in said
    found = ist.fit(problem(tumbling, int(steps)))
    assert found.status == "converged"
    np.testing.assert_allclose(found["link/rod_2/mass"].value, 0.7, rtol=1e-6)


def test_a_start_that_was_never_left_is_said_to_be_so(tumbling):
    exploding = problem(tumbling, STEPS)
    evaluation = exploding.evaluation
    x = evaluation.start
    errors = errors_of(evaluation, exploding.sigma, x, x)
    said = useless_derivatives(evaluation, x[None], x, Status.CONVERGED, errors)
    assert said.startswith(
        "the search did not converge: no step was accepted, since the simulation"
    )
    assert not useless_derivatives(evaluation, x[None], x, Status.INTERRUPTED, errors)


def test_the_check_advises_shorter_windows_and_speaks_of_no_kink(tumbling):
    warnings = " ".join(problem(tumbling, STEPS).check().warnings)
    assert "Take shorter windows: loss=ist.Windows(" in warnings
    assert "kink" not in warnings


def test_a_fit_that_begins_at_its_minimum_has_converged():
    found = double_problem(noise=0.0)
    there = np.array([1.2, 0.7, 0.3, 0.3])
    again = ist.fit(found, start=there[None])
    assert again.status == "converged"


def test_a_gradient_that_is_not_finite_is_infinitely_wrong():
    evaluation = double_problem().evaluation
    wrong = np.full(evaluation.size, np.nan)
    assert gradient_error(evaluation, evaluation.start, wrong) == np.inf


def test_a_cost_that_explodes_on_one_side_does_not_make_a_wrong_gradient_right(monkeypatch):
    """Its second difference is so large that next to it any slope seems right."""
    evaluation = double_problem().evaluation
    x = evaluation.start
    aside = np.random.default_rng(0).standard_normal(len(x))  # the first direction that is tried
    steep = 1e12 * aside
    one_sided = lambda self, X: np.where((X - x) @ aside > 0.0, 1e16, 1.0)
    monkeypatch.setattr(type(evaluation), "cost", one_sided)
    assert gradient_error(evaluation, x, steep) < 0.01
    assert gradient_error(evaluation, x, steep, near=0.0) > 1.0
