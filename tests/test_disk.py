"""Files that users keep: names from foreign files stay in their folder, nothing is lost or left half-written."""

from __future__ import annotations

import json
import os
import signal
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isthmus as ist
from isthmus import disk
from isthmus.disk import check_size, opened, safe_stem, whole_file
from isthmus.distributed.job import Job, Record
from isthmus.distributed.store import Store, discard
from isthmus.errors import BadFile, BadStore, FitWarning
from isthmus.interrupts import postponed
from tests.fuzz.examples import fit


@given(st.text())
def test_a_file_name_made_from_any_name_stays_in_its_folder(name):
    stem = safe_stem(name)
    assert stem
    assert len(stem) <= 81
    assert Path("folder", f"{stem}.urdf").resolve().parent == Path("folder").resolve()
    assert not stem.startswith((".", "-", " "))
    assert safe_stem(stem) == stem


@pytest.mark.parametrize("name", ["../../escaped", "/etc/passwd", "..", "a\0b", "C:\\x", "nul", ""])
def test_names_of_other_places_are_tamed(name):
    assert not set(safe_stem(name)) & set("/\\:\0")
    assert safe_stem(name) not in ("..", ".", "nul", "")


def test_ordinary_names_stay_as_they_are():
    for name in ("iiwa14", "panda arm", "go1.v2", "Roboter_Ä"):
        assert safe_stem(name) == name


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    path = tmp_path / "kept"
    path.write_text("old")

    def interrupted() -> None:
        with whole_file(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def record(k: int) -> Record:
    return Record(Job("math:floor", {"x": k}), {"found": k / 7}, 0.1)


def test_a_changed_digit_of_a_record_is_noticed(tmp_path):
    path = tmp_path / "records.jsonl"
    with Store(path, {"a": 1}) as store:
        store.append(record(k) for k in range(5))
    whole = path.read_bytes()
    head = whole.index(b"\n") + 1
    for place in range(head, len(whole), 7):
        if whole[place : place + 1].isdigit():
            other = bytes([whole[place] ^ 1])
            path.write_bytes(whole[:place] + other + whole[place + 1 :])
            with pytest.raises(BadStore, match="is damaged"):
                Store(path, {"a": 1}, resume=True)
            path.write_bytes(whole)
    with Store(path, {"a": 1}, resume=True) as store:
        assert len(store) == 5


@pytest.mark.parametrize(
    "content", [b"my thesis", b"a,b\n1,2\n3", b"\x00\x01", b"{}\n", b'{"format": "x"}\n']
)
def test_a_foreign_file_given_as_store_stays_as_it_is(tmp_path, content):
    path = tmp_path / "thesis.txt"
    path.write_bytes(content)
    with pytest.raises(BadStore, match="is no file of records"):
        Store(path, {"a": 1}, resume=True)
    assert path.read_bytes() == content


def test_a_store_that_was_killed_in_its_first_line_begins_anew(tmp_path):
    path = tmp_path / "records.jsonl"
    Store(path, {"a": 1}).close()
    path.write_bytes(path.read_bytes()[:9])
    with Store(path, {"a": 1}, resume=True) as store:
        store.append([record(1)])
    with Store(path, {"a": 1}, resume=True) as store:
        assert len(store) == 1


def test_a_store_in_use_is_not_discarded(tmp_path):
    path = tmp_path / "records.jsonl"
    with Store(path, {"a": 1}), pytest.raises(BadStore, match="another run is writing"):
        discard(path)
    discard(path)
    assert not path.exists()
    discard(path)


def test_a_model_with_a_dangerous_name_is_exported_beside(tmp_path, monkeypatch):
    from isthmus.cli.main import main

    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    ist.export_urdf(ist.library.pendulum(1), inner / "arm.urdf")
    text = (inner / "arm.urdf").read_text()
    (inner / "arm.urdf").write_text(text.replace('name="pendulum_1"', 'name="../../escaped"', 1))
    assert main(["export", "arm.urdf", "--to", "urdf"]) == 0
    assert not (tmp_path / "escaped.urdf").exists()
    assert sorted(p.name for p in inner.iterdir()) == ["_.._escaped.urdf", "arm.urdf"]


def test_an_export_does_not_overwrite_what_it_is_made_from(tmp_path, monkeypatch, capsys):
    from isthmus.cli.main import main

    monkeypatch.chdir(tmp_path)
    ist.export_urdf(ist.library.pendulum(1), "pendulum_1.urdf")
    before = Path("pendulum_1.urdf").read_bytes()
    assert main(["export", "pendulum_1.urdf", "--to", "urdf"]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert Path("pendulum_1.urdf").read_bytes() == before


def test_the_files_of_a_fit_belong_together(tmp_path):
    from tests.identify.motions import double_problem

    with pytest.warns(FitWarning):
        fit = ist.fit(double_problem(), ist.LevenbergMarquardt(steps=1))
    fit.save(tmp_path)
    assert ist.Fit.load(tmp_path).estimates == fit.estimates
    other = ist.library.pendulum(1)
    ist.save(other, tmp_path / "model.safetensors")
    with pytest.raises(BadFile, match=r"model.safetensors does not belong to fit.json"):
        ist.Fit.load(tmp_path)


def test_ctrl_c_after_the_search_loses_nothing(capsys):
    """Twice, while standard errors are computed."""
    done = []
    with postponed("writing the results"):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        done.append("written")
    assert done == ["written"]
    assert capsys.readouterr().err.count("writing the results, a moment") == 1
    with pytest.raises(KeyboardInterrupt):  # as before
        interrupt()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1.0)


@pytest.mark.parametrize("damage", [zlib.error("x"), KeyError(1), RecursionError(), MemoryError()])
def test_whatever_a_library_raises_over_a_file_is_one_error_with_its_cause(tmp_path, damage):
    path = tmp_path / "log.h5"
    path.write_bytes(b"x")
    with pytest.raises(BadFile, match=r"log\.h5.*damaged") as caught, opened(path, "HDF5 file"):
        raise damage
    assert caught.value.__cause__ is damage


def test_an_error_of_ours_passes_unchanged(tmp_path):
    refusal = BadStore("in use")
    with pytest.raises(BadStore) as caught, opened(tmp_path, "file"):
        raise refusal
    assert caught.value is refusal


@pytest.mark.parametrize("kind", ["npz", "h5", "parquet"])
def test_the_size_of_a_log_counts_after_expansion(tmp_path, kind, monkeypatch):
    path, zeros = tmp_path / f"log.{kind}", np.zeros(100_000)
    if kind == "npz":
        np.savez_compressed(path, t=zeros)
    elif kind == "h5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file.create_dataset("t", data=zeros, compression="gzip")
    else:
        arrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
        parquet.write_table(arrow.table({"t": zeros}), path)
    monkeypatch.setattr(disk, "LARGEST", 100_000)
    check_size(path)
    with pytest.raises(BadFile, match="we hold in memory at once; split it"):
        ist.read_motion(path)


@pytest.mark.parametrize("name", ["a" * 10_000, "a\0b"])
def test_a_name_that_no_file_can_have_is_refused(name):
    with pytest.raises(BadFile) as caught:
        ist.read_motion(name)
    assert len(str(caught.value)) < 1000
    with pytest.raises(BadFile):
        ist.Fit.load(name)
    with pytest.raises(BadFile, match="cannot be made"):
        fit().save(name)


def test_a_damaged_text_of_a_fit_names_what_is_wrong(tmp_path):
    fit().save(tmp_path)
    good = json.loads((tmp_path / "fit.json").read_text())
    for key, value in (
        ("loss", "x"),
        ("estimates", [1]),
        ("history", [None]),
        ("errors", {"a": [1]}),
    ):
        (tmp_path / "fit.json").write_text(json.dumps(good | {key: value}))
        with pytest.raises(BadFile, match=rf"fit\.json is damaged: .*{key} must be"):
            ist.Fit.load(tmp_path)
    (tmp_path / "fit.json").write_text(json.dumps(good))
    assert str(ist.Fit.load(tmp_path)) == str(fit())
