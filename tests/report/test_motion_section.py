"""Measured against predicted, whatever the windows are."""

from __future__ import annotations

import dataclasses

from isthmus.losses.windows import Span
from isthmus.report.gather import runs_of
from isthmus.report.motion_section import animation, over_time, trajectories, trajectory
from tests.report.fits import Outline, real


def test_held_out_runs_are_shaded_and_come_first():
    fit = real()
    drawn = trajectories(runs_of(fit, fit.problem), fit.problem)
    Outline(drawn)
    assert drawn.count('class="heldout"') == 1
    assert drawn.index("held-out run 1") < drawn.index(">run 1<")


def test_windows_of_single_steps_are_dots():
    fit = real()
    runs = runs_of(fit, fit.problem)
    short = [dataclasses.replace(run, spans=(Span(0, 0, 1),)) for run in runs]
    (curve,) = short[0].curves
    assert "dots predicted small" in trajectory(short[0], curve, 100)
    assert "curve predicted" in trajectory(runs[0], curve, 100)
    assert "dots difference small" in over_time(short, [run.curves[0] for run in short], 100)


def test_what_has_no_curve_of_its_own_is_drawn_as_a_difference():
    fit = real()
    run = runs_of(fit, fit.problem)[0]
    curve = dataclasses.replace(run.curves[0], measured=None)
    assert "difference [rad]" in trajectory(run, curve, 100)


def test_what_was_not_predicted_is_not_animated_as_a_prediction():
    fit = real()
    runs = runs_of(fit, fit.problem)
    of_torques = [dataclasses.replace(run, q_predicted=None) for run in runs]
    of_steps = [dataclasses.replace(run, spans=(Span(0, 0, 1),)) for run in runs]
    for shown in (of_torques, of_steps):
        page = animation(fit, shown)
        assert '"predicted":null' in page
        assert "curve predicted" not in page
        assert "Only the measured motion" in page
    assert "curve predicted" in animation(fit, runs)
