"""Machine code on disk: found again, never trusted blindly, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.native.runtime import codes, store
from isthmus.native.runtime.codes import entry_of
from isthmus.native.targets import here
from isthmus.native.targets.llvm import machine_code

X = np.arange(3.0)
WANTED = np.sin(X) + 2.0 * X


def fn(x):
    return jnp.sin(x) + 2.0 * x


def compiled():
    f = native.compile(fn, X)
    np.testing.assert_allclose(f(X), WANTED, rtol=1e-15)
    return f


@pytest.fixture
def place(monkeypatch, tmp_path):
    """An empty folder for code."""
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "here"))
    return tmp_path / "here" / "native"


@pytest.fixture
def busy(monkeypatch):
    """How often LLVM had to work."""
    times = []
    work = codes.object_of
    monkeypatch.setattr(codes, "object_of", lambda *args: times.append(args) or work(*args))
    return times


def test_what_was_compiled_once_is_loaded_again(place, busy):
    compiled()
    compiled()
    assert len(busy) == 1
    assert len(list(place.iterdir())) == 1
    if os.name == "posix":
        assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:20],
        lambda data: b"",
        lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
        lambda data: data.replace(b"native 1", b"native 0", 1),
    ],
    ids=["half", "only the head", "empty", "one bit", "another format"],
)
def test_a_damaged_file_is_compiled_anew_and_mended(place, busy, damage):
    compiled()
    (file,) = place.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    compiled()
    assert len(busy) == 2
    assert file.read_bytes() == whole
    compiled()
    assert len(busy) == 2


def test_an_object_that_does_not_link_is_compiled_anew(place, busy, capfd):
    entry = compiled().code(1).entry
    header, _ = store.read(entry)
    store.write(entry, header, b"no object file")
    compiled()
    assert len(busy) == 2


@pytest.mark.parametrize("word", ["off", "0", "OFF"])
def test_it_can_be_turned_off(monkeypatch, tmp_path, busy, word):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISTHMUS_CACHE", word)
    compiled()
    compiled()
    assert len(busy) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_code_goes_where_the_system_keeps_such_things(monkeypatch, tmp_path):
    monkeypatch.delenv("ISTHMUS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.folder() == tmp_path / "isthmus" / "native"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.folder() == tmp_path / ".cache" / "isthmus" / "native"


def test_a_folder_that_cannot_be_made_is_no_obstacle(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "file"))
    compiled()
    assert store.usable() is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of other systems differ")
def test_nothing_is_run_from_a_folder_that_others_can_write_to(place, busy):
    compiled()
    place.chmod(0o777)
    compiled()
    assert len(busy) == 2


def test_another_processor_or_program_has_another_name(monkeypatch):
    name = entry_of(here(), "text", 1)
    assert name == entry_of(here(), "text", 1)
    assert len({name, entry_of(here(), "text", 8), entry_of(here(), "text ", 1)}) == 3
    present = machine_code.processor()
    better = present._replace(features=present.features | {"of tomorrow"})
    monkeypatch.setattr(machine_code, "processor", lambda: better)
    assert entry_of(here(), "text", 1) != name


@pytest.mark.parametrize(
    ("what", "other"), [("THOROUGH", 0), ("ENDLESS", -1), ("QUICK", ("simplify_cfg",))]
)
def test_the_name_of_code_says_how_it_was_optimised(monkeypatch, what, other):
    monkeypatch.delenv(machine_code.VARIABLE, raising=False)
    text, lanes = "text", 1
    if what != "THOROUGH":
        text, lanes = "\n" * machine_code.THOROUGH, 8
    name = entry_of(here(), text, lanes)
    monkeypatch.setattr(machine_code, what, other)
    assert entry_of(here(), text, lanes) != name


def test_the_oldest_entries_go_where_there_are_too_many(place, monkeypatch):
    monkeypatch.setattr(store, "LARGEST", 2500)
    monkeypatch.setattr(store, "OFTEN", 1)
    for k in range(4):
        store.write(f"entry{k}", {"k": k}, bytes(900))
        os.utime(place / f"entry{k}.code", (k, k))
        if k == 1:
            assert store.read("entry0") is not None  # used now, so it is no longer the oldest
    kept = {path.name for path in place.iterdir()}
    assert kept == {"entry0.code", "entry3.code"}


def test_what_a_killed_process_left_is_swept_away(place, monkeypatch):
    monkeypatch.setattr(store, "OFTEN", 1)
    store.write("entry", {})
    left = place / f"entry{store.HALF}"
    left.write_bytes(b"half")
    store.write("entry", {})
    assert left.exists()  # perhaps somebody is writing it now
    os.utime(left, (0, 0))
    store.write("entry", {})
    assert not left.exists()


def test_processes_that_race_give_the_same_and_leave_whole_files(place):
    script = """
import numpy as np
from isthmus import native
from isthmus.native.runtime import codes, store
for k in range(60):
    mine, other = k % 3, (k + 1) % 3
    store.write(f"entry{mine}", {"of": mine}, bytes([mine]) * 200_000)
    found = store.read(f"entry{other}")
    assert found is None or found == ({"of": other}, bytes([other]) * 200_000)
f = native.compile(lambda x: 2.0 * x + 1.0, np.ones(3))
assert f(np.ones(3)).tolist() == [3.0] * 3
"""
    racers = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [racer.wait(120) for racer in racers] == [0, 0, 0]
    names = [path.name for path in place.iterdir()]
    assert len(names) == 4
    assert all(store.read(name.removesuffix(store.SUFFIX)) is not None for name in names)
