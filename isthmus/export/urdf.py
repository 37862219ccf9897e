"""Model -> URDF (wiki.ros.org/urdf/XML) that `load` reads back to the same numbers.

The world is a link called `world`, from which all roots hang by joints of their own, unless there is one root
that is welded to it as `load` welds it. Named points are welded links without mass. What URDF lacks is named in
one warning.
"""

from __future__ import annotations

import numpy as np

from isthmus.describe.checks import ONE_COORDINATE
from isthmus.describe.description import Description, Joint, Link, Point, Shape
from isthmus.describe.files import PathLike
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.notes import free_name, quoted
from isthmus.describe.numbers import is_zero
from isthmus.describe.tree import WORLD
from isthmus.entry import check_arguments
from isthmus.errors import NotExpressible
from isthmus.export.description import description_of, row
from isthmus.export.lost import export_text, kept_or_new, note_common_losses
from isthmus.export.possible import with_possible_inertias
from isthmus.export.urdf_elements import is_identity, is_written, write_joint, write_link
from isthmus.export.urdf_kept import with_numbers
from isthmus.export.xml_text import Xml, refuse_names
from isthmus.model.model import Model

ROOT = "root_joint"
"""What a reader calls the joint of a root that has none in the file."""
GRAVITY = Description("", (), ()).gravity
ENDINGS = (".urdf", ".xml")


@check_arguments
def export_urdf(model: Model, path: PathLike, *, repair: str = "none") -> None:
    """Writes the model as URDF; `ist.load(path)` gives the same numbers again.

    A model that came from a URDF file keeps that file: visuals, meshes, comments and all other text stay as they are,
    and only numbers that differ are written.

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
    make = lambda: kept_or_new(
        model, "urdf", lambda: _kept(model, repair), lambda: to_urdf(model, repair=repair)
    )
    export_text(make, path, ENDINGS, "URDF")


def _kept(model: Model, repair: str) -> tuple[bytes, LeftOut]:
    """The file that the model came from, with its present numbers."""
    found, lost = _checked(model, repair)
    return with_numbers(model, found, lost), lost


def to_urdf(model: Model, *, repair: str = "none") -> tuple[str, LeftOut]:
    """The text of a URDF that has nothing but the model, and what it does not hold."""
    found, lost = _checked(model, repair)
    return _text(found, lost), lost


def _checked(model: Model, repair: str) -> tuple[Description, LeftOut]:
    """What is to be written, and what a URDF does not hold of it."""
    found = with_possible_inertias(description_of(model), repair)
    _refuse(found)
    lost = LeftOut()
    note_common_losses(model, found, lost)
    if model.contact_kinds:
        lost.add("how it touches the ground (kind, friction, stiffness and all else of contact/*)")
    if any(pair.touch.kind for pair in found.pairs):
        lost.add("which bodies touch each other, and how")
    _note_losses(found, lost)
    return found, lost


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
    shapes = [shape for shape in found.shapes if is_written(shape, lost)]
    points = [
        p for p in found.points if p.name not in {link.name for link in found.links} | {WORLD}
    ]
    capsules = any(shape.kind == "capsule" for shape in shapes)
    xml.open("robot", name=found.name, version="1.1" if capsules else None)
    rooted = _hangs_as_usual(found, shapes, points)
    if not rooted:
        write_link(xml, Link(WORLD), [s for s in shapes if s.link is None], massive=False)
    for link in found.links:
        write_link(xml, link, [s for s in shapes if s.link == link.name])
    for joint in found.joints[1:] if rooted else found.joints:
        write_joint(xml, joint, lost)
    taken = {joint.name for joint in found.joints} | {ROOT}
    for point in points:
        name = free_name(f"{point.name}_frame", taken)
        taken.add(name)
        xml.leaf("link", name=point.name)
        write_joint(xml, Joint(name, "fixed", point.link, point.name, point.frame), lost)
    return xml.text()


def _hangs_as_usual(found: Description, shapes: list[Shape], points: list[Point]) -> bool:
    """Whether a reader attaches the root to the world as the model does, without a joint in the file."""
    first, *others = [joint for joint in found.joints if joint.parent is None]
    usual = first.name == ROOT and first.kind == "fixed" and is_identity(first.frame)
    return usual and not others and all(member.link is not None for member in (*shapes, *points))
