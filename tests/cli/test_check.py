"""`isthmus check`: the report of `ist.check_gradients`, and an exit status that scripts can use."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.cli import check
from isthmus.cli.main import main
from isthmus.dynamics.aba import forward_dynamics
from isthmus.verify.compare import Row, Verdict
from isthmus.verify.gradients import GradientReport
from tests.cli.test_info import write_arm
from tests.cli.test_main import one_sentence


def report(verdict: Verdict) -> GradientReport:
    return GradientReport(
        (Row("link/mass", verdict, (0,), 1.0, 1.0, 2.0, 0.5),), 3, 0.01, 0.0, 0.01
    )


@pytest.mark.parametrize(
    ("verdict", "status"),
    [(Verdict.AGREES, 0), (Verdict.NO_EFFECT, 0), (Verdict.KINK, 0), (Verdict.WRONG, 1)],
)
def test_only_a_wrong_derivative_has_status_1(verdict, status, capsys, monkeypatch):
    monkeypatch.setattr(ist, "check_gradients", lambda *arguments: report(verdict))
    assert main(["check", "library:pendulum"]) == status
    said = capsys.readouterr()
    assert said.out == f"{report(verdict)}\n"
    assert said.err == ""


def test_seed_steps_and_start_reach_the_check(monkeypatch):
    heard = []
    monkeypatch.setattr(
        ist, "check_gradients", lambda *args: heard.append(args) or report(Verdict.AGREES)
    )
    for words in (["--seed", "1"], ["--seed", "1"], ["--seed", "2"], ["--start", "neutral"]):
        assert main(["check", "library:pendulum", "--steps", "3", "--dt", "0.02", *words]) == 0
    states = [np.asarray(arguments[1].q) for arguments in heard]
    np.testing.assert_array_equal(states[0], states[1])
    assert np.all(states[0] != states[2])
    np.testing.assert_array_equal(states[3], 0.0)
    assert all(
        np.shape(arguments[2].torque) == (3, 2) and arguments[3] == 0.02 for arguments in heard
    )


BALL = """<robot name="ball"><link name="ball"><inertial><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""


def test_derivatives_of_a_body_on_the_ground_are_right(tmp_path, capsys):
    """It starts a little in the ground: where it only just touches, derivatives differ on either side."""
    (tmp_path / "ball.urdf").write_text(BALL, encoding="utf-8")
    words = ["--base", "free", "--ground", "0", "--start", "neutral", "--steps", "4"]
    assert main(["check", str(tmp_path / "ball.urdf"), *words]) == 0
    shown = capsys.readouterr().out
    assert "every derivative is right" in shown
    assert re.search(r"shape/size +agrees", shown)


def test_the_controls_accelerate_every_joint_by_about_one():
    model = ist.library.swimmer(3)
    state, control = check._start(model, "random", 0, 2)
    still = ist.State(state.q, np.zeros(model.dof))
    a = jax.jit(forward_dynamics)(model, still.q, still.v, control.torque[0])
    assert 0.1 < np.max(np.abs(a)) < 10.0


def test_an_arm_passes(as_the_user, capsys):
    """The whole way, in a session that has 32 bits and keeps them."""
    assert main(["check", write_arm(as_the_user), "--steps", "4"]) == 0
    shown = capsys.readouterr().out
    assert "every derivative is right" in shown
    assert "state/q" in shown
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--steps", "0"], "--steps must be from 1"),
        (["--steps", "99999999"], "--steps must be from 1 to 100000"),
        (["--seed", "-1"], "--seed must be a whole number from 0"),
        (["--dt", "0"], "--dt must be a positive number"),
        (["--start", "upright"], "--start cannot be 'upright'"),
    ],
)
def test_wrong_options_end_in_one_sentence(words, what, capsys):
    assert main(["check", "library:pendulum", *words]) == 2
    assert what in one_sentence(capsys)
