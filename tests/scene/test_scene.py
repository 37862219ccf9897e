"""A scene: poses survive their packing, the view suits the mechanism, contacts push, networks have places."""

from __future__ import annotations

import base64
import json

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.report.stage import notes_of
from isthmus.scene.along import (
    CONTACT,
    Contacts,
    contacts_at,
    contacts_in,
    poses_along,
    velocities_along,
)
from isthmus.scene.packed import ALL, BYTES, LONGEST, as_json, packed_poses, stride
from isthmus.scene.scene import TILT, Take, scene_of, view_of
from isthmus.viewer.worlds import still

DT = 0.005


def ball() -> ist.Model:
    """A free ball over the ground."""
    robot = ist.Builder("ball")
    robot.add_link("ball", mass=2.0, inertia=(1e-3, 1e-3, 1e-3, 0.0, 0.0, 0.0))
    robot.add_joint_free("flight", None, "ball")
    robot.add_shape_sphere("ball", 0.05)
    robot.add_shape_plane(name="ground")
    return ist.with_contact(robot.model(), "impulse")


BALL = ball()


@pytest.fixture(scope="module")
def toss() -> ist.Motion:
    """The ball falls onto the ground and lies there."""
    q = np.array([0.0, 0.0, 0.06, 1.0, 0.0, 0.0, 0.0])
    start = ist.State(q, np.zeros(6))
    with jax.enable_x64(True):
        return ist.rollout(BALL, start, None, DT, 60, record=("link/pose", *CONTACT))


def test_packed_poses_come_back_within_a_pixel():
    poses = np.random.default_rng(0).uniform(-1, 1, (5, 3, 7))
    poses[2, 1] = np.nan
    text = packed_poses(poses, np.zeros(3), 1.0)
    whole = np.frombuffer(base64.b64decode(str(text)), "<i2").reshape(5, 3, 7)
    back = whole / 32767 * np.array([2.0] * 3 + [1.0] * 4)
    known = np.isfinite(poses)
    np.testing.assert_allclose(back[known], poses[known], atol=1e-4)
    assert np.all(whole[~known] == -32768)


def test_flat_mechanisms_are_seen_nearly_square_and_others_obliquely():
    rng = np.random.default_rng(0)
    flat = lambda *axes: rng.standard_normal((200, 3)) * np.array(axes)
    assert view_of(flat(1, 0, 1)) == pytest.approx((-90.0, TILT))
    assert view_of(flat(0, 1, 1)) == pytest.approx((0.0, TILT))
    assert view_of(flat(1, 1, 0)) == (-90.0, 90.0)
    assert view_of(flat(1, 1, 1)) == (-60.0, 20.0)
    assert view_of(flat(1, 0, 0)) == (-90.0, TILT)


def test_every_link_of_the_library_has_something_to_draw():
    for model in (ist.library.quadruped(), ist.library.cart_pole(), ist.library.cube()):
        scene = scene_of(model, [], most=100)
        assert {s.link for s in scene.solids if s.shown} >= set(range(len(model.link_names)))
        assert scene.trails


def test_poses_are_those_that_a_rollout_records(toss):
    np.testing.assert_allclose(
        poses_along(BALL, toss.q)[..., :3], toss.signals["link/pose"][..., :3], atol=1e-12
    )
    assert np.isnan(poses_along(BALL, np.full((1, 7), np.nan))).all()


def test_contact_forces_carry_the_weight_of_a_body_at_rest(toss):
    found = contacts_in(BALL, toss.signals)
    assert found is not None
    weight = -float(BALL.gravity[2] * BALL.link_mass[0])
    total = np.nansum(found.forces, axis=1)
    assert total[0, 2] == 0.0  # it still falls
    np.testing.assert_allclose(total[-2], [0, 0, weight], atol=0.02 * weight)
    assert contacts_in(BALL, {}) is None


@pytest.mark.parametrize("names", [("table", "ball"), ("ball", "table")])
def test_the_force_of_a_pair_is_drawn_on_the_body_that_can_move(names):
    robot = ist.Builder("ball")
    robot.add_link("ball", mass=1.0, inertia=(1e-3,) * 3)
    robot.add_joint_free("flight", None, "ball")
    robot.add_shape_sphere("ball", 0.1, name="ball")
    robot.add_shape_box(None, (1.0, 1.0, 0.1), name="table")
    model = ist.with_contact(robot.model(), [], pairs=[names])
    q = np.array([[0.0, 0.0, 0.2, 1.0, 0.0, 0.0, 0.0]])
    found = contacts_at(model, q, np.zeros((1, 6)), ist.Control(), DT)
    assert found is not None
    np.testing.assert_allclose(found.forces, [[[0.0, 0.0, 9.81]]], rtol=1e-4)
    (note,) = notes_of(scene_of(model, [Take("", DT, poses_along(model, q), None, found)], most=9))
    assert "of two bodies on the first of the pair" in note


