"""Rotations and frames of plain numbers, as files give them; quaternions `w x y z`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isthmus.describe.description import Frame

Floats = tuple[float, ...]
WORLD = Frame()


def quaternion_of_rpy(roll: float, pitch: float, yaw: float) -> Floats:
    """Roll about x, then pitch about y, then yaw about z, all about fixed axes."""
    about_x = (math.cos(roll / 2), math.sin(roll / 2), 0.0, 0.0)
    about_y = (math.cos(pitch / 2), 0.0, math.sin(pitch / 2), 0.0)
    about_z = (math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))
    return quaternion_product(about_z, quaternion_product(about_y, about_x))


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


def quaternion_product(p: Sequence[float], q: Sequence[float]) -> Floats:
    """The rotation `q`, followed by `p`."""
    a, b, c, d = p
    w, x, y, z = q
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )


def rotation_of(quaternion: object) -> np.ndarray:
    """The 3×3 matrix of a quaternion of any length but zero."""
    q = np.asarray(quaternion, float)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def compose(outer: Frame, inner: Frame) -> Frame:
    """The frame `inner`, given in `outer`, seen from where `outer` is given."""
    position = np.asarray(outer.position) + rotation_of(outer.orientation) @ np.asarray(
        inner.position
    )
    orientation = quaternion_product(_floats(outer.orientation), _floats(inner.orientation))
    return Frame(_floats(position), orientation)


def matrix_of(inertia: object) -> np.ndarray:
    """xx, yy, zz, xy, xz, yz as a symmetric 3×3 matrix."""
    xx, yy, zz, xy, xz, yz = np.asarray(inertia, float)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def numbers_of(matrix: np.ndarray) -> Floats:
    """A symmetric 3×3 matrix as xx, yy, zz, xy, xz, yz."""
    rows, columns = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    return tuple(map(float, (matrix + matrix.T)[rows, columns] / 2))


def turned(inertia: Floats, orientation: object) -> Floats:
    """An inertia given in turned axes, in the axes that they are turned from."""
    if _floats(orientation) == WORLD.orientation:
        return inertia  # untouched, to the last digit
    R = rotation_of(orientation)
    return numbers_of(R @ matrix_of(inertia) @ R.T)


def _floats(numbers: object) -> Floats:
    return tuple(np.asarray(numbers, float).tolist())
