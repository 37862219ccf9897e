"""Columns find their joints by name; what is missing, extra, doubtful or in other units is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import isthmus as ist
from isthmus import disk
from isthmus.errors import BadFile, BadMotion, BadOption, DataWarning, MissingFile
from isthmus.motion.spans import joints_of
from isthmus.phases import listening
from tests.data.logs import sines, write_csv

PENDULUM = ist.library.pendulum(2)
CUBE = ist.library.cube()
COMPLETE = sines()


def named(*names: str, only: str = "t q1 q2 v1 v2 tau1 tau2") -> dict[str, np.ndarray]:
    """The log of two sines under other names, in its order."""
    return dict(zip(names, [COMPLETE[key] for key in only.split()], strict=False))


SPELLINGS = {
    "ours": "t joint_1 joint_2 joint_1.v joint_2.v joint/control[joint_1] joint/control[joint_2]",
    "words first": "time q_joint_1 q_joint_2 v_joint_1 v_joint_2 tau_joint_1 tau_joint_2",
    "words last": "Time joint_1_pos joint_2_pos joint_1_vel joint_2_vel joint_1_effort joint_2_effort",
    "dots": "timestamp joint_1.position joint_2.position joint_1.velocity joint_2.velocity joint_1.effort "
    "joint_2.effort",
    "addresses": "t joint/joint_1/position joint/position[joint_2] joint/joint_1/velocity joint/velocity[joint_2] "
    "joint/joint_1/control joint/control[joint_2]",
    "numbers": "t q1 q2 v1 v2 tau1 tau2",
    "indices": "t q[0] q[1] qd[0] qd[1] u[0] u[1]",
    "PlotJuggler": "__time /joint_states/joint_1/position /joint_states/joint_2/position "
    "/joint_states/joint_1/velocity /joint_states/joint_2/velocity "
    "/joint_states/joint_1/effort /joint_states/joint_2/effort",
    "PlotJuggler's arrays": "/joint_states/header/stamp /joint_states/position[0] /joint_states/position[1] "
    "/joint_states/velocity[0] /joint_states/velocity[1] /joint_states/effort[0] /joint_states/effort[1]",
    "topics with dots": "time left.joint_states.joint_1.position left.joint_states.joint_2.position "
    "left.joint_states.joint_1.velocity left.joint_states.joint_2.velocity left.joint_states.joint_1.effort "
    "left.joint_states.joint_2.effort",
    "units": "t(s) joint_1[rad] joint_2[rad] joint_1_vel[rad/s] joint_2_vel[rad/s] "
    "joint_1_effort[Nm] joint_2_effort(N*m)",
}  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_are_matched_by_name(spelling, separator, tmp_path):
    path = write_csv(tmp_path / "log.csv", named(*spelling.split()), separator)
    motion = ist.read_motion(path, PENDULUM)
    np.testing.assert_array_equal(motion.t, COMPLETE["t"])
    for array, key in ((motion.q, "q"), (motion.v, "v"), (motion.controls, "tau")):
        np.testing.assert_array_equal(
            array, np.stack([COMPLETE[key + "1"], COMPLETE[key + "2"]], axis=1)
        )
    assert motion.joints == (("joint_1", "revolute"), ("joint_2", "revolute"))


def test_other_names_are_said_and_columns_left_out(tmp_path):
    path = write_csv(tmp_path / "log.csv", named("clock", "enc A", "enc B", "junk"))
    motion = ist.read_motion(
        path, PENDULUM, time="clock",
        columns={"enc A": "joint/position[joint_2]", "enc B": "q_joint_1", "junk": None},
    )  # fmt: skip
    np.testing.assert_array_equal(motion.q, np.stack([COMPLETE["q2"], COMPLETE["q1"]], axis=1))
    assert motion.v is None
    assert motion.signals == {}
    assert "positions only" in motion.notes[0]
    with pytest.raises(BadOption, match=r"no column 'enc C'. Did you mean 'enc B'"):
        ist.read_motion(path, PENDULUM, columns={"enc C": "q_joint_1"})


def test_what_is_missing_and_what_is_extra_come_in_one_message(tmp_path):
    path = write_csv(tmp_path / "log.csv", named("t", "q_joint_1", "q_jiont_2", "temperature"))
    with pytest.raises(BadMotion) as refused:
        ist.read_motion(path, PENDULUM)
    text = str(refused.value)
    assert "no column for joint/position[joint_2]" in text
    assert "'q_jiont_2' (meant as joint/position[joint_2]?), 'temperature'" in text
    assert "columns={'their name': 'joint/position[joint_2]'}" in text
    assert "missing='nan'" in text
    motion = ist.read_motion(path, PENDULUM, missing="nan")
    assert np.isnan(motion.q[:, 1]).all()
    assert set(motion.signals) == {"extra/q_jiont_2", "extra/temperature"}


def test_the_log_of_another_robot_is_refused(tmp_path):
    path = write_csv(tmp_path / "log.csv", named("t", "shoulder", "elbow", "wrist"))
    with pytest.raises(
        BadMotion, match=r"no column of 'pendulum_2'.*'shoulder', 'elbow', 'wrist'.*joint_1"
    ):
        ist.read_motion(path, PENDULUM)


def test_velocities_alone_are_no_motion(tmp_path):
    path = write_csv(
        tmp_path / "log.csv", named("t", "v_joint_1", "v_joint_2", "tau_joint_1", "tau_joint_2")
    )
    with pytest.raises(
        BadMotion, match=r"no column for joint/position\[joint_1\], joint/position\[joint_2\]"
    ):
        ist.read_motion(path, PENDULUM)
    motion = ist.read_motion(path, PENDULUM, missing="nan")
    assert motion.q is None
    assert motion.v.shape == (100, 2)


def test_what_is_no_path_is_said():
    for nothing in (3, []):
        with pytest.raises(BadOption, match="a path, a pattern"):
            ist.read_motion(nothing, PENDULUM)


def test_a_log_without_a_model_shows_its_joints_and_is_matched_later(tmp_path):
    path = write_csv(
        tmp_path / "log.csv", named("t", "q_joint_2", "q_joint_1", "v_joint_2", "v_joint_1")
    )
    motion = ist.read_motion(path)
    assert [name for name, _ in motion.joints] == ["joint_2", "joint_1"]
    np.testing.assert_array_equal(motion.matched(PENDULUM).q[:, 1], COMPLETE["q1"])
    path = write_csv(tmp_path / "numbers.csv", COMPLETE)
    np.testing.assert_array_equal(ist.read_motion(path).matched(PENDULUM).q[:, 1], COMPLETE["q2"])


@pytest.mark.parametrize("kind", ["csv", "npz"])
@pytest.mark.parametrize("known", [True, False])
def test_what_is_saved_comes_back(kind, known, tmp_path):
    model = ist.library.quadruped()
    rng, t = np.random.default_rng(0), 1e-3 * np.arange(30.0)
    q = 0.3 * rng.normal(size=(30, model.nq))
    q[:, 3:7] = [0.5, -0.5, 0.5, 0.5]
    signals = {
        "joint/torque": rng.normal(size=(30, model.dof)),
        "link/pose": rng.normal(size=(30, 2, 7)),
    }
    motion = ist.Motion(t, q, rng.normal(size=(30, model.dof)), signals, joints_of(model))
    motion.save(tmp_path / f"motion.{kind}")
    again = ist.read_motion(
        tmp_path / f"motion.{kind}", model if known else None, outliers="keep", angles="keep"
    ).matched(model)
    np.testing.assert_array_equal(again.q, motion.q)
    np.testing.assert_array_equal(again.v, motion.v)
    for name, value in motion.signals.items():
        np.testing.assert_array_equal(again.signals[name], value)


def test_units_are_turned_into_si(tmp_path):
    log = named("t", "joint_1", "joint_2", "joint_1.v", "joint_2.v")
    log = {name: x * (1e3 if name == "t" else 180 / np.pi) for name, x in log.items()}
    units = {"t": "ms", "joint/position": "deg", "joint/velocity": "deg/s"}
    motion = ist.read_motion(write_csv(tmp_path / "log.csv", log), PENDULUM, units=units)
    np.testing.assert_allclose(motion.q[:, 0], COMPLETE["q1"])
    np.testing.assert_allclose(motion.v[:, 1], COMPLETE["v2"], atol=1e-12)
    np.testing.assert_allclose(motion.t, COMPLETE["t"])
    said = dict(zip(["t [ms]", "joint_1_deg", "joint_2 (deg)"], log.values(), strict=False))
    motion = ist.read_motion(write_csv(tmp_path / "said.csv", said), PENDULUM)
    np.testing.assert_allclose(motion.q[:, 1], COMPLETE["q2"])
    factor = ist.read_motion(
        write_csv(tmp_path / "factor.csv", named("t", "joint_1", "joint_2")), PENDULUM,
        units={"joint/position[joint_2]": -2.0},
    )  # fmt: skip
    np.testing.assert_array_equal(factor.q[:, 1], -2.0 * COMPLETE["q2"])


def test_a_unit_of_angles_does_not_touch_what_slides(tmp_path):
    cart_pole = ist.library.cart_pole()
    names = [name for name, _ in joints_of(cart_pole)]
    path = write_csv(tmp_path / "log.csv", named("t", *names))
    both = ist.read_motion(path, cart_pole, units={"joint/position": ("deg", "mm")})
    np.testing.assert_allclose(both.q[:, 0], 1e-3 * COMPLETE["q1"])
    np.testing.assert_allclose(both.q[:, 1], np.pi / 180 * COMPLETE["q2"])
    one = ist.read_motion(path, cart_pole, units={"joint/position": "deg"})
    np.testing.assert_array_equal(one.q[:, 0], COMPLETE["q1"])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"units": {"joint/position": "dge"}}, "no unit is called 'dge'. Did you mean 'deg'"),
        ({"units": {"joint/speed": "deg/s"}}, "units has 'joint/speed', but .* has nothing of that name"),
        ({"outliers": "delete"}, "outliers must be one of 'keep', 'nan', 'fill', not 'delete'"),
        ({"outlier": "nan"}, "no option 'outlier'. Did you mean 'outliers'"),
        ({"rate": 100.0}, "rate= is one too many"),
        ({"rate": -1.0}, "rate must be a positive number"),
        ({"align": "both"}, "align must be 'union' or a step"),
        ({"align": np.zeros(2)}, "align must be 'union' or a step"),
        ({"columns": "q"}, "columns must be a dictionary, such as"),
        ({"runs": "episode"}, "no column 'episode'"),
        ({"time": "zeit"}, "no column 'zeit'"),
        ({"header": "abc"}, "header must be a list of names"),
        ({"columns": {"q1": "joint/position[elbow]"}}, "is nothing of these joints: 'joint_1', 'joint_2'"),
    ],
)  # fmt: skip
def test_options_that_do_not_exist_are_named(options, what, tmp_path):
    path = write_csv(tmp_path / "log.csv", COMPLETE)
    with pytest.raises(BadOption, match=what):
        ist.read_motion(path, PENDULUM, **options)


def test_patterns_and_lists_give_motions_in_their_order(tmp_path):
    for i in (10, 9, 1):
        write_csv(tmp_path / f"run_{i}.csv", sines(rows=20 + i))
    motions = ist.read_motion(str(tmp_path / "run_*.csv"), PENDULUM)
    assert [len(m) for m in motions] == [21, 29, 30]
    assert motions[0].name.endswith("run_1.csv")
    assert len(ist.read_motion([tmp_path / "run_1.csv", tmp_path / "run_9.csv"], PENDULUM)) == 2
    with pytest.raises(MissingFile, match="no file matches"):
        ist.read_motion(str(tmp_path / "*.dat"), PENDULUM)


def test_a_column_may_number_the_runs(tmp_path):
    log = {name: np.tile(x[:30], 3) for name, x in COMPLETE.items()}
    log["episode"] = np.repeat([4.0, 5.0, 7.0], 30)
    motions = ist.read_motion(write_csv(tmp_path / "log.csv", log), PENDULUM, runs="episode")
    assert [len(m) for m in motions] == [30, 30, 30]
    assert motions[2].name.endswith(":7")


def test_points_and_channels_become_signals(tmp_path):
    model, tip = PENDULUM, "tip"
    log = named("t", f"point/{tip}/position/x", f"point/{tip}/position/z", "extra/current", "lamp")
    motion = ist.read_motion(write_csv(tmp_path / "log.csv", log), model)
    assert motion.q is None
    place = motion.signals[f"point/{tip}/position"]
    np.testing.assert_array_equal(place[:, 2], COMPLETE["q2"])
    assert np.isnan(place[:, 1]).all()
    assert set(motion.signals) == {f"point/{tip}/position", "extra/current", "extra/lamp"}


def test_a_free_body_is_read_in_either_order_of_its_quaternion(tmp_path):
    rows = 50
    t, turn = 0.01 * np.arange(rows), 0.02 * np.arange(rows)
    w, z, o = np.cos(turn), np.sin(turn), np.zeros(rows)
    q = np.stack([t, 0.5 * t, -t, w, o, o, z], axis=1)
    joint = CUBE.joint_names[0]
    parts = "X .position.y _z .orientation.w .orientation.x /qy _quat_z".split()
    names = ["t", *(f"{joint}{part}".replace("X", ".X") for part in parts)]
    log = dict(zip(names, [t, *q.T], strict=True))
    motion = ist.read_motion(write_csv(tmp_path / "named.csv", log), CUBE)
    np.testing.assert_allclose(motion.q, q, atol=1e-15)
    np.savez(tmp_path / "log.npz", t=t, q=q[:, [0, 1, 2, 4, 5, 6, 3]])
    motion = ist.read_motion(tmp_path / "log.npz", CUBE, quaternions="xyzw")
    np.testing.assert_allclose(motion.q, q, atol=1e-15)
    np.savez(tmp_path / "long.npz", t=t, q=q * 2)
    with pytest.raises(BadMotion, match=r"has length 2.*order or unit"):
        ist.read_motion(tmp_path / "long.npz", CUBE)


BROKEN = {
    "empty": ("", BadFile, "is empty"),
    "names only": ("t,q1,q2\n", BadMotion, "has 0 rows: too short"),
    "one row": ("t,q1,q2\n0,1,2\n", BadMotion, "has 1 rows: too short"),
    "half a line": ("t,q1,q2\n0,1,2\n0.1,1\n", BadFile, "line 3: 2 cells, but there are 3 columns; was"),
    "text": ("t,q1,q2\n0,1,2\n0.1,broken,2\n", BadFile, "line 3, column 'q1': 'broken' is no number"),
    "decimal comma": ("t;q1;q2\n0;1;2\n0,1;3;2\n", BadFile, "'0,1' is no number. Is it a decimal comma"),
    "twice": ("t,q1,q1\n0,1,2\n", BadFile, "two columns called 'q1'"),
    "alike": ("t,q1,q2,q_joint_1,joint_1\n0,1,2,3,4\n", BadMotion, "both 'q_joint_1' and 'joint_1' are joint/position"),
    "no time": ("q1,q2\n0,1\n1,2\n", BadMotion, r"no column of time stamps; name it with time='…', or say rate="),
    "no stamp": ("t,q1,q2\n0,1,2\n,1,2\n", BadMotion, "row 1 has no time stamp"),
    "backwards": ("t,q1,q2\n0,1,2\n0.2,1,2\n0.1,1,2\n", BadMotion, "stamps decrease, first at row 2.*stamps='sort'"),
    "nan only": ("t,q1,q2\n0,nan,\n0.1,nan,NaN\n0.2,,\n", BadMotion, "holds no number besides its time stamps"),
    "no names": ("0,1,2\n0.1,2,3\n", BadFile, r"begins with numbers, not with the names.*header=\[...\]"),
    "quotes": ('t,"q1\n0,1', BadFile, "was the file written to its end"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "error", "what"), BROKEN.values(), ids=BROKEN)
def test_bad_files_get_one_clear_sentence(text, error, what, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=what):
        ist.read_motion(path, PENDULUM)


def test_bad_arrays_get_one_clear_sentence(tmp_path, monkeypatch):
    path = tmp_path / "log.npz"
    np.savez(path, t=np.arange(5.0), q=np.zeros((4, 2)))
    with pytest.raises(BadFile, match=r"different lengths \('t': 5, 'q': 4\)"):
        ist.read_motion(path, PENDULUM)
    np.savez(path, t=np.arange(5.0), q=np.zeros((5, 3)))
    with pytest.raises(BadMotion, match="no column of 'pendulum_2'"):
        ist.read_motion(path, PENDULUM)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadFile, match="not written to its end"):
        ist.read_motion(path, PENDULUM)
    path.write_bytes(b"")
    with pytest.raises(BadFile, match="is empty"):
        ist.read_motion(path, PENDULUM)
    monkeypatch.setattr(disk, "LARGEST", 10)
    path.write_bytes(whole)
    with pytest.raises(BadFile, match="we hold in memory at once; split it"):
        ist.read_motion(path, PENDULUM)
    with pytest.raises(MissingFile, match=r"no file .*Did you mean 'log.npz'"):
        ist.read_motion(tmp_path / "logs.npz", PENDULUM)
    (tmp_path / "log.xls").write_bytes(b"x")
    with pytest.raises(BadFile, match=r"read by their ending, \.csv"):
        ist.read_motion(tmp_path / "log.xls", PENDULUM)


def test_a_file_without_names_or_stamps_is_read_with_both_given(tmp_path):
    path = tmp_path / "log.csv"
    np.savetxt(path, np.stack([COMPLETE["q1"], COMPLETE["q2"]], axis=1), delimiter=",")
    motion = ist.read_motion(path, PENDULUM, header=["joint_1", "joint_2"], rate=100.0)
    np.testing.assert_allclose(motion.t, COMPLETE["t"])
    np.testing.assert_allclose(motion.q[:, 1], COMPLETE["q2"])
    with pytest.raises(BadFile, match="2 cells, but there are 0 columns"):
        ist.read_motion(path, PENDULUM, header=[], rate=100.0)


def test_a_clean_log_is_read_without_a_word(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ist.read_motion(
            write_csv(tmp_path / "log.csv", named(*SPELLINGS["ours"].split())), PENDULUM
        )
    assert issubclass(DataWarning, UserWarning)


def test_a_topic_without_a_quantity_or_with_what_was_wanted_says_nothing_about_joints(tmp_path):
    names = "t /temperatures/joint_1 /desired/joint_1/position schulter /odom/position[0] /odom/position[1]".split()
    with pytest.raises(BadMotion, match="has no column of 'pendulum_2'"):
        ist.read_motion(write_csv(tmp_path / "log.csv", named(*names)), PENDULUM)


def test_numbers_of_two_topics_are_not_taken_for_the_joints(tmp_path):
    names = [f"/{arm}/joint_states/position[{k}]" for arm in ("left", "right") for k in (0, 1)]
    with pytest.raises(BadMotion, match="has no column of 'pendulum_2'"):
        ist.read_motion(write_csv(tmp_path / "log.csv", named("t", *names)), PENDULUM)


def test_joint_states_of_rostopic_are_matched_by_the_names_that_their_rows_hold(tmp_path):
    head = "%time,field.header.seq,field.header.frame_id,field.name0,field.name1,field.position0,field.position1"
    q = np.sin(0.1 * np.arange(50))
    rows = [
        f"{1700000000123456789 + 10_000_000 * k},{k},base,joint_2,joint_1,{-x},{x}"
        for k, x in enumerate(q)
    ]
    (tmp_path / "log.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    motion = ist.read_motion(tmp_path / "log.csv", PENDULUM)
    np.testing.assert_array_equal(motion.q, np.stack([q, -q], axis=1))
    np.testing.assert_array_equal(motion.t, np.arange(50) / 100)
    assert any("since they hold text: 'field.header.frame_id'" in note for note in motion.notes)


STAMPS = {
    "rosbagTimestamp": [1700000000123456789 + 1_000_001 * k for k in range(50)],
    "t_ns": [1700000000123456789 + 1_000_001 * k for k in range(50)],
    "header.stamp": [1700000000123456789 + 1_000_001 * k for k in range(50)],
    "time": [f"1700000000.{123456789 + 1_000_001 * k:09d}" for k in range(50)],
    "timestamp": [f"1700000000.{123456 + 1000 * k:06d}" for k in range(50)],
    "time_us": [1700000000123456 + 1000 * k for k in range(50)],
}


@pytest.mark.parametrize("name", STAMPS)
def test_stamps_that_count_from_a_date_lose_nothing(name, tmp_path):
    rows = [f"{stamp},{0.1 * k},0" for k, stamp in enumerate(STAMPS[name])]
    text = "\n".join([f"{name},joint_1,joint_2", *rows])
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    motion = ist.read_motion(tmp_path / "log.csv", PENDULUM, constant="keep")
    step = 1000 if name in ("timestamp", "time_us") else 1_000_001
    exact = [k * step / (10**6 if step == 1000 else 10**9) for k in range(50)]
    np.testing.assert_array_equal(motion.t, exact)


@pytest.mark.parametrize("stamps", [
    np.int64(1700000000123456789) + 1_000_000 * np.arange(50),
    np.array([float(f"1700000000.{123456 + 1000 * k}") for k in range(50)]),
])  # fmt: skip
def test_stamps_in_arrays_lose_nothing_either(stamps, tmp_path):
    q = np.sin(0.1 * np.arange(50))
    np.savez(tmp_path / "log.npz", time=stamps, joint_1=q, joint_2=-q)
    motion = ist.read_motion(tmp_path / "log.npz", PENDULUM)
    np.testing.assert_array_equal(motion.t, np.arange(50) / 1000)


def test_runs_of_a_file_count_from_their_own_beginning(tmp_path):
    stamps = np.int64(1700000000123456789) + 10_000_000 * np.arange(100)
    q, run = np.sin(0.1 * np.arange(100)), np.arange(100) // 50
    np.savez(tmp_path / "log.npz", t=stamps, joint_1=q, joint_2=-q, run=run)
    for motion in ist.read_motion(tmp_path / "log.npz", PENDULUM, runs="run"):
        np.testing.assert_array_equal(motion.t, np.arange(50) / 100)


def test_reading_is_a_phase_and_the_size_of_a_text_says_how_long(tmp_path):
    told = []
    path = write_csv(tmp_path / "log.csv", COMPLETE)
    with listening(told.append):
        ist.read_motion([path, path], PENDULUM)
    assert [None if now is None else now.text for now in told] == 2 * ["reading log.csv", None]
    assert told[0].seconds == path.stat().st_size / 1e7
