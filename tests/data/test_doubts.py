"""What is odd about a log is said once, with the option that makes the choice; each choice does what it says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import isthmus as ist
from isthmus.errors import BadMotion, DataWarning
from isthmus.motion import quaternions
from tests.data.logs import sines, write_csv

PENDULUM = ist.library.pendulum(2)
CUBE = ist.library.cube()

Log = dict[str, np.ndarray]


def changed(**change: Callable[[np.ndarray], np.ndarray]) -> Log:
    """The two sines, some columns changed."""
    return {name: change.get(name, lambda x: x)(x) for name, x in sines(400).items()}


def at(rows: list[int], value: float) -> Callable[[np.ndarray], np.ndarray]:
    """With other numbers at some rows."""

    def put(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x[rows] = value
        return x

    return put


def less(log: Log, rows: slice) -> Log:
    return {name: np.delete(x, rows) for name, x in log.items()}


def without(log: Log, *names: str) -> Log:
    return {name: x for name, x in log.items() if name not in names}


deg = lambda x: np.degrees(x)
jitter = lambda t: t + np.random.default_rng(0).uniform(-2e-3, 2e-3, t.size)
fast = lambda x: np.mod(40 * x + np.pi, 2 * np.pi) - np.pi

ODD: dict[str, tuple[Log, str, dict]] = {
    "uneven": (changed(t=jitter), r"uneven time stamps.*stamps='keep', or 'even'", {"stamps": "keep"}),
    "gap": (less(changed(), slice(50, 90)),
            r"1 gaps, the first of 0.41 s at t = 0.49 s.*gaps='split'", {"gaps": "keep"}),
    "holes": (changed(q1=at([7, 8], np.nan)), r"\(NaN\): q 2.*holes='keep'", {"holes": "keep"}),
    "outliers": (changed(q2=at([100], 9.0)), r"stand out .*: q 1. Say outliers='nan'", {"outliers": "keep"}),
    "milliseconds": (changed(t=lambda t: 1e3 * t), r"in milliseconds\? Say units={'t': 'ms'}", {"units": {"t": "ms"}}),
    "degrees": (changed(q1=deg, q2=deg), r"positions in degrees beside rad/s\? Say units={'joint/position': 'deg'}",
                {"units": {"joint/position": "deg"}}),
    "degrees a second": (changed(v1=deg, v2=deg), r"57.* times the slope.*'deg/s'",
                         {"units": {"joint/velocity": "deg/s"}}),
    "reversed": (changed(v1=lambda x: -x), r"'joint_1' is the slope of its position with the other sign. Say units=",
                 {"units": {"joint/velocity[joint_1]": -1.0}}),
    "exchanged": (changed() | {"v1": changed()["v2"], "v2": changed()["v1"]},
                  r"velocity of 'joint_1' is the slope of the position of 'joint_2': are columns exchanged",
                  {"units": {"joint/velocity": 1.0}}),
    "both in degrees": (without(changed(q1=lambda x: deg(fast(x))), "v1", "v2"),
                        r"'joint_1' jumps by 360: is it in degrees",
                        {"units": {"joint/position": "deg"}, "angles": "unwrap"}),
    "many turns": (without(changed(q1=lambda x: 80.0 * x), "v1", "v2"), r"'joint_1' reaches 80, 13 turns if in radians",
                   {"units": {"joint/position": "rad"}}),
    "wrapped": (without(changed(q1=lambda x: fast(0.2 * x)), "v1", "v2"),
                r"'joint_1' jumps by 2π \d+ times. Say angles='unwrap'", {"angles": "keep"}),
    "constant": (changed(q2=lambda x: 0 * x + 3, v2=lambda x: 0 * x),
                 r"never changes: q of 'joint_2', v of 'joint_2'", {"constant": "keep"}),
    "short": (less(changed(), slice(5, 400)), r"only 5 rows: too short", {}),
}  # fmt: skip


@pytest.mark.parametrize(("log", "what", "choice"), ODD.values(), ids=ODD)
def test_what_is_odd_is_said_with_the_choice_that_settles_it(log, what, choice, tmp_path):
    path = write_csv(tmp_path / "log.csv", log)
    with pytest.warns(DataWarning, match=what) as caught:
        motion = ist.read_motion(path, PENDULUM)
    assert len(caught) == 1
    assert str(caught[0].message).count("\n") == sum(
        note in str(caught[0].message) for note in motion.notes
    )
    if choice:
        ist.read_motion(path, PENDULUM, **choice)  # a warning would be an error here


def test_the_notes_are_printed(tmp_path):
    path = write_csv(tmp_path / "log.csv", ODD["gap"][0])
    with pytest.warns(DataWarning):
        motion = ist.read_motion(path, PENDULUM)
    assert "1 gaps, the first" in str(motion)


def test_even_stamps_keep_a_gap_and_forgive_a_late_row(tmp_path):
    """A gap that was spread over all rows would make every velocity wrong."""
    t = 0.01 * np.arange(200) + np.random.default_rng(0).uniform(-1e-3, 1e-3, 200)
    t[50] += 0.035  # written late; those that follow are in time again
    t[51:54] = t[50] + 1e-4 * np.arange(1, 4)
    gap = t + np.where(np.arange(200) < 120, 0.0, 2.0)
    log = changed()
    rows = {name: x[:200] for name, x in log.items()} | {"t": gap}
    path = write_csv(tmp_path / "log.csv", rows)
    before, after = ist.read_motion(path, PENDULUM, stamps="even", gaps="split")
    assert (len(before), len(after)) == (120, 80)
    for piece in (before, after):
        np.testing.assert_allclose(np.diff(piece.t), 0.01, rtol=0.02)
    with pytest.warns(DataWarning, match="1 gaps, the first of 2.0"):
        ist.read_motion(path, PENDULUM, stamps="even")


@pytest.mark.parametrize("noise", [0.0, 5e-4])
def test_lost_rows_are_put_back_where_the_clock_says(tmp_path, noise):
    rng = np.random.default_rng(0)
    whole = changed(t=lambda t: t + noise * rng.uniform(-1.0, 1.0, t.size))
    kept = np.delete(np.arange(400), 1 + 3 * rng.permutation(130)[:18])
    path = write_csv(tmp_path / "log.csv", {name: x[kept] for name, x in whole.items()})
    with pytest.warns(
        DataWarning,
        match="18 rows of an even clock, one every [0-9.]+ s, are lost. Say stamps='fill'",
    ):
        ist.read_motion(path, PENDULUM)
    log = ist.read_motion(path, PENDULUM, stamps="fill")
    assert "18 rows that were lost are put back" in log.notes[-1]
    np.testing.assert_allclose(log.t, 0.01 * np.arange(400), atol=2 * noise + 1e-9)
    np.testing.assert_array_equal(log.q[kept, 0], whole["q1"][kept])
    assert np.isnan(np.delete(log.q, kept, axis=0)).all()
    np.testing.assert_allclose(log.controls[:, 0], whole["tau1"], atol=2e-3)


def test_an_uneven_clock_that_lost_nothing_is_only_made_even(tmp_path):
    path = write_csv(tmp_path / "log.csv", ODD["uneven"][0])
    log = ist.read_motion(path, PENDULUM, stamps="fill")
    assert len(log) == 400
    np.testing.assert_allclose(np.diff(log.t), 0.01, rtol=0.02)


def test_limits_reveal_degrees(tmp_path):
    model = PENDULUM.set("joint/lower", -2.0).set("joint/upper", 2.0)
    log = without(changed(q1=deg, q2=deg), "v1", "v2")
    with pytest.warns(DataWarning, match="far beyond its limits -2 to 2 rad: is it in degrees"):
        ist.read_motion(write_csv(tmp_path / "log.csv", log), model)


def test_gaps_are_split(tmp_path):
    path = write_csv(tmp_path / "log.csv", ODD["gap"][0])
    assert [len(m) for m in ist.read_motion(path, PENDULUM, gaps="split")] == [50, 310]


def test_stamps_are_sorted_or_evened(tmp_path):
    log, order = changed(), np.r_[0:10, 20, 10:20, 20:400]
    path = write_csv(tmp_path / "log.csv", {name: x[order] for name, x in log.items()})
    with pytest.raises(BadMotion, match="decrease"):
        ist.read_motion(path, PENDULUM)
    motion = ist.read_motion(path, PENDULUM, stamps="sort")
    np.testing.assert_array_equal(motion.t, log["t"])
    assert "1 with repeated stamps dropped" in motion.notes[-1]
    motion = ist.read_motion(write_csv(path, ODD["uneven"][0]), PENDULUM, stamps="even")
    np.testing.assert_allclose(np.diff(motion.t), motion.t[-1] / 399, rtol=0.02)


def test_holes_are_filled_or_dropped_and_outliers_taken_out(tmp_path):
    whole = changed()
    path = write_csv(tmp_path / "log.csv", ODD["holes"][0])
    filled = ist.read_motion(path, PENDULUM, holes="fill")
    np.testing.assert_allclose(filled.q[:, 0], whole["q1"], atol=1e-3)
    dropped = ist.read_motion(path, PENDULUM, holes="drop", stamps="keep")
    assert len(dropped) == 398
    write_csv(path, ODD["outliers"][0])
    marked = ist.read_motion(path, PENDULUM, outliers="nan", holes="keep")
    assert np.argwhere(np.isnan(marked.q)).tolist() == [[100, 1]]
    filled = ist.read_motion(path, PENDULUM, outliers="fill")
    np.testing.assert_allclose(filled.q[:, 1], whole["q2"], atol=1e-3)


def test_angles_are_unwrapped_or_wrapped(tmp_path):
    path = write_csv(tmp_path / "log.csv", ODD["wrapped"][0])
    smooth = ist.read_motion(path, PENDULUM, angles="unwrap")
    np.testing.assert_allclose(smooth.q[:, 0] - smooth.q[0, 0], 8 * changed()["q1"], atol=1e-9)
    wrapped = ist.read_motion(path, PENDULUM, angles="wrap")
    assert np.max(np.abs(wrapped.q[:, 0])) <= np.pi


def test_signs_of_quaternions_are_shown_and_fixed(tmp_path):
    t = 0.01 * np.arange(60)
    turned = Rotation.from_rotvec(np.outer(t, [1.0, 2.0, 3.0])).as_quat(scalar_first=True)
    turned[20:40] *= -1.0
    q = np.concatenate([np.stack([t, t, t], axis=1), turned], axis=1)
    np.savez(tmp_path / "log.npz", t=t, q=q)
    with pytest.warns(DataWarning, match="changes its sign 2 times. Say signs='fix'"):
        ist.read_motion(tmp_path / "log.npz", CUBE)
    fixed = ist.read_motion(tmp_path / "log.npz", CUBE, signs="fix")
    assert not quaternions.flips(np.asarray(fixed.q)[:, 3:]).size
    kept = ist.read_motion(tmp_path / "log.npz", CUBE, signs="keep")
    np.testing.assert_allclose(kept.q, q, atol=1e-15)


def test_stamps_since_1970_are_counted_from_the_first_row(tmp_path):
    path = write_csv(tmp_path / "log.csv", changed(t=lambda t: np.round(1.7e9 + t, 6)))
    motion = ist.read_motion(path, PENDULUM)
    assert motion.t[0] == 0.0
    assert "1700000000.000 s" in " ".join(motion.notes)


def test_a_first_stamp_that_is_infinite_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,q1,q2\ninf,0.0,0.0\n1.7e9,0.0,0.0\n")
    with pytest.raises(ist.IsthmusError, match="time"):
        ist.read_motion(path)


def test_a_log_whose_positions_and_velocities_are_in_degrees_is_noticed(tmp_path):
    log = changed(q1=deg, v1=lambda x: 4.0 * deg(x), q2=lambda x: x)
    with pytest.warns(DataWarning, match="turns a second: is it in degrees"):
        ist.read_motion(write_csv(tmp_path / "log.csv", log), PENDULUM)


def test_a_column_without_any_number_is_named(tmp_path):
    path = write_csv(tmp_path / "log.csv", changed(q1=lambda x: np.full(x.size, np.nan)))
    with pytest.warns(DataWarning, match="no number in any row: position of .*missing='nan'"):
        ist.read_motion(path, PENDULUM)
    ist.read_motion(path, PENDULUM, missing="nan")
