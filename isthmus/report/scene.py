"""The mechanism in motion, as data for the script of the page: shapes, and poses of the links as 16-bit numbers."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from isthmus import native
from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.model.model import Model
from isthmus.report.gather import Run

RATE = 30.0
"""Pictures each second."""
LONGEST = 600
"""Pictures of one run; of a longer one, fewer each second."""
FEWEST = 4
"""Steps of a window; shorter ones follow the measurement by themselves."""
RUNS = 4
"""Runs that can be watched."""
FLAT = 0.03
"""A mechanism whose points stay within this share of its size of a plane is seen at right angles to it."""
CORNERS = 40
"""Corners of a mesh that are drawn, at most."""


def scene(model: Model, runs: Sequence[Run]) -> str:
    """The scene as JSON; measured poses are drawn with the same model as predicted ones."""
    chosen = sorted(runs, key=lambda run: not run.heldout)[:RUNS]
    pose = native.compile(lambda q: _pose(model, q), np.zeros(model.nq))
    shown = [_played(pose, run) for run in chosen]
    every = [p for _, *poses in shown for p in poses if p is not None]
    places = np.concatenate([key_points(model, p).reshape(-1, 3) for p in every])
    places = places[np.isfinite(places).all(axis=1)]
    centre = 0.5 * (places.min(axis=0) + places.max(axis=0)) if len(places) else np.zeros(3)
    reach = float(np.abs(places - centre).max()) if len(places) else 1.0
    azimuth, elevation = view_of(places)
    data = {
        "links": len(model.link_names),
        "parents": model.parents,
        "shapes": shapes(model),
        "bones": bones(model),
        "points": trails(model),
        "ground": _ground(model),
        "centre": centre.tolist(),
        "reach": max(reach, 1e-6),
        "view": [azimuth, elevation],
        "runs": [
            {
                "name": run.name,
                "heldout": run.heldout,
                "seconds": seconds,
                "measured": packed(measured, centre, reach),
                "predicted": packed(predicted, centre, reach),
            }
            for run, (seconds, measured, predicted) in zip(chosen, shown, strict=True)
        ],
    }
    return json.dumps(data, separators=(",", ":"), default=float)


def _pose(model: Model, q: Any) -> Any:
    k = forward_kinematics(model, q)
    return jnp.concatenate([k.position, k.quaternion], axis=1)


def _played(pose: Any, run: Run) -> tuple[float, np.ndarray | None, np.ndarray | None]:
    """Seconds between two pictures, measured and predicted poses of each, (pictures, links, 7)."""
    every = max(1, round(1.0 / (RATE * run.dt)), -(-run.rows // LONGEST))
    rows = np.arange(0, run.rows, every)
    measured = None if run.q is None else _poses(pose, run.q[rows])
    if run.q_predicted is None or not watchable(run):
        return every * run.dt, measured, None
    predicted = np.full((run.rows, run.q_predicted.shape[1]), np.nan)
    inside = run.at >= 0
    predicted[run.at[inside]] = run.q_predicted[inside]
    return every * run.dt, measured, _poses(pose, predicted[rows])


def watchable(run: Run) -> bool:
    """Whether a prediction of the run can be watched: something was simulated, for more than a few steps on end."""
    steps = [span.steps for span in run.spans]
    return run.q_predicted is not None and bool(steps) and float(np.median(steps)) >= FEWEST


def can_be_drawn(run: Run) -> bool:
    """Whether there is a motion of the mechanism: measured, or predicted for a while."""
    return run.q is not None or watchable(run)


def _poses(pose: Any, q: np.ndarray) -> np.ndarray:
    """Poses of the links at each row, NaN where a position is not known."""
    known = np.isfinite(q).all(axis=1)
    found = np.array(pose.map(np.where(np.reshape(known, (-1, 1)), q, 0.0)))
    found[~known] = np.nan
    return found


def packed(poses: np.ndarray | None, centre: np.ndarray, reach: float) -> str | None:
    """Positions in parts of `reach` and quaternions as 16-bit numbers in base64; −32768: not known."""
    if poses is None:
        return None
    scaled = np.concatenate([(poses[..., :3] - centre) / (2.0 * reach), poses[..., 3:]], axis=-1)
    known = np.isfinite(scaled)
    whole = np.where(
        known, np.clip(np.round(np.where(known, scaled, 0) * 32767), -32767, 32767), -32768
    )
    return base64.b64encode(whole.astype("<i2").tobytes()).decode("ascii")


# what is drawn ----------------------------------------------------------------------------------------------------


def shapes(model: Model) -> list[dict[str, Any]]:
    """Every shape as corners, or as round ends with a radius, in its link's frame."""
    found: list[dict[str, Any]] = []
    for s, kind in enumerate(model.shape_kinds):
        if kind != "plane" and model.shape_links[s] >= 0:
            local, radius = _local(model, s)
            turn = _matrix(model.shape_orientation[s])
            ends = local @ turn.T + np.asarray(model.shape_origin[s])
            found.append(
                {"link": model.shape_links[s], "ends": _rounded(ends), "radius": float(radius)}
            )
    return found


