"""Model to MJCF and back: the same numbers; what MJCF has not is said; MuJoCo moves it alike."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import jax
import mujoco
import numpy as np
import pytest
from hypothesis import given, settings

import isthmus as ist
from isthmus.describe.description import EXTRAS, Frame, Shape
from isthmus.dynamics import forward_dynamics, passive_torque
from isthmus.errors import BadModel, ExportWarning, NotExpressible
from isthmus.export.mjcf import to_mjcf
from tests import trees
from tests.export.round_trip import differences, exported, loaded

LIBRARY = {
    "pendulum": ist.library.pendulum,
    "spherical pendulum": lambda: ist.library.pendulum(2, joints="spherical", damping=0.1),
    "cart_pole": lambda: ist.library.cart_pole(damping=0.1),
    "arm": lambda: ist.library.arm(payload=0.5, friction=0.3),
    "empty arm": ist.library.arm,
    "quadruped": lambda: ist.library.quadruped(armature=0.01),
    "cube": ist.library.cube,
}
KINDS = tuple(kind for kind in trees.KINDS if kind != "planar")


@pytest.mark.parametrize("name", LIBRARY)
def test_a_model_of_the_library_comes_back_whole_and_without_a_word(name: str, tmp_path: Path):
    model = LIBRARY[name]()
    back, lost = exported(ist.export_mjcf, model, tmp_path / "robot.xml")
    assert not lost
    assert (model.name, model.link_names, model.joint_names) == (
        back.name, back.link_names, back.joint_names,
    )  # fmt: skip
    assert (model.joint_kinds, model.limited, model.saturated) == (
        back.joint_kinds, back.limited, back.saturated,
    )  # fmt: skip
    assert set(model.shape_names) == set(back.shape_names)
    assert set(model.point_names) == set(back.point_names)
    assert differences(model, back) == set()


@settings(max_examples=25)
@given(trees.random_trees)
def test_any_tree_comes_back_and_what_does_not_is_told(tree):
    made = trees.random_tree(**{**tree, "free_inside": False}, kinds=KINDS)
    model = ist.compile_model(made)
    with tempfile.TemporaryDirectory() as folder:
        back, lost = exported(ist.export_mjcf, model, Path(folder) / "tree.xml")
    assert (model.link_names, model.joint_names) == (back.link_names, back.joint_names)
    told = {"joint/origin", "joint/orientation"} if "of free joint" in lost else set()
    assert differences(model, back) == told
    assert bool(told) == ("free" in model.joint_kinds)


def test_springs_stops_motors_and_a_follower_come_back(tmp_path: Path):
    make = ist.Builder("machine", gravity=(0.1, 0.2, -3.0))
    for name in ("a", "b", "c", "d"):
        make.add_link(
            name, mass=1.5, com=(0.1, 0.2, 0.0), inertia=(0.2, 0.3, 0.4, 0.01, 0.02, 0.03)
        )
    numbers = {"stiffness": 2.0, "rest": 0.3, "damping": 0.1, "friction": 0.2, "armature": 0.05}
    make.add_joint_revolute("ja", None, "a", axis=(0, 1, 1), lower=-1.0, effort=4.0, **numbers)
    make.add_joint_prismatic("jb", "a", "b", axis=(1, 0, 0), lower=-1.0, upper=0.5, **numbers)
    make.add_joint_revolute(
        "jc", "b", "c", axis=(1, 0, 2), mimic=ist.describe.description.Mimic("ja", -2.0, 0.4)
    )
    make.add_joint_free(
        "jd", None, "d", stiffness=3.0, rest=(1.0, 2.0, 3.0, 0.8, 0.6, 0.0, 0.0), damping=0.2
    )
    make.add_actuator_pd("ja", kp=30.0, kd=2.0, gear=3.0, delay=0.013)
    make.add_actuator_torque("jb", gear=-2.5)
    make.add_shape_capsule("a", 0.1, 0.3, orientation=(1, 1, 0, 0)).add_shape_plane(name="floor")
    model = make.model()
    back, lost = exported(ist.export_mjcf, model, tmp_path / "machine.xml")
    assert not lost
    assert differences(model, back) == set()
    assert (back.mimics, back.position_controlled) == (model.mimics, model.position_controlled)
    assert to_mjcf(model)[0] == (tmp_path / "machine.xml").read_text(encoding="utf-8")


def test_everything_that_mjcf_has_not_is_told_in_one_sentence(tmp_path: Path):
    hull = Shape(
        "hull", "points", "cart", points=((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    )
    plane = Shape("wing", "plane", "drone")
    model = ist.compile_model(dataclasses.replace(trees.menagerie(), shapes=(hull, plane)))
    model = model.set("joint/elbow/limit_width", 0.5).set("joint/socket/effort", 3.0)
    model = model.set("joint/rail/effort", 0.0).set("joint/flight/gear", 2.0)
    back, lost = exported(ist.export_mjcf, model, tmp_path / "robot.xml")
    for words in (
        "prescribed, of joint 'drive'",
        "two slides and a hinge load back), of planar joint 'table'",
        "shape of kind 'plane' on a link that moves 'wing'",
        "shape of kind 'points' 'hull'", "differences of stiffness (the mean was written) within joint 'socket'",
        "rest position of the spring of ball joint 'socket'", "largest efforts of joint 'socket'",
        "effort of zero (it loads as no bound) of joint 'rail'", "motors of joint 'flight'", "of free joint 'flight'",
    ):  # fmt: skip
        assert words in lost
    assert back.dof == model.dof
    assert back.get("joint/elbow/limit_width") == 0.5
    np.testing.assert_array_equal(back.joint_friction_speed, model.joint_friction_speed)


@pytest.mark.filterwarnings("ignore::isthmus.errors.ExportWarning")
def test_mujoco_accelerates_as_the_model_does_planar_joint_and_all(tmp_path: Path):
    draw = np.random.default_rng(5)
    base = trees.floating(gravity=(1.0, 2.0, -9.0))
    plate = trees.random_link(draw, "plate")
    table = trees.random_joint(draw, "table", "planar", None, "plate")
    joints = tuple(dataclasses.replace(j, damping=0.3, frame=Frame() if j.kind == "free" else j.frame)
                   for j in (*base.joints, dataclasses.replace(table, armature=0.0)))  # fmt: skip
    model = ist.compile_model(dataclasses.replace(base, links=(*base.links, plate), joints=joints))
    path = tmp_path / "robot.xml"
    ist.export_mjcf(model, path)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_integratePos(m, d.qpos, draw.normal(size=m.nv), 1.0)
    d.qvel, d.qfrc_applied = draw.normal(size=(2, m.nv))
    mujoco.mj_forward(m, d)

    @jax.jit
    def accelerate(q, v, tau):
        return forward_dynamics(model, q, v, tau + passive_torque(model, q, v))

    ours = accelerate(np.array(d.qpos), np.array(d.qvel), np.array(d.qfrc_applied))
    np.testing.assert_allclose(ours, d.qacc, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(m.body_mass[1:], model.link_mass, rtol=1e-15)


def test_links_without_mass_move_in_mujoco_too(tmp_path: Path):
    make = ist.Builder().add_link("yoke").add_link("bob", mass=1.0, com=(0.0, 0.0, -1.0))
    make.add_joint_revolute("x", None, "yoke", axis=(1, 0, 0))
    make.add_joint_revolute("y", "yoke", "bob", axis=(0, 1, 0))
    model = make.model()
    back, lost = exported(ist.export_mjcf, model, tmp_path / "robot.xml")
    assert "weighs nothing (1e-14 kg, which MuJoCo lets move), of link 'yoke'" in lost
    assert differences(model, back) == set()


def test_flat_and_thin_bodies_pass_mujocos_triangle_test(tmp_path: Path):
    draw = np.random.default_rng(0)
    for k in range(20):
        turn = np.linalg.qr(draw.normal(size=(3, 3)))[0]
        moment = turn @ np.diag([3.0, 0.7, 0.0] if k % 2 else [3.0, 0.0, 0.0]) @ turn.T
        I = np.trace(moment) * np.eye(3) - moment
        six = I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        model = ist.library.pendulum(1).set("link/rod_1/inertia", six)
        back, lost = exported(ist.export_mjcf, model, tmp_path / "robot.xml")
        assert not lost
        assert differences(model, back) == set()


# what is refused


def test_a_free_joint_on_a_link_is_refused_with_a_remedy(tmp_path: Path):
    make = ist.Builder()
    for name in ("a", "b"):
        make.add_link(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
    make.add_joint_revolute("ja", None, "a").add_joint_free("jb", "a", "b")
    with pytest.raises(
        NotExpressible, match=r"free joints hang from the world, but 'jb'.*`export_urdf`"
    ):
        ist.export_mjcf(make.model(), tmp_path / "robot.xml")


def test_inertias_that_no_body_can_have_are_refused_or_mended(tmp_path: Path):
    impossible = np.array([[1.0, -0.1, 1.0, 0.0, 0.0, 0.0]])
    model = dataclasses.replace(ist.library.pendulum(1), link_inertia=impossible)
    path = tmp_path / "robot.mjcf"
    with pytest.raises(BadModel, match="repair='nearest'"):
        ist.export_mjcf(model, path)
    ist.export_mjcf(model, path, repair="nearest")
    assert differences(model, loaded(path)) == {"link/inertia"}


def test_friction_cogging_offsets_and_motor_constants_come_back_and_are_told(tmp_path: Path):
    model = ist.library.pendulum(2)
    for k, name in enumerate(EXTRAS):
        model = model.set(f"joint/{name}", [0.1 + 0.1 * k, 0.2 + 0.1 * k])
    back, lost = exported(ist.export_mjcf, model, tmp_path / "robot.xml")
    assert differences(model, back) == set()
    assert model.cogging == back.cogging == (0, 1)
    assert "stiction (only isthmus reads it) of joint 'joint_1', 'joint_2'" in lost


def test_mujoco_lets_shapes_collide_only_where_contact_is_a_part_of_the_model():
    """Shapes of an arm overlap at its joints; MuJoCo would press them apart, with torques that the model has not."""
    robot = ist.Builder("arm")
    for k, parent in enumerate([None, "link_0", "link_1"]):
        robot.add_link(f"link_{k}", mass=1.0, com=(0, 0, 0.05), inertia=(0.01, 0.01, 0.01))
        robot.add_joint_revolute(
            f"joint_{k}", parent=parent, child=f"link_{k}", axis=(0, 1, 0), position=(0, 0, 0.05)
        )
        robot.add_shape_sphere(f"link_{k}", radius=0.1)
    model = robot.model()
    q, v, a = np.random.default_rng(0).normal(size=(3, 3))
    m = mujoco.MjModel.from_xml_string(to_mjcf(model)[0])
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.qacc[:] = q, v, a
    mujoco.mj_inverse(m, d)
    rows = {"joint/acceleration": np.tile(a, (3, 1))}
    motion = ist.Motion(np.arange(3.0), np.tile(q, (3, 1)), np.tile(v, (3, 1)), rows)
    np.testing.assert_allclose(d.qfrc_inverse, ist.needed_torque(model, motion)[0], atol=1e-9)


def test_shapes_stay_where_contacts_are_disabled_and_may_touch_later(tmp_path: Path):
    path = tmp_path / "legs.xml"
    ist.export_mjcf(ist.library.quadruped(), path)
    plain = ist.load(path)
    assert set(plain.shape_names) == set(ist.library.quadruped().shape_names)
    standing = ist.load(path, ground=0.0, contact="*_foot")
    assert standing.contact_kinds
    told = pytest.warns(ExportWarning, match="contacts are disabled")
    with pytest.warns(ExportWarning, match="how it touches"), told:
        ist.export_mjcf(standing, path)
    assert "disable" not in path.read_text()
