"""Logs that cannot be fitted are refused at once, each in one clear sentence."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus import compile_model
from isthmus.errors import BadFree, BadLog, BadOption, DataWarning, FitWarning
from tests import trees
from tests.identify.motions import DOUBLE, SINGLE, recorded

GOOD = recorded(SINGLE, 41)
FREE = [ist.Free("joint/*/damping")]


def changed(q=None, v=None, t=None, signals=None) -> ist.Motion:
    pick = lambda new, old: old if new is None else new
    return ist.Motion(
        pick(t, GOOD.t), pick(q, GOOD.q), pick(v, GOOD.v), pick(signals, GOOD.signals)
    )


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        ([], "no motion to fit"),
        (recorded(DOUBLE, 41), "does not match the robot"),
        (changed(v=np.zeros((41, 3))), "velocities of shape .41, 3."),
        (changed(q=np.full((41, 1), 0.3), v=np.zeros((41, 1))), "constant in every run"),
        (changed(t=1000.0 * GOOD.t), "time in milliseconds"),
        (changed(v=GOOD.v * 180.0 / np.pi), "degrees a second"),
        (changed(q=GOOD.q * 180.0 / np.pi), "positions seem to be in degrees"),
        (changed(t=GOOD.t**1.5), "not evenly sampled"),
        (changed(t=GOOD.t[::-1]), "time must increase"),
        (changed(signals={"joint/control": np.zeros((40, 1))}), "'joint/control' has 40 rows"),
        (
            changed(signals={"joint/control": np.full((41, 1), np.nan)}),
            "'joint_1' is missing at row 0",
        ),
        (ist.Motion(GOOD.t[:1], GOOD.q[:1], GOOD.v[:1]), "needs at least two"),
        ("log.csv", "the text 'log.csv'; ist.read_motion"),
    ],
)
def test_a_log_that_cannot_be_fitted_is_refused_in_one_sentence(motion, words):
    with pytest.raises(BadLog, match=words):
        ist.Problem(SINGLE, motion, free=FREE)


def test_degrees_show_by_the_ends_of_travel():
    limited = SINGLE.set("joint/lower", -0.5).set("joint/upper", 0.5)
    far = ist.Motion(GOOD.t, 60.0 * GOOD.q / np.abs(GOOD.q).max())
    with pytest.raises(BadLog, match="are positions in degrees"):
        ist.Problem(limited, far, free=FREE)


def test_a_log_beyond_the_ends_of_travel_is_warned_of():
    """Where the model pushes back, and estimates of masses are nonsense."""
    reach = np.abs(GOOD.q).max()
    narrow = SINGLE.set("joint/lower", -0.5 * reach).set("joint/upper", 0.5 * reach)
    with pytest.warns(DataWarning, match="beyond their ends of travel.*'joint_1' in .* % of the"):
        ist.Problem(narrow, GOOD, free=FREE)
    wide = SINGLE.set("joint/lower", -reach).set("joint/upper", reach)
    ist.Problem(wide, GOOD, free=FREE)
    ist.Problem(narrow, GOOD, free=[*FREE, ist.Free("joint/*/upper"), ist.Free("joint/*/lower")])


def test_stops_of_a_robot_with_a_free_base_are_told_of_too():
    robot = ist.library.quadruped()
    start = ist.State.neutral(robot)
    motion = ist.rollout(robot, start, np.zeros((60, robot.dof)), dt=2e-3)
    thigh = robot.rows("coordinate")["FL_thigh"][0]
    q = np.array(motion.q)
    q[:, thigh] = float(robot.get("joint/FL_thigh/upper")) + np.linspace(0.0, 0.3, len(q))
    log = ist.Motion(motion.t, q, None, motion.signals, motion.joints)
    with pytest.warns(
        DataWarning, match="beyond their ends of travel.*'FL_thigh' in .* by up to 0.3 "
    ):
        ist.Problem(robot, log, free=[ist.Free("link/trunk/mass")])


def test_commands_beyond_the_largest_torque_are_told_of():
    """The model's motors give no more, and a fit explained the rest by masses and friction."""
    signals = {"joint/control": 30.0 * np.sin(np.arange(41.0))[:, None]}
    log = changed(signals=signals)
    weak, strong = SINGLE.set("joint/effort", 20.0), SINGLE.set("joint/effort", 31.0)
    with pytest.warns(
        DataWarning,
        match=r"larger than the largest torque.*'joint_1' in .* up to 30 \(at most 20\)",
    ):
        ist.Problem(weak, log, free=FREE)
    ist.Problem(strong, log, free=FREE)
    ist.Problem(weak, log, free=FREE, loss="torque")  # compares commands, and bounds nothing
    ist.Problem(weak, log, free=[*FREE, ist.Free("joint/*/effort", start=40.0)])
    with pytest.warns(DataWarning, match="'joint_1' in .* up to 60"):
        ist.Problem(strong.set("joint/gear", 2.0), log, free=FREE)


