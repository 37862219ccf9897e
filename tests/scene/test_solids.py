"""What is seen of a link: its visuals, else what collides, else sticks; meshes where the file says they are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.model.source import SourceFile
from isthmus.scene.solids import solids_of
from tests.scene.robots import MJCF, write_arm


def kinds(model: ist.Model, **options) -> dict[str, set[str]]:
    """What is shown of each link."""
    found, _ = solids_of(model, 1000, **options)
    names = (*model.link_names, "world")
    return {
        name: {s.kind for s in found if s.shown and names[s.link] == name} for name in names
    }  # fmt: skip


def extent(solid) -> np.ndarray:
    return np.stack([solid.mesh.vertices.min(axis=0), solid.mesh.vertices.max(axis=0)])


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_a_link_is_seen_as_its_visual_else_as_what_collides_else_as_sticks(tmp_path):
    path = write_arm(tmp_path)
    model = ist.load(path, packages=[tmp_path / "elsewhere"])
    shown = {
        "base": {"visual"},
        "upper": {"visual"},
        "fore": {"collision", "stick"},
        "hand": {"visual"},
    }
    assert kinds(model) == shown | {"world": set()}
    found, notes = solids_of(model, 1000)
    assert notes == ()
    ball, box, tip = (s for s in found if s.kind == "visual")
    np.testing.assert_allclose(extent(ball).mean(axis=0), [0, 0, 1], atol=1e-6)
    assert ball.colour == (0.2, 0.4, 0.6)
    np.testing.assert_allclose(extent(box), [[-0.2, -0.4, -0.6], [0.2, 0.4, 0.6]])  # scaled
    np.testing.assert_allclose(extent(tip), [[-0.5, -1, 1], [0.5, 1, 4]])  # by its point
    assert [s.link for s in found if s.kind == "collision" and not s.shown] == [0]


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_meshes_that_are_not_found_are_named_and_found_later(tmp_path):
    model = ist.load(write_arm(tmp_path))
    _, notes = solids_of(model, 1000)
    assert kinds(model)["base"] == {"collision", "stick"}
    assert kinds(model)["upper"] == {"stick"}
    assert "'package://looks/ball.stl' was not found" in notes[0]
    assert "packages=" in notes[0]
    assert kinds(model, packages=[tmp_path / "elsewhere"])["base"] == {"visual"}


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_a_saved_model_keeps_its_looks_but_not_where_its_meshes_are(tmp_path):
    model = ist.load(write_arm(tmp_path), packages=[tmp_path / "elsewhere"])
    ist.save(model, tmp_path / "arm.safetensors")
    again = ist.load(tmp_path / "arm.safetensors")
    assert kinds(again, packages=[tmp_path / "elsewhere"]) == kinds(model)
    heavier = model.set("link/base/mass", 2.0)  # as a fit makes its model
    assert heavier.source.packages == model.source.packages != ()


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_mjcf_shows_the_geoms_that_mujoco_shows(tmp_path):
    (tmp_path / "two.xml").write_text(MJCF, encoding="utf-8")
    model = ist.load(tmp_path / "two.xml")
    found, _ = solids_of(model, 1000)
    mesh, egg = (s for s in found if s.kind == "visual")
    assert (mesh.link, mesh.colour, len(mesh.mesh.faces)) == (0, (1.0, 0.0, 0.0), 4)
    assert egg.colour is None  # its file says none
    np.testing.assert_allclose(extent(egg), [[-1, -2, -3], [1, 2, 3]], atol=1e-6)
    broken = dataclasses.replace(model, source=SourceFile(b"<mujoco>", "mjcf"))
    assert solids_of(broken, 1000)[1][0].startswith("Meshes that are not shown: the text is")


def test_a_shape_away_from_its_joint_is_joined_to_it():
    robot = ist.Builder("leg")
    robot.add_link("shin", mass=1.0)
    robot.add_joint_revolute("knee", None, "shin", axis=(0.0, 1.0, 0.0))
    robot.add_shape_sphere("shin", 0.02, position=(0.0, 0.0, -0.4))
    found, _ = solids_of(robot.model(), 1000)
    low = extent(next(s for s in found if s.kind == "stick"))[0]
    np.testing.assert_allclose(low[2], -0.4, atol=1e-9)


def test_a_joint_away_from_the_shape_of_its_parent_is_joined_to_it():
    robot = ist.Builder("leg")
    robot.add_link("trunk", mass=1.0)
    robot.add_joint_free("trunk", None, "trunk")
    robot.add_shape_box("trunk", (0.1, 0.1, 0.1))
    for name, place in (("near", 0.1), ("far", 0.3)):
        robot.add_link(name, mass=1.0)
        robot.add_shape_sphere(name, 0.02)
        robot.add_joint_revolute(name, "trunk", name, position=(place, 0.0, 0.0))
    (rod,) = (s for s in solids_of(robot.model(), 1000)[0] if s.kind == "stick")
    np.testing.assert_allclose(extent(rod)[:, 0], [0.1, 0.3], atol=1e-9)
