"""Description -> Model: orders the links, lays out the numbers, checks nothing twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from isthmus.describe.checks import check
from isthmus.describe.description import (
    EXTRAS,
    Actuator,
    Description,
    Frame,
    Joint,
    Link,
    Shape,
)
from isthmus.entry import check_arguments
from isthmus.model.arrays import is_traced, stack
from isthmus.model.joints import JOINTS
from isthmus.model.leaves import SWITCHES
from isthmus.model.model import Model
from isthmus.model.stops import stop_defaults
from isthmus.types import AnyArray


@check_arguments
def compile_model(description: Description) -> Model:
    """The model of a description; raises `BadDescription` with all its faults."""
    check(description)
    return model_of(description)


def model_of(description: Description) -> Model:
    """The model of a description without faults: one that was checked, as those of files are."""
    joints = _parents_first(description.joints)
    links = _in_order(description.links, joints)
    row = {joint.child: i for i, joint in enumerate(joints)}
    parents = tuple(-1 if j.parent is None else row[j.parent] for j in joints)
    named = {joint.name: i for i, joint in enumerate(joints)}
    mimics = tuple((i, named[_source(j, joints, named)]) for i, j in enumerate(joints) if j.mimic)
    own = _reflected([j for j in joints if j.mimic is None], joints, named)

    numbers: dict[str, Any] = {
        **_frames("joint", [joint.frame for joint in joints]),
        **_friction(own),
        **_stops(own, joints, links, parents),
        **_motors(own, description.actuators),
        **_points_and_shapes(description, row),
    }
    return Model(
        name=description.name,
        link_names=tuple(link.name for link in links),
        joint_names=tuple(joint.name for joint in joints),
        joint_kinds=tuple(joint.kind for joint in joints),
        parents=parents,
        mimics=mimics,
        prescribed=tuple(i for i, joint in enumerate(joints) if joint.prescribed),
        gravity=_vector(description.gravity),
        link_mass=stack([link.mass for link in links]),
        link_com=_rows([link.com for link in links], 3),
        link_inertia=_rows([link.inertia for link in links], 6),
        joint_axis=_rows([joint.axis for joint in joints], 3),
        mimic_multiplier=stack([_ratio(joints[i], joints, named)[0] for i, _ in mimics]),
        mimic_offset=stack([_ratio(joints[i], joints, named)[1] for i, _ in mimics]),
        **numbers,
    )


def _friction(own: list[Joint]) -> dict[str, Any]:
    """Springs, friction and armature of the joints, and the numbers of `EXTRAS`, with what switches them on."""
    names = ("armature", "stiffness", "damping", "friction", "friction_speed", *EXTRAS)
    numbers = {f"joint_{name}": _per_dof([getattr(j, name) for j in own], own) for name in names}
    rest = [JOINTS[j.kind].neutral if j.rest is None else j.rest for j in own]
    return {**numbers, **_switches(own), "joint_rest_position": _concatenate(rest)}


def _switches(own: list[Joint]) -> dict[str, tuple[int, ...]]:
    """The static fields for the numbers of `EXTRAS`: on where a joint has a number that is not idle."""
    found: dict[str, tuple[int, ...]] = {}
    for name in EXTRAS:
        if (switch := SWITCHES.get(f"joint/{name}")) is not None:
            on = _dofs(own, lambda j, n=name, s=switch: _acts(getattr(j, n), s.idle))
            found[switch.field] = tuple(sorted({*found.get(switch.field, ()), *on}))
    return found


def _acts(value: Any, idle: float) -> bool:
    return is_traced(value) or bool(np.any(np.asarray(value) != idle))


def _stops(
    own: list[Joint], joints: list[Joint], links: list[Link], parents: tuple[int, ...]
) -> dict[str, Any]:
    """Ends of travel and the stops there; a quaternion has none."""

    def ends(joint: Joint) -> bool:
        plain = JOINTS[joint.kind].nq == JOINTS[joint.kind].nv
        return plain and (joint.lower is not None or joint.upper is not None)

    effort = _per_dof([_or(j.effort, np.inf) for j in own], own)
    usual = stop_defaults(joints, links, parents, own, effort)
    names = ("limit_stiffness", "limit_damping", "limit_width")
    stops = {
        f"joint_{n}": _chosen(own, n, default) for n, default in zip(names, usual, strict=True)
    }
    return {
        "limited": _dofs(own, ends),
        "joint_lower": _per_dof([_or(j.lower if ends(j) else None, -np.inf) for j in own], own),
        "joint_upper": _per_dof([_or(j.upper if ends(j) else None, np.inf) for j in own], own),
        **stops,
        "saturated": _dofs(own, lambda joint: joint.effort is not None),
        "joint_effort": effort,
    }


def _chosen(own: list[Joint], field: str, defaults: AnyArray) -> AnyArray:
    """What a joint says of its degrees of freedom, or the default where it says nothing."""
    parts, start = [], 0
    for joint in own:
        stop = start + JOINTS[joint.kind].nv
        given = getattr(joint, field)
        parts.append(defaults[start:stop] if given is None else _spread(given, stop - start))
        start = stop
    return _concatenate(parts)


def _motors(own: list[Joint], actuators: tuple[Actuator, ...]) -> dict[str, Any]:
    """The actuator of each joint; by default the command is the torque."""
    motors = {joint.name: Actuator(joint.name) for joint in own} | {a.joint: a for a in actuators}
    names = ("gear", "kp", "kd", "delay")
    numbers = {
        f"joint_{n}": _per_dof([getattr(motors[j.name], n) for j in own], own) for n in names
    }
    return {
        **numbers,
        "position_controlled": _dofs(own, lambda joint: motors[joint.name].kind == "pd"),
        "delay_steps": max((a.delay_steps for a in actuators if _delays(a)), default=0),
    }


def _points_and_shapes(description: Description, row: dict[str, int]) -> dict[str, Any]:
    """What is fixed to links: frames with names, and collision shapes."""
    points, shapes = description.points, description.shapes
    masks = tuple(shape.mask for shape in shapes)
    here = lambda link: -1 if link is None else row[link]
    named = {shape.name: i for i, shape in enumerate(shapes)}
    return {
        "point_names": tuple(point.name for point in points),
        "point_links": tuple(-1 if p.link is None else row[p.link] for p in points),
        **_frames("point", [point.frame for point in points]),
        "shape_names": tuple(shape.name for shape in shapes),
        "shape_kinds": tuple(shape.kind for shape in shapes),
        "shape_links": tuple(-1 if s.link is None else row[s.link] for s in shapes),
        "shape_spans": _spans(shapes),
        **_frames("shape", [shape.frame for shape in shapes]),
        "shape_size": _rows([shape.size for shape in shapes], 3),
        "shape_points": _rows([corner for shape in shapes for corner in shape.points], 3),
        "contact_masks": masks if set(masks) - {(1, 1)} else (),
        "contact_excluded": tuple(
            (here(first), here(second)) for first, second in description.excluded
        ),
        "contact_named": tuple((named[p.first], named[p.second]) for p in description.pairs),
    }


def _parents_first(joints: Iterable[Joint]) -> list[Joint]:
    """Depth first, children in the order of the description."""
    children: dict[str | None, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    ordered, waiting = [], list(reversed(children.get(None, [])))
    while waiting:
        ordered.append(waiting.pop())
        waiting.extend(reversed(children.get(ordered[-1].child, [])))
    return ordered


def _in_order(links: Iterable[Link], joints: list[Joint]) -> list[Link]:
    named = {link.name: link for link in links}
    return [named[joint.child] for joint in joints]


def _source(joint: Joint, joints: list[Joint], named: dict[str, int]) -> str:
    """The independent joint at the end of a chain of mimicking ones."""
    while joint.mimic is not None:
        joint = joints[named[joint.mimic.joint]]
    return joint.name


def _ratio(joint: Joint, joints: list[Joint], named: dict[str, int]) -> tuple[Any, Any]:
    """Multiplier and offset with respect to that independent joint."""
    if joint.mimic is None:
        return 1.0, 0.0
    multiplier, offset = _ratio(joints[named[joint.mimic.joint]], joints, named)
    return joint.mimic.multiplier * multiplier, joint.mimic.multiplier * offset + joint.mimic.offset


def _reflected(own: list[Joint], joints: list[Joint], named: dict[str, int]) -> list[Joint]:
    """The independent joints, each with the friction and armature of those that mimic it added to its own."""
    total = {joint.name: joint for joint in own}
    for joint in joints:
        if joint.mimic is not None:
            source, ratio = total[_source(joint, joints, named)], _ratio(joint, joints, named)[0]
            total[source.name] = dataclasses.replace(
                source,
                damping=source.damping + ratio**2 * joint.damping,
                friction=source.friction + abs(ratio) * joint.friction,
                stiction=source.stiction + abs(ratio) * joint.stiction,
                torque_offset=source.torque_offset + ratio * joint.torque_offset,
                armature=source.armature + ratio**2 * joint.armature,
            )
    return list(total.values())


def _dofs(own: list[Joint], chosen: Callable[[Joint], bool]) -> tuple[int, ...]:
    """Degrees of freedom of the chosen joints."""
    picks = [chosen(joint) for joint in own for _ in range(JOINTS[joint.kind].nv)]
    return tuple(i for i, pick in enumerate(picks) if pick)


def _delays(actuator: Actuator) -> bool:
    return _acts(actuator.delay, 0.0)


def _spans(shapes: tuple[Shape, ...]) -> tuple[tuple[int, int], ...]:
    ends = np.cumsum([len(shape.points) for shape in shapes], dtype=int)
    return tuple((int(end) - len(s.points), int(end)) for end, s in zip(ends, shapes, strict=True))


def _or(value: Any, default: float) -> Any:
    return default if value is None else value


def _vector(value: Any) -> Any:
    return stack(value) if isinstance(value, list | tuple) else value


def _rows(values: list[Any], width: int) -> AnyArray:
    return stack([_vector(value) for value in values]) if values else np.zeros((0, width))


def _frames(family: str, frames: list[Frame]) -> dict[str, AnyArray]:
    return {
        f"{family}_origin": _rows([frame.position for frame in frames], 3),
        f"{family}_orientation": _rows([frame.orientation for frame in frames], 4),
    }


def _per_dof(values: list[Any], joints: list[Joint]) -> AnyArray:
    """One number for each degree of freedom; a single one is given to all of its joint's."""
    sizes = [JOINTS[joint.kind].nv for joint in joints]
    wide = [_spread(value, size) for value, size in zip(values, sizes, strict=True)]
    return _concatenate(wide)


def _spread(value: Any, size: int) -> AnyArray:
    value = _vector(value)
    return jnp.broadcast_to(value, (size,)) if is_traced(value) else np.broadcast_to(value, (size,))


def _concatenate(parts: list[Any]) -> AnyArray:
    parts = [np.atleast_1d(p) if not is_traced(p) else jnp.atleast_1d(stack([p])[0]) for p in parts]
    if not parts:
        return np.zeros(0)
    return jnp.concatenate(parts) if is_traced(parts) else np.concatenate(parts).astype(np.float64)
