"""Model -> Description: the records that would give the model again, with its present numbers.

Networks stay out, and what a model computed from others: stops at the ends of travel that are as `model.stops`
makes them; friction and armature of mimicking joints, which are already in their leaders.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, cast

import jax
import numpy as np

from isthmus.describe.checks import check
from isthmus.describe.description import (
    PER_DOF,
    Actuator,
    Description,
    Frame,
    Joint,
    JointKind,
    Link,
    Mimic,
    Point,
    Shape,
    ShapeKind,
    Touch,
    TouchingPair,
)
from isthmus.describe.mjcf_touch import IMPULSES, PAIR, POINTS
from isthmus.errors import BadOption
from isthmus.model.arrays import is_traced
from isthmus.model.compile import compile_model
from isthmus.model.contacts import NUMBERS
from isthmus.model.model import Model, leaf_fields

STOPS = ("limit_stiffness", "limit_damping", "limit_width")
APART = ("lower", "upper", "effort", *STOPS)
"""Numbers that only some joints have."""


def description_of(model: Model) -> Description:
    """The description that `compile_model` turns into this model; numbers are plain floats.

    Raises:
        BadOption: the model has no values yet, or is a batch of models.
        BadDescription: its numbers make no sense.
    """
    _refuse_what_is_no_single_model(model)
    model = jax.tree.map(np.asarray, dataclasses.replace(model, networks=()))
    links = tuple(
        Link(name, float(model.link_mass[i]), row(model.link_com[i]), row(model.link_inertia[i]))
        for i, name in enumerate(model.link_names)
    )
    found = Description(
        model.name,
        links,
        tuple(_joint(model, i) for i in range(len(links))),
        points=tuple(_point(model, i) for i in range(len(model.point_names))),
        shapes=tuple(_shape(model, i) for i in range(len(model.shape_names))),
        actuators=tuple(_actuators(model)),
        gravity=row(model.gravity),
        impulses=_impulses(model),
        excluded=tuple((_owner(model, a), _owner(model, b)) for a, b in model.contact_excluded),
        pairs=_pairs(model),
    )
    check(found)
    return _with_unusual_stops(model, found)


def _with_unusual_stops(model: Model, found: Description) -> Description:
    """The description with the stops of joints where they are not what suits the masses."""
    if not model.limited:
        return found
    usual, limited, joints = compile_model(found), set(model.limited), []
    for i, joint in enumerate(found.joints):
        rows = list(range(*model.layout.v_own[i]))
        changes = {}
        for field in STOPS if limited.intersection(rows) else ():
            own, default = (getattr(m, f"joint_{field}")[rows] for m in (model, usual))
            if not np.allclose(own, default, rtol=1e-12, atol=0.0):
                changes[field] = _short(own)
        joints.append(dataclasses.replace(joint, **changes))
    return dataclasses.replace(found, joints=tuple(joints))


def same_names(before: Iterable[Any], after: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Records with the same name, one of each."""
    named = {record.name: record for record in before}
    return [(named[record.name], record) for record in after if record.name in named]


def row(numbers: Any) -> tuple[float, ...]:
    """An array as plain numbers."""
    return tuple(np.asarray(numbers, float).ravel().tolist())


def _refuse_what_is_no_single_model(model: Model) -> None:
    if is_traced(model):
        raise BadOption(
            "a traced model has no values to write; export it outside of jit, grad and vmap."
        )
    for field, spec in leaf_fields():
        if np.ndim(getattr(model, field)) > len(spec.shape) + (spec.rows is not None):
            raise BadOption(
                f"this is a batch of models ({spec.name!r} has one more axis); export one of them."
            )


def _joint(model: Model, i: int) -> Joint:
    rows = range(*model.layout.v_own[i])
    q = slice(*model.layout.q_own[i])
    numbers: dict[str, Any] = {
        name: _some(getattr(model, f"joint_{name}"), rows) for name in PER_DOF if name not in APART
    }
    if not rows:  # welded, or it follows another joint
        numbers = {"friction_speed": 0.01}
    ends = any(r in model.limited for r in rows)
    bound = any(r in model.saturated for r in rows)
    return Joint(
        model.joint_names[i],
        cast(JointKind, model.joint_kinds[i]),
        _owner(model, model.parents[i]),
        model.link_names[i],
        Frame(row(model.joint_origin[i]), row(model.joint_orientation[i])),
        row(model.joint_axis[i]),
        lower=_some(model.joint_lower, rows) if ends else None,
        upper=_some(model.joint_upper, rows) if ends else None,
        effort=_some(model.joint_effort, rows) if bound else None,
        rest=row(model.joint_rest_position[q]) if rows else None,
        mimic=_mimic(model, i),
        prescribed=i in model.prescribed,
        **numbers,
    )


