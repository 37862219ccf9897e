"""`isthmus design`: a csv file that `read_motion` reads, or one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli.main import main
from isthmus.identify.answer.motion_hint import motion_hint

WORDS = ["design", "library:pendulum", "--seconds", "2", "--harmonics", "2", "--starts", "1"]


@pytest.fixture(autouse=True)
def _there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_motion_and_a_figure_are_written(tmp_path, capsys):
    words = [*WORDS, "--position", "1.2", "--torque", "30", "--plot", "exciting.png"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "times those of the median random motion" in out
    assert "wrote exciting.csv and exciting.png" in out
    motion = ist.read_motion(tmp_path / "exciting.csv")
    assert len(motion) == 201
    assert np.abs(motion.q).max() <= 1.2
    assert main(words) == 2
    assert "--replace overwrites it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["design"], "needs a FILE"),
        (WORDS, "joint 'joint_1' has no limits of its position"),
        ([*WORDS, "--position", "nobody=1"], "no joint is called 'nobody'"),
        ([*WORDS, "--position", "far"], "--position: 'far' is no number"),
        ([*WORDS, "--position", "1", "--out", "motion.txt"], "motion.txt"),
    ],
)
def test_what_cannot_be_designed_is_said_in_one_sentence(words, sentence, capsys):
    assert main(words) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert sentence in said[0]


def test_a_fit_names_a_command_that_works_as_printed(capsys):
    rods = ist.library.pendulum(2)
    hint = motion_hint(rods, ["link/rod_2/com[0]", "link/rod_2/com[2]"], [np.full((3, 2), 0.63)])
    assert hint is not None
    assert hint.command("library:pendulum") == (
        "isthmus design library:pendulum --position 0.7 --free link/rod_2/com"
    )
    assert str(hint) == "ist.design(fit.model, free=['link/rod_2/com'], limits={'position': 0.7})"
    assert motion_hint(ist.library.quadruped(), ["link/trunk/mass"], []) is None
    assert motion_hint(rods, ["offset/joint/position"], []) is None
    printed = motion_hint(rods, ["link/rod_1/mass"], []).command("library:pendulum").split()[1:]
    assert main([*printed, "--seconds", "2", "--harmonics", "2", "--starts", "1"]) == 0
    assert "link/rod_1/mass" in capsys.readouterr().out
