"""Elements of a URDF: links with inertia and shapes, joints with their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from isthmus.describe.checks import ONE_COORDINATE, SIZES
from isthmus.describe.description import EXTRAS, Frame, Joint, Link, Shape
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.numbers import ENDLESS, is_zero
from isthmus.describe.poses import rpy_of_quaternion
from isthmus.describe.tree import WORLD
from isthmus.describe.urdf import OWN
from isthmus.export.description import row
from isthmus.export.lost import is_unusual, single
from isthmus.export.xml_text import Xml

TYPES = {
    "fixed": "fixed", "revolute": "revolute", "prismatic": "prismatic", "planar": "planar", "free": "floating"
}  # fmt: skip


def is_identity(frame: Frame) -> bool:
    """Whether a frame stands where its parent does, in the same axes."""
    return is_zero(frame.position) and rpy_of_quaternion(row(frame.orientation)) == (
        0.0,
        0.0,
        0.0,
    )


def is_written(shape: Shape, lost: LeftOut) -> bool:
    """Whether URDF has such a shape: not planes, hulls without a mesh file, and what has no size."""
    needed = 1 if shape.kind == "capsule" else SIZES.get(shape.kind)
    if needed is None:
        hint = " (load it with ground=)" if shape.kind == "plane" else ""
        lost.add(f"shape of kind {shape.kind!r}{hint}", shape.name)
    elif not all(row(shape.size)[:needed]):
        lost.add("shape without size", shape.name)
        return False
    return needed is not None


def write_link(xml: Xml, link: Link, shapes: list[Shape], *, massive: bool = True) -> None:
    """With its inertia even where that is zero: a reader takes links without one for mere frames."""
    if not massive and not shapes:
        xml.leaf("link", name=link.name)
        return
    xml.open("link", name=link.name)
    if massive:
        xml.open("inertial")
        xml.leaf("origin", xyz=link.com)
        xml.leaf("mass", value=link.mass)
        xx, yy, zz, xy, xz, yz = row(link.inertia)
        xml.leaf("inertia", ixx=xx, iyy=yy, izz=zz, ixy=xy, ixz=xz, iyz=yz)
        xml.close()
    for shape in shapes:
        xml.open("collision", name=shape.name)
        write_origin(xml, shape.frame)
        xml.open("geometry")
        xml.leaf(shape.kind, **dict(sizes(shape)))
        xml.close()
        xml.close()
    xml.close()


def sizes(shape: Shape) -> Iterator[tuple[str, object]]:
    """URDF has full widths and lengths."""
    size = np.array(row(shape.size))
    if shape.kind == "box":
        yield "size", 2.0 * size
        return
    yield "radius", size[0]
    if shape.kind != "sphere":
        yield "length", 2.0 * size[1]


def write_origin(xml: Xml, frame: Frame) -> None:
    """Writes where a frame stands, unless that is its parent's place."""
    if not is_identity(frame):
        xml.leaf("origin", xyz=frame.position, rpy=rpy_of_quaternion(row(frame.orientation)))


def write_joint(xml: Xml, joint: Joint, lost: LeftOut) -> None:
    """Writes a joint with all of its numbers."""
    lower, upper = ends_of_travel(joint)
    endless = joint.kind == "revolute" and (lower, upper) == (-ENDLESS, ENDLESS)
    xml.open("joint", name=joint.name, type="continuous" if endless else TYPES[joint.kind])
    write_origin(xml, joint.frame)
    xml.leaf("parent", link=joint.parent or WORLD)
    xml.leaf("child", link=joint.child)
    xml.leaf("axis", xyz=unit_axis(joint))
    effort = largest_effort(joint, lost)
    if effort < ENDLESS or (joint.kind in ONE_COORDINATE and not endless):
        bounded = joint.kind in ONE_COORDINATE and not endless
        ends = {"lower": lower, "upper": upper} if bounded else {}
        stops = {name: getattr(joint, name) for name in OWN["limit"] if bounded}
        xml.leaf("limit", **ends, effort=effort, velocity=ENDLESS, **stops)
    damping, friction = (single(joint, field, lost) for field in ("damping", "friction"))
    own = own_numbers(joint)
    if damping or friction or own:
        xml.leaf("dynamics", damping=damping, friction=friction, **own)
    if joint.mimic is not None:
        mimic = joint.mimic
        xml.leaf("mimic", joint=mimic.joint, multiplier=mimic.multiplier, offset=mimic.offset)
    xml.close()


def own_numbers(joint: Joint) -> dict[str, Any]:
    """What only our reader takes, where it is not what that takes for granted."""
    springs = not is_zero(joint.stiffness)
    known: dict[str, Any] = {
        "armature": None if is_zero(joint.armature) else joint.armature,
        "stiffness": joint.stiffness if springs else None,
        "rest": joint.rest if springs else None,
    }
    known |= {
        name: getattr(joint, name)
        for name in ("friction_speed", *EXTRAS)
        if is_unusual(joint, name)
    }
    return {name: value for name, value in known.items() if value is not None}


def ends_of_travel(joint: Joint) -> tuple[float, float]:
    """Ends of travel as parsers of URDF take them: none is a very large number."""
    if joint.kind not in ONE_COORDINATE:
        return -ENDLESS, ENDLESS
    lower = -math.inf if joint.lower is None else float(np.asarray(joint.lower))
    upper = math.inf if joint.upper is None else float(np.asarray(joint.upper))
    return max(lower, -ENDLESS), min(upper, ENDLESS)


def largest_effort(joint: Joint, lost: LeftOut) -> float:
    """The bound of the motor torque [N·m, N] as parsers of URDF take it: none is a very large number."""
    return (
        ENDLESS if joint.effort is None else min(single(joint, "effort", lost) or ENDLESS, ENDLESS)
    )


def unit_axis(joint: Joint) -> np.ndarray:
    """The axis at unit length, which parsers of URDF expect; untouched where it has it."""
    axis = np.array(row(joint.axis))
    size = float(np.linalg.norm(axis))
    return axis if abs(size - 1.0) < 1e-15 or not size else axis / size
