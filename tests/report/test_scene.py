"""The moving picture of a fit: the same pictures measured and predicted, drawn on the whole canvas."""

from __future__ import annotations

import base64
import dataclasses
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus as ist
from isthmus.report.gather import runs_of
from isthmus.report.scene import scene
from isthmus.scene.packed import as_json
from isthmus.scene.scene import TILT, Scene, Take, scene_of
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


@pytest.fixture
def played(tmp_path):
    """What the player draws of a scene at one of its pictures; images as arrays (high, wide, 4)."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed, which runs the player without a browser")

    def play(scene: Scene, picture: int = 0) -> list[dict[str, Any]]:
        data = tmp_path / "scene.json"
        data.write_text(as_json(scene), encoding="utf-8")
        command = ["node", HERE / "canvas.js", PLAYER, data, str(WIDTH), str(HEIGHT), str(picture)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        drawn = json.loads(done.stdout)["drawn"]
        for d in drawn:
            if d["what"] == "image":
                dots = np.frombuffer(base64.b64decode(d["dots"]), np.uint8)
                d["dots"] = dots.reshape(d["high"], d["wide"], 4)
        return drawn

    return play


def test_the_player_draws_the_mechanism_over_its_canvas(played):
    fit = real()
    found = scene(fit.model, runs_of(fit, fit.problem))
    drawn = [played(found, picture) for picture in (0, 9)]
    (before,), (after,) = ([d["dots"] for d in x if d["what"] == "image"] for x in drawn)
    ghost = [d for d in drawn[0] if d["what"] == "fill" and d["alpha"] < 1]
    assert len(ghost) == 1
    assert len(ghost[0]["path"]) > 10
    rows = np.flatnonzero(before[..., 3].any(axis=1))
    assert 0 < rows[0] < rows[-1] < len(before) - 1  # all of it
    assert np.ptp(rows) > 0.5 * len(before)
    assert {d["text"] for d in drawn[0] if d["what"] == "text"} >= {"x", "y", "z"}
    assert (before != after).any()  # it moves


def test_of_bars_that_cross_the_nearer_one_is_seen(played):
    """From the front: one bar comes nearer to the left, the other to the right, and they meet in the middle."""
    robot = ist.Builder("bars")
    for name, turn in (("left", 0.5), ("right", -0.5)):
        robot.add_link(name, mass=1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
        robot.add_joint_revolute(f"{name}_joint", None, name)
        along = (np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))
        robot.add_shape_box(name, (1.0, 0.05, 0.3), orientation=along, name=name)
    still = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (2, 2, 1))
    crossed = scene_of(robot.model(), [Take("still", 1.0, still)], most=100)
    (image,) = (
        d["dots"]
        for d in played(dataclasses.replace(crossed, view=(-90.0, 0.0)))
        if d["what"] == "image"
    )
    high, wide = image.shape[:2]
    band = image[high // 4 : -high // 4, wide // 4 : -wide // 4].astype(int)
    assert (band[..., 3] == 255).all()
    left, right = band[0, 0], band[0, -1]
    middle = band.shape[1] // 2
    assert (left != right).any()
    assert (band[:, : middle - 2] == left).all()
    assert (band[:, middle + 2 :] == right).all()
