"""Bodies and joints of a compiled MJCF -> links and joints that move in the same way.

MuJoCo turns a body about an anchor anywhere in it; our link turns about its own origin. So a link
has its body's axes, and for its origin the anchor of the last hinge or ball; of several joints in
one body all but the last carry links without mass. A position `q` is MuJoCo's `qpos`: a reference
other than zero turns or shifts the joint's frame back.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from isthmus.describe.description import EXTRAS, Frame, Joint, JointKind, Link
from isthmus.describe.mjcf_left_out import LeftOut, name_at
from isthmus.describe.notes import free_name
from isthmus.describe.numbers import bound
from isthmus.describe.poses import Floats, compose, turned

JOINTS: tuple[tuple[JointKind, int, int], ...] = (
    ("free", 7, 6), ("spherical", 4, 3), ("prismatic", 1, 1), ("revolute", 1, 1)
)  # fmt: skip
"""By MuJoCo's `mjtJoint`: our kind, coordinates, degrees of freedom."""
CONSTRAINT, FRICTIONLOSS, LIMIT, SPRING, DAMPER = 1 << 0, 1 << 2, 1 << 3, 1 << 5, 1 << 6
"""Bits of `mjtDisableBit`."""
ORIGIN = (0.0, 0.0, 0.0)
OWN = ("friction_speed", "limit_stiffness", "limit_damping", "limit_width", *EXTRAS)
"""What MJCF has not: custom numbers called `friction_speed of JOINT`, and so on."""
WELD = "weld of "
"""A custom text of this name and a body's holds what its fixed joint is called: MJCF has no name for that."""


def floats(numbers: Any) -> Floats:
    """A row of numbers as plain ones."""
    return tuple(np.asarray(numbers, float).ravel().tolist())


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a body of MuJoCo went: a link (None: the world), and its own origin there [m]."""

    link: str | None
    origin: Floats = ORIGIN

    def of(self, position: Any, quaternion: Any) -> Frame:
        """A frame given in the body, in the link."""
        return Frame(floats(self.origin + np.asarray(position)), floats(quaternion))


class Tree:
    """The links and joints of a compiled model, in MuJoCo's order, and where its bodies went."""

    def __init__(self, m: Any, left: LeftOut) -> None:
        self.m, self.left = m, left
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.places: list[Place] = [Place(None)]
        """By MuJoCo's number of the body."""
        self.body_names = _names(m, m.name_bodyadr, [f"body_{i}" for i in range(m.nbody)])
        wishes = [f"{self.body_names[body]}_joint" for body in m.jnt_bodyid]
        self.joint_names = _names(m, m.name_jntadr, wishes)
        """By MuJoCo's number of the joint."""
        self._welds = texts(m, WELD)
        self._own = numerics(m)
        self._links_taken, self._joints_taken = set(self.body_names), set(self.joint_names)
        for body in range(1, m.nbody):
            self._add_body(body)

    def _add_body(self, body: int) -> None:
        m, name = self.m, self.body_names[body]
        above = self.places[m.body_parentid[body]]
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        here, parent = above.of(*_pose(m, body)), above.link
        if not count:
            weld = self._welds.get(name) or free_name(f"{name}_weld", self._joints_taken)
            self._joints_taken.add(weld)
            self.joints.append(Joint(weld, "fixed", parent, name, here))
        origin = ORIGIN
        for j in range(first, first + count):
            last = j == first + count - 1
            link = name if last else self._name_between(name, self.joint_names[j])
            frame, origin = _frame_of_joint(m, j, here)
            self.joints.append(self._joint(j, parent, link, frame))
            if not last:
                self.links.append(Link(link))
            here, parent = Frame(origin), link
        self.places.append(Place(name, origin))
        self.links.append(_link(m, body, name, self.places[body]))

    def _name_between(self, body: str, joint: str) -> str:
        name = free_name(f"{body}_{joint}", self._links_taken)
        self._links_taken.add(name)
        return name

    def _joint(self, j: int, parent: str | None, child: str, frame: Frame) -> Joint:
        m, name, off = self.m, self.joint_names[j], self.m.opt.disableflags
        kind, nq, nv = JOINTS[m.jnt_type[j]]
        dofs = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + nv)
        armature, damping = m.dof_armature[dofs].copy(), m.dof_damping[dofs].copy()
        friction = m.dof_frictionloss[dofs]
        self._add_motor_numbers(j, armature, damping)
        lower, upper = self._ends(j)
        rest = m.qpos_spring[m.jnt_qposadr[j] : m.jnt_qposadr[j] + nq]
        self._note_what_is_not_linear(j)
        return Joint(
            name,
            kind,
            parent,
            child,
            frame,
            axis=floats(m.jnt_axis[j]) if nv == 1 else (0.0, 0.0, 1.0),
            lower=lower,
            upper=upper,
            stiffness=0.0 if off & SPRING else float(m.jnt_stiffness[j]),
            rest=_one_or_all(rest),
            damping=0.0 if off & DAMPER else _one_or_all(damping),
            friction=0.0 if off & (FRICTIONLOSS | CONSTRAINT) else _one_or_all(friction),
            armature=_one_or_all(armature),
            **self._own_numbers(name),
        )

    def _own_numbers(self, joint: str) -> dict[str, Any]:
        """What MJCF has not and `export_mjcf` writes."""
        keys = {field: f"{field} of {joint}" for field in OWN}
        return {field: self._own[key] for field, key in keys.items() if key in self._own}

    def _add_motor_numbers(self, j: int, armature: np.ndarray, damping: np.ndarray) -> None:
        """Rotor inertia and damping that stand with the joint's actuator, seen through its gear."""
        m, i = self.m, int(self.m.jnt_actuatorid[j])
        if i < 0:
            return
        if len(armature) > 1:
            self.left.add("armature or damping of an actuator of joint", self.joint_names[j])
            return
        square = m.actuator_gear[m.actuator_outadr[i], 0] ** 2
        armature += square * m.actuator_armature[i]
        damping += square * m.actuator_damping[i]
        if m.actuator_dampingpoly[i].any():
            self.left.add("nonlinear damping of joint", self.joint_names[j])

    def _note_what_is_not_linear(self, j: int) -> None:
        m, name = self.m, self.joint_names[j]
        dofs = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + JOINTS[m.jnt_type[j]][2])
        if m.dof_dampingpoly[dofs].any() and not m.opt.disableflags & DAMPER:
            self.left.add("nonlinear damping of joint", name)
        if m.opt.disableflags & SPRING:
            return
        if m.jnt_stiffnesspoly[j].any():
            self.left.add("nonlinear stiffness of joint", name)
        if m.jnt_plasticadr[j] >= 0:
            self.left.add("plastic spring of joint", name)

    def _ends(self, j: int) -> tuple[float | None, float | None]:
        """Lower and upper end of travel."""
        m = self.m
        if not m.jnt_limited[j] or m.opt.disableflags & (LIMIT | CONSTRAINT):
            return None, None
        if JOINTS[m.jnt_type[j]][2] > 1:
            self.left.add("limits of ball joint", self.joint_names[j])
            return None, None
        return bound(float(m.jnt_range[j, 0])), bound(float(m.jnt_range[j, 1]))

    def frames_beside_anchors(self) -> Iterator[tuple[str, Place]]:
        """Bodies whose own origin is not that of their link."""
        for name, place in zip(self.body_names, self.places, strict=True):
            if any(place.origin):
                yield name, place


