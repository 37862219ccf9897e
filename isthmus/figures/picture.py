"""A motion as one picture: the mechanism at several moments, and the paths of its named points.

Every shape is drawn as the outline of what a camera at infinity sees of it; links without shapes are drawn as
lines from their joint to the next ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.palette import PAPER, SHADES, VERMILION
from isthmus.spatial import rotations


def draw_motion(
    model: Model,
    motion: Motion,
    axes: Any,
    *,
    frames: int = 10,
    points: Sequence[str] | None = None,
    azimuth: float = -90.0,
    elevation: float = 0.0,
) -> None:
    """Draws on matplotlib `axes`: `frames` moments, first ones pale; `points` (all by default) leave a trail.

    The camera looks from `azimuth` and `elevation` [degrees]: by default along +y, x to the right and z upwards.
    """
    camera = _camera(azimuth, elevation)
    position, quaternion = _poses(model, np.asarray(motion.q))
    for name in model.point_names if points is None else points:
        k = model.point(name)
        link, place = model.point_links[k], np.asarray(model.point_origin[k])
        path = _placed(position, quaternion, link, place[None])[:, 0] @ camera[:, :2]
        axes.plot(
            *path.T, color=VERMILION, linewidth=1.1, alpha=0.75, zorder=1, solid_capstyle="round"
        )
    moments = np.unique(np.linspace(0, len(motion.q) - 1, frames).round().astype(int))
    for share, row in zip(np.linspace(0.0, 1.0, len(moments)), moments, strict=True):
        _draw_moment(model, position[row], quaternion[row], camera, axes, share)
    axes.set_aspect("equal")
    axes.margins(0.06)
    axes.set_axis_off()


def _camera(azimuth: float, elevation: float) -> np.ndarray:
    """Columns: to the right, upwards and towards the viewer, in world axes."""
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return np.stack([right, np.cross(towards, right), towards], axis=1)


def _poses(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and quaternions of all links at all times."""

    def pose(q: jax.Array) -> tuple[Any, Any]:
        k = forward_kinematics(model, q)
        return k.position, k.quaternion

    position, quaternion = jax.jit(jax.vmap(pose))(jnp.asarray(q))
    return np.asarray(position), np.asarray(quaternion)


def _placed(
    position: np.ndarray, quaternion: np.ndarray, link: int, places: np.ndarray
) -> np.ndarray:
    """Places [m] of a link's frame, in the world, for each moment."""
    if link < 0:
        return np.broadcast_to(places, (len(position), *places.shape))
    turn = np.asarray(jax.vmap(rotations.matrix)(jnp.asarray(quaternion[:, link])))
    return position[:, None, link] + np.einsum("tij,pj->tpi", turn, places)


def _draw_moment(
    model: Model,
    position: np.ndarray,
    quaternion: np.ndarray,
    camera: np.ndarray,
    axes: Any,
    share: float,
) -> None:
    """One moment; `share` runs from 0 for the first to 1 for the last."""
    colour = SHADES[round(share * (len(SHADES) - 1))]
    style = {"facecolor": colour, "edgecolor": PAPER, "linewidth": 0.6, "alpha": 0.35 + 0.6 * share}
    drawn = []
    for s, link in enumerate(model.shape_links):
        outline = _outline(model, s)
        if link >= 0 and outline is not None:
            seen = _placed(position[None], quaternion[None], link, outline)[0] @ camera
            drawn.append((float(seen[:, 2].mean()), _hull(seen[:, :2])))
    for depth, polygon in sorted(drawn, key=lambda pair: pair[0]):
        axes.fill(*polygon.T, zorder=2 + share + 1e-3 * np.tanh(depth), **style)
    for i, parent in model.outwards():
        if parent >= 0 and parent not in model.shape_links:
            line = np.stack([position[parent], position[i]]) @ camera[:, :2]
            axes.plot(
                *line.T, color=colour, linewidth=2.0, zorder=2 + share, solid_capstyle="round"
            )


def _outline(model: Model, s: int) -> np.ndarray | None:
    """Points of a shape's surface in its link's frame; None for what has no end."""
    size, kind = np.asarray(model.shape_size[s]), model.shape_kinds[s]
    if kind == "plane":
        return None
    ball = _ball()
    if kind == "sphere":
        local = size[0] * ball
    elif kind == "box":
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        local = signs * size
    elif kind == "points":
        local = np.asarray(model.shape_points[slice(*model.shape_spans[s])])
    else:
        rim = ball / np.maximum(np.linalg.norm(ball[:, :2], axis=1), 1e-9)[:, None] * [1, 1, 0]
        around = size[0] * (ball if kind == "capsule" else rim)
        end = np.array([0.0, 0.0, size[1]])
        local = np.concatenate([around + end, around - end])
    turn = np.asarray(rotations.matrix(jnp.asarray(model.shape_orientation[s])))
    return local @ turn.T + np.asarray(model.shape_origin[s])


def _ball(count: int = 160) -> np.ndarray:
    """Points spread evenly over the unit sphere."""
    k = np.arange(count) + 0.5
    height, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5.0**0.5) * k
    flat = np.sqrt(1.0 - height**2)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)


def _hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex outline of points in the plane."""
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # seen edge-on, an outline is a line
        return points
