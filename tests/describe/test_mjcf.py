"""MJCF to description, against MuJoCo itself: the same poses, inertia, forces and motion."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import jax
import mujoco
import numpy as np
import pytest

import isthmus as ist
from isthmus import compile_model
from isthmus.describe.description import Description
from isthmus.describe.mjcf import parse_mjcf, read_mjcf
from isthmus.describe.mjcf_actuators import AFFINE, FIXED, NO_BIAS, ON_JOINT
from isthmus.describe.mjcf_bodies import JOINTS
from isthmus.describe.mjcf_shapes import GEOMS
from isthmus.errors import DescriptionWarning
from isthmus.spatial.rotations import matrix
from tests import compiled

EVERYTHING = """<mujoco model="everything">
  <compiler angle="degree" eulerseq="zyx"/>
  <option timestep="0.002" gravity="0.3 -0.2 -9.7"><flag contact="disable"/></option>
  <default>
    <joint damping="0.02" armature="0.01"/>
    <default class="soft"><joint stiffness="1.5" springref="25"/></default>
  </default>
  <worldbody>
    <body name="flyer" pos="0.2 -0.1 1" euler="10 20 30">
      <freejoint name="flight"/>
      <inertial pos="0.1 0 0.02" mass="2" fullinertia="0.05 0.06 0.07 0.01 -0.005 0.002"/>
      <site name="nose" pos="0.3 0 0" euler="0 45 0"/>
      <body name="arm" pos="0.2 0 0.1" euler="30 0 15">
        <joint name="shoulder" class="soft" pos="0.05 -0.02 0.1" axis="1 2 -1" ref="40"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0.05 0"/>
        <body name="tool" pos="0.3 0 0" euler="0 0 50">
          <geom type="box" size="0.05 0.02 0.01" pos="0 0.03 0"/>
          <body name="bob" pos="0 0.1 0">
            <joint name="swivel" type="ball" pos="0 0 0.07" stiffness="0.4" armature="0.002"/>
            <geom type="sphere" size="0.04" pos="0 0 -0.1"/>
            <geom type="box" size="0.04 0.01 0.02" pos="0.02 0 -0.1"/>
            <site name="tip" pos="0 0 -0.14"/>
          </body>
        </body>
      </body>
    </body>
    <body name="sledge" pos="0 1 0" euler="5 -10 20">
      <joint name="along" type="slide" axis="1 0.5 0" pos="0.1 0.2 0.3" ref="0.3" springref="0.1"
             stiffness="20"/>
      <joint name="turn" axis="0 1 1" pos="0 -0.05 0.02" ref="-30"/>
      <joint name="across" type="slide" axis="0 1 -0.3" pos="1 0 0" ref="0.2"/>
      <joint name="roll" axis="1 0 0.2" pos="0.03 0.1 0"/>
      <geom type="cylinder" size="0.1 0.2" pos="0.1 0 0"/>
      <body pos="0 0 0.3"><joint type="ball"/><geom type="ellipsoid" size="0.1 0.05 0.03"/></body>
    </body>
    <body name="post" pos="3 0 0"><geom type="box" size="0.1 0.1 0.1"/>
      <body name="vane" pos="0 0 0.5"><joint name="hub" axis="0 0 1"/>
        <geom type="box" size="0.2 0.01 0.05" pos="0.1 0 0"/></body>
    </body>
  </worldbody>
</mujoco>"""

CHAIN = """<mujoco>
  <option timestep="0.002"><flag contact="disable"/></option>
  <default><joint damping="0.05" stiffness="2" springref="20" ref="15" pos="0 0.03 0.2"/></default>
  <worldbody>
    <body name="a" pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" size="0.02 0.15"/>
      <body name="b" pos="0 0 -0.4" euler="0 0 30"><joint axis="1 1 0"/>
        <geom type="capsule" size="0.02 0.15"/>
        <body name="c" pos="0 0 -0.4"><joint type="slide" axis="0 0 1" ref="0.1" springref="0.05"/>
          <joint axis="1 0 0"/><geom type="capsule" size="0.02 0.15"/></body></body></body>
  </worldbody>
