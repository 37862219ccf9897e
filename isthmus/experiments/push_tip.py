"""Where the tip really is: its offset, radius and clock from recorded contact, and a start that overlaps nothing.

While an object moves, the tip touches it. So the recorded distance between tip and outline is the radius `r`, less what
the recorded place of the tip lacks along the normal `n`: `distance = r - n·offset - delay n·velocity`. That is linear
in four numbers, and needs no model of friction.
"""

from __future__ import annotations

import numpy as np

from isthmus.experiments.push_data import ROWS, Pushes

MOVING = 0.3
"""An object moves where it has this share of its greatest speed."""
SHORT = 5e-4
"""An object whose middle moved less [m] tells nothing."""
FAR = 7.5e-3
"""Rows where the middle of the tip is further [m] from the outline are no contact."""
LEVER = 0.04
"""Distance [m] at which a turn counts like a way."""
EXPECTED = np.array([0.00475, 0.0, 0.0, 0.0])
DOUBT = np.array([2e-4, 5e-4, 5e-4, 3e-3]) / 3e-4
"""Radius, offsets [m] and delay [s] before any push, and their doubts in those of one push: pushes in one direction do
not tell all four."""


def tip_paths(pushes: Pushes, offset: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """Of each point of a search, where the tip is at the rows [m]: (points, pushes, ROWS, 2)."""
    made = np.empty((len(delay), len(pushes), ROWS, 2))
    for i, (t, tip) in enumerate(zip(pushes.times, pushes.tips, strict=True)):
        rows = np.linspace(0.0, t[-1], ROWS)[None] + delay[:, None]
        for k in range(2):
            made[:, i, :, k] = np.interp(rows, t, tip[:, k]) + offset[:, None, k]
    return made


def padded_edges(pushes: Pushes) -> tuple[np.ndarray, np.ndarray]:
    """Both ends [m] of the edges of each push's object, (pushes, edges, 2); short lists repeat their first edge."""
    corners = [pushes.shapes[name].outline for name in pushes.names]
    most = max(map(len, corners))
    pad = lambda x: np.concatenate([x, np.repeat(x[:1], most - len(x), axis=0)])
    return (
        np.stack([pad(x) for x in corners]),
        np.stack([pad(np.roll(x, -1, axis=0)) for x in corners]),
    )


def nearest(
    point: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each outline: its point next to a `point` outside, the unit normal towards that, and their distance [m]."""
    edge = second - first
    along = np.sum((point[:, None] - first) * edge, axis=-1) / np.sum(edge * edge, axis=-1)
    on = first + np.clip(along, 0.0, 1.0)[..., None] * edge
    chosen = np.argmin(np.sum(np.square(point[:, None] - on), axis=-1), axis=1)
    on = on[np.arange(len(on)), chosen]
    away = point - on
    distance = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
    return on, away / distance[:, None], distance


def turned(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Vectors (…, 2) turned by angles (…)."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([cos * x[..., 0] - sin * x[..., 1], sin * x[..., 0] + cos * x[..., 1]], axis=-1)


def distances(pushes: Pushes, poses: np.ndarray, tip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From outlines to the middles of tips [m], (pushes,), and unit vectors that way in the world, (pushes, 2)."""
    inside = turned(tip - poses[:, :2], -poses[:, 2])
    _, away, distance = nearest(inside, *padded_edges(pushes))
    return distance, turned(away, poses[:, 2])


def calibrated(pushes: Pushes) -> dict[str, float]:
    """`offset_x`, `offset_y`, `radius` [m] and `delay` [s] of the tip by least squares over pushes of equal weight."""
    tip = tip_paths(pushes, np.zeros((1, 2)), np.zeros(1))[0]
    step = np.array([t[-1] for t in pushes.times]) / (ROWS - 1)
    rate = lambda x: np.gradient(x, axis=1) / step[:, None, None]
    moved = rate(pushes.objects)
    speed = np.linalg.norm(moved[..., :2], axis=-1) + LEVER * np.abs(moved[..., 2])
    found = [distances(pushes, pushes.objects[:, k], tip[:, k]) for k in range(ROWS)]
    distance, normal = (np.stack(x, axis=1) for x in zip(*found, strict=True))
    way = np.linalg.norm(pushes.objects[:, -1, :2] - pushes.objects[:, 0, :2], axis=1)
    used = (speed > MOVING * speed.max(axis=1, keepdims=True)) & (distance < FAR)
    used &= (way > SHORT)[:, None]
    weight = used / np.sqrt(np.maximum(used.sum(axis=1, keepdims=True), 1.0))
    columns = [
        np.ones_like(distance),
        -normal[..., 0],
        -normal[..., 1],
        -np.sum(normal * rate(tip), axis=-1),
    ]
    A = np.stack([weight * x for x in columns], axis=-1).reshape(-1, 4)
    A, b = np.concatenate([A, np.diag(1.0 / DOUBT)]), np.append(weight * distance, EXPECTED / DOUBT)
    radius, x, y, delay = np.linalg.lstsq(A, b, rcond=None)[0]
    return {
        "offset_x": float(x),
        "offset_y": float(y),
        "radius": float(radius),
        "delay": float(delay),
    }


def clearance(pushes: Pushes, tip: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """How far [m] tips that begin at `tip`, (points, pushes, 2), must move so that they overlap no object at rest."""
    moved = np.empty_like(tip)
    for k, r in enumerate(radius):
        distance, away = distances(pushes, pushes.objects[:, 0], tip[k])
        moved[k] = np.maximum(r - distance, 0.0)[:, None] * away
    return moved
