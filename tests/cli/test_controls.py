"""The option `--control`: constants, waves and files become commands, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli.controls import read_commands
from isthmus.errors import IsthmusError

PENDULUM = ist.library.pendulum(2)
QUADRUPED = ist.library.quadruped()
STEPS = np.arange(4)


def at(text: str, model: ist.Model = PENDULUM, *, dt: float = 0.25, steps: int = 4) -> np.ndarray:
    return read_commands(text, model).at(STEPS, dt, steps)


def table(folder: Path, text: str, name: str = "control.csv") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_constants_are_lists_or_named():
    np.testing.assert_array_equal(at("zero"), np.zeros((4, 2)))
    np.testing.assert_array_equal(at("1.5,-0.2"), [[1.5, -0.2]] * 4)
    np.testing.assert_array_equal(at(" 1.5  -0.2 "), [[1.5, -0.2]] * 4)
    np.testing.assert_array_equal(at("-1,2"), [[-1.0, 2.0]] * 4)
    np.testing.assert_array_equal(at("joint_2=3"), [[0.0, 3.0]] * 4)
    assert at("trunk.vz=9", QUADRUPED)[0, 2] == 9.0


def test_a_sine_drives_hinges_and_sliders_only():
    expected = 2.0 * np.sin(2.0 * np.pi * 0.5 * 0.25 * STEPS)
    found = at("sine:2,0.5", QUADRUPED)
    np.testing.assert_array_equal(found[:, :6], 0.0)
    np.testing.assert_allclose(found[:, 6:], np.tile(expected[:, None], 12))
    some = at("sine:2,0.5@F*_hip", QUADRUPED)
    assert np.flatnonzero(some[1]).tolist() == [6, 9]


def test_a_chirp_goes_from_one_frequency_to_the_other():
    steps, dt = 100_000, 1e-4
    k = np.arange(steps)
    values = read_commands("chirp:1,0.5,3", PENDULUM).at(k, dt, steps)[:, 0]
    crossings = k[1:][(values[:-1] < 0.0) & (values[1:] >= 0.0)] * dt
    assert 1.0 / np.diff(crossings)[0] == pytest.approx(0.5 + 2.5 * 0.2, rel=0.3)
    assert 1.0 / np.diff(crossings)[-1] == pytest.approx(3.0, rel=0.05)


def test_a_file_with_times_is_interpolated_and_one_without_goes_step_by_step(tmp_path):
    timed = table(tmp_path, "t,joint_2,joint_1\n5,0,1\n6,10,1\n")
    np.testing.assert_allclose(at(timed), [[1, 0], [1, 2.5], [1, 5], [1, 7.5]])
    assert read_commands(timed, PENDULUM).seconds(0.1) == 1.0
    rows = table(tmp_path, "joint_1,joint_2\n0,1\n2,3\n4,5\n6,7\n", "rows.csv")
    np.testing.assert_array_equal(at(rows), np.arange(8.0).reshape(4, 2))
    assert read_commands(rows, PENDULUM).seconds(0.1) == pytest.approx(0.4)
    np.savez(tmp_path / "rows.npz", joint_1=[0.0, 2, 4, 6], joint_2=[1.0, 3, 5, 7])
    np.testing.assert_array_equal(at(str(tmp_path / "rows.npz")), at(rows))


def test_joints_with_several_degrees_of_freedom_may_be_left_out(tmp_path):
    hinges = [name for name in QUADRUPED.joint_names if name != "trunk"]
    path = table(tmp_path, ",".join(hinges) + "\n" + ",".join(["1"] * 12) + "\n")
    found = read_commands(path, QUADRUPED).at(np.array([0]), 0.1, 1)
    np.testing.assert_array_equal(found, [[0.0] * 6 + [1.0] * 12])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "does not understand ''"),
        ("wobble", "it takes zero, numbers"),
        ("sin:1,2", "Did you mean 'sine'?"),
        ("1", "has 1 numbers, but 'pendulum_2' has 2"),
        ("1,2,3", "has 3 numbers"),
        ("1,x", "'x' is no number"),
        ("1,nan", "'nan' is not finite"),
        ("joint_3=1", "Did you mean"),
        ("joint_1=1,joint_1=2", "occurs twice"),
        ("sine:1", "is written sine:AMPLITUDE,HERTZ"),
        ("sine:1,-2", "frequencies from 0"),
        ("chirp:1,2", "is written chirp:AMPLITUDE,HERTZ,HERTZ"),
        ("sine:1,2@elbow", "no hinge or slider is called 'elbow'"),
        ("nowhere.csv", "there is no file"),
    ],
)
def test_what_makes_no_control_is_refused(text, what):
    with pytest.raises(IsthmusError) as refused:
        read_commands(text, PENDULUM)
    assert what in str(refused.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty"),
        ("t,joint_1,joint_2\n", "has no rows"),
        ("t,joint_1\n0,1\n", "has no column 'joint_2'"),
        ("t,joint_1,joint2\n0,1,2\n", "has no column 'joint_2'. Did you mean 'joint2'?"),
        ("joint_1,joint_2,foo\n0,1,2\n", "column 'foo' belongs to no joint"),
        ("joint_1,joint_2,joint_1\n0,1,2\n", "two columns called 'joint_1'"),
        ("t,joint_1,joint_2\n0,1,2\n1,nan,2\n", "column 'joint_1': row 2 holds nan"),
        ("t,joint_1,joint_2\n0,1,2\n1,2,inf\n", "column 'joint_2': row 2 holds inf"),
        ("t,joint_1,joint_2\n0,1,2\n0,2,3\n", "t must rise"),
        ("t,joint_1,joint_2\n0,1\n", "line 2: 2 cells, but there are 3 columns"),
        ("t,joint_1,joint_2\n0,1,x\n", "line 2, column 'joint_2': 'x' is no number"),
        ("\udcff\udcfe", "not text"),
    ],
)
def test_what_is_wrong_with_a_file_is_named_with_its_place(text, what, tmp_path):
    path = tmp_path / "control.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(IsthmusError) as refused:
        read_commands(str(path), PENDULUM)
    assert what in str(refused.value)


def test_an_npz_file_that_is_none_is_refused(tmp_path):
    for content, what in (
        (b"", "is empty"),
        (b"\x00\xff" * 99, "no NPZ file"),
        (b"PK\x03\x04", "no NPZ"),
    ):
        (tmp_path / "control.npz").write_bytes(content)
        with pytest.raises(IsthmusError, match=what):
            read_commands(str(tmp_path / "control.npz"), PENDULUM)
    np.savez(tmp_path / "control.npz", joint_1=[0.0, 1.0], joint_2=[0.0])
    with pytest.raises(IsthmusError, match="different lengths"):
        read_commands(str(tmp_path / "control.npz"), PENDULUM)
    np.savez(tmp_path / "control.npz", joint_1=np.array([None]), joint_2=[0.0])
    with pytest.raises(IsthmusError, match="plain arrays"):
        read_commands(str(tmp_path / "control.npz"), PENDULUM)
