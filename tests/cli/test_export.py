"""`isthmus export`: what it writes, what it says, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli.main import main
from tests.cli.test_main import one_sentence


def test_export_writes_the_step_as_c(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "library:pendulum", "--to", "c", "--dt", "0.002"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "wrote pendulum_2_step.c" in said.out
    assert "try it: cc" in said.out
    names = {"pendulum_2_step.c", "pendulum_2_step.h", "pendulum_2_step_main.c"}
    assert {path.name for path in tmp_path.iterdir()} == names
    wanted = ist.export_c(ist.library.pendulum(), dt=0.002)
    assert (tmp_path / "pendulum_2_step.h").read_text(encoding="utf-8") == wanted.header
    assert (tmp_path / "pendulum_2_step.c").read_text(encoding="utf-8") == wanted.source
    assert (tmp_path / "pendulum_2_step_main.c").read_text(encoding="utf-8") == wanted.test


def test_file_and_function_are_called_as_asked(tmp_path, capsys):
    path = tmp_path / "robot.c"
    words = ["export", "library:pendulum", "--to", "c", "--out", str(path), "--name", "advance"]
    assert main([*words, "--parameters", "arguments"]) == 0
    assert "advance: " in capsys.readouterr().out
    header = (tmp_path / "robot.h").read_text(encoding="utf-8")
    assert "void advance(" in header
    assert "const double link_mass[2]" in header


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "'isthmus export' needs --to, one of c, urdf, mjcf"),
        ("--to rust", "--to cannot be 'rust'; it is one of 'c', 'urdf', 'mjcf'"),
        ("--to c --out missing/step.c", "there is no folder 'missing'"),
        ("--to c --out step.h", "the file must end in .c"),
        ("--to c --name 2nd", "no name of a function in C"),
        ("--to c --dt -1", "--dt must be a positive number"),
        ("--to c --substeps 0", "--substeps must be from 1"),
        ("--to urdf --dt 0.01", "--dt says how to step, which is for --to c only"),
        ("--to c --nme x", "Did you mean '--name'?"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_sentence(
    words, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "library:pendulum", *words.split()]) == 2
    assert sentence in one_sentence(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", ["urdf", "mjcf"])
def test_export_writes_the_mechanism_for_other_programs(to, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "library:cart_pole", "--to", to]) == 0
    said = capsys.readouterr()
    name = {"urdf": "cart_pole.urdf", "mjcf": "cart_pole.xml"}[to]
    assert (said.err, said.out.splitlines()[0]) == ("", f"wrote {name}")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_contacts_that_are_asked_for_are_exported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--ground", "0", "--contact", "shapes=*_foot,friction=0.7"]
    assert main(["export", "library:quadruped", "--to", "mjcf", *words]) == 0
    again = ist.load(tmp_path / "quadruped.xml")
    assert len(again.contact_kinds) == 4
    np.testing.assert_allclose(again.contact_friction, 0.7)


def test_what_a_format_has_not_is_one_line_beside_the_result(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "library:cube", "--to", "urdf"]) == 0
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "shape of kind 'plane'" in said.err


def test_the_folder_of_a_fit_is_the_fitted_robot(tmp_path, capsys):
    """After `isthmus fit`, this is the next command; it said that a folder is not a file."""
    folder = tmp_path / "fit"
    folder.mkdir()
    robot = ist.library.pendulum().set("link/mass", [1.2, 0.7])
    ist.save(robot, folder / "model.safetensors")
    out = tmp_path / "fitted.urdf"
    assert main(["export", str(folder), "--to", "urdf", "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").count('<mass value="1.2"') == 1
    (folder / "model.safetensors").unlink()
    assert main(["export", str(folder), "--to", "urdf", "--out", str(out)]) == 2
    assert "is a folder, not a file" in capsys.readouterr().err
