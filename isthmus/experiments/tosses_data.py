"""Tosses of a cube: recorded motions as arrays, the states they start from, and how far a prediction is off."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation

from isthmus.data.datasets_bodies import CUBE_STEP, HALF_WIDTH
from isthmus.motion.motion import Motion

ROW = CUBE_STEP
"""Time between rows [s]."""
WIDTH = 2.0 * HALF_WIDTH
"""Of the cube [m], the unit of position errors."""
GRAVITY = 9.81
FLIGHT = 6
"""Rows at the beginning of every toss in which the cube flies."""
FAILED = 10.0, 180.0
"""Errors [widths, degrees] of a simulation that gave no numbers."""

Errors = tuple[np.ndarray, np.ndarray]
"""Of each toss: position [widths of the body], rotation [degrees]."""


@dataclasses.dataclass(frozen=True)
class Tosses:
    """Recorded tosses; a short one repeats its last row."""

    q: np.ndarray
    """Position [m] and quaternion of the cube's middle, (tosses, rows, 7)."""
    v: np.ndarray
    """Recorded velocity [m/s, rad/s] at the first row, (tosses, 6)."""
    counts: np.ndarray
    """How many rows of each toss were recorded."""

    def __len__(self) -> int:
        return len(self.q)

    def pick(self, which: np.ndarray, rows: int | None = None) -> Tosses:
        """Some of them; with `rows`, their beginnings."""
        rows = self.q.shape[1] if rows is None else rows
        return Tosses(self.q[which, :rows], self.v[which], np.minimum(self.counts[which], rows))


def tosses_of(motions: list[Motion]) -> Tosses:
    """The motions as arrays, as long as the longest of them."""
    rows = max(map(len, motions))
    pad = lambda q: np.concatenate([q, np.repeat(q[-1:], rows - len(q), axis=0)])
    q = np.stack([pad(np.asarray(m.q)) for m in motions])
    v = np.stack([np.asarray(m.v)[0] for m in motions])
    return Tosses(q, v, np.array([len(m) for m in motions]))


def first_frame(tosses: Tosses) -> tuple[np.ndarray, np.ndarray]:
    """`q` and `v` at the first row as recorded.

    The recorded velocity is a backward difference, which in flight is that of half a row earlier.
    """
    v = tosses.v.copy()
    v[:, 2] -= 0.5 * GRAVITY * ROW
    return tosses.q[:, 0], v


class Flight:
    """Free flight through the first six rows by least squares: the centre of mass falls, the spin is constant."""

    def __init__(self, tosses: Tosses) -> None:
        count, middle = len(tosses), FLIGHT // 2
        t = ROW * np.arange(FLIGHT)
        self.line = np.linalg.pinv(np.stack([np.ones(FLIGHT), t], axis=1))
        q = tosses.q[:, :FLIGHT]
        turns = rotations(q[:, :, 3:].reshape(-1, 4))
        self.R = turns.as_matrix().reshape(count, FLIGHT, 3, 3)
        self.p = q[:, :, :3] + 0.5 * GRAVITY * t[:, None] ** 2 * np.array([0.0, 0.0, 1.0])
        about = Rotation.from_matrix(self.R[:, middle])
        held = Rotation.from_matrix(np.repeat(self.R[:, middle], FLIGHT, axis=0))
        angles = (held.inv() * turns).as_rotvec().reshape(count, FLIGHT, 3)
        first, self.spin = np.moveaxis(self.line @ angles, 1, 0)
        self.turn = about * Rotation.from_rotvec(first)

    def start(self, com: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`q` and `v` at the first row, for a centre of mass `com` [m] in the cube's frame."""
        p, v = np.moveaxis(self.line @ (self.p + self.R @ com), 1, 0)
        p = p - self.turn.apply(com)
        v = v - self.turn.apply(np.cross(self.spin, com))
        turn = self.turn.as_quat()[:, [3, 0, 1, 2]]
        return np.concatenate([p, turn], axis=1), np.concatenate([v, self.spin], axis=1)


def rotations(quaternions: np.ndarray) -> Rotation:
    """SciPy's rotations of quaternions w x y z."""
    return Rotation.from_quat(quaternions[..., [1, 2, 3, 0]])


def errors(q: np.ndarray, tosses: Tosses) -> Errors:
    """Mean over the rows of each toss: distance in cube widths, and angle of rotation [degrees]."""
    with np.errstate(all="ignore"):
        far = np.linalg.norm(q[:, :, :3] - tosses.q[:, :, :3], axis=2) / WIDTH
        same = np.abs(np.sum(q[:, :, 3:] * tosses.q[:, :, 3:], axis=2))
        angle = np.degrees(2.0 * np.arccos(np.minimum(same, 1.0)))
    return mean_errors(far, angle, tosses)


def mean_errors(far: np.ndarray, angle: np.ndarray, tosses: Tosses) -> Errors:
    """Means over the recorded rows of errors (tosses, rows); of a simulation without numbers, `FAILED`."""
    known = np.arange(far.shape[1])[None] < tosses.counts[:, None]
    bad = [np.where(np.isfinite(x), x, most) for x, most in zip((far, angle), FAILED, strict=True)]
    far, angle = (np.sum(np.where(known, x, 0.0), axis=1) / tosses.counts for x in bad)
    return np.minimum(far, FAILED[0]), angle
