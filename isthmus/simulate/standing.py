"""Where free bodies stand on the ground instead of in it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from isthmus.model.model import Model
from isthmus.simulate.engine import compiled
from isthmus.simulate.touching import depths
from isthmus.spatial import rotations

STEEP = 0.1
"""Height of a plane's normal up to which it is a wall."""
NEAR = 1e-9
"""A body that is so near [m] to the ground stands on it."""


def on_the_ground(
    model: Model, q: np.ndarray, kept: Collection[int] = (), *, depth: float = 0.0
) -> np.ndarray:
    """The coordinates `q` (nq,), with free bodies that are in the ground lifted until they stand on it.

    Contacts with planes count, except those with walls. `kept`: joints that stay where they are. `depth`: how deep [m]
    bodies that stand on the ground are in it.
    """
    bodies = _free_bodies(model, kept)
    if not bodies or not model.contact_kinds:
        return q
    run = compiled(depths, (model, q), "depths", None, (q,))
    if run is None:
        return q
    found, lift = np.array(q, dtype=np.float64), _lifts(model, np.asarray(run(model, q)[0]))
    for root, links in bodies.items():
        start, up = model.layout.q_own[root][0], max((lift[i] for i in links), default=-np.inf)
        if up < -NEAR:
            continue
        turn = np.asarray(rotations.matrix(np.asarray(model.joint_orientation[root], np.float64)))
        # along the world's z, in the frame of the joint
        found[start : start + 3] += (max(up, 0.0) - depth) * turn[2]
    return found


def _free_bodies(model: Model, kept: Collection[int]) -> dict[int, list[int]]:
    """Joints by which bodies fly in the world, with all links that each carries."""
    found: dict[int, list[int]] = {}
    root: dict[int, int] = {}
    for i, parent in model.outwards():
        root[i] = i if parent < 0 else root[parent]
        found.setdefault(root[i], []).append(i)
    grounded = {*model.prescribed, *kept}
    return {i: x for i, x in found.items() if model.joint_kinds[i] == "free" and i not in grounded}


def _lifts(model: Model, depth: np.ndarray) -> np.ndarray:
    """How far each link is in the ground, upwards [m], by the depths of the contacts; -inf: nothing is below it."""
    lift = np.full(len(model.parents), -np.inf)
    for shape, other, below in zip(model.contact_shapes, model.contact_planes, depth, strict=True):
        turn = np.asarray(model.shape_orientation[other], dtype=np.float64)
        normal = np.asarray(rotations.matrix(turn))[:, 2]
        if model.shape_kinds[other] == "plane" and normal[2] > STEEP:
            link = model.shape_links[shape]
            lift[link] = max(lift[link], below / normal[2])
    return lift
