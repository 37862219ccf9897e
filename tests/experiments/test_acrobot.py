"""The acrobot study finds what a simulated log was made with, and predicts real runs better than the lab's model."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.experiments import acrobot
from isthmus.experiments.run import Settings, reproduce

LAB = acrobot.LABS["A0"]
TRUTH = {**LAB.numbers(), "moment": [0.15, 0.12], "damping": [0.02, 0.01]}


def test_without_recordings_the_study_says_what_it_needs(tmp_path):
    with pytest.raises(BadOption, match="--data"):
        acrobot.study(Settings(quick=True))
    with pytest.raises(BadOption, match="A0, C0, C1"):
        acrobot.files(tmp_path)


def logged(folder, rows: int = 900):
    """Two driven runs of a known acrobot, nine columns each."""
    t = acrobot.ROW * np.arange(rows)
    torque = np.stack(
        [[np.sin((3 + k) * t), 0.4 * np.cos((5 - k) * t)] for k in range(2)]
    ).transpose(0, 2, 1)
    starts = ist.State(q=np.array([[0.3, 0.5], [-0.4, 0.8]]), v=np.zeros((2, 2)))
    model = acrobot.made(LAB, TRUTH)
    motion = ist.rollout_many(model, starts, ist.Control(torque=torque[:, :-1]), acrobot.ROW)
    columns = lambda k: np.concatenate(
        [t[:, None], motion.q[k], motion.v[k], torque[k], torque[k]], axis=1
    )
    path = folder / "driven_A0.npz"
    np.savez(path, run_0=columns(0), run_1=columns(1))
    return path


@pytest.mark.slow
def test_a_simulated_log_gives_its_numbers_back(tmp_path):
    path = logged(tmp_path)
    result = reproduce("acrobot", Settings(quick=True, data=str(path)), tmp_path / "out")
    found = result.numbers["estimates"]["A0"]
    assert found["moment[0]"] == pytest.approx(0.15, rel=0.02)
    assert found["moment[1]"] == pytest.approx(0.12, rel=0.02)
    errors = result.numbers["errors"]["A0"]
    assert errors["parameters"][0] < 0.1 * errors["lab"][0]
    assert (tmp_path / "out" / "runs.png").exists()


@pytest.mark.slow
def test_a_real_run_is_predicted_better_than_by_the_labs_model(shared_data):
    path = str(shared_data / "dfki_double_pendulum_A0.npz")
    runs = [acrobot.even(m) for m in ist.read_motion(path, dataset="dfki_double_pendulum")]
    ours = acrobot.identified(LAB, runs[0::2], Settings()).model
    theirs = acrobot.made(LAB, LAB.numbers())
    error = lambda model: acrobot.pooled(np.stack([acrobot.squares(model, m) for m in runs[1::2]]))
    assert np.all(np.array(error(ours)) < np.array(error(theirs)))
