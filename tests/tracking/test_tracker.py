"""A tracker is the textbook's Kalman filter, follows what changes, says when it did, and runs as C."""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadArgument, BadFree, BadLog, BadOption, BadShape, BadStart, FitWarning
from isthmus.tracking.result import raised
from isthmus.tracking.setup import level_of
from isthmus.tracking.step import step
from tests.native.test_c import COMPILER, FLAGS, needs_a_compiler

DT = 0.01
NOISE = {"joint/position": 1e-3, "joint/velocity": 1e-2}
MASS = "link/rod_1/mass"


def tracker_of(model: ist.Model, **options) -> ist.Tracker:
    given = {"free": MASS, "noise": NOISE, "drift": 0.02, "dt": DT} | options
    return ist.Tracker(model, **given)


@pytest.fixture(scope="module")
def pendulum() -> ist.Model:
    return ist.library.pendulum(1, damping=0.1)


@pytest.fixture(scope="module")
def tracker(pendulum) -> ist.Tracker:
    return tracker_of(pendulum)


def recorded(model: ist.Model, seed: int, heavier: float = 1.0, rows: int = 400) -> ist.Motion:
    """A driven pendulum, measured with noise; its mass is multiplied by `heavier` half way."""
    rng, half = np.random.default_rng(seed), rows // 2
    torque = 3.0 * np.sin(np.arange(rows)[:, None] * DT * 5.0 + rng.uniform(0.0, 6.0))
    first = ist.rollout(model, ist.State([0.5], [0.0]), torque[:half], DT)
    other = model.set(MASS, heavier * float(model.get(MASS)))
    second = ist.rollout(other, first.state(-1), torque[half:], DT)
    q, v = (np.concatenate([getattr(first, x), getattr(second, x)[1:]]) for x in "qv")
    q, v = q + 1e-3 * rng.standard_normal(q.shape), v + 1e-2 * rng.standard_normal(v.shape)
    signals = {"joint/control": np.concatenate([torque, torque[-1:]])}
    return ist.Motion(DT * np.arange(rows + 1), q, v, signals)


def textbook(setup, move, before, torque, row):
    """One step with matrices as any book has them: x, P -> x, P; `move` gives x one step later and its Jacobian."""
    x = np.concatenate([before.q, before.v, before.numbers])
    F, x = map(np.asarray, move(x, torque))
    P = F @ before.covariance @ F.T + np.diag(setup.walk)
    H = np.eye(len(row), len(x))
    S = H @ P @ H.T + np.diag(setup.noise**2)
    K = P @ H.T @ np.linalg.inv(S)
    A = np.eye(len(x)) - K @ H
    return x + K @ (row - H @ x), A @ P @ A.T + K @ np.diag(setup.noise**2) @ K.T


