"""What a begun study frees: numbers of the mechanism, not of the way in which a body moves in space."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.parameters.parameters import parameters
from isthmus.model.address import matching
from isthmus.study.begin_free import free_text, joints_of_mechanism, patterns_of


def on_a_base(kind: str) -> ist.Model:
    """A body that moves in space by one joint, and carries an arm with an elbow."""
    robot = ist.Builder("walker")
    for name in ("trunk", "arm", "hand"):
        robot.add_link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    axis = {"axis": (0, 0, 1)} if kind == "planar" else {}
    getattr(robot, f"add_joint_{kind}")("base", parent=None, child="trunk", **axis)
    robot.add_joint_revolute("arm_joint", parent="trunk", child="arm", axis=(0, 1, 0), damping=0.2)
    robot.add_joint_revolute("hand_joint", parent="arm", child="hand", axis=(0, 1, 0), damping=0.3)
    return robot.model()


def motion(model: ist.Model, driven: int | None = None) -> ist.Motion:
    """Ten rows at rest, with a command of one degree of freedom."""
    u = np.zeros((10, model.dof))
    if driven is not None:
        u[3:, driven] = 1.0
    q = np.tile(np.asarray(ist.State.neutral(model).q), (10, 1))
    return ist.Motion(0.01 * np.arange(10), q, np.zeros((10, model.dof)), {"joint/control": u})


def freed(model: ist.Model, log: ist.Motion) -> list[str]:
    tables = tomllib.loads("\n".join(free_text(model, [log])))["free"]
    return [table["name"] for table in tables]


@pytest.mark.parametrize("kind", ["free", "planar", "spherical"])
def test_no_drag_of_a_base_that_nothing_drives_is_proposed(kind):
    model = on_a_base(kind)
    names = freed(model, motion(model))
    assert names == ["link/*/mass", "joint/*_*/damping"]
    numbers = parameters(model, None, [ist.Free(names[1])], lambda model: {})
    assert numbers.names == ("joint/arm_joint/damping", "joint/hand_joint/damping")
    text = "\n".join(free_text(model, [motion(model)]))
    assert "in the file: 0.2, 0.3 N·m·s/rad" in text
    assert "# Nothing drives or brakes 'base'" in text


def test_a_base_with_a_command_and_a_ball_joint_alone_belong_to_the_mechanism():
    cart = on_a_base("planar")
    assert freed(cart, motion(cart, driven=0)) == ["link/*/mass", "joint/*/damping"]
    ball = ist.Builder("ball")
    ball.add_link("bob", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    ball.add_joint_spherical("pivot", parent=None, child="bob")
    assert joints_of_mechanism(ball.model(), [motion(ball.model())]) == ["pivot"]


def test_of_a_thrown_body_no_damping_is_proposed():
    cube = ist.library.cube()
    assert not [name for name in freed(cube, motion(cube)) if name.startswith("joint/")]


@pytest.mark.parametrize(
    ("names", "others"),
    [
        (["FL_hip", "FL_knee", "FR_hip", "FR_knee"], ["root"]),
        (["left.hip", "left.knee", "neck"], ["root_joint"]),
        (["a_b", "c_d"], ["a_d", "c_b"]),
        (["1", "2"], ["3"]),
    ],
)
def test_patterns_match_all_names_and_no_others(names, others):
    found = patterns_of(names, others)
    assert {x for p in found for x in matching(p, [*names, *others])} == {*names}
    assert len(found) <= len(names)
