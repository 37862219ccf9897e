"""Rotations and frames of plain numbers, as files give them; quaternions `w x y z`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isthmus.describe.description import Frame
from isthmus.spatial import rotations
from isthmus.spatial.inertia import six_of, symmetric
from isthmus.types import AnyArray

Floats = tuple[float, ...]
WORLD = Frame()


def quaternion_of_rpy(roll: float, pitch: float, yaw: float) -> Floats:
    """Roll about x, then pitch about y, then yaw about z, all about fixed axes."""
    about_x = np.array([math.cos(roll / 2), math.sin(roll / 2), 0.0, 0.0])
    about_y = np.array([math.cos(pitch / 2), 0.0, math.sin(pitch / 2), 0.0])
    about_z = np.array([math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)])
    return _floats(rotations.product(about_z, rotations.product(about_y, about_x)))


def rpy_of_quaternion(quaternion: Sequence[float]) -> Floats:
    """Roll, pitch and yaw of a quaternion of any length but zero; exact near a pitch of ±90° too.

    With half-angles, `w ∓ y` and `x ± z` are a cosine and sine of yaw ± roll, times one of the pitch
    (Bernardes and Viollet 2022).
    """
    w, x, y, z = quaternion
    total, difference = math.atan2(x + z, w - y), math.atan2(z - x, w + y)
    half = math.atan2(math.hypot(w + y, z - x), math.hypot(w - y, x + z))
    wrapped = lambda angle: math.remainder(angle, 2.0 * math.pi)
    return wrapped(total - difference), 2.0 * half - 0.5 * math.pi, wrapped(total + difference)


def compose(outer: Frame, inner: Frame) -> Frame:
    """The frame `inner`, given in `outer`, seen from where `outer` is given."""
    turn, place = np.asarray(outer.orientation, float), np.asarray(outer.position, float)
    position = place + rotations.matrix(turn) @ np.asarray(inner.position, float)
    orientation = rotations.product(turn, np.asarray(inner.orientation, float))
    return Frame(_floats(position), _floats(orientation))


def numbers_of(matrix: AnyArray) -> Floats:
    """A symmetric 3×3 matrix as xx, yy, zz, xy, xz, yz."""
    return _floats(six_of((matrix + matrix.T) / 2))


def turned(inertia: Floats, orientation: object) -> Floats:
    """An inertia given in turned axes, in the axes that they are turned from."""
    if _floats(orientation) == WORLD.orientation:
        return inertia  # untouched, to the last digit
    R = rotations.matrix(np.asarray(orientation, float))
    return numbers_of(R @ symmetric(np.asarray(inertia, float)) @ R.T)


def _floats(numbers: object) -> Floats:
    return tuple(np.asarray(numbers, float).tolist())
