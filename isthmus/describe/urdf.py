"""URDF to Description (wiki.ros.org/urdf/XML): all faults of a file at once, doubts as warnings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isthmus.describe import inertias
from isthmus.describe.attributes import Attributes
from isthmus.describe.checks import ONE_COORDINATE, check
from isthmus.describe.description import (
    DOF,
    EXTRAS,
    Description,
    Joint,
    JointKind,
    Link,
    Mimic,
)
from isthmus.describe.files import PathLike, read_bytes
from isthmus.describe.notes import Notes, free_name, quoted, say, where
from isthmus.describe.numbers import ENDLESS, bound
from isthmus.describe.options import ground_height, must_be_one_of, with_ground
from isthmus.describe.poses import turned
from isthmus.describe.tree import WORLD, frames_to_points, in_order, roots, without_world
from isthmus.describe.urdf_shapes import ShapeReader, with_names
from isthmus.describe.urdf_spelling import check_spelling
from isthmus.describe.xml_lines import Element, parse_xml
from isthmus.errors import BadFile, BadOption, did_you_mean

BASES: dict[str, JointKind] = {"fixed": "fixed", "free": "free"}
KINDS: dict[str, JointKind] = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
    "spherical": "spherical",
    "ball": "spherical",
}
"""Joint types of URDF; `spherical` and `ball` are what Bullet and others add."""
WELDED_MIMIC = "fixed joints cannot mimic another one, so that <mimic> was ignored: {}."
OWN = {
    "limit": ("limit_stiffness", "limit_damping", "limit_width"),
    "dynamics": ("armature", "stiffness", "rest", "friction_speed", *EXTRAS),
}
"""Attributes of ours, by the element that has them; other programs ignore them."""
COORDINATES = DOF | {"spherical": 4, "free": 7}
XACRO = (
    "is a xacro template, not yet a URDF. Expand it first and load the result:"
    " `xacro {} > {}` (the tool comes with ROS, or by pip install xacro)"
)
NO_TRAVEL = "the lower limit is above the upper one, which for Bullet means no limits, so these joints have none: {}."


def read_urdf(
    path: PathLike,
    *,
    base: str = "fixed",
    ground: bool | float | int | None = None,
    repair: str = "none",
    packages: Sequence[PathLike] = (),
) -> Description:
    """The mechanism in a URDF file.

    Args:
        base: `fixed` welds the root link to the world, `free` lets it fly. A root link called `world` without
            <inertial> is the world itself, unless it is to fly and no floating joint hangs from it.
        ground: True adds a horizontal plane at height 0, a number one at that height [m].
        repair: `nearest` replaces impossible inertias by the nearest possible ones; or `none`.
        packages: folders to look in for `package://NAME/…`, before all others.

    Raises:
        BadFile: it is missing, empty, or no XML.
        BadDescription: it has faults; all of them are listed.
    """
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise BadOption("this is XML, not a path: `parse_urdf(text)` reads it.")
    return parse_urdf(
        read_bytes(path),
        source=os.fspath(path),
        folder=Path(path).parent,
        base=base,
        ground=ground,
        repair=repair,
        packages=packages,
    )


def parse_urdf(
    text: str | bytes,
    *,
    source: str = "",
    folder: PathLike = ".",
    base: str = "fixed",
    ground: bool | float | int | None = None,
    repair: str = "none",
    packages: Sequence[PathLike] = (),
) -> Description:
    """The mechanism in URDF text; messages name `source`, mesh files are found from `folder`."""
    height = ground_height(ground)
    must_be_one_of("base", base, tuple(BASES))
    must_be_one_of("repair", repair, tuple(inertias.DONE))
    notes = Notes(source)
    reader = ShapeReader(folder, packages, notes)
    root = _robot(text, source)
    check_spelling(root, notes)
    description = _read(root, reader, notes, base)
    check(description, notes.faults)
    notes.speak()
    return _finish(_in_tree(description, root, reader, base), height, repair)


def read_again(root: Element, reader: ShapeReader, base: str) -> Description:
    """The mechanism in the elements of a URDF that was read before: without a word, inertias as the file has them."""
    return _in_tree(_read(root, reader, reader.notes, base), root, reader, base)


def _in_tree(
    description: Description, root: Element, reader: ShapeReader, base: str
) -> Description:
    """A sound description in order, frames without mass as points, and without a link that is the world itself."""
    given = {_name(link) for link in root.all("link") if link.first("inertial") is not None}
    is_world = WORLD not in given and (base == "fixed" or _flies(description))
    return _with_points(description, reader.solid | given, is_world)


def _flies(description: Description) -> bool:
    """Whether the file itself has a base that floats in a link called `world`."""
    return any(j.parent == WORLD and j.kind == "free" for j in description.joints)


def _with_points(found: Description, stay: set[str], is_world: bool) -> Description:
    """A sound description in order; frames without mass are points, but for links that `stay`."""
    description = frames_to_points(in_order(found), stay)
    place = {link.name: i for i, link in enumerate(found.links)}
    points = tuple(sorted(description.points, key=lambda point: place[point.name]))
    description = dataclasses.replace(description, points=points)
    return without_world(description) if is_world else description


def _finish(description: Description, height: float | None, repair: str) -> Description:
    """With ground and corrected inertias; warns of impossible ones."""
    for doubt in inertias.doubts(description, repair, tuple(p.name for p in description.points)):
        say(doubt, description.source)
    if repair == "nearest":
        description = inertias.mended(description)
    return with_ground(description, height)


def _robot(text: str | bytes, source: str) -> Element:
    """The `<robot>` element, if this is a URDF."""
    root = parse_xml(text, source)
    it = f"the file {source!r}" if source else "the text"
    if _is_xacro(root):
        name = Path(source or "robot.urdf.xacro").name
        result = f"{name.removesuffix('.xacro').removesuffix('.urdf')}.urdf"
        result = result if result != name else f"expanded_{name}"
        raise BadFile(f"{it} {XACRO.format(source or name, result)}.")
    if root.tag != "robot":
        hint = " MJCF has its own reader." if root.tag == "mujoco" else ""
        raise BadFile(f"{it} is no URDF: its root is <{root.tag}>, not <robot>.{hint}")
    if not root.all("link"):
        raise BadFile(f"{it} describes no links.")
    return root


def _is_xacro(root: Element) -> bool:
    """Whether something is left to expand where we read."""
    if any(child.tag.startswith("xacro:") for child in root.walk()):
        return True
    read = [root, *(e for top in root.all("link") + root.all("joint") for e in top.walk())]
    texts = (text for element in read for text in element.attributes.values())
    return any("${" in text or "$(" in text for text in texts)


def _read(root: Element, reader: ShapeReader, notes: Notes, base: str) -> Description:
    """All that stands in the file, in the file's order, sound or not."""
    links = [_link(element, notes) for element in root.all("link")]
    joints = [_joint(element, notes) for element in root.all("joint")]
    shapes = [
        shape
        for link, element in zip(links, root.all("link"), strict=True)
        for shape in reader.shapes(link.name, element)
    ]
    tops = roots(links, joints)
    if len(tops) > 1:
        names = quoted(link.name for link in tops)
        notes.fault(f"there are {len(tops)} roots, links {names}; joints must connect all but one")
    name = free_name("root_joint", {joint.name for joint in joints})
    hung = [Joint(name, BASES[base], None, link.name, line=link.line) for link in tops[:1]]
    rest = [Joint(f"{name} {i}", "fixed", None, link.name) for i, link in enumerate(tops[1:])]
    return Description(
        root.attributes.get("name", "").strip() or Path(notes.source).stem or "robot",
        tuple(links),
        (*hung, *rest, *joints),
        shapes=with_names(shapes),
        source=notes.source,
    )


