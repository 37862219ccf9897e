"""Shapes and points of a model -> geoms and sites of MJCF."""

from __future__ import annotations

from isthmus.describe.checks import SIZES
from isthmus.describe.description import Description, Frame, Shape
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.export.description import row
from isthmus.export.mjcf_touch import geom_numbers
from isthmus.export.xml_text import Xml

PLANE = (0.0, 0.0, 1.0)
"""An endless plane, and the spacing of the lines that a viewer draws on it."""


def write_geoms(xml: Xml, found: Description, link: str | None, lost: LeftOut) -> None:
    """The shapes of a link (None: of the world)."""
    written = written_shapes(found, lost)
    for shape in found.shapes:
        if shape.link == link and shape.name in written:
            size = PLANE if shape.kind == "plane" else row(shape.size)[: SIZES[shape.kind]]
            xml.leaf("geom", name=shape.name, type=shape.kind, size=size, **placed(shape.frame),
                     **geom_numbers(shape))  # fmt: skip


def write_sites(xml: Xml, found: Description, link: str | None) -> None:
    """The points of a link (None: of the world)."""
    for point in found.points:
        if point.link == link:
            xml.leaf("site", name=point.name, **placed(point.frame))


def placed(frame: Frame) -> dict[str, tuple[float, ...]]:
    """The attributes of a frame."""
    return {"pos": row(frame.position), "quat": row(frame.orientation)}


def written_shapes(found: Description, lost: LeftOut) -> set[str]:
    """Names of the shapes that MJCF has; the others are noted."""
    still = {None, *_welded_to_the_world(found)}
    return {shape.name for shape in found.shapes if _is_written(shape, shape.link in still, lost)}


def _is_written(shape: Shape, still: bool, lost: LeftOut) -> bool:
    if shape.kind == "points":
        lost.add("shape of kind 'points'", shape.name)
    elif shape.kind == "plane" and not still:
        lost.add("shape of kind 'plane' on a link that moves", shape.name)
    elif shape.kind != "plane" and not all(row(shape.size)[: SIZES[shape.kind]]):
        lost.add("shape without size", shape.name)
    else:
        return True
    return False


def _welded_to_the_world(found: Description) -> set[str]:
    """Links that never move; joints have parents first."""
    still: set[str | None] = {None}
    for joint in found.joints:
        if joint.kind == "fixed" and joint.parent in still:
            still.add(joint.child)
    return {link for link in still if link is not None}
