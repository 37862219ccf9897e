"""`isthmus doctor` names faults and cures; `isthmus completion` prints scripts that shells understand."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from isthmus.cli import checkup
from isthmus.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def test_a_sound_installation_is_ready(capsys):
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "Isthmus is ready." in said
    assert "native code" in said
    assert "[mjcf]" in said


def test_every_extra_is_explained():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - set(checkup.FOR_OURSELVES)
    assert extras == set(checkup.EXTRAS)


def test_a_cache_that_cannot_be_written_is_a_fault_with_a_cure(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "file"))
    assert main(["doctor"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "Set ISTHMUS_CACHE to a folder" in said
    assert "1 to be cured." in said


def test_a_library_that_is_missing_is_a_fault(monkeypatch):
    monkeypatch.setattr(checkup, "_needs", lambda extra="": ["no-such-library"])
    (found,) = checkup._libraries()
    assert (found.state, found.cure) == ("fault", "pip install no-such-library")


def test_a_check_that_fails_is_a_fault_and_the_others_go_on():
    def broken():
        raise OSError("gone")

    assert checkup._safely(broken).state == "fault"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_of_a_shell_is_sound(shell, capsys, tmp_path):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "simulate" in script
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(script, encoding="utf-8")
        subprocess.run([shell, "-n", str(path)], check=True)


def test_an_unknown_shell_is_refused(capsys):
    assert main(["completion", "fish"]) == 2
    assert "'bash', 'zsh', 'tcsh'" in capsys.readouterr().err
