"""Where each joint's numbers stand in `q` and `v` of a motion, and which of them are angles or quaternions.

A motion knows its joints by name and kind only, so that it can be resampled, filtered and matched without a model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from isthmus.errors import BadMotion
from isthmus.model.joints import JOINTS
from isthmus.model.model import Model
from isthmus.types import AnyArray

JointList = tuple[tuple[str, str], ...]
"""Name and kind of each joint that has coordinates, in the order of `q`."""
UNKNOWN = "unknown"
"""The kind of a joint of which only a column is known: one coordinate, an angle or a length."""

QUATERNIONS = {"spherical": 0, "free": 3}
"""Where the quaternion of a joint begins, among its positions."""
ANGLES = {"revolute": (0,), "planar": (2,)}
"""Which positions of a joint are angles."""


@dataclasses.dataclass(frozen=True)
class Span:
    """One joint's rows of `q` and of `v`."""

    name: str
    kind: str
    q: range
    v: range

    @property
    def quaternion(self) -> range:
        """Rows of `q` that are a quaternion; none for most joints."""
        begin = QUATERNIONS.get(self.kind)
        return range(0) if begin is None else self.q[begin : begin + 4]

    @property
    def plain(self) -> list[int]:
        """Rows of `q` that are plain numbers."""
        return [row for row in self.q if row not in self.quaternion]

    @property
    def angles(self) -> list[int]:
        """Rows of `q` that are angles [rad]."""
        return [self.q[i] for i in ANGLES.get(self.kind, ())]


def joints_of(model: Model) -> JointList:
    """The joints of a model that have coordinates of their own."""
    names = zip(model.joint_names, model.joint_kinds, model.layout.q_own, strict=True)
    return tuple((name, kind) for name, kind, (start, stop) in names if stop > start)


def widths(kind: str) -> tuple[int, int]:
    """How many positions and velocities a kind of joint has."""
    return (1, 1) if kind == UNKNOWN else (JOINTS[kind].nq, JOINTS[kind].nv)


def spans(joints: Iterable[tuple[str, str]]) -> list[Span]:
    """The rows of each joint, one joint after the other."""
    found, nq, nv = [], 0, 0
    for joint in joints:
        if not isinstance(joint, tuple | list) or len(joint) != 2:
            raise BadMotion(f"joints of a motion are pairs of name and kind, not {joint!r}.")
        name, kind = joint
        wide_q, wide_v = widths(kind)
        found.append(Span(name, kind, range(nq, nq + wide_q), range(nv, nv + wide_v)))
        nq, nv = nq + wide_q, nv + wide_v
    return found


def known_spans(joints: JointList, q: AnyArray | None, v: AnyArray | None) -> list[Span]:
    """The rows of each joint of a motion; numbers of which nothing is known must be plain ones."""
    if joints or q is None:
        return spans(joints)
    wide = np.shape(q)[-1]
    if v is not None and np.shape(v)[-1] != wide:
        raise BadMotion(
            "this motion does not know its joints, and some of its positions are quaternions; "
            "say which joints it has: motion.matched(model)."
        )
    return spans((str(i), UNKNOWN) for i in range(wide))


def quaternion_of_signal(name: str, shape: tuple[int, ...]) -> slice | None:
    """Where the rows of a recorded signal hold a quaternion: those of a pose do."""
    return (
        slice(3, 7) if name.rsplit("/", 1)[-1].startswith("pose") and shape[-1:] == (7,) else None
    )
