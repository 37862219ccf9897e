"""The moving picture: poses survive their packing, and the view suits the mechanism."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import isthmus as ist
from isthmus.report.gather import runs_of
from isthmus.report.scene import bones, packed, scene, shapes, trails, view_of
from tests.report.fits import real


def test_packed_poses_come_back_within_a_pixel():
    poses = np.random.default_rng(0).uniform(-1, 1, (5, 3, 7))
    poses[2, 1] = np.nan
    whole = np.frombuffer(base64.b64decode(packed(poses, np.zeros(3), 1.0)), "<i2")
    whole = whole.reshape(5, 3, 7)
    back = whole / 32767 * np.array([2.0] * 3 + [1.0] * 4)
    known = np.isfinite(poses)
    np.testing.assert_allclose(back[known], poses[known], atol=1e-4)
    assert np.all(whole[~known] == -32768)


def test_a_run_has_as_many_pictures_measured_as_predicted():
    fit = real()
    data = json.loads(scene(fit.model, runs_of(fit, fit.problem)))
    assert [run["heldout"] for run in data["runs"]] == [True, False]
    for run in data["runs"]:
        assert len(run["measured"]) == len(run["predicted"]) > 0
    assert data["view"] == pytest.approx([-90.0, 0.0])
    assert data["points"] == [[0, [0.0, 0.0, -1.0]]]


def test_flat_mechanisms_are_seen_square_and_others_obliquely():
    rng = np.random.default_rng(0)
    flat = lambda *axes: rng.standard_normal((200, 3)) * np.array(axes)
    assert view_of(flat(1, 0, 1)) == pytest.approx((-90.0, 0.0))
    assert view_of(flat(0, 1, 1)) == pytest.approx((0.0, 0.0))
    assert view_of(flat(1, 1, 0)) == (-90.0, 90.0)
    assert view_of(flat(1, 1, 1)) == (-60.0, 20.0)
    assert view_of(flat(1, 0, 0)) == (-90.0, 0.0)


def test_every_link_of_the_library_has_something_to_draw():
    for model in (ist.library.quadruped(), ist.library.cart_pole(), ist.library.cube()):
        drawn = {s["link"] for s in shapes(model)} | {i for i, _ in bones(model)}
        assert drawn == set(range(len(model.link_names)))
        assert trails(model)