def test_an_update_is_that_of_the_textbook(tracker, pendulum):
    def move(x, torque):
        after = ist.step(pendulum.set(MASS, x[2]), ist.State(x[:1], x[1:2]), torque, DT)
        x = jnp.concatenate([after.q, after.v, x[2:]])
        return x, x

    motion = recorded(pendulum, 0)
    slope = jax.jit(jax.jacfwd(move, has_aux=True))
    tracker.reset(motion.state(0))
    for k in range(1, 6):
        torque, row = motion.controls[k - 1], np.concatenate([motion.q[k], motion.v[k]])
        x, P = textbook(tracker.setup, slope, tracker.belief, torque, row)
        tracker.update(torque, row)
        now = tracker.belief
        np.testing.assert_allclose([*now.q, *now.v, *now.numbers], x, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(now.covariance, P, rtol=1e-7, atol=1e-13)
        assert np.linalg.eigvalsh(now.covariance).min() > 0.0


def test_a_change_raises_an_alarm_and_is_followed(tracker, pendulum):
    track = tracker.run(recorded(pendulum, 1, heavier=1.5))
    true = 1.5 * float(pendulum.get(MASS))
    assert track.alarms
    assert 2.0 < track.alarms[0].time < 2.3
    assert abs(track.values[-1, 0] - true) < 4.0 * track.errors[-1, 0] < 0.2 * true
    assert tracker.alarms == track.alarms
    assert tracker.values == pytest.approx(track.values[-1])
    assert float(tracker.model.get(MASS)) == pytest.approx(track.values[-1, 0])
    assert "alarm" in repr(tracker)


def test_without_a_change_there_is_no_alarm_and_intervals_hold_the_truth(tracker, pendulum):
    tracks = tracker.run([recorded(pendulum, seed) for seed in range(10, 30)])
    assert sum(len(track.alarms) for track in tracks) == 0
    low, high = np.array([track.interval(0.9)[:, -1, 0] for track in tracks]).T
    true = float(pendulum.get(MASS))
    assert 15 <= np.sum((low < true) & (true < high)) <= 20


@pytest.mark.parametrize("count", [1, 6, 14])
def test_false_alarms_of_many_measured_numbers_are_as_rare_as_of_one(count):
    """At a level at which noise can be counted: 2.5 standard deviations."""
    level = level_of(2.5, count)
    noise = np.random.default_rng(0).standard_normal((200_000, count))
    share = np.mean(np.abs(noise).max(axis=1) > level)
    assert share == pytest.approx(0.0124, rel=0.06)
    assert level_of(np.inf, count) == np.inf


def test_a_log_is_its_samples_one_after_the_other_and_logs_side_by_side_are_single_ones(
    tracker, pendulum
):
    logs = [recorded(pendulum, 2), recorded(pendulum, 3, rows=300)]
    alone = [tracker.run(log) for log in logs]
    for one, beside in zip(alone, tracker.run(logs), strict=True):
        np.testing.assert_array_equal(one.values, beside.values)
        np.testing.assert_array_equal(one.errors, beside.errors)
        np.testing.assert_array_equal(one.q, beside.q)
    tracker.reset(logs[1].state(0))
    rows = np.concatenate([logs[1].q, logs[1].v], axis=1)
    values = [tracker.update(u, y) for u, y in zip(logs[1].controls, rows[1:], strict=False)]
    np.testing.assert_array_equal(values, alone[1].values[1:])


def test_rows_that_are_nan_are_predicted_over(tracker, pendulum):
    motion = recorded(pendulum, 4)
    q, v = motion.q.copy(), motion.v.copy()
    q[100:150], v[100:150], q[200] = np.nan, np.nan, np.nan
    holes = dataclasses.replace(motion, q=q, v=v)
    track = tracker.run(holes)
    assert np.isfinite(track.values).all()
    np.testing.assert_array_equal(track.values[99:150], np.full((51, 1), track.values[99, 0]))
    assert track.errors[149] > track.errors[99]
    tracker.reset(motion.state(0))
    expected = ist.step(pendulum, motion.state(0), [0.5], DT)
    tracker.update([0.5], None)
    np.testing.assert_allclose(tracker.state.q, expected.q, rtol=1e-12)
    np.testing.assert_allclose(tracker.state.v, expected.v, rtol=1e-12)


def test_measurements_may_come_by_name_and_partly(tracker, pendulum):
    tracker.reset(([0.3], [0.1]))
    tracker.update([0.0], {"joint/velocity": [0.2]})
    first = tracker.belief
    tracker.reset(([0.3], [0.1]))
    tracker.update(None, [np.nan, 0.2])
    np.testing.assert_array_equal(first.covariance, tracker.belief.covariance)
    with pytest.raises(BadArgument, match=r"noise does not have 'joint/torque'; it has joint/pos"):
        tracker.update(None, {"joint/torque": [1.0]})


@pytest.fixture(scope="module")
def ball() -> ist.Model:
    """A rod that hangs from a spherical joint."""
    robot = ist.Builder("ball")
    robot.add_link("rod_1", mass=1.0, inertia=(0.05, 0.06, 0.02), com=(0.05, 0.0, -0.4))
    robot.add_joint_spherical("socket", parent=None, child="rod_1", damping=0.3)
    return robot.model()


def test_errors_of_quaternions_live_on_the_tangent(ball):
    rng, rows = np.random.default_rng(5), 300
    torque = np.sin(np.arange(rows)[:, None] * DT * np.array([3.0, 4.0, 5.0]))
    motion = ist.rollout(ball, ist.State.random(ball, 3), torque, DT)
    from isthmus.model.coordinates import plus

    shaken = jax.jit(jax.vmap(lambda q, d: plus(ball, q, d)))
    q = np.asarray(shaken(motion.q, 2e-3 * rng.standard_normal(motion.v.shape)))
    follower = tracker_of(ball.set(MASS, 1.3), noise={"joint/position": 2e-3})
    assert follower.belief.covariance.shape == (7, 7)
    track = follower.run(ist.Motion(motion.t, q, None, motion.signals))
    np.testing.assert_allclose(np.linalg.norm(track.q, axis=1), 1.0, atol=1e-9)
    assert abs(track.values[-1, 0] - 1.0) < 4.0 * track.errors[-1, 0] < 0.2


def test_a_loop_over_columns_gives_what_unrolled_code_gives(tracker, monkeypatch):
    monkeypatch.setattr("isthmus.tracking.step.MAX_UNROLLED", 0)
    looped = lambda b, u, y: step(tracker.setup, b, ist.Control(u), y)
    tracker.reset(([0.1], [-0.2]))
    given = (tracker.belief, np.array([0.3]), np.array([0.11, -0.2]))
    after, alarm = ist.native.compile(looped, *given)(*given)
    tracker.update(*given[1:])
    assert not alarm
    for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(tracker.belief), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-14)


