"""Joints of a model -> joints and actuators of MJCF: a planar one is three, all others are one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np

from isthmus.describe.checks import ONE_COORDINATE
from isthmus.describe.description import PER_DOF, Actuator, Description, Frame, Joint
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.notes import free_name
from isthmus.describe.numbers import ENDLESS
from isthmus.describe.poses import compose
from isthmus.export.description import row
from isthmus.export.lost import single
from isthmus.export.xml_text import Xml
from isthmus.spatial.rotations import from_z_to, matrix

TYPES = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball", "free": "free"}
AXES = ("x", "y", "angle")
"""What is put behind the name of a planar joint for each of its three."""
TIMESTEP = 0.002
"""MuJoCo's, in which it counts how many past commands to keep [s]."""


@dataclasses.dataclass(frozen=True)
class Part:
    """A joint of MuJoCo, with the motor that drives it."""

    joint: Joint
    numbers: dict[str, float]
    """Its attributes."""
    motor: Actuator | None


def parts_of(found: Description, lost: LeftOut) -> dict[str, list[Part]]:
    """What each joint becomes; none, for a fixed one."""
    motors = {actuator.joint: actuator for actuator in found.actuators}
    taken = {joint.name for joint in found.joints}
    parts: dict[str, list[Part]] = {}
    for joint in found.joints:
        pairs = [(joint, motors.get(joint.name))] if joint.kind != "fixed" else []
        if joint.kind == "planar":
            lost.add(
                "that it is one joint (two slides and a hinge load back), of planar joint",
                joint.name,
            )
            pairs = _split(joint, motors.get(joint.name), taken)
        parts[joint.name] = [_part(one, motor, lost) for one, motor in pairs]
    return parts


def pose_of(joint: Joint, lost: LeftOut) -> Frame:
    """Where the body stands in its parent; a free one where its spring is slack, in the world."""
    if joint.kind != "free":
        return joint.frame
    frame, rest = joint.frame, row(joint.rest)
    moved = any(row(frame.position)) or not np.allclose(
        matrix(np.asarray(frame.orientation, float)), np.eye(3), atol=1e-15, rtol=0
    )
    if not moved:
        return Frame(rest[:3], rest[3:])
    lost.add("frame (its position counts from the world's origin) of free joint", joint.name)
    return compose(frame, Frame(rest[:3], rest[3:]))


def _split(
    joint: Joint, motor: Actuator | None, taken: set[str]
) -> list[tuple[Joint, Actuator | None]]:
    """Two slides in the plane and a hinge across it."""
    axis = np.array(row(joint.axis))
    with jax.enable_x64(True):
        basis = np.asarray(from_z_to(axis / np.linalg.norm(axis)))
    pairs: list[tuple[Joint, Actuator | None]] = []
    for k, word in enumerate(AXES):
        name = free_name(f"{joint.name}.{word}", taken)
        taken.add(name)
        own: dict[str, Any] = {f: _pick(getattr(joint, f), k) for f in (*PER_DOF, "rest")}
        one = dataclasses.replace(
            joint, name=name, kind="revolute" if k == 2 else "prismatic",
            frame=Frame(), axis=row(basis[:, k]), **own,
        )  # fmt: skip
        pairs.append((one, _motor_of(motor, name, k)))
    return pairs


def _motor_of(motor: Actuator | None, joint: str, k: int) -> Actuator | None:
    if motor is None:
        return None
    own: dict[str, Any] = {f: _pick(getattr(motor, f), k) for f in ("gear", "kp", "kd", "delay")}
    return dataclasses.replace(motor, joint=joint, **own)


def _pick(numbers: Any, k: int) -> Any:
    """The `k`-th of several numbers, or the one that holds for all."""
    return (
        numbers
        if numbers is None or not np.ndim(numbers) or np.size(numbers) < 2
        else float(numbers[k])
    )