def _local(model: Model, s: int) -> tuple[np.ndarray, float]:
    """Corners or ends in the shape's frame, and the radius around them."""
    size, kind = np.asarray(model.shape_size[s], dtype=np.float64), model.shape_kinds[s]
    if kind == "sphere":
        return np.zeros((1, 3)), size[0]
    if kind == "capsule":
        return np.array([[0, 0, size[1]], [0, 0, -size[1]]]), size[0]
    if kind == "box":
        return np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * size, 0.0
    if kind == "points":
        corners = np.asarray(model.shape_points[slice(*model.shape_spans[s])], dtype=np.float64)
        return corners[
            np.linspace(0, len(corners) - 1, min(CORNERS, len(corners))).astype(int)
        ], 0.0
    turn = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    end = np.array([0.0, 0.0, size[1]])
    rim = np.stack([size[0] * np.cos(turn), size[0] * np.sin(turn), 0.0 * turn], axis=1)
    return np.concatenate([rim + end, rim - end]), 0.0


def bones(model: Model) -> list[list[Any]]:
    """Lines in frames of links that have no shape: to the next joints, or to the centre of mass."""
    found: list[list[Any]] = []
    for i, _ in model.outwards():
        if i in model.shape_links:
            continue
        ends = [model.joint_origin[k] for k, parent in enumerate(model.parents) if parent == i]
        found += [[i, _rounded(end)] for end in (ends or [model.link_com[i]])]
    return found


def trails(model: Model) -> list[list[Any]]:
    """Places that leave a trail: named points, or the centres of mass at the ends of the tree."""
    pairs = zip(model.point_links, model.point_origin, strict=True)
    named: list[list[Any]] = [[link, _rounded(place)] for link, place in pairs if link >= 0]
    ends = [i for i in range(len(model.parents)) if i not in model.parents]
    return (named or [[i, _rounded(model.link_com[i])] for i in ends])[:6]


def _ground(model: Model) -> float | None:
    """Height of a level plane of the world; None: there is none."""
    planes = [s for s, kind in enumerate(model.shape_kinds) if kind == "plane"]
    return float(model.shape_origin[planes[0]][2]) if planes else None


def key_points(model: Model, poses: np.ndarray) -> np.ndarray:
    """Places in the world that show how far the mechanism reaches, (pictures, places, 3)."""
    ends = [(s["link"], np.array(end)) for s in shapes(model) for end in s["ends"]]
    ends += [(i, np.array(end)) for i, end in (*bones(model), *trails(model))]
    ends += [(i, np.zeros(3)) for i in range(len(model.link_names))]
    turn = _matrix(poses[..., 3:])
    links, places = np.array([i for i, _ in ends]), np.stack([p for _, p in ends])
    return poses[:, links, :3] + np.einsum("tpij,pj->tpi", turn[:, links], places)


def view_of(places: np.ndarray) -> tuple[float, float]:
    """Azimuth and elevation [degrees] of the viewer: square to a flat mechanism, else obliquely from above."""
    if len(places) < 3:
        return -90.0, 0.0
    _, size, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    if size[2] > FLAT * size[0]:
        return -60.0, 20.0
    if size[1] <= FLAT * size[0]:  # along a line: seen from the side
        along = axes[0]
        return (0.0, 0.0) if abs(along[1]) > max(abs(along[0]), abs(along[2])) else (-90.0, 0.0)
    normal = axes[2] if axes[2][int(np.argmax(np.abs(axes[2])))] > 0 else -axes[2]
    if abs(normal[2]) > 0.9:
        return -90.0, 90.0
    if abs(normal[1]) > abs(normal[0]):
        normal = -normal  # looking along +y has x to the right
    return float(np.degrees(np.arctan2(normal[1], normal[0]))), float(
        np.degrees(np.arcsin(np.clip(normal[2], -1, 1)))
    )


def _matrix(quaternion: Any) -> np.ndarray:
    """Rotation matrices (…, 3, 3) of quaternions (…, 4), `w` first; NaN where they are not known."""
    from scipy.spatial.transform import Rotation  # slow to import

    flat = np.asarray(quaternion, dtype=np.float64).reshape(-1, 4)
    known = np.isfinite(flat).all(axis=1)
    found = np.full((len(flat), 3, 3), np.nan)
    if known.any():
        found[known] = Rotation.from_quat(flat[known], scalar_first=True).as_matrix()
    return found.reshape(*np.shape(quaternion)[:-1], 3, 3)


def _rounded(x: Any) -> list:
    return np.round(np.asarray(x, dtype=np.float64), 5).tolist()