def _name(element: Element) -> str:
    return element.attributes.get("name", "").strip()


def _link(element: Element, notes: Notes) -> Link:
    name = _name(element)
    inertial = element.first("inertial")
    if inertial is None:
        return Link(name, line=element.line)
    read = Attributes(f"link {name!r}", notes)
    frame = read.frame(inertial)
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    return Link(
        name,
        mass=0.0 if mass is None else read.number(mass, "value", called="mass"),
        com=frame.position,
        inertia=turned(_inertia(inertia, read), frame.orientation),
        line=element.line,
    )


def _inertia(element: Element | None, read: Attributes) -> tuple[float, ...]:
    if element is None:
        return (0.0,) * 6
    diagonal = [read.number(element, name) for name in ("ixx", "iyy", "izz")]
    return (*diagonal, *(read.number(element, name, 0.0) for name in ("ixy", "ixz", "iyz")))


def _joint(element: Element, notes: Notes) -> Joint:
    name, line = _name(element), element.line
    read = Attributes(f"joint {name!r}", notes)
    kind = _kind(element, name, notes)
    lower, upper, effort = _limits(element, kind, read)
    dynamics = element.first("dynamics")
    return Joint(
        name,
        kind,
        parent=_end(element, "parent", notes),
        child=_end(element, "child", notes),
        frame=read.frame(element),
        axis=read.vector(element.first("axis"), "xyz", (1.0, 0.0, 0.0), called="axis"),
        lower=lower,
        upper=upper,
        effort=effort,
        damping=read.number(dynamics, "damping", 0.0),
        friction=read.number(dynamics, "friction", 0.0),
        **_own_numbers(element, kind, read),
        mimic=_mimic(element.first("mimic"), kind, read),
        line=line,
    )


