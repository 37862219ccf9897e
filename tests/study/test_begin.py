"""A study to start from: it says what was found, and it runs."""

from __future__ import annotations

import tomllib

import pytest

import isthmus as ist
from isthmus.errors import BadStudy
from isthmus.study.begin import begin_study, scatter
from tests.study.logs import ROBOT, log, write_logs


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_logs(tmp_path / "logs", 3)
    return tmp_path


def test_a_study_that_was_begun_can_be_read_and_has_comments_on_what_was_found(place):
    text = begin_study("library:pendulum", ["logs"])
    study = ist.Study.from_table(tomllib.loads(text))
    assert study.logs == ("logs/",)
    assert study.heldout == 1
    assert [free.name for free in study.free] == ["link/*/mass", "joint/*/damping"]
    assert study.loss == ist.Windows(50)
    for words in [
        "2 links, 2 degrees of freedom, 2 kg", "joint_1 (revolute)", "3 logs, 1.8 s in all",
        "run_1.csv: 61 rows, 100 a second; positions, velocities, joint/control", "in the file: 1, 1 kg",
        "N·m·s/rad\n", "starts as measured; or multiple_shooting, one_step, whole_run",
    ]:  # fmt: skip
        assert words in text
    assert len(study.problem().logs) == 2


def test_paths_are_written_as_the_study_sees_them(place):
    (place / "studies").mkdir()
    ist.export_urdf(ROBOT, "arm.urdf")
    with pytest.warns(UserWarning, match="tip"):
        text = begin_study("arm.urdf", ["logs/*.csv"], "studies/one.toml")
    assert 'robot = "../arm.urdf"' in text
    assert 'logs = ["../logs/*.csv"]' in text


def test_logs_without_velocities_and_commands_are_said_to_be_so(place):
    motion = log(0)
    ist.Motion(motion.t, motion.q, None, {}, motion.joints).save("bare.csv")
    text = begin_study("library:pendulum", ["bare.csv"])
    assert "no velocities" in text
    assert 'kind = "multiple_shooting"' in text
    assert "only ratios of masses can be identified" in text
    assert "heldout = 0.2" in text


def test_all_that_is_missing_is_said_at_once(place):
    with pytest.raises(BadStudy) as caught:
        begin_study("amr.urdf", ["logs/run_9.csv"])
    assert len(caught.value.faults) == 2


def test_noise_is_estimated_from_neighbouring_rows():
    assert 0.6e-3 < scatter([log(0), log(1)]) < 1.5e-3