def test_as_many_free_numbers_as_data_are_refused():
    """They leave no residual, so that errors were zero: a mass of 203.063 ± 7.8e-13 kg from two rows."""
    short = ist.Motion(GOOD.t[:3], GOOD.q[:3], GOOD.v[:3], {"joint/control": np.ones((3, 1))})
    with pytest.raises(BadLog, match="2 measured numbers for 2 free ones"):
        ist.Problem(SINGLE, short, free=[ist.Free("link/*/mass"), ist.Free("joint/*/damping")])


def test_more_free_numbers_than_data_are_refused():
    short = ist.Motion(GOOD.t[:4], GOOD.q[:4], GOOD.v[:4])
    with pytest.raises(BadLog, match="3 measured numbers for 10 free ones"):
        ist.Problem(SINGLE, short, free=[ist.Free("link/*/inertial")])


def test_a_signal_that_the_log_lacks_is_named():
    with pytest.raises(
        BadLog,
        match=r"no 'point/tip/position' to compare with; it has joint/position, joint/control",
    ):
        ist.Problem(SINGLE, GOOD, free=FREE, signals=["point/tip/position"])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"loss": "window"}, BadOption, "Did you mean 'windows'"),
        ({"noise": -1.0}, BadOption, "noise of 'joint/position' must be positive"),
        ({"huber": 0.0}, BadOption, "huber must be a positive"),
        ({"heldout": 1}, BadOption, "leaves nothing to fit"),
        ({"dt": 0.004}, BadOption, "does not divide"),
        ({"dt": 1e-320}, BadOption, "inf steps of each row .* 1000000 are the most"),
        ({"make": dict}, BadOption, "one of the two"),
    ],
)
def test_options_that_cannot_work_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        ist.Problem(SINGLE, GOOD, **({"free": FREE} | options)).evaluation  # noqa: B018


@pytest.mark.parametrize("heldout", [GOOD, [changed()], [recorded(SINGLE, 31), GOOD]])
def test_a_fitted_motion_cannot_be_held_out(heldout):
    with pytest.raises(BadLog, match=r"held-out motion \d is fitted too, as motion 2"):
        ist.Problem(SINGLE, [recorded(SINGLE, 51), GOOD], free=FREE, heldout=heldout)


@pytest.mark.parametrize("penalty", [-1.0, np.nan, np.inf])
def test_a_penalty_that_rewards_weights_is_refused(penalty):
    with pytest.raises(BadOption, match="weight_penalty must be a number from 0"):
        ist.Problem(SINGLE, GOOD, free=FREE, weight_penalty=penalty)


def test_wrap_is_true_or_false():
    with pytest.raises(BadOption, match="Problem: wrap must be True or False, not the text 'a'"):
        ist.Problem(SINGLE, GOOD, free=FREE, wrap="a")


@pytest.mark.parametrize("loss", [ist.Windows(10**9), ist.MultipleShooting(41)])
def test_windows_longer_than_every_log_are_told(loss):
    with pytest.warns(FitWarning, match="longer than every log, the longest of which has 40"):
        ist.Problem(SINGLE, GOOD, free=FREE, loss=loss)
    ist.Problem(SINGLE, GOOD, free=FREE, loss=ist.Windows(40))
    ist.Problem(SINGLE, GOOD, free=FREE, loss="windows")


