"""The acrobot study finds what simulated logs were made with, and predicts real runs better than the lab's model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.experiments import acrobot
from isthmus.experiments.acrobot_fits import Run, chosen_terms, identified, own_zero, run_of
from isthmus.experiments.acrobot_judge import differences, judge, pooled
from isthmus.experiments.acrobot_model import LABS, LEAD, ROW, made
from isthmus.experiments.run import Settings, reproduce

LAB = LABS["A0"]
LATE = 0.003
"""By how much the torque is shown late [s]."""
TRUTH = {
    **LAB.numbers(), "moment": [0.15, 0.12], "damping": [0.02, 0.01], "lag": LEAD * ROW - LATE,
}  # fmt: skip
ZEROS = np.array([[0.03, -0.02], [-0.04, 0.05]])


def test_without_recordings_the_study_says_what_it_needs(tmp_path):
    with pytest.raises(BadOption, match="--data"):
        acrobot.study(Settings(quick=True))
    with pytest.raises(BadOption, match="A0, C0, C1"):
        acrobot.files(tmp_path)
    with pytest.raises(BadOption, match=r"lasts 1.0 s; 2 s for the zeros.*more than 3.25 s"):
        acrobot.study(Settings(quick=True, data=str(logged(tmp_path, rows=501))))


def test_the_zeros_of_a_run_leave_something_to_predict():
    short = Run(*(np.zeros((1000, 2)) for _ in range(5)))
    with pytest.raises(BadOption, match=r"a run of 2.0 s is too short: its first 2 s"):
        own_zero(made(LAB, LAB.numbers()), short, Settings())


def test_a_difference_is_certain_where_every_run_says_the_same():
    better = [(np.array([0.01, 0.04]), np.array([0.04])) for _ in range(6)]
    worse = [(4.0 * a, 4.0 * b) for a, b in better]
    np.testing.assert_allclose(differences(better, worse)[1], -0.2, rtol=1e-9)
    worse[0] = (np.zeros(2), np.zeros(1))
    (less, low, high), _ = differences(better, worse)
    assert low < less < high
    assert less == pytest.approx(np.sqrt(0.025) - np.sqrt(0.1 * 5 / 6))


def test_starts_by_the_model_undo_an_error_of_the_smoothed_states(simulated):
    true, run = made(LAB, TRUTH), simulated[0]
    shifted = dataclasses.replace(run, q=run.q + 1e-3, v=run.v - 0.05)
    found = pooled([judge(true, shifted, ZEROS[0], by_model=True)])
    assert found[0] < 0.3 * pooled([judge(true, shifted, ZEROS[0])])[0]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """The runs of `logged`, read."""
    return acrobot.recorded(logged(tmp_path_factory.mktemp("driven")), at_least=2)


def logged(folder, rows: int = 1700, **more):
    """Two driven runs of a known acrobot, nine columns each: encoders are off, torques are late."""
    t = ROW * np.arange(rows)
    pull = lambda t: np.stack(
        [
            [
                np.sin((3 + k) * t) + 0.5 * np.sin(17 * t),
                0.4 * np.cos((5 - k) * t) + 0.3 * np.sin(13 * t),
            ]
            for k in range(2)
        ]
    ).transpose(0, 2, 1)
    starts = ist.State(q=np.array([[0.3, 0.5], [-0.4, 0.8]]), v=np.zeros((2, 2)))
    model = made(LAB, {**TRUTH, **more, "lag": 0.0})
    motion = ist.rollout_many(model, starts, ist.Control(torque=pull(t)[:, :-1]), ROW)
    shown = pull(t - LATE)
    columns = lambda k: np.concatenate(
        [t[:, None], motion.q[k] + ZEROS[k], motion.v[k], shown[k], shown[k]], axis=1
    )
    path = folder / "driven_A0.npz"
    np.savez(path, run_0=columns(0), run_1=columns(1))
    return path


@pytest.mark.full
@pytest.mark.slow
def test_simulated_logs_give_back_numbers_zeros_and_delay(tmp_path):
    path = logged(tmp_path)
    result = reproduce("acrobot", Settings(quick=True, data=str(path)), tmp_path / "out")
    found = result.numbers["estimates"]["A0"]
    assert found["moment[0]"] == pytest.approx(0.15, rel=0.04)
    assert found["moment[1]"] == pytest.approx(0.12, rel=0.04)
    np.testing.assert_allclose(result.numbers["zeros"]["A0"], ZEROS, atol=0.004)
    assert result.numbers["late"]["A0"] == pytest.approx(LATE, abs=0.5 * ROW)
    errors = result.numbers["errors"]["A0"]
    assert errors["parameters"][0] < 0.2 * errors["blind"][0]
    assert errors["parameters"][0] < 0.2 * errors["lab"][0]
    misses = result.numbers["misses"]["A0"]
    assert misses["both"] < min(misses["lag"], misses["zeros"]) < misses["plain"]
    assert len(result.numbers["terms"]["A0"]) == 3
    assert (tmp_path / "out" / "runs.png").exists()
    assert (tmp_path / "out" / "misses.png").exists()
    judged = reproduce("acrobot", Settings(judge=str(path)), tmp_path / "out").judged.numbers[
        "runs"
    ]
    assert np.all(np.array(judged["A0"]["chosen"]) < 0.5 * np.array(judged["A0"]["lab_zeros"]))
    assert np.all(np.array(judged["A0"]["starts"]) < 0.5 * np.array(judged["A0"]["lab_starts"]))


@pytest.mark.full
def test_the_term_that_the_training_runs_were_made_with_is_chosen(tmp_path):
    path = logged(tmp_path, load_friction=[0.3, 0.3])
    assert "load_friction" in chosen_terms(
        LAB, acrobot.recorded(path, at_least=2), Settings(quick=True)
    )


@pytest.mark.slow
def test_a_real_run_is_predicted_better_than_by_the_labs_model(shared_data):
    path = str(shared_data / "dfki_double_pendulum_A0.npz")
    runs = [run_of(m) for m in ist.read_motion(path, dataset="dfki_double_pendulum")]
    ours, theirs = identified(LAB, runs[0::2], Settings()).model, made(LAB, LAB.numbers())
    zero = lambda model, run: own_zero(model, run, Settings())
    error = lambda model: pooled([judge(model, r, zero(model, r)) for r in runs[1::2]])
    assert np.all(np.array(error(ours)) < np.array(error(theirs)))
    assert np.all(np.array(error(ours)) < 0.5 * np.array(LAB.peers))