def _part(joint: Joint, motor: Actuator | None, lost: LeftOut) -> Part:
    numbers = {name: single(joint, name, lost) for name in ("stiffness", "damping", "armature")}
    numbers["frictionloss"] = single(joint, "friction", lost)
    if joint.kind in ONE_COORDINATE:
        _note_odd_motors(joint, motor, lost)
        return Part(joint, numbers, motor if motor is not None else _plain_motor(joint))
    if joint.kind == "spherical" and numbers["stiffness"] and not _is_neutral(joint):
        lost.add("rest position of the spring of ball joint", joint.name)
    if motor is not None:
        lost.add("gear, gains and delay of the motors of joint", joint.name)
    for field, what in (
        ("effort", "largest efforts"),
        ("lower", "ends of travel"),
        ("upper", "ends of travel"),
    ):
        if getattr(joint, field) is not None and np.any(np.isfinite(getattr(joint, field))):
            lost.add(f"{what} of joint", joint.name)
    return Part(joint, numbers, None)


def _is_neutral(joint: Joint) -> bool:
    return joint.rest is None or np.allclose(
        matrix(np.asarray(joint.rest, float)), np.eye(3), atol=1e-15, rtol=0.0
    )


def _plain_motor(joint: Joint) -> Actuator | None:
    """A joint whose effort is bounded has a motor."""
    return Actuator(joint.name) if math.isfinite(_number(joint.effort, math.inf)) else None


def _note_odd_motors(joint: Joint, motor: Actuator | None, lost: LeftOut) -> None:
    if joint.effort is not None and _number(joint.effort, 0.0) == 0.0:
        lost.add("a largest effort of zero (it loads as no bound) of joint", joint.name)
    if motor is not None and motor.kind == "pd" and not np.any([motor.kp, motor.kd]):
        lost.add("that its controller, whose gains are zero, is one, of joint", joint.name)


def _number(value: Any, default: float) -> float:
    return default if value is None else float(np.asarray(value).ravel()[0])


def write_joint(xml: Xml, part: Part) -> None:
    """One joint with its numbers; zeros are MuJoCo's defaults."""
    joint, given = part.joint, {name: x for name, x in part.numbers.items() if x}
    if joint.kind not in ONE_COORDINATE:
        xml.leaf("joint", name=joint.name, type=TYPES[joint.kind], **given)
        return
    lower, upper = _number(joint.lower, -math.inf), _number(joint.upper, math.inf)
    bounded = math.isfinite(lower) or math.isfinite(upper)
    effort = _number(joint.effort, math.inf)
    limited = math.isfinite(effort) and effort > 0.0
    rest = _number(joint.rest, 0.0)
    xml.leaf(
        "joint", name=joint.name, type=TYPES[joint.kind], axis=joint.axis, **given,
        springref=rest or None,
        limited="true" if bounded else None,
        range=(max(lower, -ENDLESS), min(upper, ENDLESS)) if bounded else None,
        actuatorfrclimited="true" if limited else None,
        actuatorfrcrange=(-effort, effort) if limited else None,
    )  # fmt: skip


def write_actuators(xml: Xml, parts: dict[str, list[Part]]) -> None:
    """The motors, in the order of their joints."""
    motors = [part.motor for own in parts.values() for part in own if part.motor is not None]
    if not motors:
        return
    xml.open("actuator")
    for motor in motors:
        gear, kp, kd, delay = (
            _number(getattr(motor, f), 0.0) for f in ("gear", "kp", "kd", "delay")
        )
        gains = {"gainprm": kp, "biastype": "affine", "biasprm": (0.0, -kp, -kd)}
        past: dict[str, Any] = {
            "nsample": str(math.ceil(delay / TIMESTEP) + 2),
            "interp": "linear",
            "delay": delay,
        }
        xml.leaf(
            "general", name=motor.joint, joint=motor.joint, gear=gear,
            **(gains if motor.kind == "pd" else {}), **(past if delay else {}),
        )  # fmt: skip
    xml.close()
