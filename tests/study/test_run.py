"""Studies that are run: results in a folder, nothing overwritten by accident, a stopped one goes on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFile, BadOption
from isthmus.model.source import SourceFile
from isthmus.study.results import text_for_folder, usual_formats
from isthmus.study.run import search
from tests.study.logs import write_logs

TEXT = """
robot = "library:pendulum"
logs = ["logs/*.csv"]
heldout = 1
[[free]]
name = "link/*/mass"
low = 0.2
high = 4.0
[loss]
kind = "windows"
steps = 20
noise = 1e-3
[output]
formats = ["urdf", "mjcf", "model", "report"]
"""


@pytest.fixture
def study(tmp_path):
    write_logs(tmp_path / "logs", 3)
    (tmp_path / "study.toml").write_text(TEXT, encoding="utf-8")
    return ist.Study.load(tmp_path / "study.toml")


def test_a_study_finds_the_masses_and_leaves_its_results_in_a_folder(study, tmp_path):
    fit = ist.run_study(tmp_path / "study.toml")
    assert abs(fit["link/rod_1/mass"].value - 1.2) < 0.05
    names = {"fit.json", "fit.npz", "model.safetensors", "study.toml", "table.txt", "report.html"}
    names |= {"pendulum_2.urdf", "pendulum_2.xml", "pendulum_2.safetensors"}
    assert {path.name for path in (tmp_path / "fit").iterdir()} == names
    again = ist.load(tmp_path / "fit" / "pendulum_2.safetensors")
    np.testing.assert_array_equal(again.link_mass, fit.model.link_mass)
    with pytest.raises(BadFile, match="holds an earlier fit"):
        ist.run_study(study)
    ist.run_study(study, replace=True)


def test_a_robot_is_written_in_the_format_of_its_file_unless_said_otherwise(study):
    """A fit of a robot with a ball joint, read from MJCF, ended with status 1: URDF has no such joint."""
    plain = ist.library.pendulum(1)
    ball = ist.Builder("ball")
    ball.add_link("bob", mass=1.0)
    ball.add_joint_spherical("hang", parent=None, child="bob")
    source = SourceFile(b"<mujoco/>", "mjcf")
    assert usual_formats(plain) == ("urdf", "report")
    assert usual_formats(ball.model()) == ("mjcf", "report")
    assert usual_formats(dataclasses.replace(plain, source=source)) == ("mjcf", "report")
    ist.run_study(dataclasses.replace(study, formats=None))
    assert (study.folder / "pendulum_2.urdf").exists()
    assert not (study.folder / "pendulum_2.xml").exists()


def test_a_search_that_ran_out_of_steps_goes_on_where_it_ended(study):
    short = dataclasses.replace(study, search=ist.LevenbergMarquardt(steps=1))
    with pytest.warns(UserWarning, match="did not converge"):
        first = ist.run_study(short)
    after = search(study, study.problem(), resume=True)
    assert after.status == "converged"
    assert after.history[0] == pytest.approx(first.loss)
    assert after["link/rod_1/mass"].start == 1.0


def test_nothing_to_resume_is_refused(study):
    with pytest.raises(BadOption, match="nothing to resume"):
        ist.run_study(study, resume=True)


def test_a_search_in_rounds_keeps_its_records_and_goes_on_from_them(study, tmp_path):
    hopping = (
        'kind = "basin_hopping"\nislands = 2\nlocal = { kind = "levenberg_marquardt", steps = 20 }'
    )
    for rounds in (1, 2):
        text = f"{TEXT}\n[search]\n{hopping}\nrounds = {rounds}\n"
        (tmp_path / "study.toml").write_text(text, encoding="utf-8")
        fit = ist.run_study(tmp_path / "study.toml", resume=rounds == 2)
        assert len(fit.history) == rounds
    lines = next((tmp_path / "fit").glob("*.jsonl")).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3  # what it belongs to, and two rounds


@pytest.mark.parametrize(
    "output",
    [
        "",
        '[output]  # here\nfolder = "fit"\nformats = ["urdf"]\n',
        'output = { formats = ["urdf"] }',
    ],
)
@pytest.mark.parametrize("folder", ["fit", "elsewhere/other"])
def test_the_study_in_a_folder_of_results_is_the_same_study(output, folder, tmp_path):
    table = '# mine\nrobot = "arm.urdf"  # of the lab\nlogs = ["logs/*.csv"]\n'
    free = '[[free]]\nname = "link/*/mass"\n'
    text = f"{table}{output}\n{free}" if output.startswith("output") else f"{table}{free}{output}"
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    study = ist.Study.load(tmp_path / "study.toml")
    if not output.startswith("output"):
        study = dataclasses.replace(study, output=folder)
    for _ in range(2):  # a copy of a copy too
        study.folder.mkdir(parents=True, exist_ok=True)
        copy = study.folder / "study.toml"
        copy.write_text(text_for_folder(study), encoding="utf-8")
        again = ist.Study.load(copy)
        assert again.folder.resolve() == study.folder.resolve()
        assert (again.here / again.robot).resolve() == (tmp_path / "arm.urdf").resolve()
        assert ".." not in again.here.parts
        assert "# mine" in again.text
        assert again.text.count("paths_from") == 1
        study = again
