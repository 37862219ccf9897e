"""`isthmus track`: a table, a picture and a csv file, or one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli.main import main
from isthmus.library.shipped import shipped

WORDS = ["track", "library:pendulum", "log.csv", "--free", "link/rod_1/mass"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a log of the pendulum of the library, in steps of 10 ms."""
    monkeypatch.chdir(tmp_path)
    model, rng = shipped("pendulum"), np.random.default_rng(0)
    t = 0.01 * np.arange(200)[:, None]
    torque = 2.0 * np.sin(t * np.arange(3.0, 3.0 + model.dof))
    motion = ist.rollout(model, 0.3 * np.ones(model.dof), torque, 0.01)
    noisy = ist.Motion(
        motion.t,
        motion.q + 1e-3 * rng.standard_normal(motion.q.shape),
        motion.v + 1e-2 * rng.standard_normal(motion.v.shape),
        motion.signals,
        motion.joints,
    )
    noisy.save("log.csv")
    return tmp_path


def test_a_log_becomes_a_table_a_picture_and_a_csv_file(place, capsys):
    assert main(WORDS) == 0
    said = capsys.readouterr()
    assert "the noise is estimated from the log: joint/position 0.00" in said.err
    assert "link/rod_1/mass" in said.out
    assert "wrote track: track.csv, track.png" in said.out
    assert (place / "track" / "track.png").stat().st_size > 1000
    table = np.genfromtxt(place / "track" / "track.csv", delimiter=",", names=True)
    true = float(shipped("pendulum").get("link/rod_1/mass"))
    assert abs(table["linkrod_1mass"][-1] - true) < 0.2 * true
    assert main(WORDS) == 2
    assert "--replace overwrites it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["track"], "needs a robot, a log and numbers"),
        ([*WORDS[:3]], "needs a robot, a log and numbers"),
        ([*WORDS[:4], "link/nobody/mass"], "nobody"),
        ([*WORDS, "--noise", "joint/position=0"], "must be positive and finite"),
        ([*WORDS, "--noise", "joint/position"], "--noise: 'joint/position' is no number"),
        ([*WORDS, "--noise", "1e-3", "--drift", "a=1,2"], "is not of the form NAME=NUMBER"),
        (["track", "library:pendulum", "none.csv", "--free", "gravity"], "no file 'none.csv'"),
    ],
)
def test_what_cannot_be_tracked_is_said_in_one_sentence(words, sentence, place, capsys):
    assert main(words) == 2
    said = [x for x in capsys.readouterr().err.splitlines() if "estimated from the log" not in x]
    assert len(said) == 1
    assert sentence in said[0]
