"""HDF5, Parquet and ROS bags give the motions that were put into them; missing libraries and broken files are said."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFile, BadMotion, BadOption, MissingExtra, MissingFile
from tests.data.logs import sines

PENDULUM = ist.library.pendulum(2)
LOG = sines()
Q, V, TAU = (np.stack([LOG[f"{x}1"], LOG[f"{x}2"]], axis=1) for x in ("q", "v", "tau"))


def assert_the_log(motion: ist.Motion, error: float = 0.0) -> None:
    np.testing.assert_allclose(motion.t, LOG["t"], rtol=0, atol=1e-9)
    for got, want in ((motion.q, Q), (motion.v, V), (motion.controls, TAU)):
        np.testing.assert_allclose(got, want, rtol=0, atol=error)


# HDF5 ----------------------------------------------------------------------------------------------------


def hdf5(path: Path, arrays: dict) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, x in arrays.items():
            file[name] = x
    return path


def test_hdf5_is_read_as_npz_is(tmp_path):
    names = np.array([b"joint_1", b"joint_2"])
    path = hdf5(
        tmp_path / "log.h5", {"time": LOG["t"], "q": Q, "v": V, "tau": TAU, "joint_names": names}
    )
    assert_the_log(ist.read_motion(path, PENDULUM))
    path = hdf5(
        tmp_path / "group.hdf5",
        {"run/t": LOG["t"], "run/q": Q, "run/v": V, "run/tau": TAU, "joint_names": names},
    )
    assert_the_log(ist.read_motion(path, PENDULUM))


def test_clocks_of_their_own_are_aligned_by_choice(tmp_path):
    slow = slice(0, 100, 10)
    path = hdf5(
        tmp_path / "log.h5",
        {"joints/t": LOG["t"], "joints/q": Q, "motor/t": LOG["t"][slow], "motor/tau": TAU[slow]},
    )
    with pytest.raises(
        BadMotion,
        match=r"clocks of their own: .*:joints' every 0.01 s, .*:motor' every 0.1 s.*align='union'",
    ):
        ist.read_motion(path, PENDULUM)
    union = ist.read_motion(path, PENDULUM, align="union", holes="keep")
    np.testing.assert_array_equal(union.controls[slow], TAU[slow])
    assert np.isnan(union.controls[5]).all()
    step = ist.read_motion(path, PENDULUM, align=0.02, constant="keep")
    np.testing.assert_allclose(step.controls, TAU[0:92:2], atol=1e-12)
    np.testing.assert_allclose(step.q, Q[0:92:2], atol=1e-12)


def test_a_broken_hdf5_file_is_said(tmp_path):
    path = hdf5(tmp_path / "log.h5", {"t": LOG["t"], "q": Q})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadFile, match="no HDF5 file, or was not written to its end"):
        ist.read_motion(path, PENDULUM)
    path.write_bytes(b"")
    with pytest.raises(BadFile, match="is empty"):
        ist.read_motion(path, PENDULUM)


# Parquet -------------------------------------------------------------------------------------------------


def parquet(path: Path, columns: dict) -> Path:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_has_columns_lists_and_dates(tmp_path):
    names = ["t", "q_joint_1", "q_joint_2", "v_joint_1", "v_joint_2", "tau_joint_1", "tau_joint_2"]
    path = parquet(
        tmp_path / "log.parquet",
        dict(zip(names, LOG.values(), strict=True)) | {"who": ["me"] * 100},
    )
    assert_the_log(ist.read_motion(path, PENDULUM))
    stamps = np.datetime64("2026-01-01", "ns") + np.round(1e9 * LOG["t"]).astype("timedelta64[ns]")
    path = parquet(
        tmp_path / "lists.pq",
        {"time": stamps, "q": Q.tolist(), "v": V.tolist(), "tau": TAU.tolist()},
    )
    motion = ist.read_motion(path, PENDULUM)
    assert_the_log(motion)
    assert "2026-01-01" in " ".join(motion.notes)


def test_the_names_of_joints_in_each_row_of_a_parquet_file_name_the_columns(tmp_path):
    pytest.importorskip("pyarrow")
    names, rows = ["joint_2", "joint_1"], np.stack([Q[:, 1], Q[:, 0]], axis=1).tolist()
    message = {"name": [names] * len(Q), "position": rows}
    nested = [{"name": names, "position": row} for row in rows]
    for k, columns in enumerate((message, {"joint_states": nested})):
        path = parquet(tmp_path / f"{k}.parquet", {"t": LOG["t"], **columns})
        np.testing.assert_array_equal(ist.read_motion(path, PENDULUM).q, Q)
    message["name"] = [*message["name"][1:], names[::-1]]
    with pytest.raises(BadFile, match="'name' differ from row to row"):
        ist.read_motion(parquet(tmp_path / "changed.pq", {"t": LOG["t"], **message}), PENDULUM)
    others = {"tags": [["a"], *[[]] * 99], "parts": [[{"size": 1}]] * 100}
    path = parquet(tmp_path / "tags.parquet", {"t": LOG["t"], "q": Q.tolist(), **others})
    np.testing.assert_array_equal(ist.read_motion(path, PENDULUM).q, Q)


def test_a_broken_parquet_file_is_said(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(BadFile, match="no Parquet file, or was not written to its end"):
        ist.read_motion(path, PENDULUM)


# ROS -----------------------------------------------------------------------------------------------------


def bag(
    path: Path, plugin: str, topics: tuple[str, ...] = ("/joint_states",), joints: bool = True
) -> Path:
    """A bag of joint states; the joints stand in another order than in the model."""
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    state = store.types["sensor_msgs/msg/JointState"]
    number = store.types["std_msgs/msg/Float64"]
    header, stamp = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    begin = 1_700_000_000 * 10**9
    with Writer(path, version=9, storage_plugin=StoragePlugin[plugin]) as writer:
        for topic in topics if joints else ():
            connection = writer.add_connection(topic, state.__msgtype__, typestore=store)
            for t, q, v, tau in zip(LOG["t"], Q[:, ::-1], V[:, ::-1], TAU[:, ::-1], strict=True):
                ns = begin + round(1e9 * t)
                at = header(stamp(ns // 10**9, ns % 10**9), "")
                message = state(at, ["joint_2", "joint_1"], q.copy(), v.copy(), tau.copy())
                data = store.serialize_cdr(message, state.__msgtype__)
                writer.write(connection, ns + 1_000_000, data)
        lamp = writer.add_connection("/lamp", number.__msgtype__, typestore=store)
        for t in LOG["t"][::10]:
            ns = begin + round(1e9 * t)
            writer.write(lamp, ns, store.serialize_cdr(number(t), number.__msgtype__))
    return path


@pytest.mark.parametrize("plugin", ["SQLITE3", "MCAP"])
def test_a_bag_gives_its_joint_states(plugin, tmp_path):
    path = bag(tmp_path / "bag", plugin)
    assert_the_log(ist.read_motion(path, PENDULUM), error=1e-15)
    [file] = [file for file in path.iterdir() if file.suffix in (".mcap", ".db3")]
    motion = ist.read_motion(file, PENDULUM)
    assert_the_log(motion, error=1e-15)
    assert "efforts are taken as commands" in motion.notes[0]


def test_other_topics_are_channels_where_asked_for(tmp_path):
    path = bag(tmp_path / "bag", "MCAP")
    motion = ist.read_motion(
        path, PENDULUM, topics=["/joint_states", "/lamp"], align="union", holes="keep"
    )
    np.testing.assert_allclose(motion.signals["extra/lamp.data"][::10], LOG["t"][::10])
    with pytest.raises(BadOption, match=r"no topic '/lamps'. Did you mean '/lamp'"):
        ist.read_motion(path, PENDULUM, topics=["/lamps"])
    twice = bag(tmp_path / "twice", "MCAP", topics=("/a", "/b"))
    with pytest.raises(BadMotion, match="'q' was measured twice"):
        ist.read_motion(twice, PENDULUM, align="union")


def test_bags_that_cannot_be_read_are_said(tmp_path):
    none = bag(tmp_path / "none", "SQLITE3", joints=False)
    with pytest.raises(
        BadMotion, match=r"no topic of joint states, but '/lamp' \(std_msgs/msg/Float64\)"
    ):
        ist.read_motion(none, PENDULUM)
    (tmp_path / "half.mcap").write_bytes(b"\x89MCAP0\r\n")
    with pytest.raises(BadFile, match="no bag, or was not written to its end"):
        ist.read_motion(tmp_path / "half.mcap", PENDULUM)
    with pytest.raises(MissingFile, match="there is no file"):
        ist.read_motion(tmp_path / "gone.mcap", PENDULUM)


@pytest.mark.parametrize(
    ("library", "ending", "extra"),
    [
        ("h5py", "h5", "hdf5"),
        ("pyarrow", "parquet", "parquet"),
        ("rosbags.highlevel", "mcap", "ros"),
    ],
)
def test_a_library_that_is_not_installed_is_named(library, ending, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / f"log.{ending}").write_bytes(b"x")
    with pytest.raises(MissingExtra, match=rf"pip install 'isthmus\[{extra}\]'"):
        ist.read_motion(tmp_path / f"log.{ending}", PENDULUM)


@pytest.mark.parametrize("mark", [",", " "])
def test_a_last_line_that_ends_inside_a_number_is_left_out_and_told(mark, tmp_path):
    rows = [mark.join(["t", "q1", "q2"])]
    rows += [mark.join(f"{x:.5f}" for x in (0.01 * k, 0.01 * k, 0.002 * k)) for k in range(40)]
    for name, text, count in (
        ("cut", "\n".join(rows)[:-3], 39),
        ("no line end", "\n".join(rows), 40),
        ("whole", "\n".join(rows) + "\n", 40),
    ):
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        motion = ist.read_motion(path, PENDULUM)
        assert len(motion) == count
        assert ("ends inside a number, '0.07'" in str(motion.notes)) == (name == "cut")
