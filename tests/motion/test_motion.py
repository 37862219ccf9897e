"""Motions are cut, resampled, filtered and differentiated on their manifolds, and stay alike as pytrees."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import isthmus as ist
from isthmus.errors import BadMotion, BadOption
from isthmus.motion import quaternions
from isthmus.motion.spans import joints_of

PENDULUM = ist.library.pendulum(2)
CUBE = ist.library.cube()


def swinging(rows: int = 400, dt: float = 0.01) -> ist.Motion:
    """Two sines and their slopes, a command, a pose."""
    t = dt * np.arange(rows)
    q = np.stack([np.sin(2 * t), 0.5 * np.cos(3 * t)], axis=1)
    v = np.stack([2 * np.cos(2 * t), -1.5 * np.sin(3 * t)], axis=1)
    signals = {"joint/control": np.stack([t, -t], axis=1), "extra/lamp": np.sign(np.sin(t))}
    return ist.Motion(t, q, v, signals, joints_of(PENDULUM))


def tumbling(rows: int = 300, dt: float = 0.005) -> ist.Motion:
    """A free body on a parabola that spins about one of its axes ever faster."""
    t = dt * np.arange(rows)
    turn = np.outer(2.0 * t + 3.0 * t**2, [0.6, 0.0, 0.8])
    place = np.stack([t, -t, 1.0 + t - 4.9 * t**2], axis=1)
    v = np.concatenate(
        [
            np.stack([np.ones_like(t), -np.ones_like(t), 1.0 - 9.8 * t], axis=1),
            np.outer(2.0 + 6.0 * t, [0.6, 0.0, 0.8]),
        ],
        axis=1,
    )
    q = np.concatenate([place, Rotation.from_rotvec(turn).as_quat(scalar_first=True)], axis=1)
    return ist.Motion(t, q, v, {"link/pose": q[:, None]}, joints_of(CUBE))


def flipped(motion: ist.Motion) -> ist.Motion:
    """The same rotations, every third quaternion with the other sign."""
    q = np.array(motion.q)
    q[::3, 3:] *= -1.0
    return dataclasses.replace(motion, q=q)


def same_turn(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(np.abs(np.sum(a * b, axis=-1)), 1.0, atol=1e-9)


def test_a_rollout_knows_its_joints_and_prints_as_what_it_is():
    motion = ist.rollout(PENDULUM, ist.State.neutral(PENDULUM), np.ones((5, 2)), dt=0.01)
    assert motion.joints == (("joint_1", "revolute"), ("joint_2", "revolute"))
    text = str(motion)
    assert "6 rows, 0 to 0.05 s, 100 Hz" in text
    assert "q joint_2" in text


def test_a_name_makes_no_other_pytree():
    a, b = swinging().noted(name="a"), swinging().noted("odd", name="b")
    assert jax.tree.structure(a) == jax.tree.structure(b)
    both = jax.tree.map(lambda x, y: jnp.stack([x, y]), a, b)
    assert both.q.shape == (2, 400, 2)
    assert b.notes == ("odd",)


def test_slices_and_times_cut_every_array():
    motion = swinging()
    for part in (motion[100:200], motion.between(1.0, 1.99), motion[np.arange(100, 200)]):
        assert len(part) == 100
        np.testing.assert_array_equal(part.q, motion.q[100:200])
        np.testing.assert_array_equal(
            part.signals["extra/lamp"], motion.signals["extra/lamp"][100:200]
        )
    with pytest.raises(BadOption, match=r"motion\.state\(row\)"):
        motion[3]
    with pytest.raises(BadOption, match=r"it runs from 0 to 3\.99 s"):
        motion.between(10.0, 11.0)


def test_a_batch_is_cut_along_its_time():
    batch = jax.tree.map(lambda x: np.stack([x, x, x]), swinging())
    assert batch[10:20].q.shape == (3, 10, 2)


@pytest.mark.parametrize(
    ("how", "lengths"),
    [
        ({"at": [1.0, 3.0]}, [100, 200, 100]),
        ({"parts": 4}, [100] * 4),
        ({"share": 0.75}, [300, 100]),
    ],
)
def test_pieces_are_the_whole(how, lengths):
    motion = swinging()
    pieces = motion.split(**how)
    assert [len(piece) for piece in pieces] == lengths
    np.testing.assert_array_equal(np.concatenate([piece.q for piece in pieces]), motion.q)


def test_a_motion_is_split_at_its_gaps():
    motion = swinging()[np.r_[0:100, 150:200, 201:400]]
    assert [len(piece) for piece in motion.split(gap=0.1)] == [100, 249]
    with pytest.raises(BadOption, match="exactly one of"):
        motion.split(gap=0.1, parts=2)


@pytest.mark.parametrize("make", [swinging, tumbling, lambda: flipped(tumbling())])
@pytest.mark.parametrize(("method", "error"), [("linear", 2e-4), ("cubic", 1e-6)])
def test_resampling_and_back_gives_the_motion(make, method, error):
    motion = make()
    back = motion.resample(float(motion.t[1]) / 2.5, method=method).resample(
        t=motion.t, method=method
    )
    plain = 2 if motion.q.shape[1] == 2 else 3
    np.testing.assert_allclose(back.q[:-1, :plain], motion.q[:-1, :plain], atol=error)
    if plain == 3:
        np.testing.assert_allclose(np.linalg.norm(back.q[:-1, 3:], axis=1), 1.0, atol=1e-12)
        same = np.abs(np.sum(back.q[:-1, 3:] * motion.q[:-1, 3:], axis=1))
        np.testing.assert_allclose(same, 1.0, atol=1e-6)
        back_pose = back.signals["link/pose"][:-1, 0, 3:]
        same_turn(back_pose, back.q[:-1, 3:])


def test_held_commands_stay_until_the_next():
    motion = swinging(5, 1.0)
    held = motion.resample(0.25, method="previous").signals["joint/control"][:, 0]
    np.testing.assert_array_equal(held, np.floor(np.arange(17) / 4))


def test_what_was_not_measured_stays_so_beyond_short_holes():
    motion = swinging()
    q = np.array(motion.q)
    q[50:52, 0], q[100:140, 1] = np.nan, np.nan
    holed = dataclasses.replace(motion, q=q)
    filled = holed.filled()
    np.testing.assert_allclose(filled.q[50:52], motion.q[50:52], atol=1e-3)
    assert np.isnan(filled.q[100:140, 1]).all()
    assert np.isfinite(filled.q[:, 0]).all()
    assert np.isfinite(holed.filled(across=1.0).q).all()
    assert np.isnan(motion.resample(t=[-1.0, 0.5, 99.0]).q[[0, 2]]).all()


def test_a_slow_signal_among_fast_ones_is_interpolated_at_its_own_rate():
    motion = swinging()
    slow = np.full(400, np.nan)
    slow[::20] = np.asarray(motion.t)[::20]
    both = dataclasses.replace(motion, signals={"extra/slow": slow}).filled()
    np.testing.assert_allclose(both.signals["extra/slow"][:381], motion.t[:381], atol=1e-12)


def test_a_filter_removes_what_is_fast_without_delay():
    motion = swinging()
    noisy = motion.q + 0.1 * np.sin(2 * np.pi * 30 * np.asarray(motion.t))[:, None]
    smooth = dataclasses.replace(motion, q=noisy).filter(5.0, only=["q"])
    np.testing.assert_allclose(smooth.q[50:-50], motion.q[50:-50], atol=5e-3)
    np.testing.assert_array_equal(smooth.v, motion.v)
    turned = flipped(tumbling()).filter(20.0)
    np.testing.assert_allclose(np.linalg.norm(turned.q[:, 3:], axis=1), 1.0, atol=1e-12)
    error = quaternions.turn_between(turned.q[:, 3:], tumbling().q[:, 3:])
    assert np.max(np.abs(error[50:-50])) < 0.02


def test_a_filter_says_what_it_cannot_take():
    motion = swinging()
    with pytest.raises(BadOption, match="between 0 and 50 Hz"):
        motion.filter(60.0)
    with pytest.raises(BadMotion, match=r"evenly spaced.*resample"):
        motion[np.r_[0:100, 150:400]].filter(5.0)
    with pytest.raises(BadMotion, match="'extra/lamp' has rows that were not measured"):
        dataclasses.replace(motion, signals={"extra/lamp": np.full(400, np.nan)}).filter(5.0)
    with pytest.raises(BadMotion, match="too few"):
        motion[:10].filter(5.0)
    wrapped = dataclasses.replace(motion, q=np.mod(8 * motion.q, 2 * np.pi))
    with pytest.raises(BadMotion, match=r"'joint_1' jumps.*continuous\(\)"):
        wrapped.filter(5.0)


@pytest.mark.parametrize("make", [swinging, tumbling, lambda: flipped(tumbling())])
def test_velocities_are_the_slopes_of_positions_on_their_manifold(make):
    motion = make()
    found = dataclasses.replace(motion, v=None).velocities(window=7, order=4)
    np.testing.assert_allclose(found.v, motion.v, atol=2e-5)
    smooth = motion.velocities(window=7, order=4, smooth=True)
    np.testing.assert_allclose(smooth.q[:, :2], motion.q[:, :2], atol=1e-7)
    if make is tumbling:
        same_turn(smooth.q[:, 3:], motion.q[:, 3:])


def test_velocities_take_uneven_stamps_holes_and_gaps():
    t = 0.005 * (np.arange(800) + np.random.default_rng(0).uniform(-0.4, 0.4, 800))
    t = np.concatenate([t[t < 1.5], t[t > 2.5] + 100.0])
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    q[::7] = np.nan
    v = ist.Motion(t, q, joints=joints_of(PENDULUM)).velocities(window=15, order=4).v
    np.testing.assert_allclose(v, np.stack([np.cos(t), -np.sin(t)], axis=1), atol=1e-4)


def test_savitzky_golay_is_the_even_case():
    from scipy.signal import savgol_filter

    motion = dataclasses.replace(swinging(), v=None)
    found = motion.velocities(window=41, order=7, smooth=True)
    np.testing.assert_allclose(found.v, savgol_filter(motion.q, 41, 7, 1, 0.01, axis=0), atol=1e-8)
    np.testing.assert_allclose(found.q, savgol_filter(motion.q, 41, 7, axis=0), atol=1e-10)


def test_positions_only_have_no_state_until_velocities_are_found():
    motion = dataclasses.replace(swinging(), v=None)
    with pytest.raises(BadMotion, match=r"no velocities.*motion\.velocities\(\)"):
        motion.state(0)
    assert motion.velocities().state(0).v.shape == (2,)
    assert "  v              not measured" in str(motion)


def test_angles_and_signs_become_continuous():
    t = np.linspace(0.0, 4.0, 200)
    turns = np.stack([8 * t, -5 * t], axis=1)
    wrapped = np.mod(turns + np.pi, 2 * np.pi) - np.pi
    wrapped[20, 0] = np.nan
    got = ist.Motion(t, wrapped, joints=joints_of(PENDULUM)).continuous().q
    np.testing.assert_allclose(np.delete(got, 20, 0), np.delete(turns, 20, 0), atol=1e-12)
    np.testing.assert_array_equal(np.abs(flipped(tumbling()).continuous().q), np.abs(tumbling().q))
    assert not quaternions.flips(np.asarray(flipped(tumbling()).continuous().q)[:, 3:]).size


def test_single_rows_that_stand_out_are_taken_out_and_nothing_else():
    motion = swinging()
    assert not np.isnan(motion.without_outliers().q).any()
    q = np.array(motion.q)
    q[[50, 220], 0] += 1.5
    clean = dataclasses.replace(motion, q=q).without_outliers()
    assert np.argwhere(np.isnan(clean.q)).tolist() == [[50, 0], [220, 0]]
    assert np.isfinite(clean.v).all()


def test_joints_are_brought_into_the_order_of_a_model():
    motion = swinging()
    turned = dataclasses.replace(
        motion, q=motion.q[:, ::-1], v=motion.v[:, ::-1], joints=motion.joints[::-1],
        signals={"joint/control": motion.signals["joint/control"][:, ::-1]},
    )  # fmt: skip
    again = turned.matched(PENDULUM)
    np.testing.assert_array_equal(again.q, motion.q)
    np.testing.assert_array_equal(again.controls, motion.controls)
    with pytest.raises(BadMotion, match=r"is not one of 'pendulum_3': it has no joint 'joint_3'"):
        motion.matched(ist.library.pendulum(3))
    with pytest.raises(BadMotion, match="q has 2 columns, but 'cube' needs 7"):
        dataclasses.replace(motion, joints=()).matched(CUBE)


def test_quaternions_of_unknown_joints_are_not_taken_for_numbers():
    motion = dataclasses.replace(tumbling(), joints=())
    with pytest.raises(BadMotion, match=r"motion\.matched\(model\)"):
        motion.resample(0.01)
    assert len(motion.matched(CUBE).resample(0.01)) == 150


def test_what_is_no_rotation_stays_unknown():
    q = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [np.nan] * 4, [0.0, 0.0, 0.0, 2.0]])
    turn = quaternions.turn_between(q[:1], q)
    np.testing.assert_allclose(turn[[0, 3]], [[0.0, 0.0, 0.0], [0.0, 0.0, np.pi]], atol=1e-12)
    assert np.all(np.isnan(turn[1:3]))
    again = quaternions.turned(np.repeat(q[:1], 4, axis=0), turn)
    np.testing.assert_allclose(again[[0, 3]], [q[0], q[3] / 2.0], atol=1e-12)
    assert np.all(np.isnan(again[1:3]))