@needs_a_compiler
def test_c_does_what_python_does(tracker, pendulum, tmp_path):
    """Sample after sample, through the function that the controller would call."""
    code = ist.export_c(tracker, tmp_path / "track.c", name="track")
    assert COMPILER is not None
    build = [COMPILER, *FLAGS, "-O1"]
    program = [*build, "-o", "track", "track.c", "track_main.c", "-lm"]
    subprocess.run(program, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "track"], capture_output=True).returncode == 0
    library = [*build, "-shared", "-fPIC", "-o", "track.so", "track.c", "-lm"]
    subprocess.run(library, cwd=tmp_path, check=True)
    assert f"{MASS} [kg]" in code.header
    motion = recorded(pendulum, 6, heavier=1.5)
    tracker.reset(motion.state(0))
    parts = [np.array(x, dtype=np.float64) for x in tracker.belief[:5]]
    alarm, run = ctypes.c_double(), ctypes.CDLL(str(tmp_path / "track.so")).track
    at = lambda x: x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    rows, fired = np.concatenate([motion.q, motion.v], axis=1), 0
    for u, y in zip(motion.controls, rows[1:], strict=False):
        u, y = np.array(u, dtype=np.float64), y.copy()
        run(*map(at, parts), at(u), at(y), *map(at, parts), ctypes.byref(alarm))
        tracker.update(u, y)
        fired += alarm.value > 0.0
    assert fired == len(tracker.alarms) > 0
    for ours, theirs in zip(tracker.belief, parts, strict=False):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-12)
    with pytest.raises(BadOption, match=r"the tracker samples every 0.01 s; leave dt= out"):
        ist.export_c(tracker, dt=0.02)


def test_a_track_is_a_table_a_figure_and_a_file(tracker, pendulum, tmp_path):
    track = tracker.run(recorded(pendulum, 1, heavier=1.5))
    assert MASS in str(track)
    assert "alarms: 2." in str(track) or "1 alarm: 2." in str(track)
    assert len(track.plot().axes) == 1
    track.save(tmp_path / "track.csv")
    text = (tmp_path / "track.csv").read_text().splitlines()
    assert text[0] == f"t,{MASS},{MASS} (sd),alarm"
    table = np.array([[float(x) for x in line.split(",")] for line in text[1:]])
    np.testing.assert_array_equal(table[:, 1], track.values[:, 0])
    up = [(a.time <= track.t) & (track.t <= a.until) for a in track.alarms]
    np.testing.assert_array_equal(table[:, 3], np.any(up, axis=0))
    with pytest.raises(BadOption, match="level must be between 0 and 1"):
        track.interval(1.5)


def test_many_alarms_hide_no_curve(tracker, pendulum):
    track = tracker.run(recorded(pendulum, 1, heavier=1.5))
    many = dataclasses.replace(track, alarms=track.alarms[:1] * 30)
    curves = [len(x.plot().axes[0].lines) for x in (track, many)]
    assert curves == [1 + len(track.alarms), 2]
    assert "alone cannot explain" not in str(track)


