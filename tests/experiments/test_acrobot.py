"""The acrobot study finds what simulated logs were made with, and predicts real runs better than the lab's model."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.experiments import acrobot
from isthmus.experiments.acrobot_fits import Run, chosen_terms, identified, own_zero, run_of
from isthmus.experiments.acrobot_judge import judge, judge_mean, pooled, starts
from isthmus.experiments.acrobot_model import LABS, LEAD, ROW, made
from isthmus.experiments.acrobot_own import Own, Spread, drawn, own_numbers, spread_of
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


def spread(between: float, misled: float, **more) -> Spread:
    """Of both joints alike; nothing else is open unless said."""
    numbers = {"friction": 0.2, "zero": 0.0, "q": 0.0, "v": 0.0, **more}
    both = {name: np.full(2, x) for name, x in numbers.items()}
    return Spread(between=np.full(2, between), misled=np.full(2, misled), **both)


def test_two_seconds_count_by_how_much_runs_differ_and_how_little_they_mislead():
    assert spread(0.1, 1e-9).trust == pytest.approx(1.0)
    assert spread(1e-9, 0.1).trust == pytest.approx(0.0)
    assert spread(0.1, 0.1).trust == pytest.approx(0.5)
    before, after = 0.06, spread(0.06, 0.08).left
    assert after == pytest.approx((before**-2 + 0.08**-2) ** -0.5)


def test_draws_lie_around_what_two_seconds_tell_as_wide_as_they_leave_open():
    own = Own(np.array([0.2, 0.1]), np.array([0.03, -0.02]))
    found = list(drawn(own, spread(0.03, 0.04, zero=0.01, q=0.1, v=2.0), 500, seed=0))
    column = lambda name: np.array([getattr(draw.own, name) for draw in found])
    np.testing.assert_allclose(column("friction").mean(axis=0), own.friction)
    np.testing.assert_allclose(column("zero").mean(axis=0), own.zero)
    assert np.std([draw.q for draw in found]) == pytest.approx(0.1, rel=0.05)
    assert np.std([draw.v for draw in found]) == pytest.approx(2.0, rel=0.05)


def test_with_nothing_open_the_mean_is_the_prediction(simulated):
    model = made(LAB, {**LAB.numbers(), "friction": [0.1, 0.2]})
    own = Own(np.asarray(model.joint_friction), ZEROS[0])
    mean = judge_mean(model, simulated[0], own, spread(0.0, 1.0), seed=0)
    for x, y in zip(mean, judge(model, simulated[0], ZEROS[0]), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)
    assert len(mean[0]) == len(starts(simulated[0]))


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
    assert np.all(np.array(judged["A0"]["mean"]) < 0.5 * np.array(judged["A0"]["lab_mean"]))
    assert set(result.numbers["spreads"]["A0"]) == {"lab", "ours"}


@pytest.mark.full
def test_the_term_that_the_training_runs_were_made_with_is_chosen(tmp_path):
    path = logged(tmp_path, load_friction=[0.3, 0.3])
    assert "load_friction" in chosen_terms(
        LAB, acrobot.recorded(path, at_least=2), Settings(quick=True)
    )


@pytest.mark.full
def test_two_seconds_tell_that_a_run_has_more_friction_than_the_others(simulated):
    less = made(LAB, {**TRUTH, "friction": [0.7 * x for x in TRUTH["friction"]]})
    told = own_numbers(less, simulated[0], Settings(), spread(0.1, 0.01, friction=0.1))
    np.testing.assert_allclose(told.friction, TRUTH["friction"], rtol=0.1)
    np.testing.assert_allclose(told.zero, ZEROS[0], atol=0.005)
    found = spread_of(less, simulated, Settings())
    np.testing.assert_allclose(found.friction, TRUTH["friction"], rtol=0.1)
    assert np.all(found.misled < 0.1 * found.friction)


@pytest.mark.slow
def test_a_real_run_is_predicted_better_than_by_the_labs_model(shared_data):
    path = str(shared_data / "dfki_double_pendulum_A0.npz")
    runs = [run_of(m) for m in ist.read_motion(path, dataset="dfki_double_pendulum")]
    ours, theirs = identified(LAB, runs[0::2], Settings()).model, made(LAB, LAB.numbers())
    zero = lambda model, run: own_zero(model, run, Settings())
    error = lambda model: pooled([judge(model, r, zero(model, r)) for r in runs[1::2]])
    assert np.all(np.array(error(ours)) < np.array(error(theirs)))
    assert np.all(np.array(error(ours)) < 0.5 * np.array(LAB.peers))
