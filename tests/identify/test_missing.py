"""What a fitted model lacks shows in the signal that the missing torque follows."""

from __future__ import annotations

import pytest

import isthmus as ist
from isthmus.identify.answer.missing import missing
from isthmus.identify.logs.log import read
from isthmus.simulate.integrate import SemiImplicit
from tests.identify.motions import SINGLE, recorded


def test_dry_friction_that_nobody_modelled_shows_in_the_sign_of_the_velocity(tmp_path):
    truth = SINGLE.set("joint/friction", 0.4).set("joint/friction_speed", 0.02)
    problem = ist.Problem(
        SINGLE, recorded(truth, 201), free=[ist.Free("joint/*/damping")], loss=ist.Windows(10)
    )
    with pytest.warns(ist.errors.FitWarning, match="the model lacks .*joint/joint_1/friction"):
        fit = ist.fit(problem)
    first = fit.missing()[0]
    assert first.follows == "the sign of the velocity of joint_1"
    assert first.correlation < -0.6
    assert "joint_1 lacks a torque of" in str(first)
    with pytest.raises(ist.errors.BadOption, match="fit again"):
        ist.Fit.load(fit.save(tmp_path)).missing()


def test_a_log_of_torques_without_commands_does_not_say_what_a_step_lacks():
    clean = recorded(SINGLE, 41)
    signals = {"joint/motor_torque": clean.signals["joint/control"]}
    log = read(SINGLE, ist.Motion(clean.t, clean.q, clean.v, signals), "a log")
    assert missing([log], SemiImplicit(), SINGLE) == ()