@pytest.mark.parametrize(
    ("name", "low"), [("link/*/mass", -1.0), ("joint/*/friction_speed", -0.1), ("stretch/*", -1.0)]
)
def test_a_bound_at_which_there_is_no_mechanism_is_refused(name, low):
    with pytest.raises(BadFree, match=f"low={low:g}, but no mechanism has one below 0"):
        ist.Problem(SINGLE, GOOD, free=[ist.Free(name, low=low)])


def test_a_robot_with_motors_needs_commands():
    motor = compile_model(trees.pendulum(1, effort=20.0))
    swing = ist.rollout(motor, ist.State([0.5], [0.0]), None, 0.01, steps=40)
    ist.Problem(motor, swing, free=FREE)
    with pytest.warns(DataWarning, match="run 1: there is no 'joint/control'.*commanded no torque"):
        ist.Problem(motor, ist.Motion(swing.t, swing.q, swing.v), free=FREE)


def test_joints_without_a_column_of_commands_are_not_driven():
    """A floating base, or the shoulder of an acrobot: a log of the motors alone was refused."""
    torque = np.sin(np.arange(41.0))
    acted = np.stack([np.zeros(41), torque], axis=1)
    start = ist.State([0.3, 0.1], [0.0, 0.0])
    swing = ist.rollout(DOUBLE, start, acted[:-1], 0.01)
    logged = np.stack([np.full(41, np.nan), torque], axis=1)
    log = ist.Motion(swing.t, swing.q, swing.v, {"joint/control": logged}, swing.joints)
    problem = ist.Problem(DOUBLE, log, free=FREE)
    np.testing.assert_array_equal(problem.logs[0].control.torque, acted)
    motors = DOUBLE.set("joint/effort", 5.0)
    with pytest.warns(DataWarning, match="run 1: 'joint/control' has no column for 'joint_1', so"):
        ist.Problem(motors, log, free=FREE)
    holes = {"joint/control": np.where(np.arange(41)[:, None] == 7, np.nan, acted)}
    with pytest.raises(
        BadLog, match=r"'joint/control' of 'joint_1' is missing at row 7.*holes='fill'"
    ):
        ist.Problem(DOUBLE, ist.Motion(swing.t, swing.q, swing.v, holes), free=FREE)


def test_a_rollout_is_a_log():
    """It holds what acted, so that a fit finds the numbers it was made with."""
    truth = SINGLE.set("link/mass", [2.0])
    swing = ist.rollout(truth, ist.State([0.0], [0.0]), GOOD.controls[:-1], 0.01)
    fit = ist.fit(ist.Problem(SINGLE, swing, free=[ist.Free("link/*/mass")]))
    np.testing.assert_allclose(fit.model.link_mass, [2.0], rtol=1e-6)


def test_rows_that_were_not_measured_lie_between_quaternions_of_either_sign():
    """A sensor may give q or -q; half-way between the two is no rotation, and the window that began there flew off."""
    cube = ist.library.cube()
    start = ist.State.neutral(cube)
    start = ist.State(start.q, np.array([0.0, 0.0, 3.0, 2.0, 1.0, 0.5]))
    motion = ist.rollout(cube, start, None, 0.01, steps=40)
    q = np.array(motion.q)
    q[1::2, 3:7] *= -1.0
    q[10], q[25:27] = np.nan, np.nan
    log = ist.Problem(cube, ist.Motion(motion.t, q, None), free=[ist.Free("link/*/mass")]).logs[0]
    alike = np.abs(np.sum(log.start_q[:, 3:7] * np.asarray(motion.q)[:, 3:7], axis=1))
    np.testing.assert_allclose(alike, 1.0, atol=1e-4)
    np.testing.assert_allclose(log.start_v, motion.v, atol=0.2)