def _kind(element: Element, name: str, notes: Notes) -> JointKind:
    word = element.attributes.get("type", "").strip()
    if word not in KINDS:
        what = f"has the unknown type {word!r}" if word else "has no type"
        hint = did_you_mean(word, KINDS) if word else ""
        notes.fault(f"joint {name!r} {what}", element.line, hint)
    return KINDS.get(word, "fixed")


def _end(element: Element, role: str, notes: Notes) -> str:
    """The link that a joint names as its parent or child."""
    end = element.first(role)
    name = end.attributes.get("link", "").strip() if end is not None else ""
    if not name:
        notes.fault(f"joint {_name(element)!r} names no {role} link", element.line)
    return name


Ends = tuple[float | None, float | None, float | None]


def _limits(element: Element, kind: JointKind, read: Attributes) -> Ends:
    """Lower and upper end of travel, and the largest effort; None: no bound.

    Without `<limit>`, or where neither end is given, there is none; one end that is missing is 0,
    as URDF has it. A lower end above the upper one means that there is none, as in Bullet.
    An effort of 0, which many files write for "not known", is no bound, nor is anything from 1e16 on.
    """
    limit = element.first("limit")
    if limit is None:
        return None, None, None
    effort = read.number(limit, "effort", 0.0, infinite=True)
    read.number(limit, "velocity", 0.0, infinite=True)
    lower = read.number(limit, "lower", 0.0, infinite=True, stand_in=-ENDLESS)
    upper = read.number(limit, "upper", 0.0, infinite=True, stand_in=ENDLESS)
    bounded = kind in ONE_COORDINATE and element.attributes["type"].strip() != "continuous"
    given = bounded and not {"lower", "upper"}.isdisjoint(limit.attributes)
    if given and lower > upper:
        read.notes.doubt(NO_TRAVEL, f"{read.owner}{where(limit.line)}")
        given = False
    return (
        bound(lower) if given else None,
        bound(upper) if given else None,
        bound(effort) if effort != 0.0 else None,
    )


def _own_numbers(element: Element, kind: JointKind, read: Attributes) -> dict[str, Any]:
    """What URDF has not and `export_urdf` writes beside what it has: one number, or one for each coordinate."""
    found = {}
    for tag, names in OWN.items():
        part = element.first(tag)
        for name in names if part is not None else ():
            if part is not None and name in part.attributes:
                words = part.attributes[name].split()
                size = 1 if len(words) == 1 else COORDINATES[kind] if name == "rest" else DOF[kind]
                several = read.vector(part, name, (1.0,) * size)
                found[name] = several[0] if size == 1 else several
    return found


def _mimic(element: Element | None, kind: JointKind, read: Attributes) -> Mimic | None:
    if element is None:
        return None
    if kind == "fixed":  # a leftover from before the joint was welded
        read.notes.doubt(WELDED_MIMIC, read.owner)
        return None
    return Mimic(
        element.attributes.get("joint", "").strip(),
        read.number(element, "multiplier", 1.0),
        read.number(element, "offset", 0.0),
    )
