"""Tosses of two boxes on a hinge: the states they start from, and how far a prediction is off."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from isthmus.data.datasets_bodies import ELBOW_STEP
from isthmus.experiments.elbow_model import HALF, HINGE, published_middles
from isthmus.experiments.tosses_body import Numbers, Simulate, Starts
from isthmus.experiments.tosses_data import GRAVITY, Errors, Tosses, mean_errors, rotations

LENGTH = 2.0 * HALF[0]
"""Of a box [m], the unit of position errors."""
FLIGHT = 8
"""Rows at the beginning of every toss in which the boxes fly."""
ROUNDS = 2
"""How often the start of a flight is corrected by what its simulation misses."""


def first_frame(tosses: Tosses) -> tuple[np.ndarray, np.ndarray]:
    """`q` and `v` at the first row as recorded; velocities are backward differences, those of half a row earlier."""
    v = tosses.v.copy()
    v[:, 2] -= 0.5 * GRAVITY * ELBOW_STEP
    return tosses.q[:, 0], v


def flight(tosses: Tosses) -> Starts:
    """The start whose simulation follows the first eight rows, by least squares.

    In flight, a change of the first velocity moves a row by that velocity times its time, nearly; so lines are fitted
    to what the simulation misses, a few times.
    """
    line = np.linalg.pinv(np.stack([np.ones(FLIGHT), ELBOW_STEP * np.arange(FLIGHT)], axis=1))
    recorded = tosses.q[:, :FLIGHT]

    def start(simulate: Simulate, numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
        q, v = first_frame(tosses)
        for _ in range(ROUNDS):
            missed = _difference(recorded, simulate(numbers, q, v, FLIGHT))
            first, rate = np.moveaxis(line @ np.nan_to_num(missed), 1, 0)
            turn = rotations(q[:, 3:7]) * Rotation.from_rotvec(first[:, 3:6])
            turned = turn.as_quat()[:, [3, 0, 1, 2]]
            q = np.concatenate([q[:, :3] + first[:, :3], turned, q[:, 7:] + first[:, 6:]], axis=1)
            v = v + rate
        return q, v

    return start


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`v` that leads from `b` to `a` in a second, (tosses, rows, 7)."""
    turn = rotations(b[..., 3:7].reshape(-1, 4)).inv() * rotations(a[..., 3:7].reshape(-1, 4))
    turned = turn.as_rotvec().reshape(*a.shape[:2], 3)
    return np.concatenate([a[..., :3] - b[..., :3], turned, a[..., 7:] - b[..., 7:]], axis=2)


def boxes(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middles (…, 2, 3) [m] and quaternions (…, 2, 4) of both boxes, as published, at `q` (…, 8)."""
    flat = q.reshape(-1, 8)
    first = rotations(flat[:, 3:7])
    second = first * Rotation.from_rotvec(flat[:, 7:] * np.array([0.0, 1.0, 0.0]))
    middle = flat[:, :3] + first.apply(HINGE) + second.apply(published_middles()[1])
    turns = np.stack([r.as_quat()[:, [3, 0, 1, 2]] for r in (first, second)], axis=1)
    places = np.stack([flat[:, :3], middle], axis=1)
    return places.reshape(*q.shape[:-1], 2, 3), turns.reshape(*q.shape[:-1], 2, 4)


def errors(q: np.ndarray, tosses: Tosses) -> Errors:
    """Mean over the rows of each toss and both boxes: distance in box lengths, and angle of rotation [degrees]."""
    finite = np.all(np.isfinite(q), axis=2, keepdims=True)
    (p, turn), (to, towards) = boxes(np.where(finite, q, tosses.q)), boxes(tosses.q)
    far = np.linalg.norm(p - to, axis=3).mean(axis=2) / LENGTH
    same = np.minimum(np.abs(np.sum(turn * towards, axis=3)), 1.0)
    angle = np.degrees(2.0 * np.arccos(same)).mean(axis=2)
    missing = np.where(finite[:, :, 0], 0.0, np.nan)
    return mean_errors(far + missing, angle + missing, tosses)
