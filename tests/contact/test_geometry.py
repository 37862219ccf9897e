"""Depths of all shapes over a plane are their closed forms, also those of MuJoCo; rounding stays inside a shape."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import isthmus as ist
from isthmus.contact.points import grid_points, thinned
from isthmus.errors import BadOption
from tests.contact.bodies import LEVEL, at, on_ground

SIZES = {
    "sphere": (0.1,),
    "capsule": (0.06, 0.15),
    "box": (0.1, 0.07, 0.04),
    "cylinder": (0.08, 0.12),
}
POINTS = np.random.default_rng(0).normal(size=(7, 3)) * 0.1


def add(robot, kind):
    make = getattr(robot, f"add_shape_{kind}")
    arguments = (POINTS,) if kind == "points" else (SIZES[kind],) if kind == "box" else SIZES[kind]
    make("body", *arguments, name="shape")


def depths(kind, starts, ground=LEVEL, radius=0.0):
    """The depth of every contact at each of several states."""
    model = on_ground(
        "body",
        1.0,
        (1e-2,) * 3 + (0.0,) * 3,
        lambda r: add(r, kind),
        ground,
        ist.Contact(radius=radius),
    )
    return [
        ist.rollout(model, s, None, 1e-3, 0, "contact/depth").signals["contact/depth"][0]
        for s in starts
    ]


def turned(turn, x):
    turn = np.asarray(turn) / np.linalg.norm(turn)
    out = np.empty(3)
    mujoco.mju_rotVecQuat(out, np.asarray(x, float), turn)
    return out


def states(count=5):
    rng = np.random.default_rng(1)
    return [at(rng.normal(size=3) * 0.2 + [0, 0, 0.5], rng.normal(size=4)) for _ in range(count)]


@pytest.mark.parametrize("kind", SIZES)
def test_the_deepest_point_is_as_deep_as_mujoco_says(kind):
    size = " ".join(map(str, SIZES[kind]))
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>
      <body><freejoint/><geom name="it" type="{kind}" size="{size}"/></body></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    starts = states()
    for start, depth in zip(starts, depths(kind, starts), strict=True):
        d.qpos[:] = start.q
        mujoco.mj_forward(m, d)
        reference = mujoco.mj_geomDistance(m, d, 0, 1, 10.0, None)
        np.testing.assert_allclose(-depth.max(), reference, atol=1e-9)


def test_every_corner_of_a_hull_is_where_it_was_turned_to():
    starts = states()
    for start, depth in zip(starts, depths("points", starts), strict=True):
        z = [start.q[2] + turned(start.q[3:], x)[2] for x in POINTS]
        np.testing.assert_allclose(depth, -np.array(z), atol=1e-9)


@pytest.mark.parametrize(("angle", "height"), [(0.4, 0.2), (1.2, -5.0), (3.0, 5.0)])
def test_a_tilted_and_raised_plane_counts_along_its_normal(angle, height):
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    starts, plane = states(), ist.Ground(height, (0.0, angle))
    for start, depth in zip(starts, depths("sphere", starts, plane), strict=True):
        above = (start.q[:3] - [0, 0, height]) @ normal - 0.1
        np.testing.assert_allclose(-depth[0], above, atol=1e-9)


@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_rounding_keeps_faces_where_they_are_and_takes_corners_off(kind):
    radius = 0.01
    upright, leaning = at((0.0, 0.0, 0.5)), at((0.0, 0.0, 0.5), (0.9, 0.3, 0.2, 0.0))
    sharp, round_ = (
        depths(kind, [upright, leaning]),
        depths(kind, [upright, leaning], radius=radius),
    )
    np.testing.assert_allclose(round_[0].max(), sharp[0].max(), atol=1e-12)
    assert 0.0 < sharp[1].max() - round_[1].max() < radius


@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_rounding_by_more_than_the_shape_holds_keeps_faces_too(kind):
    upright = [at((0.0, 0.0, 0.5))]
    sharp, round_ = depths(kind, upright), depths(kind, upright, radius=1.0)
    np.testing.assert_allclose(round_[0].max(), sharp[0].max(), atol=1e-12)


def test_thinned_points_are_corners_far_from_each_other():
    rng = np.random.default_rng(2)
    cloud = rng.normal(size=(500, 3))
    cloud /= np.linalg.norm(cloud, axis=1)[:, None]
    few = thinned(cloud, 20)
    assert len(few) == 20
    assert {tuple(x) for x in few} <= {tuple(x) for x in cloud}
    apart = np.linalg.norm(few[:, None] - few[None], axis=2) + 9.0 * np.eye(20)
    assert apart.min() > 0.4
    assert len(thinned(cloud[:5], 20)) == 5
    with pytest.raises(BadOption, match="at least one point must stay, not 0"):
        thinned(cloud, 0)


def test_a_grid_lies_on_the_surface_of_its_shape():
    box = grid_points("box", (0.1, 0.07, 0.04), 3)
    assert len(box) == 26
    assert np.all(np.any(np.isclose(np.abs(box), (0.1, 0.07, 0.04)), axis=1))
    for kind, size in (("sphere", (0.1,)), ("capsule", (0.06, 0.15)), ("cylinder", (0.08, 0.12))):
        points = grid_points(kind, size, 6)
        assert len(np.unique(points.round(9), axis=0)) == len(points)
        across, along = np.linalg.norm(points[:, :2], axis=1), np.abs(points[:, 2])
        if kind == "cylinder":
            on = np.isclose(across, size[0]) | np.isclose(along, size[1])
        else:
            beyond = np.maximum(along - (size[1] if kind == "capsule" else 0.0), 0.0)
            on = np.isclose(np.hypot(across, beyond), size[0])
        assert np.all(on)
    with pytest.raises(
        BadOption, match="a grid lies over a sphere, capsule, box or cylinder, not a 'plane'"
    ):
        grid_points("plane", (), 3)
