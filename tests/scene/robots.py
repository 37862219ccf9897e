"""Small robot files with meshes, written into a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isthmus.describe.meshes import TRIANGLE, Triangles
from isthmus.scene import triangles

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
ARM = f"""<robot name="arm">
<material name="steel"><color rgba="0.2 0.4 0.6 1"/></material>
<link name="base">{INERTIAL}
  <visual><origin xyz="0 0 1"/><geometry><mesh filename="package://looks/ball.stl"/></geometry>
    <material name="steel"/></visual>
  <collision><geometry><sphere radius="0.5"/></geometry></collision></link>
<link name="upper">{INERTIAL}
  <visual><geometry><mesh filename="package://looks/box.obj" scale="2 2 -2"/></geometry></visual></link>
<link name="fore">{INERTIAL}<collision><geometry><box size="1 1 1"/></geometry></collision></link>
<link name="hand">{INERTIAL}</link>
<link name="tip"><visual><origin xyz="0 0 0.5"/><geometry><box size="1 2 3"/></geometry></visual></link>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
<joint name="b" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0 0 1"/></joint>
<joint name="c" type="continuous"><parent link="fore"/><child link="hand"/><origin xyz="0 0 1"/></joint>
<joint name="d" type="fixed"><parent link="hand"/><child link="tip"/><origin xyz="0 0 2"/></joint>
</robot>"""
MJCF = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
<geom type="plane" size="1 1 1"/>
<body name="one" pos="0 0 1"><joint name="h" type="hinge" axis="0 1 0" pos="0 0 0.5"/>
  <geom type="mesh" mesh="m" contype="0" conaffinity="0" group="2" rgba="1 0 0 1" mass="1"/>
  <geom type="box" size="1 1 1" group="3" mass="1"/></body>
<body name="two" pos="0 0 3"><freejoint/><geom name="egg" type="ellipsoid" size="1 2 3"/></body>
</worldbody></mujoco>"""


def write_arm(folder: Path) -> Path:
    """The arm in `folder`, with its meshes in the package `looks` elsewhere."""
    meshes = folder / "elsewhere" / "looks"
    meshes.mkdir(parents=True)
    write_stl(triangles.capsule(0.1, 0.0), meshes / "ball.stl")
    write_obj(triangles.box(np.array([0.1, 0.2, 0.3])), meshes / "box.obj")
    robot = folder / "robot"
    robot.mkdir()
    (robot / "arm.urdf").write_text(ARM, encoding="utf-8")
    return robot / "arm.urdf"


def write_stl(mesh: Triangles, path: Path) -> None:
    rows = np.zeros(len(mesh.faces), TRIANGLE)
    rows["corners"] = mesh.vertices[mesh.faces]
    head = b" " * 80 + len(rows).to_bytes(4, "little")
    path.write_bytes(head + rows.tobytes())


def write_obj(mesh: Triangles, path: Path) -> None:
    """Faces with textures and normals, and counted from the end, as files have them."""
    lines = [f"v {x} {y} {z}" for x, y, z in mesh.vertices]
    n = len(mesh.vertices)
    lines += [f"f {a + 1}/1/1 {b + 1}//1 {c - n}" for a, b, c in mesh.faces]
    path.write_text("\n".join(lines), encoding="utf-8")
