"""A model that came from a URDF -> that file with the model's present numbers, and all else as it was written.

The text is read again, and what that gives is compared with the model, record by record; where a number differs, its
attribute is changed or added. Links and joints that only one of them has are added or removed, and told.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from isthmus.describe.checks import ONE_COORDINATE
from isthmus.describe.description import EXTRAS, Description, Frame, Joint, Link, Point, Shape
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.notes import Notes, say
from isthmus.describe.numbers import ENDLESS, is_zero
from isthmus.describe.poses import compose, rpy_of_quaternion
from isthmus.describe.urdf import OWN, read_again
from isthmus.describe.urdf_shapes import ShapeReader, with_names
from isthmus.describe.xml_lines import Element, parse_xml
from isthmus.errors import ExportWarning
from isthmus.export.description import description_of, row, same_names
from isthmus.export.lost import single
from isthmus.export.urdf_elements import (
    ends_of_travel,
    is_written,
    largest_effort,
    sizes,
    unit_axis,
    write_joint,
    write_link,
)
from isthmus.export.xml_edit import Document, NotKept, Tag, opened
from isthmus.export.xml_text import Xml
from isthmus.model.compile import model_of
from isthmus.model.model import Model
from isthmus.model.source import SourceFile

SIX = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
REFLECTED = ("damping", "friction", "armature", "stiction", "torque_offset")
"""Numbers of mimicking joints that a reader adds to those of their leaders."""


class UrdfFile:
    """The text that a model came from, its elements by name, and the model that it describes."""

    def __init__(self, source: SourceFile) -> None:
        root = parse_xml(source.text)
        self.document = opened(source.text, root)
        top, reader = self.document.root, ShapeReader(".", (), Notes(), hulls=False)
        self.model = model_of(read_again(root, reader, source.base))
        self.was = description_of(self.model)
        named = lambda tag: zip(root.all(tag), top.all(tag), strict=True)
        self.links = {_name(element): tag for element, tag in named("link")}
        self.joints = {_name(element): tag for element, tag in named("joint")}
        self.above = {}
        """Of a link, its joint's element and its parent's name."""
        for element, tag in named("joint"):
            child, parent = element.first("child"), element.first("parent")
            if child is not None and parent is not None:
                self.above[_name(child, "link")] = (tag, _name(parent, "link"))
        self.shapes = dict(_shapes(named("link"), reader))


def with_numbers(model: Model, now: Description, lost: LeftOut) -> bytes:
    """The file that the model came from, with the numbers of `now`; raises `NotKept` where that cannot be."""
    file = UrdfFile(model.source)
    if _hanging(file.was) != _hanging(now):
        raise NotKept("the model hangs from the world otherwise")
    if (name := file.document.value(file.document.root, "name")) and file.was.name != now.name:
        file.document.set_text(file.document.root, "name", now.name if name.strip() else name)
    _add_and_remove(file, now, lost)
    for was, link in same_names(file.was.links, now.links):
        _write_link(file.document, file.links[link.name], was, link)
    for was, joint in _same_joints(file.was, now):
        _write_joint(file, was, joint, lost)
    _write_stops(file, model)
    _write_followers(file, now)
    _write_points(file, now)
    _write_shapes(file, now, lost)
    return file.document.result()


# the file --------------------------------------------------------------------------------------------------


def _name(element: Element, attribute: str = "name") -> str:
    return element.attributes.get(attribute, "").strip()


def _shapes(links: Iterable[tuple[Element, Tag]], reader: ShapeReader) -> Iterable[tuple[str, Tag]]:
    """The elements of collision shapes, by the names that a reader gives these."""
    found: list[tuple[Shape, Tag]] = []
    for element, tag in links:
        for collision, place in zip(element.all("collision"), tag.all("collision"), strict=True):
            alone = Element("link", {}, element.line, [collision])
            found += [(shape, place) for shape in reader.shapes(_name(element), alone)]
    names = [shape.name for shape in with_names([shape for shape, _ in found])]
    return zip(names, [tag for _, tag in found], strict=True)


def _hanging(description: Description) -> set[tuple[str, str, str]]:
    return {(j.name, j.kind, j.child) for j in description.joints if j.parent is None}


def _same_joints(was: Description, now: Description) -> list[tuple[Joint, Joint]]:
    """Joints of both that join the same links in the same way."""
    fixed = lambda j: (j.kind, j.parent, j.child, j.mimic is None)
    return [(a, b) for a, b in same_names(was.joints, now.joints) if fixed(a) == fixed(b)]


def _add_and_remove(file: UrdfFile, now: Description, lost: LeftOut) -> None:
    """Takes links, joints and points out that the model lacks, and adds those that the file lacks; says which."""
    told, xml = LeftOut(), Xml(header=False)
    kept = {joint.name for _, joint in _same_joints(file.was, now)}
    joints = {joint.name for joint in file.was.joints} - kept
    for kind, before, after in (
        ("link", file.was.links, now.links), ("point", file.was.points, now.points),
    ):  # fmt: skip
        names = {record.name for record in after}
        for name in [r.name for r in before if r.name not in names and r.name in file.links]:
            told.add(f"removed {kind}", name)
            file.document.remove(file.links[name])
            if kind == "point":
                file.document.remove(file.above[name][0])
    for name in sorted(joints & file.joints.keys()):
        told.add("removed joint", name)
        file.document.remove(file.joints[name])
    here = {record.name for record in (*file.was.links, *file.was.points)}
    for link in (link for link in now.links if link.name not in here):
        told.add("added link", link.name)
        write_link(
            xml, link, [s for s in now.shapes if s.link == link.name and is_written(s, lost)]
        )
    for point in (point for point in now.points if point.name not in here):
        told.add("added point", point.name)
        xml.leaf("link", name=point.name)
        weld = Joint(f"{point.name}_frame", "fixed", point.link, point.name, point.frame)
        write_joint(xml, weld, lost)
    for joint in (joint for joint in now.joints if joint.name not in kept and joint.parent):
        told.add("added joint", joint.name)
        write_joint(xml, joint, lost)
    if lines := xml.text().splitlines():
        file.document.append(file.document.root, lines)
    if sentence := told.sentence("the model differs from the file that it came from"):
        say(sentence, now.name, ExportWarning)


# numbers ---------------------------------------------------------------------------------------------------


def _write_link(document: Document, tag: Tag, was: Link, now: Link) -> None:
    changed = {f for f in ("mass", "com", "inertia") if getattr(was, f) != getattr(now, f)}
    if not changed:
        return
    inertial = tag.child("inertial")
    if inertial.start < 0:
        changed = {"mass", "com", "inertia"}
    if "com" in changed:
        document.set_numbers(inertial.child("origin"), "xyz", now.com)
    if "mass" in changed:
        document.set_numbers(inertial.child("mass"), "value", now.mass)
    if "inertia" in changed:
        inertia, origin = inertial.child("inertia"), inertial.first("origin")
        for name, number in zip(SIX, row(now.inertia), strict=True):
            if number or name in SIX[:3] or name in inertia.attributes:
                document.set_numbers(inertia, name, number)
        if origin is not None:  # the model has it in the axes of the link
            _write_turn(document, origin, Frame())


def _write_frame(document: Document, tag: Tag, was: Frame | None, now: Frame) -> None:
    """Writes the `<origin>` of an element, where it changed; `was` None: all of it."""
    if was is None or was.position != now.position:
        document.set_numbers(tag.child("origin"), "xyz", now.position)
    if was is None or was.orientation != now.orientation:
        origin = tag.child("origin")
        if not {"rpy", "quat_xyzw"} & origin.attributes.keys():
            document.set_text(origin, "rpy", "0 0 0")
        _write_turn(document, origin, now)


def _write_turn(document: Document, origin: Tag, now: Frame) -> None:
    """Writes an orientation in the form in which it is there."""
    if "quat_xyzw" in origin.attributes:
        w, *xyz = row(now.orientation)
        document.set_numbers(origin, "quat_xyzw", (*xyz, w))
    elif document.value(origin, "rpy") is not None:
        document.set_numbers(origin, "rpy", rpy_of_quaternion(row(now.orientation)))


def _write_joint(file: UrdfFile, was: Joint, now: Joint, lost: LeftOut) -> None:
    tag, document = file.joints.get(now.name), file.document
    differ = lambda *fields: any(getattr(was, f) != getattr(now, f) for f in fields)
    if tag is None:
        if differ(
            "frame", "axis", "lower", "upper", "effort", "damping", "friction", *OWN["dynamics"]
        ):
            lost.add("numbers of the joint that the file has no element for:", now.name)
        return
    _write_frame(document, tag, was.frame, now.frame)
    if differ("axis"):
        document.set_numbers(tag.child("axis"), "xyz", unit_axis(now))
    _write_limits(document, tag, was, now, lost)
    for field in ("damping", "friction"):
        if differ(field):
            document.set_numbers(tag.child("dynamics"), field, single(now, field, lost))
    for field in ("armature", "stiffness", "friction_speed", *EXTRAS):
        if differ(field):
            document.set_numbers(tag.child("dynamics"), field, getattr(now, field))
    if differ("rest", "stiffness") and not is_zero(now.stiffness):
        document.set_numbers(tag.child("dynamics"), "rest", now.rest)
    if now.mimic is not None and was.mimic != now.mimic:
        mimic = tag.child("mimic")
        document.set_text(mimic, "joint", now.mimic.joint)
        document.set_numbers(mimic, "multiplier", now.mimic.multiplier)
        document.set_numbers(mimic, "offset", now.mimic.offset)


def _write_limits(document: Document, tag: Tag, was: Joint, now: Joint, lost: LeftOut) -> None:
    ends = now.kind in ONE_COORDINATE and (was.lower, was.upper) != (now.lower, now.upper)
    if not ends and was.effort == now.effort:
        return
    limit = tag.child("limit")
    if ends:
        for name, number in zip(("lower", "upper"), ends_of_travel(now), strict=True):
            document.set_numbers(limit, name, number)
        if document.value(tag, "type") == "continuous":
            document.set_text(tag, "type", "revolute")
    if limit.start < 0 or was.effort != now.effort:
        document.set_numbers(limit, "effort", largest_effort(now, lost))
    if limit.start < 0:
        document.set_numbers(limit, "velocity", ENDLESS)


def _write_stops(file: UrdfFile, model: Model) -> None:
    """Writes the numbers of stops that differ; a reader chooses those that the file does not have from the masses."""
    for name, rows in model.rows("dof").items():
        tag, on = file.joints.get(name), {*rows} & {*model.limited}
        if tag is None or not on or name not in file.model.rows("dof"):
            continue
        before = list(file.model.rows("dof")[name])
        for field in OWN["limit"]:
            was, now = getattr(file.model, f"joint_{field}"), getattr(model, f"joint_{field}")
            if not np.array_equal(was[before], now[list(rows)]):
                file.document.set_numbers(tag.child("limit"), field, now[list(rows)])


def _write_followers(file: UrdfFile, now: Description) -> None:
    """Takes numbers off mimicking joints where their leaders, which have them too, changed."""
    before, after = ({j.name: j for j in d.joints} for d in (file.was, now))
    for was, joint in _same_joints(file.was, now):
        tag = file.joints.get(joint.name)
        dynamics = None if tag is None else tag.first("dynamics")
        if joint.mimic is None or dynamics is None or joint.mimic.joint not in file.joints:
            continue
        leader = joint.mimic.joint
        for field in REFLECTED:
            total = getattr(after[leader], field)
            if field in dynamics.attributes and (
                was.mimic != joint.mimic or getattr(before[leader], field) != total
            ):
                file.document.set_numbers(dynamics, field, 0.0)
                file.document.set_numbers(file.joints[leader].child("dynamics"), field, total)


def _write_points(file: UrdfFile, now: Description) -> None:
    """Writes where points stand; one that is fixed to another point, in that one's frame."""
    frames = {point.name: point.frame for point in now.points}
    pairs = same_names(file.was.points, now.points)
    moved = {after.name for before, after in pairs if before.frame != after.frame}
    for before, after in pairs:
        tag, parent = file.above[after.name]
        if parent in frames and {after.name, parent} & moved:
            _write_frame(file.document, tag, None, _seen_from(frames[parent], after))
        elif parent not in frames:
            _write_frame(file.document, tag, before.frame, after.frame)


def _seen_from(outer: Frame, point: Point) -> Frame:
    """The frame of a point in another frame of the same link."""
    w, *xyz = row(outer.orientation)
    back = Frame(orientation=(w, *(-x for x in xyz)))
    shift = np.asarray(row(point.frame.position)) - np.asarray(row(outer.position))
    return compose(back, dataclasses.replace(point.frame, position=row(shift)))


def _write_shapes(file: UrdfFile, now: Description, lost: LeftOut) -> None:
    before = {shape.name: shape for shape in file.was.shapes}
    for shape in now.shapes:
        was, tag = before.get(shape.name), file.shapes.get(shape.name)
        if was is None or tag is None or (was.kind, was.link) != (shape.kind, shape.link):
            if any(link.name == shape.link for link in file.was.links) or shape.link is None:
                lost.add(f"shape of kind {shape.kind!r} that the file does not have:", shape.name)
            continue
        _write_frame(file.document, tag, was.frame, shape.frame)
        if was.size != shape.size and shape.kind != "points":
            solid = tag.child("geometry").child(shape.kind)
            for name, numbers in sizes(shape):
                file.document.set_numbers(solid, name, numbers)
