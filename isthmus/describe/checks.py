"""The rules of a valid description, from whatever reader; all faults come as one list.

A rule is a small function that yields sentences. Rules about values skip numbers that are traced.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from isthmus.describe.description import DOF, PER_DOF, Description, Joint, Link
from isthmus.describe.notes import quoted, where
from isthmus.describe.numbers import count, is_traced, is_zero, known
from isthmus.describe.tree import outwards
from isthmus.describe.values import fault_in
from isthmus.errors import BadDescription, did_you_mean

MOST_OF_A_KIND = 200
"""Faults that one rule names: a broken file may have one in every line."""
Rule = Callable[[Description], Iterator[str]]
ONE_COORDINATE = ("revolute", "prismatic")
NEEDS_AXIS = ("revolute", "prismatic", "planar")
NEEDS_MASS = ("prismatic", "planar", "free")
"""Kinds of joints that translate; for the others, inertia is enough."""
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}
KINDS_OF_SHAPE = (*SIZES, "plane", "points")


def check(description: Description, faults: Sequence[str] = ()) -> None:
    """Raises one `BadDescription` with `faults` and whatever the rules find."""
    if everything := [*faults, *faults_of(description)]:
        raise BadDescription(everything, description.source)


def faults_of(description: Description, rules: Iterable[Rule] | None = None) -> list[str]:
    """What each rule says, of its faults the first `MOST_OF_A_KIND`."""
    chosen = RULES if rules is None else rules
    return [x for rule in chosen for x in itertools.islice(rule(description), MOST_OF_A_KIND)]


def names_differ(description: Description) -> Iterator[str]:
    """Two links, joints, points or shapes never share a name."""
    for family in ("links", "joints", "points", "shapes"):
        what = family.removesuffix("s")
        places: dict[str, list[int | None]] = {}
        for member in getattr(description, family):
            places.setdefault(member.name, []).append(getattr(member, "line", None))
        for name, lines in places.items():
            at = where(*lines)
            if len(lines) > 1:
                yield f"{what} names must differ, but {name!r} occurs {len(lines)} times{at}."
            if not name:
                yield f"a {what} has no name{at}."


def kinds_exist(description: Description) -> Iterator[str]:
    """Joints and shapes are of kinds that we know."""
    for joint in description.joints:
        if joint.kind not in DOF:
            end = f"{where(joint.line)}.{did_you_mean(joint.kind, DOF)}"
            yield f"joint {joint.name!r} is of unknown kind {joint.kind!r}{end}"
    for shape in description.shapes:
        if shape.kind not in KINDS_OF_SHAPE:
            hint = did_you_mean(shape.kind, KINDS_OF_SHAPE)
            yield f"shape {shape.name!r} is of unknown kind {shape.kind!r}.{hint}"


def links_exist(description: Description) -> Iterator[str]:
    """Joints, points and shapes speak of links that are there."""
    names = [link.name for link in description.links]
    known_names = {None, *names}
    for joint in description.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known_names or (role == "child" and link is None):
                end = f"{where(joint.line)}.{did_you_mean(str(link), names)}"
                yield f"joint {joint.name!r} has the unknown {role} {link!r}{end}"
    for what, members in (("point", description.points), ("shape", description.shapes)):
        for member in members:
            if member.link not in known_names:
                hint = did_you_mean(str(member.link), names)
                yield f"{what} {member.name!r} is on the unknown link {member.link!r}.{hint}"


def links_hang_by_one_joint(description: Description) -> Iterator[str]:
    """Each link is the child of exactly one joint."""
    above: dict[str, list[Joint]] = {link.name: [] for link in description.links}
    for joint in description.joints:
        above.get(joint.child, []).append(joint)
    for link in description.links:
        joints = above[link.name]
        if not joints:
            yield f"link {link.name!r} hangs by no joint{where(link.line)}."
        if len(joints) > 1:
            names = quoted(joint.name for joint in joints)
            yield (
                f"link {link.name!r} is the child of {len(joints)} joints: {names}"
                f"{where(joints[1].line)}; closed loops are not supported, it may hang by one only."
            )
            joints.clear()  # a second link of that name was reported already


def links_make_no_loop(description: Description) -> Iterator[str]:
    """No link is its own ancestor."""
    parent = {joint.child: joint.parent for joint in reversed(description.joints)}
    done: set[str | None] = {None, *(joint.child for joint in outwards(description.joints))}
    for start in parent:
        path: list[str] = []
        link: str | None = start
        while link is not None and link in parent and link not in done:
            done.add(link)
            path.append(link)
            link = parent[link]
        if link in path:
            loop = [*path[path.index(link) :], link][::-1]
            yield f"links form a loop: {' -> '.join(map(repr, loop))}."


def numbers_are_sound(description: Description) -> Iterator[str]:
    """All numbers are there and obey the rules of `values.py`."""
    for owner, field, value, sizes, line in _numbers(description):
        numbers = known(value)
        size = count(value)
        rule = field if field != "inertia" else ""  # impossible ones are warnings, of inertias.py
        if size not in sizes:
            wanted = " or ".join(map(str, sorted(sizes)))
            has = f"{size} numbers" if size is not None else repr(value)
            yield f"{field} of {owner} has {has}; it must have {wanted}{where(line)}."
        elif numbers is None and not is_traced(value):
            yield f"{field} of {owner} is {value!r}; it must be a number{where(line)}."
        elif numbers is not None and (fault := fault_in(rule, numbers)):
            yield f"{field} of {owner} is {_shown(numbers)}; it {fault}{where(line)}."


def limits_are_in_order(description: Description) -> Iterator[str]:
    """The lower end of travel is not above the upper one."""
    for joint in description.joints:
        lower, upper = known(joint.lower), known(joint.upper)
        if lower is None or upper is None or len({1, lower.size, upper.size}) > 2:
            continue
        if (lower > upper).any():
            ends = f"lower limit {_shown(lower)} above its upper limit {_shown(upper)}"
            yield f"joint {joint.name!r} has its {ends}{where(joint.line)}."


def mimics_make_sense(description: Description) -> Iterator[str]:
    """A joint follows another one, both have one coordinate, and not all follow each other."""
    joints = {joint.name: joint for joint in description.joints}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        leader = joints.get(joint.mimic.joint)
        start = f"joint {joint.name!r} mimics"
        if leader is None:
            hint = did_you_mean(joint.mimic.joint, joints)
            yield f"{start} the unknown joint {joint.mimic.joint!r}{where(joint.line)}.{hint}"
        elif leader is joint:
            yield f"{start} itself{where(joint.line)}."
        elif joint.kind not in ONE_COORDINATE or leader.kind not in ONE_COORDINATE:
            kinds = f"they are {joint.kind} and {leader.kind}; both need one coordinate"
            yield f"{start} {leader.name!r}, but {kinds}{where(joint.line)}."


def mimics_make_no_circle(description: Description) -> Iterator[str]:
    """Following the leaders ends at a joint that follows no other."""
    follows = {joint.name: joint.mimic.joint for joint in description.joints if joint.mimic}
    done: set[str] = set()
    for start in follows:
        path: list[str] = []
        name = start
        while name in follows and name not in done:
            done.add(name)
            path.append(name)
            name = follows[name]
        if name in path[:-1] or (name in path and len(path) - path.index(name) > 1):
            circle = [*path[path.index(name) :], name]
            yield f"joints mimic each other in a circle: {' -> '.join(map(repr, circle))}."


def moving_joints_carry_inertia(description: Description) -> Iterator[str]:
    """A joint that translates needs mass to move, else its acceleration is not defined."""
    massive = {link.name for link in description.links if not is_zero(link.mass)}
    inert = massive | {link.name for link in description.links if not is_zero(link.inertia)}
    order = outwards(description.joints)
    for joint in reversed(order):
        for carrying in (massive, inert):
            if joint.child in carrying and joint.parent is not None:
                carrying.add(joint.parent)
    for joint in order:
        what, carrying = ("mass", massive) if joint.kind in NEEDS_MASS else ("inertia", inert)
        free = DOF.get(joint.kind, 0) > 0 and not joint.prescribed
        if free and joint.child not in carrying and _any_zero(joint.armature):
            yield (
                f"joint {joint.name!r} ({joint.kind}) carries no {what} at all{where(joint.line)}; "
                f"give link {joint.child!r} or a link that hangs from it a mass, or weld the joint."
            )


def actuators_make_sense(description: Description) -> Iterator[str]:
    """An actuator drives one joint that moves on its own, and no joint has two."""
    joints = {joint.name: joint for joint in description.joints}
    for name, times in Counter(actuator.joint for actuator in description.actuators).items():
        joint = joints.get(name)
        if joint is None:
            yield f"an actuator drives the unknown joint {name!r}.{did_you_mean(name, joints)}"
        elif times > 1:
            yield f"joint {name!r} has {times} actuators; it can have one."
        elif joint.mimic is not None or joint.kind == "fixed":
            yield f"an actuator drives joint {name!r}, which does not move on its own."
    turning = {joint.name for joint in description.joints if joint.kind in ("spherical", "free")}
    for actuator in description.actuators:
        if actuator.kind == "pd" and actuator.joint in turning:
            yield f"a PD controller drives joint {actuator.joint!r}, whose position is a quaternion; use torques."
        if actuator.kind not in ("torque", "pd"):
            yield f"the actuator of {actuator.joint!r} is of unknown kind {actuator.kind!r}: 'torque' or 'pd'."


RULES: tuple[Rule, ...] = (
    names_differ,
    kinds_exist,
    links_exist,
    links_hang_by_one_joint,
    links_make_no_loop,
    numbers_are_sound,
    limits_are_in_order,
    mimics_make_sense,
    mimics_make_no_circle,
    moving_joints_carry_inertia,
    actuators_make_sense,
)


Row = tuple[str, str, object, set[int], int | None]


def _numbers(description: Description) -> Iterator[Row]:
    """Owner, field, value, how many there may be, line: for all numbers of a description."""
    for link in description.links:
        yield from _numbers_of_link(link)
    for joint in description.joints:
        yield from _numbers_of_joint(joint)
    for what, members in (("point", description.points), ("shape", description.shapes)):
        for member in members:
            owner = f"{what} {member.name!r}"
            yield owner, "position", member.frame.position, {3}, None
            yield owner, "orientation", member.frame.orientation, {4}, None
    for shape in description.shapes:
        yield f"shape {shape.name!r}", "size", shape.size, {3}, None
        for point in shape.points:
            yield f"shape {shape.name!r}", "a point", point, {3}, None
    for actuator in description.actuators:
        owner = f"the actuator of {actuator.joint!r}"
        for field in ("gear", "kp", "kd", "delay"):
            yield owner, field, getattr(actuator, field), {1, 3, 6}, None
    yield "the description", "gravity", description.gravity, {3}, None


def _numbers_of_link(link: Link) -> Iterator[Row]:
    owner = f"link {link.name!r}"
    yield owner, "mass", link.mass, {1}, link.line
    yield owner, "com", link.com, {3}, link.line
    yield owner, "inertia", link.inertia, {6}, link.line


def _numbers_of_joint(joint: Joint) -> Iterator[Row]:
    owner, dof = f"joint {joint.name!r}", DOF.get(joint.kind, 0)
    yield owner, "position", joint.frame.position, {3}, joint.line
    yield owner, "orientation", joint.frame.orientation, {4}, joint.line
    axis = "axis" if joint.kind in NEEDS_AXIS else "unused axis"
    yield owner, axis, joint.axis, {3}, joint.line
    for field in PER_DOF:
        value = getattr(joint, field)
        if value is not None:
            yield owner, field, value, {1, dof}, joint.line
    if joint.mimic is not None:
        yield owner, "multiplier", joint.mimic.multiplier, {1}, joint.line
        yield owner, "offset", joint.mimic.offset, {1}, joint.line


def _any_zero(value: object) -> bool:
    numbers = known(value)
    return numbers is not None and bool((numbers <= 0.0).any())


def _shown(numbers: np.ndarray) -> str:
    words = [f"{number:g}" for number in numbers]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"