def _names(m: Any, addresses: Any, wishes: list[str]) -> list[str]:
    """MuJoCo's names; where there is none, the wish, or the first free name like it."""
    names = [name_at(m, address) for address in addresses]
    taken = set(names)
    for i, name in enumerate(names):
        names[i] = name or free_name(wishes[i], taken)
        taken.add(names[i])
    return names


def texts(m: Any, start: str) -> dict[str, str]:
    """The custom texts whose names begin with `start`, by the rest of their names."""
    names = [name_at(m, address) for address in m.name_textadr]
    spans = zip(names, m.text_adr, m.text_size, strict=True)
    text = lambda a, size: bytes(m.text_data[a : a + size]).rstrip(b"\0").decode("utf-8", "replace")
    texts = {name: text(a, size) for name, a, size in spans}
    return {n.removeprefix(start): t for n, t in texts.items() if n.startswith(start)}


def numerics(m: Any) -> dict[str, float | Floats]:
    """The custom numbers, by name."""
    names = [name_at(m, address) for address in m.name_numericadr]
    spans = zip(names, m.numeric_adr, m.numeric_size, strict=True)
    return {name: _one_or_all(m.numeric_data[a : a + size]) for name, a, size in spans}


def _pose(m: Any, body: int) -> tuple[np.ndarray, np.ndarray]:
    return m.body_pos[body], m.body_quat[body]


def _frame_of_joint(m: Any, j: int, here: Frame) -> tuple[Frame, Floats]:
    """The joint's frame at `q = 0` in the parent link, and the body's origin in the child link.

    `here` is the body's frame in the parent link, before this joint moves it.
    """
    kind, axis, anchor = JOINTS[m.jnt_type[j]][0], m.jnt_axis[j], m.jnt_pos[j]
    ref = float(m.qpos0[m.jnt_qposadr[j]])
    if kind == "free":  # its coordinates are the world's
        return Frame(), ORIGIN
    if kind == "prismatic":
        return compose(here, Frame(floats(0.0 - ref * axis))), ORIGIN
    back = floats([math.cos(ref / 2), *(-math.sin(ref / 2) * axis)])
    turn = back if kind == "revolute" and ref else Frame().orientation
    return compose(here, Frame(floats(anchor), turn)), floats(0.0 - anchor)


def _link(m: Any, body: int, name: str, place: Place) -> Link:
    frame = place.of(m.body_ipos[body], m.body_iquat[body])
    inertia = (*floats(m.body_inertia[body]), 0.0, 0.0, 0.0)
    mass = float(m.body_mass[body])
    return Link(name, mass, frame.position, turned(inertia, frame.orientation))


def _one_or_all(numbers: np.ndarray) -> float | Floats:
    return float(numbers[0]) if len(numbers) == 1 else floats(numbers)
