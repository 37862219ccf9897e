"""The same mechanism as URDF, as MJCF and by `Builder` moves in the same way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus as ist

HALF_TURN = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)

ARM_URDF = """<robot name="arm">
  <link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="1.5"/>
    <inertia ixx="0.03" iyy="0.02" izz="0.02" ixy="0.002" ixz="0" iyz="0"/></inertial></link>
  <link name="slider"><inertial><origin xyz="0.05 0 0"/><mass value="0.7"/>
    <inertia ixx="0.003" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="bob"><inertial><origin xyz="0 0.1 0"/><mass value="0.4"/>
    <inertia ixx="0.004" iyy="0.005" izz="0.006" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"><inertial><origin xyz="0 0 0"/><mass value="0.1"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="base"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/><dynamics damping="0.05"/></joint>
  <joint name="rail" type="prismatic"><parent link="upper"/><child link="slider"/>
    <origin xyz="0 0.1 -0.4" rpy="1.5707963267948966 0 0"/><axis xyz="1 1 0"/>
    <dynamics damping="0.4"/></joint>
  <joint name="swivel" type="spherical"><parent link="slider"/><child link="bob"/>
    <origin xyz="0.1 0 0"/></joint>
  <joint name="weld" type="fixed"><parent link="bob"/><child link="tool"/>
    <origin xyz="0 0.2 0"/></joint>
</robot>"""

ARM_MJCF = """<mujoco model="arm"><compiler angle="radian"/><worldbody><body name="base">
  <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="0.05"/>
    <inertial pos="0 0 -0.2" mass="1.5" fullinertia="0.03 0.02 0.02 0.002 0 0"/>
    <body name="slider" pos="0 0.1 -0.4" euler="1.5707963267948966 0 0">
      <joint name="rail" type="slide" axis="1 1 0" damping="0.4"/>
      <inertial pos="0.05 0 0" mass="0.7" diaginertia="0.003 0.002 0.001"/>
      <body name="bob" pos="0.1 0 0"><joint name="swivel" type="ball"/>
        <inertial pos="0 0.1 0" mass="0.4" diaginertia="0.004 0.005 0.006"/>
        <body name="tool" pos="0 0.2 0">
          <inertial pos="0 0 0" mass="0.1" diaginertia="0.001 0.001 0.001"/>
        </body></body></body></body></body></worldbody></mujoco>"""


def arm() -> ist.Builder:
    robot = ist.Builder("arm")
    robot.add_link("base")
    robot.add_link("upper", mass=1.5, com=(0, 0, -0.2), inertia=(0.03, 0.02, 0.02, 0.002, 0, 0))
    robot.add_link("slider", mass=0.7, com=(0.05, 0, 0), inertia=(0.003, 0.002, 0.001))
    robot.add_link("bob", mass=0.4, com=(0, 0.1, 0), inertia=(0.004, 0.005, 0.006))
    robot.add_link("tool", mass=0.1, inertia=(0.001, 0.001, 0.001))
    robot.add_joint_fixed("foot", None, "base")
    robot.add_joint_revolute(
        "shoulder", "base", "upper", position=(0, 0, 1), axis=(0, 1, 0), damping=0.05
    )
    robot.add_joint_prismatic(
        "rail", "upper", "slider", position=(0, 0.1, -0.4), orientation=HALF_TURN,
        axis=(1, 1, 0), damping=0.4,
    )  # fmt: skip
    robot.add_joint_spherical("swivel", "slider", "bob", position=(0.1, 0, 0))
    return robot.add_joint_fixed("weld", "bob", "tool", position=(0, 0.2, 0))


FLYER_URDF = """<robot name="flyer">
  <link name="body"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
    <inertia ixx="0.05" iyy="0.06" izz="0.07" ixy="0" ixz="0.01" iyz="0"/></inertial></link>
  <link name="tail"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
    <inertia ixx="0.004" iyy="0.005" izz="0.006" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hip" type="continuous"><parent link="body"/><child link="tail"/>
    <origin xyz="-0.2 0 0"/><axis xyz="1 0 1"/><dynamics damping="0.01"/></joint>
</robot>"""

FLYER_MJCF = """<mujoco model="flyer"><worldbody><body name="body" pos="0 0 3">
  <freejoint name="root_joint"/>
  <inertial pos="0.1 0 0" mass="2" fullinertia="0.05 0.06 0.07 0 0.01 0"/>
  <body name="tail" pos="-0.2 -0.3 0"><joint name="hip" pos="0 0.3 0" axis="1 0 1" damping="0.01"/>
    <inertial pos="0 0.3 -0.1" mass="0.5" diaginertia="0.004 0.005 0.006"/></body>
</body></worldbody></mujoco>"""


def flyer() -> ist.Builder:
    robot = ist.Builder("flyer")
    robot.add_link("body", mass=2.0, com=(0.1, 0, 0), inertia=(0.05, 0.06, 0.07, 0, 0.01, 0))
    robot.add_link("tail", mass=0.5, com=(0, 0, -0.1), inertia=(0.004, 0.005, 0.006))
    robot.add_joint_free("root_joint", None, "body")
    return robot.add_joint_revolute(
        "hip", "body", "tail", position=(-0.2, 0, 0), axis=(1, 0, 1), damping=0.01
    )


@pytest.mark.filterwarnings("ignore:.*no mass is given for links 'base'")
@pytest.mark.parametrize(
    ("urdf", "mjcf", "builder", "base"),
    [(ARM_URDF, ARM_MJCF, arm, "fixed"), (FLYER_URDF, FLYER_MJCF, flyer, "free")],
    ids=["arm", "flyer"],
)
def test_the_same_mechanism_moves_in_the_same_way(tmp_path: Path, key, urdf, mjcf, builder, base):
    built = builder().model()
    models = []
    for name, text in (("a.urdf", urdf), ("a.xml", mjcf)):
        (tmp_path / name).write_text(text)
        models.append(ist.load(tmp_path / name, base=base))
    start = ist.State.random(built, key)
    controls = 0.2 * np.sin(0.05 * np.arange(200.0)[:, None] + np.arange(built.dof))
    record = ("link/pose", "link/velocity")
    expected = ist.rollout(built, start, controls, 0.005, record=record)
    assert abs(expected.q[-1] - expected.q[0]).max() > 0.1
    for model in models:
        assert model.link_names == built.link_names
        motion = ist.rollout(model, start, controls, 0.005, record=record)
        for ours, other in ((expected.q, motion.q), (expected.v, motion.v)):
            np.testing.assert_allclose(ours, other, rtol=1e-10, atol=1e-10)
        for name in record:
            np.testing.assert_allclose(
                expected.signals[name], motion.signals[name], rtol=1e-10, atol=1e-10
            )
