"""The field's model of pushing: quasi-static, an ellipsoid as limit surface (Goyal et al. 1991; Lynch et al. 1992).

The force at the tip and the twist of the object are related by `twist = k A wrench`, `A = diag(1, 1, 1/c²)`, with `c`
the ratio of the greatest friction moment to the greatest friction force. The tip sticks where that force is inside the
cone of friction, and slides along its edge otherwise. It is a few lines of NumPy, for comparison with the engine.
"""

from __future__ import annotations

import functools

import numpy as np

from isthmus.experiments.push_data import ROWS, Pushes, grid_inside
from isthmus.experiments.push_tip import clearance, nearest, padded_edges, tip_paths
from isthmus.experiments.tosses_model import Number

NUMBERS = {"friction": Number(0.25, 0.05, 0.02, 1.5), "moment": Number(1.0, 0.15, 0.2, 2.0)}
"""Free numbers, besides those of the tip, which are measured: friction between tip and object; `c` as a share of the
mean distance from the middle, which is its value under even pressure."""


def mean_radius(outline: np.ndarray) -> float:
    """Mean distance [m] of the points inside an outline from the middle."""
    return float(np.linalg.norm(grid_inside(outline, 0.002), axis=1).mean())


def predict(pushes: Pushes, numbers: dict[str, np.ndarray]) -> np.ndarray:
    """Poses (points, pushes, ROWS, 3), with an array of each number, one for each point of a search."""
    count, many = len(numbers["delay"]), len(pushes)
    tip = tip_paths(
        pushes, np.stack([numbers["offset_x"], numbers["offset_y"]], axis=1), numbers["delay"]
    )
    tip = tip + clearance(pushes, tip[:, :, 0], numbers["radius"])[:, :, None]
    tip = tip.reshape(count * many, ROWS, 2)
    first, second = (np.tile(x, (count, 1, 1)) for x in padded_edges(pushes))
    radii = np.array([mean_radius(pushes.shapes[name].outline) for name in pushes.names])
    spread = lambda x: np.repeat(x, many)
    c = spread(numbers["moment"]) * np.tile(radii, count)
    A = np.stack([np.ones_like(c), np.ones_like(c), 1.0 / c**2], axis=1)
    step = functools.partial(
        _pushed, edges=(first, second), A=A, radius=spread(numbers["radius"]), mu=spread(numbers["friction"])
    )  # fmt: skip
    q = np.tile(pushes.objects[:, 0], (count, 1))
    made = [q]
    for k in range(1, ROWS):
        q = step(q, tip[:, k - 1], tip[:, k])
        made.append(q)
    return np.stack(made, axis=1).reshape(count, many, ROWS, 3)


def _pushed(
    q: np.ndarray, before: np.ndarray, tip: np.ndarray,
    edges: tuple[np.ndarray, np.ndarray], A: np.ndarray, radius: np.ndarray, mu: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The poses after the tip went from `before` to `tip`: objects give way until they only touch it."""
    cos, sin = np.cos(q[:, 2]), np.sin(q[:, 2])
    inwards = lambda x: np.stack([cos * x[:, 0] + sin * x[:, 1], cos * x[:, 1] - sin * x[:, 0]], 1)
    on, away, distance = nearest(inwards(tip - q[:, :2]), *edges)
    n = -away
    t = np.stack([-n[:, 1], n[:, 0]], axis=1)
    deep, slid = np.maximum(radius - distance, 0.0), np.sum(inwards(tip - before) * t, axis=1)
    row = lambda u: np.stack([u[:, 0], u[:, 1], on[:, 0] * u[:, 1] - on[:, 1] * u[:, 0]], axis=1)
    J_n, J_t = row(n), row(t)
    nn, nt, tt = (np.sum(a * A * b, axis=1) for a, b in ((J_n, J_n), (J_n, J_t), (J_t, J_t)))
    det = nn * tt - nt**2
    f_n, f_t = (tt * deep - nt * slid) / det, (nn * slid - nt * deep) / det
    sticks = np.abs(f_t) <= mu * f_n
    up, down = (deep / np.maximum(nn + s * mu * nt, 1e-9) for s in (1.0, -1.0))
    upwards = slid > up * (nt + mu * tt)  # the tip is faster than the object there
    f_n = np.where(sticks, f_n, np.where(upwards, up, down))
    f_t = np.where(sticks, f_t, np.where(upwards, mu * up, -mu * down))
    twist = np.where(deep > 0.0, 1.0, 0.0)[:, None] * A * (J_n * f_n[:, None] + J_t * f_t[:, None])
    turned = [cos * twist[:, 0] - sin * twist[:, 1], sin * twist[:, 0] + cos * twist[:, 1]]
    return q + np.stack([*turned, twist[:, 2]], axis=1)
