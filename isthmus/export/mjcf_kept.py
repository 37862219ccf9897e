"""A model that came from an MJCF -> that file with the model's present numbers, as far as they have a place there.

Inertias of bodies, numbers of joints and motors, custom numbers and gravity are changed in the text. MuJoCo reads the
result again: where that is not the model (defaults, options or frames that the change did not reach), the text is not
kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any
from xml.sax.saxutils import unescape

import numpy as np

from isthmus.describe.checks import ONE_COORDINATE
from isthmus.describe.description import Actuator, Description, Frame, Joint, Link, Shape, Touch
from isthmus.describe.mjcf import read_again
from isthmus.describe.mjcf_bodies import OWN
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.mjcf_shapes import NOT_TOUCHING
from isthmus.describe.mjcf_touch import PAIR
from isthmus.describe.poses import Floats
from isthmus.describe.xml_lines import parse_xml
from isthmus.errors import IsthmusError
from isthmus.export.description import STOPS, description_of, row, same_names
from isthmus.export.lost import single
from isthmus.export.mjcf_shapes import PLANE, placed
from isthmus.export.mjcf_touch import (
    custom_data,
    geom_numbers,
    is_of_contact,
    mask_numbers,
    pair_numbers,
    touches,
)
from isthmus.export.urdf_elements import ends_of_travel, unit_axis
from isthmus.export.xml_edit import Document, NotKept, Tag, opened, walk
from isthmus.model.compile import model_of
from isthmus.model.model import Model

ATTRIBUTES = {
    "damping": "damping", "friction": "frictionloss", "armature": "armature", "stiffness": "stiffness"
}  # fmt: skip
TURNS = ("diaginertia", "quat", "axisangle", "xyaxes", "zaxis", "euler")
"""Attributes of `<inertial>` that `fullinertia` replaces."""
TOLERANCE = 1e-9
"""Relative difference of numbers that passing through MuJoCo's units and axes explains."""


def with_numbers(model: Model, now: Description, lost: LeftOut) -> bytes:
    """The file that the model came from, with the numbers of `now`; raises `NotKept` where that cannot be."""
    document = opened(model.source.text, parse_xml(model.source.text))
    old, origins = _read(document.source, model.source.folder)
    was = description_of(old)
    if touches(now) and not touches(was) and _has_custom(document, NOT_TOUCHING):
        raise NotKept("its contacts are disabled")
    now = dataclasses.replace(now, joints=tuple(_evened(joint, lost) for joint in now.joints))
    _write_bodies(document, was, now, origins)
    joints = {_name(document, t): t for t in _of_bodies(document, "joint", "freejoint")}
    for before, joint in same_names(was.joints, now.joints):
        if _differ(before, joint, *ATTRIBUTES, "rest", "axis", "lower", "upper", "effort"):
            _write_joint(document, _found(joints, joint.name), before, joint, lost)
    _write_motors(document, was, now)
    _write_custom_numbers(document, old, model)
    _write_planes(document, was, now)
    _write_contact(document, now, lost)
    if was.gravity != now.gravity:
        document.set_numbers(document.root.child("option"), "gravity", now.gravity)
    data = document.result()
    if data != model.source.text:
        was = description_of(_read(data.decode(document.encoding), model.source.folder)[0])
    _compare(was, now)
    return data


def _read(text: str, folder: str) -> tuple[Model, dict[str, Floats]]:
    """The model of a text, and the origins of its bodies."""
    try:
        found, origins = read_again(text.removeprefix("\ufeff"), folder)
        return model_of(found), origins
    except IsthmusError as refused:
        raise NotKept(f"it cannot be read again ({refused.message.rstrip('.')})") from None


def _compare(again: Description, now: Description) -> None:
    """Raises `NotKept` with the first record of the model that a text does not hold."""
    unlike = [*_unlike("link", again.links, now.links, lambda x: dataclasses.replace(x, line=None))]
    unlike += _unlike("joint", again.joints, now.joints, _without_usual_stops)
    unlike += _unlike("point", again.points, now.points, lambda x: x)
    unlike += _unlike("shape", *map(_by_name, (again, now)), _without_touch)
    motors = [[dataclasses.replace(a, delay_steps=0) for a in d.actuators] for d in (again, now)]
    if not _alike(row(again.gravity), row(now.gravity)):
        unlike.append("gravity")
    if not _alike(*([dataclasses.astuple(a) for a in own] for own in motors)):
        unlike.append("the motors")
    if unlike:
        raise NotKept(f"it would not give {unlike[0]}")


def _by_name(found: Description) -> list[Shape]:
    """Shapes by name: a plane that was added comes before the others in the file, behind them in the model."""
    return sorted(found.shapes, key=lambda shape: shape.name)