def test_contacts_without_a_record_are_those_of_one_step_from_each_row(toss):
    v = velocities_along(BALL, toss.q, DT)
    away = np.abs(v - toss.v).max(axis=1) > 1e-6
    assert away.sum() <= 2  # the first row, and that of the impact within a step
    again = contacts_at(BALL, toss.q, toss.v, ist.Control(), DT)
    recorded = contacts_in(BALL, toss.signals)
    assert again is not None
    assert recorded is not None
    np.testing.assert_allclose(again.forces[:-1], recorded.forces[:-1], atol=1e-6)
    assert contacts_at(ist.library.pendulum(), toss.q, toss.v, ist.Control(), DT) is None


def test_the_floor_is_the_ground_or_lies_under_all_that_is_seen():
    pendulum = ist.library.pendulum(1)
    hanging = Take("", 0.1, poses_along(pendulum, np.zeros((1, 1))))
    scene = scene_of(pendulum, [hanging], most=100)
    assert not scene.has_ground
    (floor,) = scene.planes
    assert floor.origin[2] == pytest.approx(scene.centre[2] - scene.reach, abs=1e-6)
    (ground,) = scene_of(BALL, [], most=100).planes
    assert ground.is_level
    assert ground.origin[2] == 0.0


def test_a_slope_is_drawn_as_it_lies():
    robot = ist.Builder("slope")
    robot.add_link("block", mass=1.0, inertia=(1e-3, 1e-3, 1e-3, 0.0, 0.0, 0.0))
    robot.add_joint_free("slide", None, "block")
    robot.add_shape_sphere("block", 0.1)
    robot.add_ground(0.5, (0.0, 0.3))
    model = robot.model()
    scene = scene_of(model, [still(model).take], most=100)
    (slope,) = scene.planes
    normal = slope.axes[2]
    np.testing.assert_allclose(np.abs(normal), [np.sin(0.3), 0.0, np.cos(0.3)], atol=1e-9)
    origin, _, _, packed_normal = json.loads(as_json(scene))["planes"][0]
    np.testing.assert_allclose(packed_normal, normal, atol=1e-5)
    middle = np.asarray(still(model).motion.q[0][:3])  # it lies on the slope, and not in it
    assert (middle - origin) @ normal == pytest.approx(0.1, abs=2e-3)


def test_networks_are_marked_at_the_joints_that_they_correct(key):
    wire = ist.Wire("joint/*/torque", reads=["joint/velocity"], net=ist.MLP(width=2, depth=1))
    model = ist.Blueprint([wire]).attach(ist.library.pendulum(2), key=key)
    marks = scene_of(model, [], most=100).wires
    assert [mark.link for mark in marks] == [0, 1]
    assert "joint/torque" in marks[0].about


def test_a_page_of_a_large_robot_stays_within_its_bytes():
    links, contacts, takes = 80, 40, 4
    every = stride(1e-3, 60_000, links, contacts, takes)
    pictures = -(-60_000 // every)
    assert pictures <= LONGEST
    assert takes * pictures * (2 * 7 * 2 * links + 12 * contacts) * 4 / 3 <= BYTES
    assert stride(1 / 30, 90, 2, 0, 1) == 1


def test_the_json_of_a_scene_has_every_number_that_the_player_reads(toss):
    found = contacts_in(BALL, toss.signals)
    assert found is not None
    take = Take("toss", DT, toss.signals["link/pose"], None, Contacts(*found))
    data = json.loads(as_json(scene_of(BALL, [take], most=100)))
    (run,) = data["runs"]
    assert run["contacts"] == len(BALL.contact_kinds)
    points = np.frombuffer(base64.b64decode(run["points"]), "<i2").reshape(61, -1, 3)
    height = points[-1, :, 2] / 32767 * 2 * data["reach"] + data["centre"][2]
    np.testing.assert_allclose(height[points[-1, :, 2] != -32768], 0.0, atol=2e-3)
    assert sum(len(base64.b64decode(s["faces"])) for s in data["solids"]) <= 6 * ALL
