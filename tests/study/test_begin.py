"""A study to start from: it says what was found, and it runs."""

from __future__ import annotations

import dataclasses
import tomllib

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadStudy, DataWarning
from isthmus.study.begin import begin_study
from isthmus.study.begin_loss import loss_text
from isthmus.study.begin_noise import scatter
from isthmus.study.build import files_in
from tests.study.logs import ROBOT, log, write_logs


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_logs(tmp_path / "logs", 3)
    return tmp_path


def test_a_study_that_was_begun_can_be_read_and_has_comments_on_what_was_found(place):
    text = begin_study("library:pendulum", ["logs"])
    study = ist.Study.from_table(tomllib.loads(text))
    assert study.logs == ("logs/",)
    assert study.heldout == 1
    assert [free.name for free in study.free] == ["link/*/mass", "joint/*/damping"]
    assert study.loss == ist.Windows(50)
    for words in [
        "2 links, 2 degrees of freedom, 2 kg", "joint_1 (revolute)", "3 logs, 1.8 s in all",
        "run_1.csv: 61 rows, 100 a second; positions, velocities, joint/control", "in the file: 1, 1 kg",
        "# ground = 0.0", '# contact = [{ shapes = ["rod_2_capsule_0"], friction', "N·m·s/rad\n",
        "starts as measured; or multiple_shooting, one_step, whole_run",
    ]:  # fmt: skip
        assert words in text
    assert len(study.problem().logs) == 2


@pytest.mark.filterwarnings("ignore:three.urdf. welded links")  # not what is tested
def test_what_a_robot_may_touch_is_a_study_once_it_is_no_comment(place):
    robot = ist.library.pendulum(3)
    ist.export_urdf(robot, "three.urdf")
    ist.save(robot, "three.safetensors")
    t = 0.01 * np.arange(100)
    q = 0.3 * np.sin(3.0 * t)[:, None] * np.ones(3)
    ist.Motion(t, q, None, {}).matched(robot).save("three.csv")
    text = begin_study("three.urdf", ["three.csv"])
    for key in ("ground", "contact", "pair"):
        assert f"# {key} = " in text
        text = text.replace(f"# {key} = ", f"{key} = ")
    one = '# [[free]]\n# name = "contact/*/friction"'
    assert one in text
    text = text.replace(one, one.replace("# ", "")).replace("# shared", "shared")
    text = text.replace("ground = 0.0", "ground = -9.0")
    study = ist.Study.from_table(tomllib.loads(text))
    assert (study.pairs[0].first, study.pairs[0].second) == robot.pairs()[-1]
    assert len(study.problem().model.contact_kinds) > len(study.contact)
    saved = begin_study("three.safetensors", ["three.csv"])
    assert "contact = " not in saved  # such a model stays as it is


def test_paths_are_written_as_the_study_sees_them(place):
    (place / "studies").mkdir()
    ist.export_urdf(ROBOT, "arm.urdf")
    with pytest.warns(UserWarning, match="tip"):
        text = begin_study("arm.urdf", ["logs/*.csv"], "studies/one.toml")
    assert 'robot = "../arm.urdf"' in text
    assert 'logs = ["../logs/*.csv"]' in text


def test_a_study_of_many_logs_stays_readable_and_counts_as_people_do(place):
    motion = log(0)
    for k in range(60):
        rows = motion[:15] if k == 50 else motion
        rows.save(place / "logs" / f"many_{k}.csv")
    for old in (place / "logs").glob("run_*"):
        old.unlink()
    text = begin_study("library:pendulum", ["logs/"])
    assert [f"many_{k}.csv:" in text for k in (0, 2, 19, 20, 50, 59)] == [True] * 3 + [
        False,
        True,
        False,
    ]
    assert "#   … and 39 more logs of which nothing else is to be said" in text
    assert [file.stem for file in files_in(place / "logs")] == [f"many_{k}" for k in range(60)]


def test_the_noise_of_a_joint_that_turns_many_times_is_that_of_its_sensor(place):
    """It was a ten-thousandth of all turns: 27 mrad for a sensor of 1 mrad."""
    t = 0.01 * np.arange(2001)
    q = np.stack([40.0 * t, 0.5 * np.sin(t)], axis=1)
    q += 1e-3 * np.random.default_rng(0).standard_normal(q.shape)
    q[::9] = np.nan
    turning = ist.Motion(t, q, None, {}, log(0).joints)
    noise = tomllib.loads(loss_text(ROBOT, [turning]))["loss"]["noise"]
    assert noise == pytest.approx(1e-3, rel=0.1)


