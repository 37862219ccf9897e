"""Where worlds stand, the planes under them, and a camera that sees all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.scene.scene import Scene

FIELD = np.radians(40.0)
"""Vertical field of view [rad]."""
ASPECT = 1.2
"""Width of the picture beside the panel, in parts of its height."""
MARGIN, ROOM = 1.15, 1.8
"""Of the picture around all that is seen, as a factor; and where the motion is yet to be simulated."""
STEEPEST = 55.0
"""Elevation of the camera, at most [degrees]."""
IN_A_ROW = 4
"""Worlds that stand in one row; more of them stand in a square."""
BESIDE, BEHIND = 0.5, 1.0
"""Distance of worlds from those beside and behind them, in parts of the reach."""
SLOPE = 4.0
"""Width of a plane that is not level, in parts of the reach."""


def standing(scene: Scene, count: int) -> np.ndarray:
    """Where each world stands (count, 3) [m]: beside each other as the camera sees them, along an axis of the floor."""
    azimuth = np.radians(scene.view[0])
    seen = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    along = int(np.argmax(np.abs(seen)))
    right = np.eye(3)[along] * np.sign(seen[along])
    back = np.cross([0.0, 0.0, 1.0], right)
    columns = count if count <= IN_A_ROW else int(np.ceil(np.sqrt(count)))
    wide, deep = (
        2.0 * scene.half @ np.abs(axis) + gap * scene.reach
        for axis, gap in ((right, BESIDE), (back, BEHIND))
    )
    row, column = np.divmod(np.arange(count), columns)
    return (column - 0.5 * (columns - 1))[:, None] * wide * right + row[:, None] * deep * back


def camera(scene: Scene, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the camera stands and at what it looks [m], so that the boxes around all worlds are in the picture."""
    azimuth, elevation = np.radians([scene.view[0], min(scene.view[1], STEEPEST)])
    towards = np.array(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    )  # fmt: skip
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    up = np.cross(towards, right)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = (places[:, None] + scene.centre + signs * scene.half).reshape(-1, 3)
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    beside, above, nearer = np.stack([right, up, towards]) @ (corners - middle).T
    slope = np.tan(0.5 * FIELD)
    margin = MARGIN if any(len(take.poses[0]) > 1 for take in scene.takes) else ROOM
    away = np.maximum(np.abs(above), np.abs(beside) / ASPECT) / slope * margin + nearer
    return middle + max(float(away.max()), 1e-3) * towards, middle


def prepare(server: Any, scene: Scene, places: np.ndarray) -> float:
    """Adds floor, slopes and camera to a server of viser; returns the width of the floor's squares [m]."""
    position, middle = camera(scene, places)
    away = float(np.linalg.norm(position - middle))
    server.scene.set_up_direction("+z")
    server.initial_camera.position, server.initial_camera.look_at = position, middle
    server.initial_camera.fov = FIELD
    server.initial_camera.near, server.initial_camera.far = 1e-3 * away, 1e3 * away
    cell = _round_up(scene.reach / 4.0)
    for k, plane in enumerate(scene.planes):
        if plane.is_level:
            server.scene.add_grid(
                f"/floor{k}", infinite_grid=True, cell_size=cell, section_size=5.0 * cell,
                fade_distance=2.5 * away, position=(0.0, 0.0, float(plane.origin[2])),
            )  # fmt: skip
            continue
        above = float((scene.centre - plane.origin) @ plane.axes[2])
        for world, place in enumerate(places):
            server.scene.add_grid(
                f"/slope{k}_{world}", SLOPE * scene.reach, SLOPE * scene.reach, cell_size=cell,
                section_size=5.0 * cell, plane_opacity=0.35, plane_color=(205, 210, 216),
                position=place + scene.centre - above * plane.axes[2], wxyz=plane.quaternion,
            )  # fmt: skip
    return cell


def _round_up(x: float) -> float:
    """The next of 1, 2 or 5 times a power of ten."""
    ten = 10.0 ** np.floor(np.log10(x))
    return float(next(m * ten for m in (1, 2, 5, 10) if m * ten >= x))
