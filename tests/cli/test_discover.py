"""`isthmus discover`: a study -> table, sentences, files; stopped and resumed; one sentence where it cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli import discovering
from isthmus.cli.main import main

STUDY = """robot = "robot.safetensors"
logs = ["log.csv"]

[loss]
kind = "windows"
steps = 25
noise = 1e-3

[time]
integrator = "rk4"

[[free]]
name = "link/*/mass"
low = 0.1
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a study of a pendulum whose damper is not in the model."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    damped = ist.library.pendulum(1).set("joint/damping", [0.05])
    m = ist.rollout(damped, ist.State([2.0], [0.0]), None, 0.01, steps=900, integrator="rk4")
    rows = np.concatenate([m.q, m.v], axis=1) + 1e-3 * rng.standard_normal((901, 2))
    table = np.concatenate([np.asarray(m.t)[:, None], rows], axis=1)
    np.savetxt("log.csv", table, delimiter=",", comments="", header="t,q1,v1", fmt="%.12g")
    ist.save(ist.library.pendulum(1), "robot.safetensors")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_places_are_printed_and_written_and_nothing_is_overwritten_unasked(place, capsys):
    assert main(["discover", "study.toml"]) == 0
    out = capsys.readouterr().out
    assert "joint/joint_1/passive_torque" in out
    assert "wrote discovery: discovery.json, blueprint.toml, discovery.html, discovery.svg" in out
    page = (place / "discovery" / "discovery.html").read_text()
    assert "Formulas" in page
    assert "<image" not in page  # its policy lets a browser load none
    assert len(ist.Blueprint.load(place / "discovery" / "blueprint.toml")) == 1
    assert main(["discover", "study.toml"]) == 2
    assert "--resume goes on, --replace overwrites it" in capsys.readouterr().err


def test_nothing_needs_to_be_free(place, capsys):
    study = place / "study.toml"
    study.write_text(study.read_text().partition("[[free]]")[0])
    assert main(["discover", "study.toml", "--most", "1"]) == 0
    assert "joint/joint_1/passive_torque" in capsys.readouterr().out
    assert main(["fit", "study.toml"]) == 2
    assert "nothing is free; say [[free]]" in capsys.readouterr().err


def test_ctrl_c_keeps_the_places_and_resume_goes_on(place, capsys, monkeypatch):
    def interrupted(problem, candidates, most, *, resume, listen):
        def stop(so_far):
            listen(so_far)
            raise KeyboardInterrupt

        return ist.discover(problem, candidates, most, resume=resume, listen=stop)

    monkeypatch.setattr(discovering, "discover", interrupted)
    assert main(["discover", "study.toml"]) == 130
    assert "the places so far are written, --resume goes on" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert main(["discover", "study.toml", "--resume"]) == 0
    assert ist.Discovery.load("discovery").complete


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "needs a study file"),
        ("none.toml", "none.toml"),
        ("study.toml --most 0", "most must be a whole number from 1"),
        ("study.toml --resume", "holds no discovery to resume"),
        ("study.toml --candidates nothing", "is called 'nothing'"),
    ],
)
def test_what_cannot_be_discovered_is_said_in_one_sentence(words, sentence, place, capsys):
    assert main(["discover", *words.split()]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