def _some(leaf: Any, rows: range) -> Any:
    """The numbers of a joint: one as a number, several in a row."""
    return float(leaf[rows[0]]) if len(rows) == 1 else row(leaf[list(rows)])


def _owner(model: Model, link: int) -> str | None:
    return None if link < 0 else model.link_names[link]


def _mimic(model: Model, i: int) -> Mimic | None:
    for k, (joint, leader) in enumerate(model.mimics):
        if joint == i:
            ratio, offset = model.mimic_multiplier[k], model.mimic_offset[k]
            return Mimic(model.joint_names[leader], float(ratio), float(offset))
    return None


def _actuators(model: Model):
    """Of joints whose command is more than a plain torque."""
    for name, rows in model.rows("dof").items():
        pd = any(r in model.position_controlled for r in rows)
        gear, kp, kd, delay = (
            np.asarray(getattr(model, f"joint_{n}"))[list(rows)]
            for n in ("gear", "kp", "kd", "delay")
        )
        if not rows or not (pd or np.any(gear != 1.0) or np.any([kp, kd, delay])):
            continue
        yield Actuator(
            name, "pd" if pd else "torque",
            gear=_short(gear), kp=_short(kp), kd=_short(kd), delay=_short(delay),
            delay_steps=model.delay_steps,
        )  # fmt: skip


def _short(numbers: np.ndarray) -> Any:
    return float(numbers[0]) if len(numbers) == 1 else row(numbers)


def _point(model: Model, i: int) -> Point:
    frame = Frame(row(model.point_origin[i]), row(model.point_orientation[i]))
    return Point(model.point_names[i], _owner(model, model.point_links[i]), frame)


def _shape(model: Model, i: int) -> Shape:
    corners = tuple(row(corner) for corner in model.shape_points[slice(*model.shape_spans[i])])
    return Shape(
        model.shape_names[i],
        cast(ShapeKind, model.shape_kinds[i]),
        _owner(model, model.shape_links[i]),
        Frame(row(model.shape_origin[i]), row(model.shape_orientation[i])),
        row(model.shape_size[i]),
        corners,
        _touch(model, model.shape_names[i]),
        model.contact_masks[i] if model.contact_masks else (1, 1),
    )


def _pairs(model: Model) -> tuple[TouchingPair, ...]:
    """Shapes that touch each other, and others that the file of the model names."""
    kinds, names = model.shape_kinds, model.shape_names
    rows = zip(model.contact_shapes, model.contact_planes, strict=True)
    touching = dict.fromkeys((a, b) for a, b in rows if kinds[b] != "plane")
    named = [(a, b) for a, b in model.contact_named if not {(a, b), (b, a)} & {*touching}]
    made = []
    for a, b in (*touching, *named):
        name = PAIR.format(names[a], names[b])
        touch, count = _touch(model, name), len(model.rows("contact").get(name, ()))
        if count:
            touch = Touch(touch.kind, (*touch.numbers, (POINTS, (float(count),))))
        made.append(TouchingPair(names[a], names[b], touch))
    return tuple(made)


def _touch(model: Model, contact: str) -> Touch:
    """How a shape touches the ground, or another one; a number that all its contacts share stands there once."""
    rows = model.rows("contact").get(contact, ())
    if not rows:
        return Touch()
    numbers = [(name, row(getattr(model, f"contact_{name}")[list(rows)])) for name in NUMBERS]
    short = [(name, x[:1] if len(set(x)) == 1 else x) for name, x in numbers]
    return Touch(model.contact_kinds[rows[0]], tuple(short))


def _impulses(model: Model) -> tuple[tuple[str, str | int], ...]:
    if "impulse" not in model.contact_kinds:
        return ()
    return tuple((name, getattr(model, f"contact_{name}")) for name in IMPULSES)
