"""Signed distances of all pairs of kinds are those of coal and of MuJoCo; points of contact lie where shapes meet."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.optimize import minimize

import isthmus as ist
from isthmus.contact.pairs.distance import VERY_DEEP
from isthmus.contact.pairs.manifold import FAR
from tests.contact.pairs.shapes import (
    PAIRS,
    SIZES,
    bound,
    coal_distances,
    compiled,
    corner_poses,
    level_poses,
    manifold_of,
    overlap_along,
    poses,
)

CLOSED = {
    ("sphere", "sphere"), ("sphere", "capsule"), ("sphere", "box"), ("sphere", "cylinder"),
    ("capsule", "capsule"), ("box", "box"),
}  # fmt: skip
EXACT = 1e-6


def compare_with_coal(first, second, count):
    where = poses(first, second, count)
    depth, axes, _ = compiled(first, second).map(*where, threads=1)
    ours, theirs = -depth[:, 0], coal_distances(first, second, *where)
    apart = theirs > 0.0
    assert apart.sum() > 0.1 * count
    np.testing.assert_allclose(ours[apart], theirs[apart], atol=EXACT, rtol=0)
    # any direction in which the shapes come apart bounds the depth: ours is one, and coal has no better one
    for i in range(min(count, 200)):
        along = overlap_along(first, second, [x[i] for x in where], axes[i, 0])
        assert abs(along + ours[i]) < EXACT
    off = np.where(apart | np.isnan(theirs), 0.0, theirs - ours)
    size = bound(first) + bound(second)
    known = (theirs > -VERY_DEEP * size) | ((first, second) in CLOSED)
    assert off[known].max() < EXACT
    assert np.mean(off > EXACT) < 5e-4


@pytest.mark.parametrize(
    ("first", "second"),
    [*sorted(CLOSED), ("capsule", "box"), ("box", "cylinder"), ("box", "points")],
)
def test_signed_distances_are_those_of_coal(first, second):
    compare_with_coal(first, second, 300)


def compare_level_with_coal(first, second, count):
    where = level_poses(first, second, count)
    ours = -compiled(first, second).map(*where, threads=1)[0][:, 0]
    np.testing.assert_allclose(ours, coal_distances(first, second, *where), atol=EXACT, rtol=0)


@pytest.mark.parametrize(
    ("first", "second"),
    [("box", "box"), ("capsule", "box"), ("box", "cylinder"), ("box", "points")],
)
def test_shapes_over_each_other_on_parallel_faces_are_as_far_apart_as_by_coal(first, second):
    compare_level_with_coal(first, second, 300)


@pytest.mark.parametrize(
    ("first", "second"),
    [("box", "box"), ("box", "cylinder"), ("box", "points"), ("points", "points")],
)
def test_corners_that_overlap_come_apart_by_the_least_way_but_for_a_few(first, second):
    where = corner_poses(first, second, 300)
    ours = -compiled(first, second).map(*where, threads=1)[0][:, 0]
    off = np.maximum(coal_distances(first, second, *where) - ours, 0.0)
    assert np.mean(off > EXACT) < (1e-9 if (first, second) in CLOSED else 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_shapes_over_each_other_in_five_thousand_poses_are_as_far_apart_as_by_coal(first, second):
    compare_level_with_coal(first, second, 5_000)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_signed_distances_of_ten_thousand_poses_are_those_of_coal(first, second):
    compare_with_coal(first, second, 10_000)


@pytest.mark.parametrize(
    ("first", "second"), [("box", "box"), ("capsule", "box"), ("sphere", "cylinder")]
)
def test_distances_are_those_of_mujoco(first, second):
    where = poses(first, second, 100, seed=1)
    words = lambda kind: " ".join(map(str, SIZES[kind]))
    m = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody>
      <body><freejoint/><geom type="{first}" size="{words(first)}"/></body>
      <body><freejoint/><geom type="{second}" size="{words(second)}"/></body></worldbody></mujoco>""")
    m.opt.ccd_tolerance, m.opt.ccd_iterations = 1e-9, 200
    data, theirs = mujoco.MjData(m), np.empty(100)
    for i in range(100):
        data.qpos[:7], data.qpos[7:] = np.r_[0, 0, 0, where[0][i]], np.r_[where[2][i], where[1][i]]
        mujoco.mj_kinematics(m, data)
        theirs[i] = mujoco.mj_geomDistance(m, data, 0, 1, 10.0, None)
    ours = -compiled(first, second).map(*where, threads=1)[0][:, 0]
    apart = theirs > 0.0
    assert apart.sum() > 10
    np.testing.assert_allclose(ours[apart], theirs[apart], atol=EXACT, rtol=0)
    if first != "capsule":  # whose axis he keeps out of a box only by its ends
        assert (ours[~apart] > theirs[~apart] - EXACT).all()


LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


def turned(angle, axis):
    return np.r_[np.cos(angle / 2), np.sin(angle / 2) * np.eye(3)[axis]]


def test_two_level_boxes_touch_at_the_corners_of_their_overlap():
    # half-widths 0.1, 0.07, 0.04: the second one stands 0.05 to the side, 1 mm deep
    depth, axes, points = compiled("box", "box")(LEVEL, LEVEL, np.array([0.05, 0.0, 0.079]))
    np.testing.assert_allclose(depth, 1e-3, atol=1e-12)
    np.testing.assert_allclose(axes[0], [0.0, 0.0, -1.0], atol=1e-12)
    corners = {tuple(np.round(p, 9) + 0.0) for p in points}
    assert corners == {(x, y, 0.0395) for x in (-0.05, 0.1) for y in (-0.07, 0.07)}


def test_two_crossed_boxes_touch_at_more_than_four_points_where_eight_are_asked_for():
    found = compiled("box", "box", 8)
    depth, _, points = found(LEVEL, turned(np.pi / 4, 2), np.array([0.0, 0.0, 0.079]))
    there = depth > FAR
    assert there.sum() >= 6  # of an octagon
    np.testing.assert_allclose(depth[there], 1e-3, atol=1e-12)
    assert len(np.unique(np.round(points[there], 6), axis=0)) == there.sum()
    side = np.sqrt(0.5) * np.stack([points[:, 0] + points[:, 1], points[:, 0] - points[:, 1]], 1)
    within = np.concatenate([np.abs(points[:, :2]), np.abs(side)], axis=1) - [0.1, 0.07, 0.1, 0.07]
    np.testing.assert_allclose(within[there].max(axis=1), 0.0, atol=1e-12)  # on its outline


def test_a_capsule_that_lies_on_a_box_touches_at_both_ends():
    depth, _, points = compiled("capsule", "box")(
        turned(np.pi / 2, 1), LEVEL, np.array([0.0, 0.0, -0.099])
    )
    np.testing.assert_allclose(depth, 1e-3, atol=1e-12)
    np.testing.assert_allclose(sorted(points[:, 0]), [-0.1, 0.1], atol=1e-9)  # those of the box


def test_a_tilted_box_touches_with_its_lowest_edge():
    depth, _, points = compiled("box", "box")(LEVEL, turned(0.02, 1), np.array([0.0, 0.0, 0.08]))
    lowest = 0.1 * np.sin(0.02) - 0.04 * (1.0 - np.cos(0.02))
    np.testing.assert_allclose(np.sort(depth)[-2:], lowest, rtol=1e-2)
    assert (points[np.argsort(depth)[-2:], 0] > 0.09).all()


@pytest.mark.parametrize(
    ("first", "second"), [("capsule", "capsule"), ("box", "box"), ("box", "points")]
)
def test_one_place_is_one_point_of_contact(first, second):
    """Springs at a place that counted twice, by rounding, would push twice as hard."""
    depth, _, points = compiled(first, second).map(*poses(first, second, 500, seed=3), threads=1)
    there = depth > FAR
    away = np.linalg.norm(points[:, :, None] - points[:, None], axis=3)
    two = there[:, :, None] & there[:, None] & ~np.eye(depth.shape[1], dtype=bool)
    assert two.any()
    assert away[two].min() > 1e-7


def brought_near(first, second, gap, count):
    """Poses of two shapes that are `gap` [m] apart, and the normals that were found there."""
    turn, other, place = poses(first, second, count, seed=5)
    place = 1.5 * place
    for _ in range(30):
        depth, axes, _ = compiled(first, second).map(turn, other, place, threads=1)
        place = place - (depth[:, 0] + gap)[:, None] * axes[:, 0]
    depth, axes, _ = compiled(first, second).map(turn, other, place, threads=1)
    there = np.flatnonzero(np.abs(depth[:, 0] + gap) < 1e-9)
    return [(turn[i], other[i], place[i], axes[i, 0]) for i in there]


