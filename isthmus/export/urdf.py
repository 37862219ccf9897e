"""Model -> URDF (wiki.ros.org/urdf/XML) that `load` reads back to the same numbers.

The world is a link called `world`, from which all roots hang by joints of their own, unless there is one root
that is welded to it as `load` welds it. Named points are welded links without mass. What URDF lacks is named in
one warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from isthmus.describe.checks import ONE_COORDINATE, SIZES
from isthmus.describe.description import EXTRAS, Description, Frame, Joint, Link, Point, Shape
from isthmus.describe.files import PathLike
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.notes import free_name, quoted
from isthmus.describe.numbers import ENDLESS, is_zero
from isthmus.describe.poses import rpy_of_quaternion
from isthmus.describe.tree import WORLD
from isthmus.describe.urdf import OWN
from isthmus.errors import NotExpressible
from isthmus.export.description import description_of, row
from isthmus.export.lost import export_text, is_unusual, note_common_losses, single
from isthmus.export.possible import with_possible_inertias
from isthmus.export.xml_text import Xml, refuse_names
from isthmus.model.model import Model

TYPES = {
    "fixed": "fixed", "revolute": "revolute", "prismatic": "prismatic", "planar": "planar", "free": "floating"
}  # fmt: skip
ROOT = "root_joint"
"""What a reader calls the joint of a root that has none in the file."""
GRAVITY = Description("", (), ()).gravity
ENDINGS = (".urdf", ".xml")


def export_urdf(model: Model, path: PathLike, *, repair: str = "none") -> None:
    """Writes the model as URDF; `ist.load(path)` gives the same numbers again.

    Args:
        path: ends in `.urdf` or `.xml`; the file appears when it is complete.
        repair: `nearest` writes the nearest possible inertias where no body can have the model's.

    Raises:
        NotExpressible: it has spherical joints, which URDF does not know, or a link called `world`.
        BadModel: it has inertias that no body can have.
        BadFile: the file cannot be written.

    Warns:
        ExportWarning: URDF has no place for some of the numbers; says for which.
    """
    export_text(lambda: to_urdf(model, repair=repair), path, ENDINGS, "URDF")


def to_urdf(model: Model, *, repair: str = "none") -> tuple[str, LeftOut]:
    """The text of a URDF, and what it does not hold."""
    found = with_possible_inertias(description_of(model), repair)
    _refuse(found)
    lost = LeftOut()
    note_common_losses(model, found, lost)
    _note_losses(found, lost)
    return _text(found, lost), lost


def _refuse(found: Description) -> None:
    names = [
        member.name
        for family in (found.links, found.joints, found.points, found.shapes)
        for member in family
    ]
    refuse_names(names, "URDF")
    if balls := [joint.name for joint in found.joints if joint.kind == "spherical"]:
        reason = (
            f"it has no spherical joints, as {quoted(balls)} {'is' if len(balls) == 1 else 'are'}"
        )
        raise NotExpressible("URDF", [reason], "Write MJCF, which has them: `export_mjcf`.")
    if any(link.name == WORLD for link in found.links):
        reason = f"a link is called {WORLD!r}, which is the world's own name there"
        raise NotExpressible("URDF", [reason], "Rename the link.")


def _note_losses(found: Description, lost: LeftOut) -> None:
    """Numbers of the model that have no place in a URDF."""
    if found.gravity != GRAVITY:
        lost.add(f"gravity (it loads as {GRAVITY} m/s²)")
    for joint in found.joints:
        for field in ("armature", "stiffness"):
            if not is_zero(getattr(joint, field)):
                lost.add(f"{field} (only isthmus reads it in a URDF) of joint", joint.name)
        if np.any(np.asarray(joint.effort) == 0.0):
            lost.add("a largest effort of zero (it loads as no bound) of joint", joint.name)
        if joint.kind not in ONE_COORDINATE and _is_bounded(joint):
            lost.add("ends of travel of joint", joint.name)
    for actuator in found.actuators:
        lost.add("gear, gains and delay of the motor of joint", actuator.joint)
    taken = {link.name for link in found.links} | {WORLD}
    for point in found.points:
        if point.name in taken:
            lost.add("point (a link has the same name)", point.name)


def _is_bounded(joint: Joint) -> bool:
    return any(
        end is not None and np.isfinite(row(end)).any() for end in (joint.lower, joint.upper)
    )


def _text(found: Description, lost: LeftOut) -> str:
    xml = Xml()
    shapes = [shape for shape in found.shapes if _is_written(shape, lost)]
    points = [
        p for p in found.points if p.name not in {link.name for link in found.links} | {WORLD}
    ]
    capsules = any(shape.kind == "capsule" for shape in shapes)
    xml.open("robot", name=found.name, version="1.1" if capsules else None)
    rooted = _hangs_as_usual(found, shapes, points)
    if not rooted:
        _write_link(xml, Link(WORLD), [s for s in shapes if s.link is None], massive=False)
    for link in found.links:
        _write_link(xml, link, [s for s in shapes if s.link == link.name])
    for joint in found.joints[1:] if rooted else found.joints:
        _write_joint(xml, joint, lost)
    taken = {joint.name for joint in found.joints} | {ROOT}
    for point in points:
        name = free_name(f"{point.name}_frame", taken)
        taken.add(name)
        xml.leaf("link", name=point.name)
        _write_joint(xml, Joint(name, "fixed", point.link, point.name, point.frame), lost)
    return xml.text()


def _hangs_as_usual(found: Description, shapes: list[Shape], points: list[Point]) -> bool:
    """Whether a reader attaches the root to the world as the model does, without a joint in the file."""
    first, *others = [joint for joint in found.joints if joint.parent is None]
    usual = first.name == ROOT and first.kind == "fixed" and _is_identity(first.frame)
    return usual and not others and all(member.link is not None for member in (*shapes, *points))


def _is_identity(frame: Frame) -> bool:
    return is_zero(frame.position) and rpy_of_quaternion(row(frame.orientation)) == (
        0.0,
        0.0,
        0.0,
    )


def _is_written(shape: Shape, lost: LeftOut) -> bool:
    """Whether URDF has such a shape: not planes, hulls without a mesh file, and what has no size."""
    needed = 1 if shape.kind == "capsule" else SIZES.get(shape.kind)
    if needed is None:
        hint = " (load it with ground=)" if shape.kind == "plane" else ""
        lost.add(f"shape of kind {shape.kind!r}{hint}", shape.name)
    elif not all(row(shape.size)[:needed]):
        lost.add("shape without size", shape.name)
        return False
    return needed is not None


def _write_link(xml: Xml, link: Link, shapes: list[Shape], *, massive: bool = True) -> None:
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
        _write_origin(xml, shape.frame)
        xml.open("geometry")
        xml.leaf(shape.kind, **dict(_sizes(shape)))
        xml.close()
        xml.close()
    xml.close()


def _sizes(shape: Shape) -> Iterator[tuple[str, object]]:
    """URDF has full widths and lengths."""
    size = np.array(row(shape.size))
    if shape.kind == "box":
        yield "size", 2.0 * size
        return
    yield "radius", size[0]
    if shape.kind != "sphere":
        yield "length", 2.0 * size[1]


def _write_origin(xml: Xml, frame: Frame) -> None:
    if not _is_identity(frame):
        xml.leaf("origin", xyz=frame.position, rpy=rpy_of_quaternion(row(frame.orientation)))


def _write_joint(xml: Xml, joint: Joint, lost: LeftOut) -> None:
    lower, upper = _ends(joint)
    endless = joint.kind == "revolute" and (lower, upper) == (-ENDLESS, ENDLESS)
    xml.open("joint", name=joint.name, type="continuous" if endless else TYPES[joint.kind])
    _write_origin(xml, joint.frame)
    xml.leaf("parent", link=joint.parent or WORLD)
    xml.leaf("child", link=joint.child)
    xml.leaf("axis", xyz=_unit(joint))
    effort = _effort(joint, lost)
    if effort < ENDLESS or (joint.kind in ONE_COORDINATE and not endless):
        bounded = joint.kind in ONE_COORDINATE and not endless
        ends = {"lower": lower, "upper": upper} if bounded else {}
        stops = {name: getattr(joint, name) for name in OWN["limit"] if bounded}
        xml.leaf("limit", **ends, effort=effort, velocity=ENDLESS, **stops)
    damping, friction = (single(joint, field, lost) for field in ("damping", "friction"))
    own = _own_numbers(joint)
    if damping or friction or own:
        xml.leaf("dynamics", damping=damping, friction=friction, **own)
    if joint.mimic is not None:
        mimic = joint.mimic
        xml.leaf("mimic", joint=mimic.joint, multiplier=mimic.multiplier, offset=mimic.offset)
    xml.close()


def _own_numbers(joint: Joint) -> dict[str, Any]:
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


def _ends(joint: Joint) -> tuple[float, float]:
    """Ends of travel as parsers of URDF take them: none is a very large number."""
    if joint.kind not in ONE_COORDINATE:
        return -ENDLESS, ENDLESS
    lower = -math.inf if joint.lower is None else float(np.asarray(joint.lower))
    upper = math.inf if joint.upper is None else float(np.asarray(joint.upper))
    return max(lower, -ENDLESS), min(upper, ENDLESS)


def _effort(joint: Joint, lost: LeftOut) -> float:
    return (
        ENDLESS if joint.effort is None else min(single(joint, "effort", lost) or ENDLESS, ENDLESS)
    )


def _unit(joint: Joint) -> np.ndarray:
    """The axis at unit length, which parsers of URDF expect; untouched where it has it."""
    axis = np.array(row(joint.axis))
    size = float(np.linalg.norm(axis))
    return axis if abs(size - 1.0) < 1e-15 or not size else axis / size