</mujoco>"""

MOTORS = """<mujoco>
  <option timestep="0.001"><flag contact="disable"/></option>
  <worldbody>
    <body name="a"><joint name="one" axis="0 1 0" actuatorfrcrange="-9 9"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.5"/>
      <body name="b" pos="0 0 -0.5"><joint name="two" axis="0 1 0" ref="20"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.5"/>
        <body name="c" pos="0 0 -0.5"><joint name="three" type="slide" axis="0 0 1"/>
          <geom type="sphere" size="0.05"/></body></body></body>
  </worldbody>
  <actuator>
    <position name="p" joint="two" kp="7" kv="0.3" gear="-2" forcerange="-5 5"/>
    <motor name="m" joint="one" gear="3" forcerange="-2 2" armature="0.02" damping="0"/>
    <general name="g" joint="three" gear="2" gainprm="30" biastype="affine" biasprm="0 -30 -2"/>
  </actuator>
</mujoco>"""


class Pair:
    """A text in MuJoCo and in isthmus."""

    def __init__(self, text: str) -> None:
        self.m = mujoco.MjModel.from_xml_string(text)
        self.d = mujoco.MjData(self.m)
        self.description = parse_mjcf(text)
        self.model = compile_model(self.description)

    def random_state(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Any state; quaternions are of unit length."""
        random = np.random.default_rng(seed)
        q = self.m.qpos0.copy()
        mujoco.mj_integratePos(self.m, q, random.normal(size=self.m.nv), 1.0)
        return q, random.normal(size=self.m.nv)

    def forward(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray | float = 0.0) -> None:
        """MuJoCo's answers for a state, into its data."""
        mujoco.mj_resetData(self.m, self.d)
        self.d.qpos, self.d.qvel, self.d.qfrc_applied = q, v, tau
        mujoco.mj_forward(self.m, self.d)

    def rollout(
        self, q: np.ndarray, v: np.ndarray, ctrl: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of MuJoCo's Euler, a row of `ctrl` for each step."""
        mujoco.mj_resetData(self.m, self.d)
        self.d.qpos, self.d.qvel = q, v
        rows = [(q, v)]
        for row in ctrl:
            self.d.ctrl = row
            mujoco.mj_step(self.m, self.d)
            rows.append((self.d.qpos.copy(), self.d.qvel.copy()))
        return np.array([q for q, _ in rows]), np.array([v for _, v in rows])


def close(ours, theirs, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@partial(jax.jit, static_argnames=("link", "frame"))
def pose_of(model, poses, link, place, frame):
    """Position and rotation in the world of a frame on a link."""
    turn = poses.rotation[link] @ matrix(np.array(frame.orientation))
    return compiled.point_motion(model, poses, model.link_names[link], place)[0], turn


@pytest.fixture(scope="module")
def everything() -> Pair:
    return Pair(EVERYTHING)


# the same mechanism


def test_coordinates_and_names_are_those_of_mujoco(everything: Pair):
    m, model = everything.m, everything.model
    assert (model.nq, model.dof) == (m.nq, m.nv)
    assert [n for n in model.joint_names if not n.endswith("_weld")] == [
        m.joint(i).name or "body_6_joint" for i in range(m.njnt)
    ]
    names = "flyer arm tool bob sledge_along sledge_turn sledge_across sledge body_6 post vane"
    assert model.link_names == tuple(names.split())
    assert everything.description.name == "everything"
    assert everything.description.timestep == 0.002
    assert everything.description.gravity == (0.3, -0.2, -9.7)


@pytest.mark.parametrize("seed", range(3))
def test_bodies_and_sites_stand_where_mujoco_has_them(everything: Pair, seed: int):
    q, v = everything.random_state(seed)
    everything.forward(q, v)
    m, d, model = everything.m, everything.d, everything.model
    poses = compiled.forward_kinematics(model, q, v)
    turns = np.asarray(jax.jit(lambda k: k.rotation)(poses))
    frames = zip(everything.description.points, model.point_links, model.point_origin, strict=True)
    points = {p.name: pose_of(model, poses, link, x, p.frame) for p, link, x in frames}
    for i in range(1, m.nbody):
        link = model.link_names.index(everything.m.body(i).name or "body_6")
        close(turns[link].ravel(), d.xmat[i])
        own = points.get(f"{model.link_names[link]}_frame", (poses.position[link],))
        close(own[0], d.xpos[i])
    assert "arm_frame" in points
    for i in range(m.nsite):
        place, turn = points[m.site(i).name]
        close(place, d.site_xpos[i])
        close(turn.ravel(), d.site_xmat[i])


@pytest.mark.parametrize("seed", range(3))
def test_inertia_forces_and_accelerations_are_those_of_mujoco(everything: Pair, seed: int):
    q, v = everything.random_state(seed)
    tau = np.random.default_rng(seed + 9).normal(size=everything.m.nv)
    everything.forward(q, v, tau)
    m, d, model = everything.m, everything.d, everything.model
    H = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, H)
    close(compiled.mass_matrix(model, q), H)
    close(compiled.bias_torque(model, q, v), d.qfrc_bias)
    passive = compiled.passive_torque(model, q, v)
    close(passive, d.qfrc_passive)
    close(compiled.forward_dynamics(model, q, v, tau + passive), d.qacc)


def test_a_free_joint_is_sprung_and_damped_as_in_mujoco():
    inside = "<joint type='free' stiffness='3' damping='0.2' armature='0.1'/>"
    pair = Pair(body(inside).replace("<body", "<body pos='1 2 3' euler='10 20 30'"))
    q, v = pair.random_state()
    pair.forward(q, v)
    close(compiled.passive_torque(pair.model, q, v), pair.d.qfrc_passive)


@pytest.mark.parametrize("text", [EVERYTHING, CHAIN], ids=["everything", "chain"])
def test_motion_is_that_of_mujocos_euler(text: str):
    pair = Pair(text)
    q, v = pair.random_state(1)
    steps, dt = 200, pair.description.timestep
    motion = ist.rollout(pair.model, ist.State(q, v), None, dt, steps)
    theirs = pair.rollout(q, v, np.zeros((steps, pair.m.nu)))
    close(motion.q, theirs[0], 1e-8)
    close(motion.v, theirs[1], 1e-8)


def test_motors_and_position_controllers_push_as_in_mujoco():
    pair = Pair(MOTORS)
    q, v = pair.random_state(2)
    t = 0.001 * np.arange(400)[:, None]
    ctrl = np.hstack([0.5 * np.sin(5 * t), 5.0 * np.sign(np.cos(20 * t)), 0.1 * np.cos(3 * t)])
    theirs = pair.rollout(q, v, ctrl)
    # far within the bounds, or far beyond them, our smooth saturation is the plain one
    commands = ctrl[:, [1, 0, 2]]  # ours in the order of the joints
    motion = ist.rollout(
        pair.model, ist.State(q, v), commands, 0.001, record=["joint/motor_torque"], explicit=True
    )
    assert (abs(motion.signals["joint/motor_torque"][:, 0]) == 6.0).all()
    assert (abs(motion.signals["joint/motor_torque"][:, 1]) < 9.0).all()
    close(motion.q, theirs[0], 1e-8)
    close(motion.v, theirs[1], 1e-8)


def test_the_command_of_an_actuator_arrives_as_late_as_in_mujoco():
    text = MOTORS.replace('name="m"', 'name="m" delay="0.02" nsample="32"')
    pair = Pair(text.replace(' armature="0.02" damping="0"', ""))
    q, v = pair.random_state(3)
    ctrl = np.zeros((100, 3))
    ctrl[:, 1] = np.sin(0.1 * np.arange(100))
    theirs = pair.rollout(q, v, ctrl)
    motion = ist.rollout(pair.model, ist.State(q, v), ctrl[:, [1, 0, 2]], 0.001, explicit=True)
    close(motion.v, theirs[1], 1e-8)


def test_the_swimmer_moves_as_in_mujoco(shared_data: Path):
    file = shared_data / "models" / "swimmer03" / "model.xml"
    if not file.is_file():
        pytest.skip("the swimmer's model is not among the recordings here")
    with pytest.warns(ist.errors.DescriptionWarning, match="ctrlrange"):
        model = ist.load(file)
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    random = np.random.default_rng(0)
    q, v = 0.5 * random.normal(size=5), random.normal(size=5)
    ctrl = random.uniform(-1e-4, 1e-4, size=(300, 2))
    d.qpos, d.qvel = q, v
    for row in ctrl:
        d.ctrl = row
        mujoco.mj_step(m, d)
    commands = np.hstack([np.zeros((300, 3)), ctrl])
    motion = ist.rollout(model, ist.State(q, v), commands, 0.002)
    close(motion.q[-1], d.qpos, 1e-8)
    close(motion.v[-1], d.qvel, 1e-8)


# what is read


def body(inside: str, *, after: str = "", option: str = "", geom: str = "size='0.1'") -> str:
    """A text with one body, `b`."""
    return (
        f"<mujoco>{option}<worldbody><body name='b'>{inside}<geom name='g' {geom}/></body>"
        f"</worldbody>{after}</mujoco>"
    )


def test_limits_friction_and_springs_are_read():
    joint = parse_mjcf(
        body(
            "<joint name='j' range='-90 45' frictionloss='0.2' damping='0.3' stiffness='4'"
            " springref='30' armature='0.5' actuatorfrcrange='-3 3'/>"
        )
    ).joints[0]
    assert (joint.kind, joint.parent, joint.child) == ("revolute", None, "b")
    close((joint.lower, joint.upper, joint.rest), np.deg2rad((-90, 45, 30)))
    assert (joint.friction, joint.damping, joint.stiffness) == (0.2, 0.3, 4.0)
    assert (joint.armature, joint.effort) == (0.5, 3.0)


def test_what_a_flag_disables_is_not_there():
    flags = "gravity spring damper frictionloss limit contact".split()
    disabled = " ".join(f"{flag}='disable'" for flag in flags)
    option = f"<option><flag {disabled}/></option>"
    inside = "<joint range='-1 1' frictionloss='1' damping='1' stiffness='1'/>"
    found = parse_mjcf(body(inside, option=option))
    joint = found.joints[0]
    assert (joint.lower, joint.upper) == (None, None)
    assert (joint.friction, joint.damping, joint.stiffness) == (0.0, 0.0, 0.0)
    assert (found.gravity, found.shapes) == ((0.0, 0.0, 0.0), ())


def test_geoms_that_may_touch_are_shapes_beside_the_anchor():
    text = """<mujoco><asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
      <worldbody>
        <geom name="floor" type="plane" size="1 1 1" pos="0 0 -1"/>
        <body name="b"><joint pos="0.1 0.2 0.3"/>
          <geom name="ball" size="0.1" pos="1 0 0"/>
          <geom type="capsule" size="0.1 0.2"/>
          <geom name="ghost" type="box" size="1 2 3" contype="0" conaffinity="0"/>
          <geom type="cylinder" size="0.1 0.2"/>
          <geom name="box" type="box" size="0.1 0.2 0.3"/>
          <geom name="wedge" type="mesh" mesh="wedge" pos="0 0 2"/>
          <site pos="1 1 1"/>
        </body></worldbody></mujoco>"""
    found = parse_mjcf(text, ground=-2.0)
    shapes = {shape.name: shape for shape in found.shapes}
    assert {name: shape.kind for name, shape in shapes.items()} == {
        "floor": "plane", "ball": "sphere", "b_geom": "capsule", "b_geom_2": "cylinder",
        "box": "box", "wedge": "points", "ground": "plane",
    }  # fmt: skip
    assert shapes["floor"].link is None
    assert shapes["ground"].frame.position == (0.0, 0.0, -2.0)
    close(shapes["ball"].frame.position, (0.9, -0.2, -0.3))
    assert shapes["b_geom"].size == (0.1, 0.2, 0.0)
    assert len(shapes["wedge"].points) == 4
    assert [point.name for point in found.points] == ["b_site", "b_frame"]
    close(found.points[0].frame.position, (0.9, 0.8, 0.7))
    close(found.points[1].frame.position, (-0.1, -0.2, -0.3))


def test_includes_and_defaults_are_mujocos(tmp_path: Path):
    (tmp_path / "part.xml").write_text(
        "<mujocoinclude><default><joint damping='7'/></default></mujocoinclude>"
    )
    file = tmp_path / "robot.urdf"  # the suffix says nothing
    file.write_text(
        body("<joint name='j'/>").replace("<mujoco>", "<mujoco><include file='part.xml'/>")
    )
    assert read_mjcf(file).joints[0].damping == 7.0
    model = ist.load(file)
    assert (model.name, model.joint_names) == ("robot", ("j",))


def test_masses_are_what_mujoco_compiled(everything: Pair):
    m, links = everything.m, everything.description.links
    heavy = [link.mass for link in links if link.mass]
    assert heavy == m.body_mass[1:].tolist()


def test_the_numbers_of_mujocos_enumerations_are_as_we_read_them():
    for word, (kind, nq, nv) in zip("FREE BALL SLIDE HINGE".split(), JOINTS, strict=True):
        assert JOINTS[getattr(mujoco.mjtJoint, f"mjJNT_{word}")] == (kind, nq, nv)
    for i, word in enumerate(GEOMS):
        assert getattr(mujoco.mjtGeom, f"mjGEOM_{word.upper()}") == i
    assert (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT) == ON_JOINT
    assert mujoco.mjtGain.mjGAIN_FIXED == FIXED
    assert (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE) == (NO_BIAS, AFFINE)


def test_a_representable_file_is_read_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (EVERYTHING, CHAIN, MOTORS):
            assert isinstance(parse_mjcf(text), Description)


FOLLOWER = """<mujoco><compiler angle="radian"/>
  <worldbody>
    <body name="a"><joint name="one" ref="0.3"/><geom size="0.1"/>
      <body name="b"><joint name="two" ref="-0.2"/><geom size="0.1"/>
        <body name="c"><joint name="three" range="-1 1e16"/><geom size="0.1"/></body></body></body>
  </worldbody>
  <equality>{}</equality>
  <actuator><motor joint="three"/></actuator>
</mujoco>"""
FOLLOWS = '<joint joint1="{}" joint2="{}" polycoef="0.1 -2 0 0 0"/>'


def test_a_linear_equality_of_two_joints_makes_one_follow_the_other():
    found = parse_mjcf(FOLLOWER.format(FOLLOWS.format("two", "one")))
    one, two, three = found.joints
    assert (one.mimic, three.mimic) == (None, None)
    assert two.mimic is not None
    assert (two.mimic.joint, two.mimic.multiplier) == ("one", -2.0)
    assert two.mimic.offset == pytest.approx(-0.2 + 0.1 + 2 * 0.3)
    assert (three.lower, three.upper) == (-1.0, None)


@pytest.mark.parametrize(
    "pairs",
    [[("three", "one")], [("two", "one"), ("one", "two")], [("two", "one"), ("two", "three")]],
)
def test_joints_that_cannot_follow_stay_as_they_are(pairs):
    text = FOLLOWER.format("".join(FOLLOWS.format(*pair) for pair in pairs))
    with pytest.warns(DescriptionWarning, match="equality constraint 'number"):
        found = parse_mjcf(text)
    assert sum(joint.mimic is not None for joint in found.joints) == len(pairs) - 1