def test_what_the_followed_numbers_do_not_explain_is_one_alarm_which_names_a_further_number():
    """Only the mass is followed, but the centre of mass is wrong too: every sample had an alarm of its own."""
    robot = ist.library.pendulum(2, damping=0.1)
    truth = robot.set("link/rod_2/mass", 1.3).set("link/rod_2/com", [0.15, 0.0, -0.5])
    torque = 3.0 * np.sin(0.015 * np.arange(600)[:, None] * [1.0, 1.7])
    log = ist.rollout(truth, ist.State([0.5, 0.2], [0.0, 0.0]), torque, 0.005)
    noise = {"joint/position": 1e-3, "joint/velocity": 1e-2}
    tracker = ist.Tracker(robot, "link/rod_2/mass", noise, 0.01, 0.005)
    track = tracker.run(log)
    assert 1 <= len(track.alarms) <= 3
    assert track.lasting > 0.5
    assert "link/rod_2/com[0]" in track.lacking
    assert "link/rod_2/mass alone cannot explain the motion" in str(track)
    assert track.lacking in str(track)


def test_an_alarm_is_over_when_averages_have_stayed_small(tracker):
    setup = tracker.setup
    alarms = []
    for k in (10, 12, 50, 60, 400, 401):  # 20 samples are averaged: 100 without an alarm end it
        alarms = raised(setup, alarms, k * setup.dt, 1.0)
    spans = [(round(a.time / setup.dt), round(a.until / setup.dt)) for a in alarms]
    assert spans == [(10, 60), (400, 401)]


def test_a_track_that_broke_down_says_so_and_can_be_drawn(tracker, pendulum):
    track = tracker.run(recorded(pendulum, 1))
    values = track.values.copy()
    values[50:] = np.nan
    lost = dataclasses.replace(track, values=values, errors=np.sqrt(values))
    assert f"from {track.t[50]:g} s on, estimates are not finite" in str(lost)
    assert np.isfinite(lost.plot().axes[0].get_ylim()).all()


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"noise": 0.0}, BadOption, "noise of 'joint/position' must be positive and finite"),
        ({"noise": {"joint/position": -1.0}}, BadOption, "must be positive and finite"),
        ({"noise": {}}, BadOption, "noise must name what is measured"),
        ({"drift": -1.0}, BadOption, f"drift of '{MASS}' must be from 0 and finite"),
        ({"drift": {"link/rod_2/mass": 1.0}}, BadOption, "which is not free. Did you mean"),
        ({"free": ()}, BadFree, "free must name what to follow"),
        ({"free": "start/velocity"}, BadFree, "cannot be tracked: the tracker estimates the"),
        ({"free": "link/rod_9/mass"}, Exception, "rod_9"),
        ({"dt": 0.0}, BadOption, "dt must be a positive number"),
        ({"alarm": 0.0}, BadOption, "alarm must be a positive number"),
    ],
)
def test_what_cannot_be_tracked_is_refused_in_one_sentence(options, error, sentence, pendulum):
    with pytest.raises(error, match=sentence) as refused:
        tracker_of(pendulum, **options)
    assert len(str(refused.value).splitlines()) == 1


def test_a_drift_of_zero_is_warned_of(pendulum):
    with pytest.warns(FitWarning, match="the less it follows a change; give drift="):
        tracker_of(pendulum, drift=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker_of(pendulum, drift={MASS: 0.1, "joint/velocity": 0.0})


def test_rows_of_the_wrong_length_are_refused(tracker, pendulum):
    tracker.reset()
    with pytest.raises(BadStart, match="the first sample must have all positions"):
        tracker.update(None, None)
    np.testing.assert_array_equal(tracker.update(None, [0.1, 0.0]), pendulum.get(MASS))
    with pytest.raises(BadShape, match=r"measured has shape \(3,\); needed are 2 numbers: joint/"):
        tracker.update([0.0], [0.0, 0.0, 0.0])
    with pytest.raises(BadShape, match=r"control has shape \(2,\); needed are 1 torque"):
        tracker.update([0.0, 0.0], [0.0, 0.0])
    with pytest.raises(BadArgument, match="only measured may be nan"):
        tracker.update([np.nan], [0.0, 0.0])
    with pytest.raises(BadArgument, match="measured must be an array of numbers, not the text"):
        tracker.update([0.0], "both")
    with pytest.raises(BadArgument, match="control must be an array of numbers, not a list"):
        tracker.update([10**400], [0.0, 0.0])
    motion = recorded(pendulum, 0, rows=20)
    slower = dataclasses.replace(motion, t=2.0 * motion.t)
    with pytest.raises(BadLog, match=r"has a row every 0.02 s, but the tracker one every 0.01 s"):
        tracker.run(slower)
    with pytest.raises(BadLog, match="there is no log to track"):
        tracker.run([])
