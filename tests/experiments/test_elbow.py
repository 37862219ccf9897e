"""The elbow study runs on simulated tosses of two boxes on a hinge, and its numbers predict real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import isthmus as ist
from isthmus.data.datasets_bodies import ELBOW_STEP
from isthmus.experiments import elbow
from isthmus.experiments.elbow import ELBOW
from isthmus.experiments.elbow_data import errors, flight
from isthmus.experiments.elbow_model import (
    SETTLED,
    isthmus_simulator,
    mujoco_simulator,
    over_table,
)
from isthmus.experiments.run import Settings, reproduce
from isthmus.experiments.tosses_body import MUJOCO_CONTACT
from isthmus.experiments.tosses_data import GRAVITY, Tosses
from isthmus.experiments.tosses_study import assessed, planned, split

ROWS = 60
TRUTH = {name: number.start for name, number in ELBOW.free_numbers("penalty").items()} | {
    "friction_first": 0.2, "com_y_first": 0.004, "mass": 1.2, "hinge_x": -0.033,
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> tuple[Tosses, np.ndarray]:
    """Eight tosses of unequal boxes, with backward differences as velocities; and the true ones."""
    rng = np.random.default_rng(0)
    count = 8
    q = np.zeros((count, 8))
    q[:, 2] = 0.25
    q[:, 3:7] = rng.normal(size=(count, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    q[:, 7] = rng.uniform(-3.0, 3.0, count)
    v = rng.normal(size=(count, 7)) * np.array([0.5, 0.5, 0.2, 3.0, 3.0, 3.0, 2.0])
    moved = isthmus_simulator("penalty")(TRUTH, q, v, ROWS)
    recorded = v.copy()
    recorded[:, 2] += 0.5 * GRAVITY * ELBOW_STEP
    recorded[:, 3:] += 0.3  # what a difference of noisy frames is off by
    return Tosses(moved, recorded, np.full(count, ROWS)), v


def published(tosses: Tosses, path: Path) -> Path:
    """The tosses in the published format."""
    x = np.zeros((len(tosses), ROWS, 15))
    x[:, :, :4], x[:, :, 4:7], x[:, :, 7] = (
        tosses.q[:, :, 3:7],
        tosses.q[:, :, :3],
        tosses.q[:, :, 7],
    )
    x[:, 0, 8:11], x[:, 0, 11:14], x[:, 0, 14] = tosses.v[:, 3:6], tosses.v[:, :3], tosses.v[:, 6]
    ends = ROWS * np.arange(len(tosses) + 1)
    np.savez(path, x=x.reshape(-1, 15), offsets=ends, ids=np.arange(len(tosses)))
    return path


def test_the_flight_gives_the_start_of_boxes_that_move_each_other(made):
    tosses, v = made
    q, found = flight(tosses)(isthmus_simulator("penalty"), TRUTH)
    np.testing.assert_allclose(q[:, :3], tosses.q[:, 0, :3], atol=1e-5)
    np.testing.assert_allclose(found, v, atol=0.015)  # recorded: 0.3


def test_the_peer_flies_with_the_same_numbers(made):
    pytest.importorskip("mujoco")
    tosses, v = made
    simulate = mujoco_simulator()
    off = lambda numbers: errors(
        simulate({**numbers, **MUJOCO_CONTACT}, tosses.q[:, 0], v, 8), tosses.pick(np.arange(8), 8)
    )
    far, angle = off(TRUTH)
    assert far.max() < 1e-3
    assert angle.max() < 0.05
    assert off({**TRUTH, "hinge_damping": 0.0})[1].mean() > 5 * angle.mean()


def test_the_hinge_of_the_peer_yields_as_ours_does(made):
    pytest.importorskip("mujoco")
    tosses, v = made
    start = tosses.pick(np.arange(8), 12)
    fly = lambda simulate, **numbers: simulate(
        {**TRUTH, **MUJOCO_CONTACT, **numbers}, start.q[:, 0], v, 12
    )
    loose = {"yield_stiffness": 20.0, "yield_damping": 0.1}
    ours = fly(isthmus_simulator("penalty"), **loose)
    far = lambda q: errors(q, Tosses(ours, start.v, start.counts))[0].max()
    assert far(fly(mujoco_simulator(), **loose)) < 0.1 * far(fly(isthmus_simulator("penalty")))


def test_a_tilted_table_is_at_zero_where_a_toss_comes_to_rest():
    q, v = np.zeros((2, 8)), np.zeros((2, 7))
    q[:, :3], q[:, 3], v[:, 1] = [[0.2, 0.1, 0.3], [-0.1, 0.4, 0.3]], 1.0, [1.0, -2.0]
    tilt, heard = Rotation.from_rotvec([-0.03, 0.02, 0.0]), []
    same = lambda q, v, rows: heard.append(q) or np.repeat(q[:, None], rows, axis=1)
    np.testing.assert_allclose(over_table(same, tilt, q, v, 3)[:, 2], q, atol=1e-15)
    rest = q[:, :3] * [1.0, 1.0, 0.0]
    rest[:, 1] += SETTLED * v[:, 1]
    rest[:, 2] = heard[0][:, 2] - q[:, 2]
    np.testing.assert_allclose(tilt.inv().apply(rest)[:, 2], 0.0, atol=1e-15)  # on the plane


def test_errors_are_means_over_both_boxes(made):
    tosses, _ = made
    moved = tosses.q.copy()
    moved[:, :, 0] += 0.05
    far, angle = errors(moved, tosses)
    np.testing.assert_allclose(far, 0.5)
    np.testing.assert_allclose(angle, 0.0, atol=1e-5)
    turned = tosses.q.copy()
    turned[:, :, 7] += np.radians(20.0)
    np.testing.assert_allclose(errors(turned, tosses)[1], 10.0, rtol=1e-6)
    assert (errors(np.full_like(moved, np.nan), tosses)[1] == 180.0).all()


def test_simulated_tosses_of_boxes_go_through_the_whole_study(made, tmp_path):
    pytest.importorskip("mujoco")
    pytest.importorskip("cma")
    path = published(made[0], tmp_path / "elbow.npz")
    result = reproduce("elbow", Settings(quick=True, data=str(path)), tmp_path / "out")
    off = result.numbers["errors"]
    assert off["penalty"]["eight frames"][0] < off["MuJoCo, defaults"]["eight frames"][0]
    assert "Cross-validation chose penalty" in result.notes[0]
    assert (tmp_path / "out" / "errors.png").exists()
    assert (tmp_path / "out" / "toss.png").exists()
    saved = {"penalty": ist.load(tmp_path / "out" / "penalty.safetensors")}
    later = elbow.judged(Settings(judge=str(path)), saved, result.numbers).numbers["errors"]
    numbers = result.numbers["numbers"]["penalty"]
    every = assessed(ELBOW, isthmus_simulator("penalty"), numbers, made[0])
    for start, means in later["penalty"].items():
        np.testing.assert_allclose(means, np.mean(every.off[start], axis=1), rtol=1e-6)


def test_where_the_search_starts_real_tosses_are_predicted_better_than_as_published(shared_data):
    pytest.importorskip("mujoco")
    path = shared_data / "dairpll_elbow.npz"
    _, judge = split(ELBOW, str(path), planned(ELBOW, Settings()), 0)
    start = {name: number.start for name, number in ELBOW.free_numbers("penalty").items()}
    ours, peer = (
        [x.mean() for x in assessed(ELBOW, simulate, numbers, judge).off["eight frames"]]
        for simulate, numbers in (
            (isthmus_simulator("penalty"), start),
            (mujoco_simulator(), ELBOW.published),
        )
    )
    assert ours[0] < 0.7 * peer[0]
    assert ours[1] < peer[1]
