"""The look before the search: derivatives, effects, time alignment, time step."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadStart, FitWarning
from isthmus.identify.preflight import Effect, warnings_of
from tests.identify.motions import DOUBLE, SINGLE, double_problem, recorded


def test_a_sound_problem_has_no_warnings_and_fits_on_a_screen():
    check = double_problem("whole_run", rows=101).check()
    assert check.gradient_error < 1e-6
    assert [e.name for e in check.effects][:2] == ["link/rod_1/mass", "link/rod_2/mass"]
    assert all(e.effect > 0 for e in check.effects)
    assert not [w for w in check.warnings if "time step" not in w]
    assert len(str(check).splitlines()) < 20


def test_of_networks_only_those_without_any_effect_are_named():
    """The inner weights of a new network have none, since its last layer is zero."""
    problem = double_problem("whole_run", rows=101)
    check = problem.check()
    weight = lambda name, effect: Effect(f"network/{name}", 0.0, -np.inf, np.inf, effect, 0.5)
    more = (
        weight("idle/layers/0/bias", 0.0),
        weight("new/layers/0/bias", 0.0),
        weight("new/layers/1/bias", 1.0),
    )
    shown = dataclasses.replace(check, effects=(*check.effects, *more))
    said = warnings_of(shown, problem.evaluation)
    assert [text for text in said if "no effect" in text] == [
        "network/idle has no effect on what is compared."
    ]


def test_a_number_without_effect_is_named():
    model = SINGLE.set("joint/stiffness", 0.0)
    problem = ist.Problem(
        model, recorded(model, 41, noise=1e-3), free=[ist.Free("joint/*/rest_position"), ist.Free("joint/*/damping")],
        loss="whole_run",
    )  # fmt: skip
    assert (
        "joint/joint_1/rest_position has no effect on what is compared." in problem.check().warnings
    )


def test_a_log_that_is_one_row_late_is_noticed_before_and_after():
    clean = ist.rollout(DOUBLE, ist.State(np.array([1.5, 0.0]), np.zeros(2)), None, 0.01, 120)
    late = np.concatenate([clean.q[:1], clean.q[:-1]]) + 1e-4 * np.random.default_rng(
        0
    ).standard_normal(clean.q.shape)
    late[0] = clean.q[0]
    make = lambda p: ist.library.pendulum(lengths=p["length"]).set("joint/damping", 0.3)
    problem = ist.Problem(
        make=make, motions=ist.Motion(clean.t, late, clean.v), free=[ist.Free("length", low=0.5, high=2.0, shape=2)],
        loss="whole_run", noise=1e-4,
    )  # fmt: skip
    shift = problem.check().shifts[0]
    assert shift.rows == pytest.approx(1.0, abs=0.2)
    with pytest.warns(FitWarning, match="measurements seem .* rows late"):
        ist.fit(problem)


def test_a_time_step_that_is_too_long_is_noticed():
    fine = ist.rollout(DOUBLE, ist.State(np.array([1.5, 0.0]), np.zeros(2)), None, 0.05, 30)
    problem = ist.Problem(DOUBLE, fine, free=[ist.Free("joint/*/damping")], loss="whole_run")
    assert any("halving the time step" in warning for warning in problem.check().warnings)


def test_a_start_that_diverges_is_refused_with_what_to_do():
    motion = recorded(SINGLE, 41)
    wild = SINGLE.set("joint/stiffness", 1e9)
    problem = ist.Problem(wild, motion, free=[ist.Free("joint/*/damping")], loss="whole_run")
    with pytest.raises(
        BadStart, match=r"diverges, first in run 1, \d+ steps after row 0.*shorter windows"
    ):
        problem.check()
    with pytest.raises(BadStart, match="diverges"):
        ist.fit(problem)


def test_a_time_step_whose_error_exceeds_the_noise_is_noticed():
    fine = ist.rollout(DOUBLE, ist.State(np.array([0.5, 0.0]), np.zeros(2)), None, 2e-3, 200)
    told = {"free": [ist.Free("joint/*/damping")], "loss": "whole_run"}
    rough = ist.Problem(DOUBLE, fine, noise=1e-5, **told).check()
    assert rough.step_change < 0.01
    assert any("times the noise" in warning for warning in rough.warnings)
    assert not any(
        "time step" in warning for warning in ist.Problem(DOUBLE, fine, **told).check().warnings
    )


def test_numbers_of_a_whole_body_are_not_called_by_names_of_what_they_are_not():
    """A search moves log-Cholesky numbers, and none of them is the mass that a row of that name would show."""
    free = [ist.Free("link/rod_2/inertial"), ist.Free("joint/joint_1/damping")]
    problem = ist.Problem(DOUBLE, recorded(DOUBLE, 61), free=free, loss=ist.Windows(20), noise=1e-3)
    names = [effect.name for effect in problem.check().effects]
    assert names == [*(f"link/rod_2/inertial[{k}]" for k in range(10)), "joint/joint_1/damping"]