def _without_touch(shape: Shape) -> Shape:
    """The shape without its contact, which is custom data, and with a quaternion of unit length."""
    turn = np.asarray(row(shape.frame.orientation))
    frame = Frame(shape.frame.position, row(turn / np.linalg.norm(turn)))
    return dataclasses.replace(shape, frame=frame, touch=Touch())


def _unlike(kind: str, again: Any, now: Any, tidy: Callable[[Any], Any]) -> Iterator[str]:
    if [r.name for r in again] != [r.name for r in now]:
        yield f"the {kind}s"
        return
    for a, b in zip(again, now, strict=True):
        if not _alike(dataclasses.astuple(tidy(a)), dataclasses.astuple(tidy(b))):
            yield f"{kind} {b.name!r}"


def _without_usual_stops(joint: Joint) -> Joint:
    """The joint without stops, which a reader chooses from the masses."""
    usual: dict[str, Any] = dict.fromkeys(STOPS)
    return dataclasses.replace(joint, line=None, **usual)


def _alike(a: Any, b: Any) -> bool:
    """Whether records have the same text and, but for rounding, the same numbers."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        flat = all(isinstance(x, float) for x in (*a, *b))
        if len(a) == len(b) and a and flat:
            scale = max(1e-3, float(np.abs(a).max()))
            return bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * scale))
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=TOLERANCE, atol=1e-12))
    return a == b


# changes of the text ---------------------------------------------------------------------------------------


def _name(document: Document, tag: Tag, attribute: str = "name") -> str:
    return unescape(document.value(tag, attribute) or "", {"&quot;": '"', "&apos;": "'"})


def _of_bodies(document: Document, *tags: str) -> list[Tag]:
    """The elements of these kinds that stand in a body."""
    bodies = [tag for tag in walk(document.root) if tag.name == "body"]
    return [child for body in bodies for child in body.children if child.name in tags]


def _found(tags: dict[str, Tag], name: str) -> Tag:
    if name not in tags:
        raise NotKept(f"it has no element called {name!r}")
    return tags[name]


def _differ(was: Any, now: Any, *fields: str) -> bool:
    return any(getattr(was, field) != getattr(now, field) for field in fields)


def _write_bodies(
    document: Document, was: Description, now: Description, origins: dict[str, Floats]
) -> None:
    bodies = {_name(document, t): t for t in walk(document.root) if t.name == "body"}
    for before, link in same_names(was.links, now.links):
        if _differ(before, link, "mass", "com", "inertia"):
            tag = _found(bodies, link.name)
            _write_inertia(document, tag.child("inertial"), before, link, origins[link.name])


def _write_inertia(document: Document, tag: Tag, was: Link, now: Link, origin: Floats) -> None:
    new = tag.start < 0
    if new or was.com != now.com:
        document.set_numbers(tag, "pos", np.subtract(row(now.com), origin))
    if new or was.mass != now.mass:
        document.set_numbers(tag, "mass", now.mass)
    if new or was.inertia != now.inertia:
        document.set_numbers(tag, "fullinertia", row(now.inertia))
        for name in TURNS:
            document.drop(tag, name)


def _write_joint(document: Document, tag: Tag, was: Joint, now: Joint, lost: LeftOut) -> None:
    unit = 180.0 / np.pi if now.kind == "revolute" and _in_degrees(document) else 1.0
    for field, attribute in ATTRIBUTES.items():
        if _differ(was, now, field):
            document.set_numbers(tag, attribute, single(now, field, lost))
    if now.kind not in ONE_COORDINATE:
        return
    if was.rest != now.rest:
        document.set_numbers(tag, "springref", unit * np.asarray(now.rest))
    if was.axis != now.axis:
        document.set_numbers(tag, "axis", unit_axis(now))
    if _differ(was, now, "lower", "upper"):
        document.set_numbers(tag, "range", unit * np.asarray(ends_of_travel(now)))
    if was.effort != now.effort and now.effort is not None:
        effort = float(np.asarray(now.effort))
        document.set_numbers(tag, "actuatorfrcrange", (-effort, effort))


def _evened(joint: Joint, lost: LeftOut) -> Joint:
    """The joint with one number for all of its degrees of freedom, as in a file."""
    several = [field for field in ATTRIBUTES if len({*row(getattr(joint, field))}) > 1]
    mean = lambda field: (single(joint, field, lost),) * len(row(getattr(joint, field)))
    return dataclasses.replace(joint, **{field: mean(field) for field in several})


def _in_degrees(document: Document) -> bool:
    """Whether angles of the file are in degrees, as MuJoCo takes them unless told otherwise."""
    found = [document.value(tag, "angle") for tag in document.root.all("compiler")]
    return [angle for angle in found if angle is not None][-1:] != ["radian"]


def _write_motors(document: Document, was: Description, now: Description) -> None:
    tags = {}
    for family in document.root.all("actuator"):
        tags |= {_name(document, tag, "joint"): tag for tag in family.children}
    before = {motor.joint: motor for motor in was.actuators}
    for motor in now.actuators:
        old = before.get(motor.joint, Actuator(motor.joint))
        if _differ(old, motor, "gear", "kp", "kd"):
            tag = _found(tags, motor.joint)
            if old.gear != motor.gear:
                first = float((document.value(tag, "gear") or "1").split()[0])
                document.set_numbers(tag, "gear", first * np.asarray(motor.gear) / old.gear)
            for field, attribute in (("kp", "kp"), ("kd", "kv")):
                if _differ(old, motor, field):
                    document.set_numbers(tag, attribute, getattr(motor, field))


def _write_planes(document: Document, was: Description, now: Description) -> None:
    """Adds planes of the world that the file does not have."""
    there = {shape.name for shape in was.shapes}
    world = document.root.child("worldbody")
    for shape in now.shapes:
        if shape.kind == "plane" and shape.link is None and shape.name not in there:
            tag = Tag("geom")
            world.children.append(tag)
            document.set_text(tag, "name", shape.name)
            document.set_text(tag, "type", "plane")
            bits = {} if shape.mask == (1, 1) else mask_numbers(shape)
            for name, numbers in {"size": PLANE, **placed(shape.frame), **bits}.items():
                document.set_numbers(tag, name, numbers)


def _write_contact(document: Document, now: Description, lost: LeftOut) -> None:
    """Writes friction of geoms, and the custom data that say how they touch; takes out those that no longer hold."""
    geoms = {_name(document, tag): tag for tag in _of_bodies(document, "geom")}
    for shape in now.shapes:
        if shape.name in geoms:
            for name, numbers in geom_numbers(shape).items():
                if name not in mask_numbers(shape):
                    document.set_numbers(geoms[shape.name], name, numbers)
    _write_pairs(document, now)
    data = custom_data(now, lost)
    customs = document.root.all("custom")
    for tag in [tag for custom in customs for tag in custom.children]:
        name = _name(document, tag)
        if is_of_contact(name) and name not in data:
            document.remove(tag)
    for name, value in data.items():
        _set_custom(document, "text" if isinstance(value, str) else "numeric", name, value)


def _write_pairs(document: Document, now: Description) -> None:
    """Writes pairs of shapes that touch each other; takes out those that were written so and do not touch any more."""
    named = lambda tag: frozenset(_name(document, tag, f"geom{k}") for k in (1, 2))
    there = {
        named(tag): tag for contact in document.root.all("contact") for tag in contact.all("pair")
    }
    touching = {frozenset((pair.first, pair.second)): pair for pair in now.pairs if pair.touch.kind}
    for names, tag in there.items():
        written = (
            {PAIR.format(*names), PAIR.format(*reversed([*names]))} if len(names) == 2 else set()
        )
        if names not in touching and _name(document, tag) in written:
            document.remove(tag)
    for names, pair in touching.items():
        tag = there.get(names)
        if tag is None:
            tag = Tag("pair")
            document.root.child("contact").children.append(tag)
            document.set_text(tag, "name", PAIR.format(pair.first, pair.second))
            document.set_text(tag, "geom1", pair.first)
            document.set_text(tag, "geom2", pair.second)
        for name, numbers in pair_numbers(pair).items():
            document.set_numbers(tag, name, numbers)


def _has_custom(document: Document, name: str) -> bool:
    customs = document.root.all("custom")
    return any(_name(document, tag) == name for custom in customs for tag in custom.children)


def _set_custom(document: Document, kind: str, name: str, value: Any) -> None:
    """Writes custom data, over those of the same name."""
    there = [tag for custom in document.root.all("custom") for tag in custom.all(kind)]
    tag = next((tag for tag in there if _name(document, tag) == name), None)
    if tag is None:
        tag = Tag(kind)
        document.root.child("custom").children.append(tag)
        document.set_text(tag, "name", name)
    (document.set_text if kind == "text" else document.set_numbers)(tag, "data", value)


def _write_custom_numbers(document: Document, was: Model, now: Model) -> None:
    """Writes numbers of joints that MJCF has no attribute for; of stops only those that were set."""
    before = was.rows("dof")
    for joint, rows in now.rows("dof").items():
        for field in OWN if rows and len(before.get(joint, ())) == len(rows) else ():
            a, b = (np.asarray(getattr(m, f"joint_{field}")) for m in (was, now))
            acts = field not in STOPS or {*rows} & {*now.limited}
            if not acts or np.array_equal(a[list(before[joint])], b[list(rows)]):
                continue
            _set_custom(document, "numeric", f"{field} of {joint}", b[list(rows)])