def test_logs_without_velocities_and_commands_are_said_to_be_so(place):
    motion = log(0)
    ist.Motion(motion.t, motion.q, None, {}, motion.joints).save("bare.csv")
    text = begin_study("library:pendulum", ["bare.csv"])
    assert "no velocities" in text
    assert 'kind = "multiple_shooting"' in text
    assert "only ratios of masses can be identified" in text
    assert "heldout = 0.2" in text


def test_logs_with_measured_torques_propose_whole_inertias_by_inverse_dynamics(place):
    motion = log(0)
    signals = {"joint/motor_torque": motion.signals["joint/control"]}
    ist.Motion(motion.t, motion.q, motion.v, signals, motion.joints).save("torques.csv")
    study = ist.Study.from_table(tomllib.loads(begin_study("library:pendulum", ["torques.csv"])))
    of_joints = ["joint/*/damping", "joint/*/friction", "joint/*/torque_offset"]
    assert [free.name for free in study.free] == [*of_joints, "link/*/inertial"]
    assert study.free[-1].prior == 0.3
    assert study.loss == ist.TorqueLoss()


def slow_swing(noise):
    """Ten slow seconds of a double pendulum at 200 Hz, with the torques that they need."""
    t = 0.005 * np.arange(2001)
    q = np.stack([0.8 * np.sin(0.9 * t), 0.6 * np.cos(1.3 * t)], axis=1)
    v = np.stack([0.72 * np.cos(0.9 * t), -0.78 * np.sin(1.3 * t)], axis=1)
    tau = np.stack([3.0 * np.sin(0.9 * t), np.cos(1.3 * t)], axis=1)
    rng = np.random.default_rng(0)
    seen = q + noise * rng.standard_normal(q.shape)
    return ist.Motion(t, seen, v, {"joint/control": tau}, log(0).joints)


def test_torques_beside_filtered_positions_are_compared_with_what_the_motion_needs(place):
    """Columns such as tau_1 count as commands: the motion was compared by windows, with a noise of 1e-8 rad."""
    slow_swing(0.0).save("filtered.csv")
    text = begin_study("library:pendulum", ["filtered.csv"])
    study = ist.Study.from_table(tomllib.loads(text))
    assert study.loss == ist.TorqueLoss()
    assert study.free[-1].name == "link/*/inertial"
    assert "Positions look filtered" in text


def test_torques_beside_positions_with_noise_may_be_commands_and_the_study_says_what_to_change(
    place,
):
    slow_swing(1e-3).save("noisy.csv")
    text = begin_study("library:pendulum", ["noisy.csv"])
    assert 'kind = "windows"' in text
    assert "or torque (no signals, no noise), if joint/control holds measured torques" in text


def test_no_noise_is_suggested_that_no_model_can_reach(place):
    motion = slow_swing(0.0)
    ist.Motion(motion.t, motion.q, motion.v, joints=motion.joints).save("smooth.csv")
    noise = tomllib.loads(begin_study("library:pendulum", ["smooth.csv"]))["loss"]["noise"]
    assert noise == pytest.approx(1.4e-4, rel=0.1)  # 1e-4 of 1.6 and 1.2 rad
    assert loss_text(ROBOT, [motion]) == loss_text(ROBOT, [with_a_joint_at_rest(motion)])


def with_a_joint_at_rest(motion):
    """The same motion, beside two coordinates that hardly move."""
    still = 1e-11 * motion.q
    return dataclasses.replace(motion, q=np.concatenate([motion.q, still], axis=1), joints=())


def test_measured_torques_drive_the_joints(place):
    motion = log(0)
    signals = {"joint/motor_torque": motion.signals["joint/control"]}
    ist.Motion(motion.t, motion.q, motion.v, signals, motion.joints).save("torques.csv")
    assert "undriven" not in begin_study("library:pendulum", ["torques.csv"])


def test_a_study_of_logs_with_an_uneven_clock_and_a_gap_runs(place):
    motion = log(0)
    t = np.asarray(motion.t) + 2e-4 * np.sin(np.arange(len(motion.t)) ** 2)
    t[30:] += 1.0
    uneven = ist.Motion(t, motion.q, motion.v, motion.signals, motion.joints)
    uneven.save("uneven.csv")
    text = begin_study("library:pendulum", ["uneven.csv"]).replace("heldout", "# heldout")
    assert 'gaps = "split"' in text
    assert 'stamps = "even"' in text
    problem = ist.Study.from_table(tomllib.loads(text)).problem()
    assert [len(log) for log in problem.logs] == [30, 31]
    np.testing.assert_allclose([log.dt for log in problem.logs], 0.01, rtol=0.01)


