"""`isthmus view`: pages of models, motions and fits; what is wrong is one sentence."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli.main import main
from tests.report.fits import real


def scene(path) -> dict:
    """The scene of a page."""
    found = re.search(r'id="scene">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_model_moves_on_its_page_without_a_motion(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["view", "library:pendulum", "--save", str(page)]) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    (run,) = scene(page)["runs"]
    assert run["measured"] is None
    assert "ghost" not in page.read_text(encoding="utf-8").split("<section>")[1].split("<canvas")[0]
    assert len(run["predicted"]) > 1000


def test_motions_and_a_ghost_are_on_one_page(tmp_path):
    page, motion = tmp_path / "page.html", str(tmp_path / "motion.npz")
    ist.rollout(ist.library.pendulum(2), [1.0, 0.0], None, 0.01, 50).save(motion)
    words = ["view", "library:pendulum", motion, motion, "--measured", motion]
    assert main([*words, "--save", str(page)]) == 0
    assert [bool(run["measured"]) for run in scene(page)["runs"]] == [True, True]


def test_impacts_and_joints_at_rest_are_shown_without_a_warning(tmp_path, capsys):
    page, path = tmp_path / "page.html", str(tmp_path / "motion.npz")
    motion = ist.rollout(ist.library.pendulum(2), [1.0, 0.0], None, 0.01, 50)
    q, v = np.array(motion.q), np.array(motion.v)
    v[25:27] += 30.0
    q[:, 1] = 0.0
    dataclasses.replace(motion, q=q, v=v).save(path)
    assert main(["view", "library:pendulum", path, "--save", str(page)]) == 0
    assert capsys.readouterr().err == ""


def test_a_fit_without_its_logs_shows_the_fitted_model(tmp_path):
    folder, page = tmp_path / "fit", tmp_path / "page.html"
    real().save(folder)
    assert main(["view", str(folder), "--save", str(page)]) == 0
    assert scene(page)["links"] == len(real().model.link_names)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "needs a FILE"),
        (["library:pendulum", "nothing.npz"], "there is no file 'nothing.npz'"),
        (["library:pendulum", "--port", "0"], "port must be from 1 to 65535"),
        (["library:pendulum", "--save", "page.txt"], "must end in .html"),
        (["library:pendulum", "--sav", "page.txt"], "Did you mean '--save'?"),
        (["nothing.urdf"], "there is no file 'nothing.urdf'"),
        (["."], "'.' is a folder without fit.json: name one that 'isthmus fit' wrote"),
    ],
)
def test_what_is_wrong_ends_in_one_sentence(words, what, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["view", *words]) == 2
    said = capsys.readouterr().err.strip()
    assert what in said
    assert said.count("\n") == 0


def test_a_fit_of_another_robot_is_refused(tmp_path, capsys):
    real().save(tmp_path / "fit")
    assert main(["view", "library:quadruped", str(tmp_path / "fit")]) == 2
    assert "whose links are not those of" in capsys.readouterr().err
