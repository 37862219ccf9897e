"""Model -> MJCF that MuJoCo compiles and `load` reads back to the same numbers.

A link is a body whose frame is the link's; a fixed joint is a body without joint (its name stands in a custom
text), a planar one two slides and a hinge, a joint that follows another one an equality constraint. Nothing is
left to MuJoCo's defaults that changes a number. What MJCF lacks is named in one warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.describe.description import Description, Joint, Link
from isthmus.describe.files import PathLike
from isthmus.describe.mjcf_bodies import OWN, WELD
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.mjcf_shapes import NOT_TOUCHING
from isthmus.describe.notes import quoted
from isthmus.entry import check_arguments
from isthmus.errors import NotExpressible
from isthmus.export.description import STOPS, description_of, row
from isthmus.export.lost import export_text, is_unusual, kept_or_new, note_common_losses
from isthmus.export.mjcf_joints import Part, parts_of, pose_of, write_actuators, write_joint
from isthmus.export.mjcf_kept import with_numbers
from isthmus.export.mjcf_shapes import placed, write_geoms, write_sites, written_shapes
from isthmus.export.mjcf_touch import custom_data, touches, write_pairs
from isthmus.export.possible import raised, with_possible_inertias
from isthmus.export.xml_text import Xml, refuse_names
from isthmus.model.model import Model

LEAST = 1e-14
"""Mass [kg] and second moment [kg·m²] that MuJoCo, which asks for more than 1e-15, lets move."""
ENDINGS = (".xml", ".mjcf")


@check_arguments
def export_mjcf(model: Model, path: PathLike, *, repair: str = "none") -> None:
    """Writes the model as MJCF; `ist.load(path)` gives the same numbers again.

    Positions and velocities are MuJoCo's `qpos` and `qvel`, save those of joints that follow another one. Joints
    with a bounded effort, a gear, gains or a delay get an actuator. A planar joint loads back as two prismatic
    ones and a revolute one, with the same coordinates.

    A model that came from an MJCF file keeps that file, where inertias, numbers of joints and motors, contact, planes
    of the world and gravity are all that differ; only these are written.

    Contacts are custom data, which `ist.load` reads; MuJoCo reads the friction of the shapes that touch. If the model
    has none, MuJoCo's are disabled: its shapes would collide, and the motion would not be that of the model.

    Args:
        path: ends in `.xml` or `.mjcf`; the file appears when it is complete.
        repair: `nearest` writes the nearest possible inertias where no body can have the model's.

    Raises:
        NotExpressible: a free joint hangs from a link, or a link is called `world`.
        BadModel: it has inertias that no body can have.
        BadFile: the file cannot be written.

    Warns:
        ExportWarning: MJCF has no place for some of the numbers; says for which.
    """
    make = lambda: kept_or_new(
        model, "mjcf", lambda: _kept(model, repair), lambda: to_mjcf(model, repair=repair)
    )
    export_text(make, path, ENDINGS, "MJCF")


def _kept(model: Model, repair: str) -> tuple[bytes, LeftOut]:
    """The file that the model came from, with its present numbers."""
    found, lost = _checked(model, repair)
    return with_numbers(model, found, lost), lost


def to_mjcf(model: Model, *, repair: str = "none") -> tuple[str, LeftOut]:
    """The text of an MJCF that has nothing but the model, and what it does not hold."""
    found, lost = _checked(model, repair)
    parts = parts_of(found, lost)
    xml = Xml()
    xml.open("mujoco", model=found.name)
    xml.leaf(
        "compiler", angle="radian", autolimits="false", inertiafromgeom="false", balanceinertia="false",
        boundmass=0.0, boundinertia=0.0,
    )  # fmt: skip
    _write_options(xml, found)
    _write_own_data(xml, found, parts, custom_data(found, lost))
    _write_bodies(xml, found, parts, lost)
    write_pairs(xml, found, written_shapes(found, lost), lost)
    _write_mimics(xml, found)
    write_actuators(xml, parts)
    return xml.text(), lost


def _write_options(xml: Xml, found: Description) -> None:
    """Gravity; and no contact where the model has none: in MuJoCo all shapes collide, also those that overlap."""
    if touches(found) or not found.shapes:
        xml.leaf("option", gravity=found.gravity)
        return
    xml.open("option", gravity=found.gravity)
    xml.leaf("flag", contact="disable")
    xml.close()


def _checked(model: Model, repair: str) -> tuple[Description, LeftOut]:
    """What is to be written, and what neither URDF nor MJCF holds of it."""
    found = with_possible_inertias(description_of(model), repair)
    _refuse(found)
    lost = LeftOut()
    note_common_losses(model, found, lost)
    return found, lost


def _refuse(found: Description) -> None:
    families = (found.links, found.joints, found.points, found.shapes)
    refuse_names([member.name for family in families for member in family], "MJCF")
    reasons = []
    if inside := [j.name for j in found.joints if j.kind == "free" and j.parent is not None]:
        reasons.append(f"its free joints hang from the world, but {quoted(inside)} from a link")
    if any(link.name == "world" for link in found.links):
        reasons.append("a link is called 'world', which is the world's own name there")
    if reasons:
        raise NotExpressible(
            "MJCF", reasons, "Hang it from the world, rename it, or write URDF: `export_urdf`."
        )


def _write_own_data(
    xml: Xml, found: Description, parts: dict[str, list[Part]], contact: dict[str, Any]
) -> None:
    """Writes custom data that our reader knows: names of fixed joints, numbers of joints and of contacts."""
    welds = [j for j in found.joints if j.kind == "fixed" and j.name != f"{j.child}_weld"]
    moving = [part.joint for own in parts.values() for part in own]
    numbers = [(name, joint) for joint in moving for name in OWN if _is_own(joint, name)]
    data = {f"{name} of {joint.name}": getattr(joint, name) for name, joint in numbers}
    data |= {f"{WELD}{joint.child}": joint.name for joint in welds} | contact
    if found.shapes and not touches(found):
        data[NOT_TOUCHING] = "none"
    if data:
        xml.open("custom")
        for name, value in data.items():
            xml.leaf("text" if isinstance(value, str) else "numeric", name=name, data=value)
        xml.close()


def _is_own(joint: Joint, name: str) -> bool:
    """Whether a value differs from the default of a reader."""
    if name in STOPS:
        return getattr(joint, name) is not None
    return joint.mimic is None and is_unusual(joint, name)


def _write_bodies(
    xml: Xml, found: Description, parts: dict[str, list[Part]], lost: LeftOut
) -> None:
    """Bodies inside each other, in the order of the links: parents first, depth first."""
    xml.open("worldbody")
    write_geoms(xml, found, None, lost)
    write_sites(xml, found, None)
    links = {link.name: link for link in found.links}
    above: list[str] = []
    for joint in found.joints:
        while above and above[-1] != joint.parent:
            above.pop()
            xml.close()
        xml.open("body", name=joint.child, **placed(pose_of(joint, lost)))
        _write_inertia(xml, links[joint.child], joint.kind != "fixed", lost)
        for part in parts[joint.name]:
            write_joint(xml, part)
        write_geoms(xml, found, joint.child, lost)
        write_sites(xml, found, joint.child)
        above.append(joint.child)
    for _ in range(len(above) + 1):
        xml.close()


def _write_inertia(xml: Xml, link: Link, moves: bool, lost: LeftOut) -> None:
    mass = float(np.asarray(link.mass))
    if moves and mass < LEAST:
        lost.add(
            f"that it weighs nothing ({LEAST:g} kg, which MuJoCo lets move), of link", link.name
        )
        mass = LEAST
    diagonal = not any(row(link.inertia)[3:])
    if moves or not diagonal:
        link = raised(link, LEAST)
    six = row(link.inertia)
    numbers = {"diaginertia": six[:3]} if diagonal else {"fullinertia": six}
    xml.leaf("inertial", pos=link.com, mass=mass, **numbers)


def _write_mimics(xml: Xml, found: Description) -> None:
    followers = [joint for joint in found.joints if joint.mimic is not None]
    if followers:
        xml.open("equality")
        for joint in followers:
            mimic = joint.mimic
            assert mimic is not None
            poly = (mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0)
            xml.leaf("joint", name=f"{joint.name} follows {mimic.joint}", joint1=joint.name,
                     joint2=mimic.joint, polycoef=poly)  # fmt: skip
        xml.close()