def test_a_study_of_logs_that_lost_rows_keeps_their_time(place):
    """Stamps made even would move every row by up to the time of all that were lost."""
    motion = log(0)
    kept = np.delete(np.arange(61), [10, 11, 25, 40])
    motion[kept].save("lossy.csv")
    text = begin_study("library:pendulum", ["lossy.csv"]).replace("heldout", "# heldout")
    assert 'stamps = "fill"' in text
    read = ist.Study.from_table(tomllib.loads(text)).problem().logs[0]
    assert read.dt == pytest.approx(0.01)
    np.testing.assert_array_equal(read.q[kept], np.asarray(motion.q)[kept])


def test_columns_of_mimic_joints_are_left_out_with_the_reason(place):
    hand = ist.Builder("hand")
    for side, slide in (("left", 1.0), ("right", -1.0)):
        hand.add_link(side, mass=0.1)
        mimic = "left_finger" if side == "right" else None
        options = {"parent": None, "child": side, "axis": (slide, 0, 0), "mimic": mimic}
        hand.add_joint_prismatic(f"{side}_finger", **options)
    ist.save(hand.model(), "hand.safetensors")
    t = 0.01 * np.arange(100)
    rows = np.stack([t, np.sin(t), np.sin(t), t], axis=1)
    header = "t,left_finger,right_finger [m],temperature"
    np.savetxt("hand.csv", rows, delimiter=",", header=header, comments="")
    read = tomllib.loads(text := begin_study("hand.safetensors", ["hand.csv"]))["read"]
    assert read["columns"]["right_finger [m]"] == ""
    assert "# 'right_finger' mimics 'left_finger'" in text
    assert '# "temperature" = ""' in text


def test_all_that_is_missing_is_said_at_once(place):
    with pytest.raises(BadStudy) as caught:
        begin_study("amr.urdf", ["logs/run_9.csv"])
    assert len(caught.value.faults) == 2


def test_noise_is_estimated_from_neighbouring_rows():
    assert 0.6e-3 < scatter([log(0), log(1)]) < 1.5e-3


def renamed(path: str, *names: str) -> None:
    """A log of the pendulum under other names of its columns."""
    motion = log(0)
    rows = np.concatenate([motion.t[:, None], motion.q, motion.v], axis=1)
    np.savetxt(path, rows, delimiter=",", comments="", header=",".join(names))


def test_a_study_says_what_every_column_was_taken_for_and_runs_with_it(place):
    joints = [f"/joint_states/joint_{k}/{q}" for q in ("position", "velocity") for k in (1, 2)]
    renamed("pj.csv", "__time", *joints)
    study = ist.Study.from_table(tomllib.loads(begin_study("library:pendulum", ["pj.csv"])))
    assert study.reading["columns"] == {
        "__time": "t", joints[0]: "joint/position[joint_1]", joints[1]: "joint/position[joint_2]",
        joints[2]: "joint/velocity[joint_1]", joints[3]: "joint/velocity[joint_2]",
    }  # fmt: skip
    read = ist.read_motion("pj.csv", ROBOT, **study.reading)
    np.testing.assert_array_equal(read.v, log(0).v)


def test_units_that_names_say_stay_with_their_columns(place):
    renamed("deg.csv", "t_ms", "joint_1_deg", "joint_2 [deg]", "v_joint_1", "v_joint_2")
    text = begin_study("library:pendulum", ["deg.csv"])
    columns = tomllib.loads(text)["read"]["columns"]
    assert columns["t_ms"] == "t [ms]"
    assert columns["joint_1_deg"] == "joint/position[joint_1] [deg]"
    plain, told = (
        ist.read_motion("deg.csv", ROBOT, columns=c, angles="keep", stamps="keep")
        for c in ({}, columns)
    )
    np.testing.assert_array_equal(plain.q, told.q)
    np.testing.assert_array_equal(plain.t, told.t)


def test_a_study_is_begun_whatever_the_columns_are_called_and_marks_what_it_cannot_guess(place):
    renamed("de.csv", "zeit", "schulter", "q_joint_2", "v1", "v2")
    with pytest.warns(DataWarning, match=r"'de.csv' cannot be read yet; complete \[read\]"):
        text = begin_study("library:pendulum", ["de.csv"])
    columns = tomllib.loads(text)["read"]["columns"]
    assert columns["q_joint_2"] == "joint/position[joint_2]"
    assert "schulter" not in columns
    for line in ['# "schulter" = ""', '# "zeit" = ""', '# "?" = "t"', '# "?" = "joint/position[joint_1]"']:  # fmt: skip
        assert f"{line}\n" in text
    done = {**columns, "zeit": "t", "schulter": "joint/position[joint_1]"}
    np.testing.assert_array_equal(ist.read_motion("de.csv", ROBOT, columns=done).q, log(0).q)