@pytest.mark.parametrize("first", ["capsule", "box", "cylinder"])
def test_normals_of_cylinders_that_nearly_touch_are_those_of_the_widest_gap(first):
    """Shapes that are apart have one direction in which they are farthest apart: here by supports in NumPy."""
    found = brought_near(first, "cylinder", 1e-5, 60)
    assert len(found) > 30
    corners = np.array([[0.0, 0.0], [3e-3, 0.0], [0.0, 3e-3]])
    for *pose, n in found:
        sides = np.linalg.svd(n[None])[2][1:]
        way = lambda x, pose=pose, n=n, sides=sides: overlap_along(
            first, "cylinder", pose, (n + x @ sides) / np.linalg.norm(n + x @ sides)
        )
        options = {"xatol": 1e-8, "fatol": 1e-16, "initial_simplex": corners, "maxiter": 400}
        best = minimize(way, np.zeros(2), method="Nelder-Mead", options=options)
        assert np.linalg.norm(best.x) < 1e-5  # the search alone is off by 1e-3


SMOOTH = {
    ("sphere", "sphere"): ((0.0, 0.1, 0.15), 0.3),
    ("capsule", "capsule"): ((0.02, 0.1, 0.03), 0.7),
    ("sphere", "box"): ((0.02, 0.03, 0.13), 0.3),
    ("sphere", "cylinder"): ((0.1, 0.1, 0.03), 0.3),
    ("sphere", "points"): ((0.02, 0.03, 0.16), 0.3),
    ("capsule", "box"): ((0.15, 0.02, 0.03), 0.4),
    ("capsule", "points"): ((0.03, 0.02, 0.2), 0.4),
    ("box", "box"): ((0.03, 0.02, 0.095), 0.4),
    ("box", "cylinder"): ((0.03, 0.02, 0.155), 0.4),
    ("capsule", "cylinder"): ((0.081, 0.19, 0.034), 1.2),
    ("cylinder", "points"): ((0.12, 0.05, 0.03), 1.2),
    ("box", "points"): ((0.03, 0.02, 0.12), 0.4),
    ("points", "points"): ((0.03, 0.02, 0.2), 0.4),
}
"""Poses (place, angle) of which the features stay the same nearby."""


@pytest.mark.parametrize(("first", "second"), SMOOTH)
def test_depth_normal_and_point_have_the_slope_of_differences(first, second):
    place, angle = SMOOTH[first, second]
    found = manifold_of(first, second)

    def by(x):
        turn = jnp.concatenate([jnp.ones(1), x[3:]])
        depth, axes, points = found(
            turn / jnp.linalg.norm(turn), turned(angle, 0), jnp.asarray(place) + x[:3]
        )
        return jnp.concatenate([depth[:1], axes[0], points[0]])

    start, h = np.array([0.0, 0.0, 0.0, 0.1, 0.2, 0.05]), 1e-5
    steps = h * np.concatenate([np.eye(6), -np.eye(6)])
    f = ist.native.compile(by, start).map(start[None] + steps)
    differences = (f[:6] - f[6:]).T / (2 * h)
    for mode in ("forward", "reverse"):
        _, slope = ist.native.jacobian(by, start, mode=mode)(start)
        np.testing.assert_allclose(slope, differences, atol=5e-6)


@pytest.mark.parametrize("first", ["capsule", "box", "cylinder"])
def test_slopes_at_cylinders_are_those_of_differences_wherever_curves_cross(first):
    """At gaps of 0.1 mm, by the place of the cylinder. Where a rim meets a face, points stay as found."""
    found = manifold_of(first, "cylinder", 1)
    near = brought_near(first, "cylinder", 1e-4, 30)
    turn, other, place = (np.array([pose[k] for pose in near]) for k in range(3))

    def by(turn, other, place):
        depth, axes, points = found(turn, other, place)
        return jnp.concatenate([depth, axes[0], points[0]])

    def slope(turn, other, place):
        return jax.jacfwd(lambda x: by(turn, other, x))(place)

    values = ist.native.compile(by, turn[0], other[0], place[0])
    slopes = ist.native.compile(slope, turn[0], other[0], place[0]).map(turn, other, place)
    h, off = 1e-7, []
    for k, e in enumerate(np.eye(3)):
        up, down = (values.map(turn, other, place + s * h * e) for s in (1.0, -1.0))
        off.append(np.abs((up - down) / (2.0 * h) - slopes[:, :, k]).max(axis=1))
    worst = np.max(off, axis=0)
    steep = np.abs(slopes).max(axis=(1, 2))
    assert len(near) > 20
    assert np.quantile(worst / steep, 0.6) < 1e-8
    assert np.max(worst / steep) < 2e-3
