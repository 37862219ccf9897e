"""A motion survives its file: every number, name and signal, in NPZ and in CSV."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import isthmus as ist
from isthmus.disk import whole_file
from isthmus.errors import BadFile, BadOption
from isthmus.motion import files
from isthmus.motion.files import (
    coordinate_names,
    dof_names,
    save_motion_file,
)
from isthmus.motion.reading import read_motion_file

MODELS = {
    "pendulum": ist.library.pendulum(2),
    "balls": ist.library.pendulum(2, joints="spherical"),
    "swimmer": ist.library.swimmer(3),
    "quadruped": ist.library.quadruped(),
}


def some_motion(model: ist.Model, rows: int = 7) -> ist.Motion:
    """Numbers that need all their digits, and odd ones; signals of every shape and kind of name."""
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(rows, model.nq)), rng.normal(size=(rows, model.dof)) * 1e-300
    q[0, 0], q[1, 0], v[0, 0], v[1, 0] = 1 / 3, -0.0, np.inf, np.nan
    signals = {
        "link/pose": rng.normal(size=(rows, 2, 7)),
        "joint/torque[elbow]": rng.normal(size=rows),
        "joint/torque[3]": rng.normal(size=rows),
        "joint/a,b/torque": rng.normal(size=(rows, 2)),
        "time": rng.normal(size=rows),
        "joint/transform": rng.normal(size=(rows, 1, 6, 6)),
    }
    return ist.Motion(0.1 * np.arange(rows), q, v, signals)


def assert_same(a: ist.Motion, b: ist.Motion) -> None:
    for name in ("t", "q", "v"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert list(a.signals) == list(b.signals)
    for name, value in a.signals.items():
        np.testing.assert_array_equal(value, b.signals[name])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("suffix", [".npz", ".csv", ".CSV"])
def test_a_motion_comes_back_without_loss(name, suffix, tmp_path):
    model, path = MODELS[name], tmp_path / f"motion{suffix}"
    motion = some_motion(model)
    save_motion_file(model, motion, path)
    assert_same(read_motion_file(path, model), motion)
    assert list(tmp_path.iterdir()) == [path]


def test_every_coordinate_has_a_name_of_its_own():
    for model in MODELS.values():
        assert len(set(coordinate_names(model))) == model.nq
        assert len(set(dof_names(model))) == model.dof
    assert coordinate_names(MODELS["pendulum"]) == ["joint_1", "joint_2"]
    assert coordinate_names(MODELS["quadruped"])[:4] == [
        "trunk.x",
        "trunk.y",
        "trunk.z",
        "trunk.qw",
    ]
    assert dof_names(MODELS["quadruped"])[2:4] == ["trunk.vz", "trunk.wx"]
    assert coordinate_names(MODELS["swimmer"])[:3] == ["root.x", "root.y", "root.angle"]


def test_columns_are_named_and_may_stand_in_any_order(tmp_path):
    model, path = MODELS["pendulum"], tmp_path / "motion.csv"
    save_motion_file(model, ist.Motion(np.arange(2.0), np.ones((2, 2)), np.zeros((2, 2))), path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["t", "joint_1", "joint_2", "joint_1.v", "joint_2.v"]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(row[::-1] for row in rows)
    np.testing.assert_array_equal(read_motion_file(path, model).q, 1.0)


def test_an_npz_file_names_its_joints(tmp_path):
    model = MODELS["pendulum"]
    save_motion_file(model, some_motion(model), tmp_path / "motion.npz")
    with np.load(tmp_path / "motion.npz") as file:
        assert tuple(file["joint_names"]) == model.joint_names
        assert tuple(file["joint_kinds"]) == model.joint_kinds
        assert "signals/link/pose" in file.files
    with pytest.raises(BadFile, match="has the joints 'joint_1', 'joint_2', but 'pendulum_3' has"):
        read_motion_file(tmp_path / "motion.npz", ist.library.pendulum(3))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty"),
        (
            "t,joint_1,joint_2,joint_1.v\n0,1,2,3\n",
            "no column 'joint_2.v'. Did you mean 'joint_1.v'",
        ),
        (
            "t,joint_1,joint_2,joint_1.v,joint_2.v,a[1]\n0,1,2,3,4,5\n",
            "some columns of 'a' are missing",
        ),
        ("t,joint_1,joint_2,joint_1.v,joint_2.v,a,a[0]\n0,1,2,3,4,5,6\n", "columns of 'a'"),
        ('t,"joint_1\n0,1', "no CSV file"),
    ],
)
def test_a_file_that_holds_no_motion_is_refused(text, what, tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as refused:
        read_motion_file(path, MODELS["pendulum"])
    assert what in str(refused.value)


def test_arrays_of_the_wrong_shape_are_refused(tmp_path):
    path, model = tmp_path / "motion.npz", MODELS["pendulum"]
    names = np.array(model.joint_names)
    np.savez(path, t=np.zeros(3), q=np.zeros((2, 2)), v=np.zeros((3, 2)), joint_names=names)
    with pytest.raises(BadFile, match="'q' has the wrong shape"):
        read_motion_file(path, model)
    np.savez(path, t=np.zeros(3), joint_names=names)
    with pytest.raises(BadFile, match="'q', 'v' is missing"):
        read_motion_file(path, model)


def test_what_cannot_be_saved_is_refused(tmp_path):
    model, motion = MODELS["pendulum"], some_motion(MODELS["pendulum"])
    with pytest.raises(BadOption, match=r"must end in \.npz or \.csv"):
        save_motion_file(model, motion, tmp_path / "motion.mat")
    with pytest.raises(BadFile, match="no folder"):
        save_motion_file(model, motion, tmp_path / "no" / "motion.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(BadFile, match="is a folder"):
        save_motion_file(model, motion, tmp_path / "folder.csv")
    twice = ist.Motion(motion.t, motion.q, motion.v, {"t": motion.t})
    with pytest.raises(BadOption, match="two columns would be called 't'"):
        save_motion_file(model, twice, tmp_path / "motion.csv")
    batch = ist.Motion(motion.t[None], motion.q[None], motion.v[None])
    with pytest.raises(BadOption, match="a batch"):
        save_motion_file(model, batch, tmp_path / "motion.csv")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_file_appears_whole_or_not_at_all(error, tmp_path, monkeypatch):
    model, motion, path = (
        MODELS["pendulum"],
        some_motion(MODELS["pendulum"]),
        tmp_path / "motion.csv",
    )
    path.write_text("what was there before", encoding="utf-8")

    def interrupted(columns: dict, file: object) -> None:
        file.write(b"half")  # ty: ignore
        raise error

    monkeypatch.setattr(files, "_write_csv", interrupted)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else BadFile):
        save_motion_file(model, motion, path)
    assert path.read_text(encoding="utf-8") == "what was there before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_permissions_of_an_ordinary_one(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with whole_file(tmp_path / "ours") as file:
        file.write(b"x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode
