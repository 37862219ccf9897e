"""The curves of a report are those that the loss compared."""

from __future__ import annotations

import dataclasses

import numpy as np

import isthmus as ist
from isthmus.losses.windows import Span
from isthmus.report.gather import apart, pooled, runs_of
from tests.report.fits import real


def test_differences_are_those_that_make_up_the_errors_of_the_fit():
    fit = real()
    runs = runs_of(fit, fit.problem)
    assert [run.heldout for run in runs] == [False, True]
    for run, errors in zip(runs, (fit.errors, fit.heldout), strict=True):
        (curve,) = run.curves
        assert (curve.label, curve.unit) == ("joint/joint_1/position", "rad")
        own = curve.difference[np.isfinite(curve.difference)]
        np.testing.assert_allclose(np.sqrt(np.mean(own**2)), errors["joint/position"][1])


def test_what_is_drawn_as_predicted_is_what_a_rollout_gives():
    fit = real()
    for run in runs_of(fit, fit.problem):
        (curve,) = run.curves
        inside = curve.at >= 0
        np.testing.assert_allclose(curve.predicted[inside], run.q_predicted[inside, 0], atol=1e-9)
        assert np.isnan(curve.predicted[~inside]).all()


def test_windows_of_held_out_runs_are_those_of_the_problem():
    fit = real()
    shooting = dataclasses.replace(fit.problem, loss=ist.MultipleShooting(25))
    runs = runs_of(dataclasses.replace(fit, x=shooting.evaluation.start), shooting)
    for run, evaluation in zip(
        runs, (shooting.evaluation, shooting.heldout_evaluation), strict=True
    ):
        assert [s.steps for s in run.spans] == evaluation.windows.steps.tolist()


def test_windows_that_overlap_are_drawn_once():
    spans = [(k, Span(0, 5 * k, 10)) for k in range(5)]
    assert [w for w, _ in apart(spans)] == [0, 2, 4]


def test_velocities_stand_beside_the_differences_of_their_rows():
    fit = real()
    runs = runs_of(fit, fit.problem)
    x, d = pooled([run.curves[0] for run in runs], "velocity")
    assert x.shape == d.shape == (sum(len(run.at) for run in runs),)
    assert np.isfinite(x).sum() == sum((run.at >= 0).sum() for run in runs)
