"""`isthmus predict`: any saved fit, any logs; a table, a picture, numbers, and one sentence where it cannot be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isthmus.cli.main import main
from tests.report.fits import real


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a fit and the log that it has not seen."""
    monkeypatch.chdir(tmp_path)
    fit = real()
    fit.save(tmp_path / "fit")
    motion = fit.problem.runs[1][0]
    columns = np.concatenate(
        [motion.t[:, None], motion.q, motion.v, motion.signals["joint/control"]], axis=1
    )
    np.savetxt("log.csv", columns, delimiter=",", comments="", header="t,q1,v1,tau1", fmt="%.12g")
    return tmp_path


def test_a_table_a_picture_and_numbers_are_written(place, capsys):
    assert main(["predict", "fit", "log.csv", "--start", "0"]) == 0
    out = capsys.readouterr().out
    assert "log.csv  joint/position" in out
    assert "nothing moves" in out
    assert (place / "predict" / "predict.png").stat().st_size > 1000
    (score,) = json.loads((place / "predict" / "predict.json").read_text())["scores"]
    np.testing.assert_allclose(score["error"], real().heldout["joint/position"][1], rtol=1e-6)


def test_json_goes_to_stdout_and_nothing_is_overwritten_unasked(place, capsys):
    words = ["predict", "fit", "log.csv", "--json", "--out", "new"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 4
    assert main(words) == 2
    assert "--replace overwrites it" in capsys.readouterr().err
    assert main([*words, "--replace"]) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "needs a folder that 'isthmus fit' wrote, and logs"),
        ("fit", "needs a folder that 'isthmus fit' wrote, and logs"),
        ("nothing log.csv", "no folder that Fit.save wrote"),
        ("fit none.csv", "there is no file 'none.csv'"),
        ("fit log.csv --start -1", "--start must be a whole number from 0, not -1"),
    ],
)
def test_what_cannot_be_predicted_is_said_in_one_sentence(words, sentence, place, capsys):
    assert main(["predict", *words.split()]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1
    assert not (place / "predict").exists()
