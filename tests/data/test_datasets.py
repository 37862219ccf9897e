"""Published formats are read into our conventions; the recordings themselves obey what is known of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.data.datasets import DATASETS
from isthmus.data.datasets_push import outlines
from isthmus.dynamics import forward_kinematics, point_motion
from isthmus.errors import BadFile, BadMotion, BadOption, MissingFile
from isthmus.motion import quaternions

PENDULUM = ist.library.pendulum(2)


def slopes_agree(motion: ist.Motion, share: float, window: int = 9) -> None:
    """Velocities are the slopes of positions, but for a share of their size."""
    slopes = motion.velocities(window=window, order=2).v
    off = np.sqrt(np.mean(np.square(slopes - motion.v), axis=0))
    assert np.all(off < share * np.sqrt(np.mean(np.square(motion.v), axis=0)))


def test_every_data_set_has_a_licence_and_a_citation():
    for data in DATASETS.values():
        assert data.licence
        assert "20" in data.citation
        assert data.title in str(data)


# published formats, small -----------------------------------------------------------------------------------


def test_filmed_markers_become_relative_angles(tmp_path):
    first, second = np.linspace(0.0, 8.0, 50), np.linspace(0.5, -4.0, 50)
    red = np.full((50, 2), 1000.0)
    green = red + 590 * np.stack([np.cos(first), np.sin(first)], axis=1)
    blue = green + 451 * np.stack([np.cos(second), np.sin(second)], axis=1)
    pixels = np.concatenate([red, green, blue], axis=1).round().astype(int)
    for run in (10, 2):
        np.savetxt(tmp_path / f"{run}.csv", pixels, fmt="%d", delimiter=",")
    motions = ist.read_motion(tmp_path, PENDULUM, dataset="ibm_double_pendulum", rate=500.0)
    assert [m.name for m in motions] == ["ibm_double_pendulum:2", "ibm_double_pendulum:10"]
    np.testing.assert_allclose(motions[0].q[:, 0], first, atol=3e-3)
    np.testing.assert_allclose(motions[0].q[:, 1], second - first, atol=6e-3)
    assert motions[0].t[1] == 0.002
    [alone] = ist.read_motion(tmp_path / "2.csv", PENDULUM, dataset="ibm_double_pendulum")
    assert "identify it" in alone.notes[0]


def test_the_labs_csv_has_measured_and_commanded_torque(tmp_path):
    names = (
        "time pos_meas1 pos_meas2 vel_meas1 vel_meas2 tau_meas1 tau_meas2 tau_con1 tau_con2".split()
    )
    rows = np.arange(90.0).reshape(10, 9)
    path = tmp_path / "trajectory.csv"
    np.savetxt(path, rows, delimiter=",", comments="", header=",".join(names))
    [motion] = ist.read_motion(path, PENDULUM, dataset="dfki_double_pendulum")
    np.testing.assert_array_equal(motion.v, rows[:, 3:5])
    np.testing.assert_array_equal(motion.signals["joint/motor_torque"], rows[:, 5:7])
    np.testing.assert_array_equal(motion.controls, rows[:, 7:9])


def test_pushes_are_read_as_published(tmp_path):
    h5py = pytest.importorskip("h5py")
    t = np.linspace(0.0, 1.0, 240)
    with h5py.File(tmp_path / "motion_shape=rect1.h5", "w") as file:
        file["object_pose"] = np.stack([t, 0.1 * t, 0.2 * t, np.mod(3 * t, np.pi) - 0.5], axis=1)
        file["tip_pose"] = np.stack([t + 0.01, t, t, 0 * t], axis=1)
        file["ft_wrench"] = np.stack([t - 0.01, t, t, 0 * t], axis=1)
    [motion] = ist.read_motion(tmp_path, ist.library.pusher(), dataset="mit_push", rate=100.0)
    assert motion.t[0] == 0.0
    np.testing.assert_allclose(np.diff(motion.t), 0.01)
    np.testing.assert_allclose(motion.q[:, 2], 3 * (motion.t + 0.01) - 0.5 + 0.5 * np.pi, atol=1e-2)
    np.testing.assert_allclose(motion.q[:, 3], motion.t, atol=1e-9)


def test_files_that_are_not_the_data_set_are_said(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((3, 12)), offsets=[0, 3], ids=[7])
    with pytest.raises(BadFile, match=r"has shape \(3, 12\), not rows of 13"):
        ist.read_motion(tmp_path / "x.npz", dataset="contactnets_cube")
    with pytest.raises(
        BadFile, match=r"is not in the format of 'ibm_double_pendulum': it lacks 'pixels'"
    ):
        ist.read_motion(tmp_path / "x.npz", dataset="ibm_double_pendulum")
    with pytest.raises(BadOption, match=r"no data set is called 'ibm'"):
        ist.read_motion(tmp_path / "x.npz", dataset="ibm")
    with pytest.raises(BadFile, match=r"has no \.csv file"):
        ist.read_motion(tmp_path, dataset="ibm_double_pendulum")
    with pytest.raises(MissingFile):
        ist.read_motion(tmp_path / "gone.npz", dataset="contactnets_cube")
    np.savez(tmp_path / "x.npz", x=np.ones((3, 13)), offsets=[0, 3], ids=[7])
    with pytest.raises(BadMotion, match="is not one of 'pendulum_2'"):
        ist.read_motion(tmp_path / "x.npz", PENDULUM, dataset="contactnets_cube")


# the recordings themselves ----------------------------------------------------------------------------------


def test_the_filmed_pendulum_hangs_at_zero_and_loses_energy(shared_data):
    motions = ist.read_motion(
        shared_data / "ibm_double_pendulum.npz", PENDULUM, dataset="ibm_double_pendulum", rate=505.0
    )
    assert len(motions) == 16
    motion = motions[0].velocities(window=41, order=7, smooth=True)
    assert np.cos(motion.q[-2000:, 0]).mean() > 0.8
    fast = np.abs(motion.v[:, 0])
    assert fast[:2000].mean() > 3 * fast[-2000:].mean()


@pytest.mark.parametrize("design", ["A0", "C0", "C1"])
def test_the_driven_pendulum_moves_as_fast_as_it_says(design, shared_data):
    path = shared_data / f"dfki_double_pendulum_{design}.npz"
    motions = ist.read_motion(path, PENDULUM, dataset="dfki_double_pendulum")
    assert len(motions) >= 7
    slopes_agree(motions[0], 0.2, window=15)
    assert motions[0].controls.shape == motions[0].q.shape


def test_pushed_objects_stay_until_they_are_touched(shared_data):
    path = shared_data / "mit_push_abs.npz"
    motions = ist.read_motion(path, ist.library.pusher(), dataset="mit_push")
    assert len(motions) == 50
    moved = [np.linalg.norm(m.q[-1, :2] - m.q[0, :2]) for m in motions]
    assert 0.005 < np.mean(moved) < 0.1
    assert outlines(path)["rect1"].shape == (4, 2)


def test_the_cube_falls_as_bodies_fall(shared_data):
    path = shared_data / "contactnets_cube.npz"
    motions = ist.read_motion(path, ist.library.cube(), dataset="contactnets_cube")
    assert len(motions) == 456
    falls = [np.gradient(m.v[:8, 2], m.t[:8]).mean() for m in motions]
    assert abs(np.median(falls) + 9.81) < 0.5
    motion = motions[0]
    turned = quaternions.turn_between(motion.q[:-1, 3:], motion.q[1:, 3:])
    np.testing.assert_allclose(turned[:8] / np.diff(motion.t)[:8, None], motion.v[:8, 3:], atol=2.0)


def test_the_elbow_falls_and_its_hinge_does_not_jump(shared_data):
    motions = ist.read_motion(shared_data / "dairpll_elbow.npz", dataset="dairpll_elbow")
    assert len(motions) == 400
    assert max(np.max(np.abs(np.diff(m.q[:, 7]))) for m in motions) < np.pi
    falls = [np.gradient(m.v[:10, 2], m.t[:10]).mean() for m in motions]
    assert abs(np.median(falls) + 9.81) < 1.0


def test_the_swimmer_has_its_links_where_our_model_puts_them(shared_data):
    model = ist.library.swimmer(3)
    motions = ist.read_motion(shared_data / "swimmer03_mujoco.npz", model, dataset="swimmer_mujoco")
    assert (len(motions), len(motions[0])) == (85, 200)
    motion = motions[3]

    @jax.jit
    @jax.vmap
    def middles(q, v):
        at = forward_kinematics(model, q, v)
        middle = np.array([0.0, 0.05, 0.0])
        return jnp.stack([point_motion(model, at, link, middle)[0] for link in model.link_names])

    places = np.asarray(middles(motion.q, motion.v))
    for k in range(3):
        recorded = motion.signals[f"point/middle_{k}/position"][:, :2]
        np.testing.assert_allclose(places[:, k, :2], recorded, atol=1e-9)
    slopes_agree(motion, 0.05, window=5)
