"""The store loses nothing that was written, and goes on only with what belongs to it."""

from __future__ import annotations

import pytest

from isthmus.distributed.job import Job, Record
from isthmus.distributed.store import Store
from isthmus.errors import BadStore

ABOUT = {"problem": "abc", "seed": 1}


def record(k: int) -> Record:
    return Record(Job("a:b", {"k": k}), {"cost": 0.1 * k}, 0.5)


@pytest.fixture
def path(tmp_path):
    """A store of three records."""
    file = tmp_path / "folder" / "run.jsonl"
    with Store(file, ABOUT) as store:
        store.append([record(0)])
        store.append([record(1), record(2)])
    return file


def test_what_was_written_is_there_when_the_run_goes_on(path):
    with Store(path, ABOUT, resume=True) as store:
        assert list(store.records.values()) == [record(k) for k in range(3)]
        store.append([record(3)])
    with Store(path, ABOUT, resume=True) as store:
        assert len(store) == 4
        assert record(3).job.key in store


def test_wherever_a_kill_tears_the_last_line_the_others_stay(path):
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        with Store(path, ABOUT, resume=True) as store:
            assert len(store) == 2
            store.append([record(2)])
        assert path.read_bytes() == whole


def test_a_file_that_was_torn_in_its_first_line_begins_anew(path):
    path.write_bytes(path.read_bytes()[:10])
    with Store(path, ABOUT, resume=True) as store:
        assert len(store) == 0


def test_a_new_run_does_not_touch_an_earlier_one(path):
    before = path.read_bytes()
    with pytest.raises(BadStore, match=r"holds an earlier run: go on with it \(resume=True\)"):
        Store(path, ABOUT)
    assert path.read_bytes() == before


def test_a_run_of_another_problem_is_refused_by_what_differs(path):
    with pytest.raises(BadStore, match=r'its problem is "abc", here it is "xyz"'):
        Store(path, ABOUT | {"problem": "xyz"}, resume=True)
    with pytest.raises(BadStore, match=r"its step is null, here it is 0.5"):
        Store(path, ABOUT | {"step": 0.5}, resume=True)


def test_a_damaged_line_is_named(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{oh}\n", *lines[2:]]))
    with pytest.raises(BadStore, match=r"line 2 of .* is damaged"):
        Store(path, ABOUT, resume=True)


def test_a_file_of_another_kind_is_refused(path):
    path.write_text("time,q\n0,1\n", encoding="utf-8")
    with pytest.raises(BadStore, match="is no file of records"):
        Store(path, ABOUT, resume=True)


def test_two_runs_do_not_write_into_one_file(path):
    pytest.importorskip("fcntl")
    with Store(path, ABOUT, resume=True), pytest.raises(BadStore, match="another run is writing"):
        Store(path, ABOUT, resume=True)
