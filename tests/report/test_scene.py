"""The moving picture of a fit: the same pictures measured and predicted, drawn on the whole canvas."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from isthmus.report.gather import runs_of
from isthmus.report.scene import scene
from isthmus.scene.packed import as_json
from isthmus.scene.scene import TILT
from tests.report.fits import real

HERE = Path(__file__).parent
PLAYER = HERE.parents[1] / "isthmus" / "report" / "assets" / "player.js"
WIDTH, HEIGHT = 900, 400


def test_a_run_has_as_many_pictures_measured_as_predicted():
    fit = real()
    found = scene(fit.model, runs_of(fit, fit.problem))
    assert [take.heldout for take in found.takes] == [True, False]
    for take in found.takes:
        assert take.measured is not None
        assert take.predicted is not None
        assert take.measured.shape == take.predicted.shape
    assert found.view == pytest.approx((-90.0, TILT))
    assert [mark.place for mark in found.trails] == [(0.0, 0.0, -1.0)]


def test_the_player_draws_the_mechanism_over_its_canvas(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed, which runs the player without a browser")
    fit = real()
    data = tmp_path / "scene.json"
    data.write_text(as_json(scene(fit.model, runs_of(fit, fit.problem))), encoding="utf-8")
    command = [node, HERE / "canvas.js", PLAYER, data, str(WIDTH), str(HEIGHT)]
    drawn = []
    for picture in ("0", "9"):
        done = subprocess.run([*command, picture], capture_output=True, text=True, check=True)
        drawn.append(json.loads(done.stdout)["drawn"])
    solid = [np.array(d["path"][0]) for d in drawn[0] if d["style"].startswith("rgb")]
    ghost = [d for d in drawn[0] if d["what"] == "fill" and d["alpha"] < 1]
    corners = np.concatenate(solid)
    assert len(ghost) == 1
    assert len(ghost[0]["path"]) > 10
    assert np.all((corners >= 0) & (corners <= [WIDTH, HEIGHT]))
    assert np.ptp(corners[:, 1]) > 0.5 * HEIGHT
    assert {d["text"] for d in drawn[0] if d["what"] == "text"} >= {"x", "y", "z"}
    assert drawn[0] != drawn[1]  # it moves
