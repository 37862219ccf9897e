"""The tosses study runs on simulated tosses, and its numbers predict real ones."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import isthmus as ist
from isthmus.data.datasets_bodies import HALF_WIDTH
from isthmus.errors import BadOption
from isthmus.experiments import tosses
from isthmus.experiments.elbow import ELBOW
from isthmus.experiments.run import Settings, reproduce
from isthmus.experiments.tosses import CUBE
from isthmus.experiments.tosses_data import GRAVITY, ROW, Flight, Tosses, errors, first_frame
from isthmus.experiments.tosses_fits import Budget, Search, evolved, folds
from isthmus.experiments.tosses_model import (
    MUJOCO_DEFAULTS,
    centre_of_mass,
    isthmus_simulator,
    mujoco_simulator,
)
from isthmus.experiments.tosses_study import assessed, planned, recorded, split

ROWS = 60
TRUTH = {name: number.start for name, number in CUBE.free_numbers("penalty").items()} | {
    "friction": 0.3, "com_z": 0.006,
}  # fmt: skip

FOUND = {
    "friction": 0.179189, "com_x": 4.93805e-05, "com_y": 0.000268946, "com_z": 0.00630584, "half_width": 0.0500634,
    "inertia": 1.3306, "inertia_z": 0.966974, "height": 0.000983192, "tilt_x": -0.000161227, "tilt_y": 0.000152749,
    "friction_load": 0.000804406, "stiffness": 140415.0, "damping": 3.26052, "exponent": 1.40583,
    "friction_speed": 0.042095,
}  # fmt: skip
"""By the study, from 200 real tosses (`--set contact=penalty`)."""


@pytest.fixture(scope="module")
def made() -> Tosses:
    """Eight tosses of a cube whose centre of mass is off its middle, with the backward difference as velocity."""
    rng = np.random.default_rng(0)
    count = 8
    q = np.zeros((count, 7))
    q[:, 2] = 0.15
    q[:, 3:] = rng.normal(size=(count, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    v = rng.normal(size=(count, 6)) * np.array([0.5, 0.5, 0.2, 3.0, 3.0, 3.0])
    moved = isthmus_simulator("penalty")(TRUTH, q, v, ROWS)
    recorded = v.copy()
    recorded[:, 2] += 0.5 * GRAVITY * ROW
    return Tosses(moved, recorded, np.full(count, ROWS))


def published(tosses: Tosses, path: Path) -> Path:
    """The tosses in the published format."""
    x = np.zeros((len(tosses), ROWS, 13))
    x[:, :, :7] = tosses.q
    x[:, 0, 7:] = tosses.v
    x[:, :, [0, 1, 2, 7, 8, 9]] /= HALF_WIDTH
    ends = ROWS * np.arange(len(tosses) + 1)
    np.savez(path, x=x.reshape(-1, 13), offsets=ends, ids=np.arange(len(tosses)))
    return path


def test_the_flight_gives_the_start_if_the_centre_of_mass_is_known(made):
    com = centre_of_mass(TRUTH)
    q, v = first_frame(made)
    found_q, found_v = Flight(made).start(com)
    np.testing.assert_allclose(found_q[:, :3], q[:, :3], atol=3e-4)
    np.testing.assert_allclose(found_v[:, :3], v[:, :3], atol=0.04)
    np.testing.assert_allclose(found_v[:, 3:], v[:, 3:], atol=0.02)
    without = Flight(made).start(np.zeros(3))[1]
    assert np.abs(without - v)[:, :3].max() > 2 * np.abs(found_v - v)[:, :3].max()


def test_the_peer_flies_about_the_same_centre_of_mass(made):
    pytest.importorskip("mujoco")
    q, v = first_frame(made)
    simulate = mujoco_simulator()
    off = lambda numbers: np.abs(simulate(numbers, q, v, 6) - made.q[:, :6])[:, :, :2].max()
    assert 10 * off({**MUJOCO_DEFAULTS, "com_z": TRUTH["com_z"]}) < off(MUJOCO_DEFAULTS)


def test_errors_are_in_widths_and_degrees_over_the_recorded_rows(made):
    moved = made.q.copy()
    moved[:, :, 0] += HALF_WIDTH
    moved[:, ROWS // 2 :] = np.nan
    half = Tosses(made.q, made.v, np.full(len(made), ROWS // 2))
    far, angle = errors(moved, half)
    np.testing.assert_allclose(far, 0.5)
    np.testing.assert_allclose(angle, 0.0, atol=1e-5)


def test_without_recordings_the_study_says_what_it_needs(made, tmp_path):
    with pytest.raises(BadOption, match="--data"):
        tosses.study(Settings(quick=True))
    few = Settings(
        quick=True, data=str(published(made, tmp_path / "few.npz")), options=(("training", 8),)
    )
    with pytest.raises(BadOption, match=r"8 tosses; 8 are learned from.*--set training"):
        tosses.study(few)


def test_simulated_tosses_go_through_the_whole_study(made, tmp_path):
    pytest.importorskip("mujoco")
    pytest.importorskip("cma")
    path = published(made, tmp_path / "tosses.npz")
    result = reproduce("tosses", Settings(quick=True, data=str(path)), tmp_path / "out")
    off = result.numbers["errors"]
    assert off["penalty"]["six frames"][0] < off["MuJoCo, defaults"]["six frames"][0]
    assert result.numbers["chosen"] == "penalty"
    assert "does not help" in result.notes[1] or "helps" in result.notes[1]
    assert (tmp_path / "out" / "errors.png").exists()
    assert (tmp_path / "out" / "toss.png").exists()
    saved = {"penalty": ist.load(tmp_path / "out" / "penalty.safetensors")}
    later = tosses.judged(Settings(judge=str(path)), saved, result.numbers).numbers["errors"]
    learn, judge = split(CUBE, str(path), planned(CUBE, Settings(quick=True)), 0)
    parts = [assessed(CUBE, isthmus_simulator("penalty"), result.numbers["numbers"]["penalty"], part)
             for part in (learn, judge)]  # fmt: skip
    for start, means in later["penalty"].items():
        each = np.concatenate([part.off[start] for part in parts], axis=1)
        np.testing.assert_allclose(means, each.mean(axis=1), rtol=1e-6)
    assert later["MuJoCo"] != later["MuJoCo, defaults"]


def test_by_folds_each_toss_is_judged_by_numbers_of_the_others_and_the_model_has_learned_all(
    made, tmp_path
):
    pytest.importorskip("mujoco")
    pytest.importorskip("cma")
    path = str(published(made, tmp_path / "tosses.npz"))
    result = tosses.study(Settings(quick=True, data=path, options=(("folds", 2),)))
    every = recorded(CUBE, path)
    every = every.pick(np.random.default_rng(0).permutation(len(every)))
    simulate, budget = isthmus_simulator("penalty"), Budget(18, ROWS, 0)
    off = []
    for fit, kept in folds(len(every), 2):
        numbers = Search(CUBE, "penalty", every.pick(fit), budget).run()
        off.append(assessed(CUBE, simulate, numbers, every.pick(kept)).off["six frames"])
    said = result.numbers["errors"]["penalty"]["six frames"]
    np.testing.assert_allclose(said, np.concatenate(off, axis=1).mean(axis=1), rtol=1e-9)
    whole = Search(CUBE, "penalty", every, budget).run()
    assert result.numbers["numbers"]["penalty"] == pytest.approx(whole)
    np.testing.assert_allclose(result.models["penalty"].link_com[0], centre_of_mass(whole))
    assert "penalty is" in result.notes[0]
    for options, words in (
        ((("folds", 9),), "2 to 8 folds"),
        ((("folds", 2), ("training", 4)), "leave training"),
    ):
        with pytest.raises(BadOption, match=words):
            tosses.study(Settings(quick=True, data=path, options=options))


@pytest.mark.parametrize("body", [CUBE, ELBOW], ids=lambda body: body.study)
def test_a_search_can_be_sent_to_another_process(made, body):
    search = Search(body, body.kinds[-1], made, Budget(18, ROWS, 0))
    there = pickle.loads(pickle.dumps(search))
    assert (there.body, there.kind, there.budget) == (search.body, search.kind, search.budget)
    np.testing.assert_array_equal(there.tosses.q, made.q)


def test_averaged_middles_of_a_search_are_nearer_to_the_truth_than_its_best_point():
    """Where the cost is rough, the best of many points is best by chance."""
    pytest.importorskip("cma")
    rough = lambda z: float(np.sum((z - 1.0) ** 2) + 0.3 * np.sin(1e4 * z).sum())
    averaged, best = [], []
    for seed in range(4):
        points = []
        cost = lambda z, points=points: points.append(z) or rough(z)
        averaged.append(np.linalg.norm(evolved(cost, 5, Budget(400, ROWS, seed)) - 1.0))
        best.append(np.linalg.norm(min(points, key=rough) - 1.0))
    assert len(points) == 400
    assert np.mean(averaged) < 0.8 * np.mean(best)


def test_springs_predict_real_tosses_from_their_first_frames(shared_data):
    """With the numbers that the study found on other tosses."""
    path = shared_data / "contactnets_cube.npz"
    _, judge = split(CUBE, str(path), planned(CUBE, Settings()), 0)
    found = assessed(CUBE, isthmus_simulator("penalty"), FOUND, judge)
    far, angle = (x.mean() for x in found.off["six frames"])
    assert far < 0.083
    assert angle < 8.8
    far, angle = (x.mean() for x in found.off["first frame"])
    assert far < 0.095
    assert angle < 11.0
