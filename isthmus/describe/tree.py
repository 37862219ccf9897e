"""The tree in a description: its roots, its order, and frames without mass that become points."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable

from isthmus.describe.description import Description, Joint, Link, Point
from isthmus.describe.numbers import is_zero
from isthmus.describe.poses import compose

WORLD = "world"
"""What a URDF calls the link that is no body but the world itself."""


def outwards(joints: Iterable[Joint]) -> list[Joint]:
    """The joints that hang from the world, parents first, else as they come; depth first."""
    hanging: dict[str | None, list[Joint]] = {}
    for joint in joints:
        hanging.setdefault(joint.parent, []).append(joint)
    order, seen = [], set()
    waiting = hanging.get(None, [])[::-1]
    while waiting:
        joint = waiting.pop()
        if joint.child not in seen:
            seen.add(joint.child)
            order.append(joint)
            waiting.extend(reversed(hanging.get(joint.child, [])))
    return order


def in_order(description: Description) -> Description:
    """The same mechanism with parents before children, and links in the order of their joints."""
    joints = tuple(outwards(description.joints))
    links = {link.name: link for link in description.links}
    in_turn = tuple(links[joint.child] for joint in joints)
    return dataclasses.replace(description, joints=joints, links=in_turn)


def roots(links: Iterable[Link], joints: Iterable[Joint]) -> list[Link]:
    """The links that are not the child of any joint."""
    children = {joint.child for joint in joints}
    return [link for link in links if link.name not in children]


def weighs_nothing(link: Link) -> bool:
    """Whether the link has neither mass nor inertia, for certain."""
    return is_zero(link.mass) and is_zero(link.inertia)


def frames_to_points(description: Description, solid: Collection[str] = ()) -> Description:
    """Welded links without mass and shape become named points of the link that carries them.

    Links in `solid` stay, those that hang from the world, and those that carry a link that stays.
    The description is in order.
    """
    links = {link.name: link for link in description.links}
    shaped = {shape.link for shape in description.shapes} | set(solid)
    kept, gone = set(shaped), {}
    for joint in reversed(description.joints):
        name = joint.child
        stays = name in kept or joint.kind != "fixed" or joint.parent is None
        if stays or not weighs_nothing(links[name]):
            kept |= {name, joint.parent}
        else:
            gone[name] = joint
    points = _points(gone, [link.name for link in description.links if link.name in gone])
    return dataclasses.replace(
        description,
        links=tuple(link for link in description.links if link.name not in gone),
        joints=tuple(joint for joint in description.joints if joint.child not in gone),
        points=(*description.points, *points),
    )


def without_world(description: Description) -> Description:
    """The description without the root link called `world`: what hung from it hangs from the world.

    Where the root is called otherwise, or nothing but it is there, nothing changes.
    """
    root = description.joints[0]
    if root.child != WORLD or len(description.links) == 1:
        return description
    name = lambda link: None if link == WORLD else link
    rest = [joint for joint in description.joints if joint is not root]
    return dataclasses.replace(
        description,
        links=tuple(link for link in description.links if link.name != WORLD),
        joints=tuple(dataclasses.replace(joint, parent=name(joint.parent)) for joint in rest),
        points=tuple(dataclasses.replace(p, link=name(p.link)) for p in description.points),
        shapes=tuple(dataclasses.replace(s, link=name(s.link)) for s in description.shapes),
    )


def _points(gone: dict[str, Joint], names: Iterable[str]) -> list[Point]:
    """A point for each link that is gone; `names` has parents first."""
    placed: dict[str, Point] = {}
    for name in names:
        joint = gone[name]
        point = Point(name, joint.parent, joint.frame)
        if (below := placed.get(str(joint.parent))) is not None:
            point = Point(name, below.link, compose(below.frame, joint.frame))
        placed[name] = point
    return list(placed.values())
