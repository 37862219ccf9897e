"""Bodies that fly, tumble or swim: ContactNets' cube, the elbow of dairpll, a swimmer simulated in MuJoCo."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from isthmus.data.options import Options
from isthmus.data.runs import ragged
from isthmus.errors import BadFile
from isthmus.model.model import Model
from isthmus.motion.files import npz_arrays
from isthmus.motion.motion import About, Motion
from isthmus.motion.smooth import unwrap
from isthmus.motion.spans import joints_of
from isthmus.types import AnyArray

HALF_WIDTH = 0.0524
"""Of the cube [m]: the unit of its published lengths."""
CUBE_STEP, ELBOW_STEP, SWIMMER_STEP = 0.006757, 0.0068, 0.02


def contactnets_cube(path: Path, options: Options) -> list[Motion]:
    """Ragged NPZ, rows of 13: position, quaternion w x y z, velocity (world), angular velocity (body).

    Lengths are published in half-widths of the cube and become metres.
    """
    motions = []
    for name, x in ragged(path, "x", 13):
        q = np.concatenate([HALF_WIDTH * x[:, :3], x[:, 3:7]], axis=1)
        v = np.concatenate([HALF_WIDTH * x[:, 7:10], x[:, 10:]], axis=1)
        about = About(f"contactnets_cube:{name}")
        motions.append(
            Motion(_times(x, CUBE_STEP, options), q, v, {}, (("flight", "free"),), about)
        )
    return motions


def dairpll_elbow(path: Path, options: Options) -> list[Motion]:
    """Ragged NPZ, rows of 15: quaternion, position, hinge angle, angular velocity (body), velocity (world), hinge rate.

    The angle is published within ±π and is unwrapped.
    """
    motions = []
    for name, x in ragged(path, "x", 15):
        angle = unwrap(x[:, 7])
        if options.angles in ("keep", "wrap"):
            angle = x[:, 7]
        q = np.concatenate([x[:, 4:7], x[:, :4], angle[:, None]], axis=1)
        v = np.concatenate([x[:, 11:14], x[:, 8:11], x[:, 14:]], axis=1)
        joints = (("flight", "free"), ("hinge", "revolute"))
        about = About(f"dairpll_elbow:{name}")
        motions.append(Motion(_times(x, ELBOW_STEP, options), q, v, {}, joints, about))
    return motions


def swimmer_mujoco(path: Path, options: Options) -> list[Motion]:
    """NPZ with runs of rows of 22: torque (2), joint angle (2), x y yaw of three links, their vx vy wz.

    A link's x and y are those of its middle; the head's front end is the joint `root`. The torque of a row acts until
    that row, so it becomes the control of the row before. The last row of a run is empty and left out.
    """
    motions = []
    for name, runs in npz_arrays(path).items():
        if runs.ndim != 3 or runs.shape[2] != 22:
            raise BadFile(
                f"{str(path)!r}: {name!r} has shape {runs.shape}, not runs of rows of 22."
            )
        for i, x in enumerate(runs):
            motions.append(_swimming(f"swimmer_mujoco:{name}:{i}", x, options))
    return motions


def _swimming(name: str, x: np.ndarray, options: Options) -> Motion:
    whole = np.any(x[:, 4:] != 0.0, axis=1)
    x = x[whole]
    pose, rate = x[:, 4:13].reshape(-1, 3, 3), x[:, 13:].reshape(-1, 3, 3)
    yaw, half = unwrap(pose[:, 0, 2]), 0.05
    back = half * np.stack(
        [np.sin(yaw), 1.0 - np.cos(yaw)], axis=1
    )  # from the middle to the front end
    turning = half * rate[:, 0, 2, None] * np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    q = np.concatenate([pose[:, 0, :2] + back, yaw[:, None], x[:, 2:4]], axis=1)
    v = np.concatenate(
        [rate[:, 0, :2] + turning, rate[:, 0, 2:], np.diff(rate[:, :, 2], axis=1)], axis=1
    )
    acting = np.concatenate([x[1:, :2], x[-1:, :2]])
    signals: dict[str, AnyArray] = {
        "joint/control": np.concatenate([np.zeros((len(x), 3)), acting], axis=1)
    }
    for k in range(3):
        middle = np.concatenate([pose[:, k, :2], np.full((len(x), 1), np.nan)], axis=1)
        signals[f"point/middle_{k}/position"] = middle
    joints = (("root", "planar"), ("joint_0", "revolute"), ("joint_1", "revolute"))
    return Motion(_times(x, SWIMMER_STEP, options), q, v, signals, joints, About(name))


def renamed(motion: Motion, model: Model) -> Motion:
    """A swimmer's planar joint as the two slides and the hinge of the MJCF file: the same numbers."""
    as_mjcf = (
        ("rootx", "prismatic"),
        ("rooty", "prismatic"),
        ("rootz", "revolute"),
        *motion.joints[1:],
    )
    if motion.joints[:1] == (("root", "planar"),) and joints_of(model) == as_mjcf:
        return dataclasses.replace(motion, joints=as_mjcf)
    return motion


def _times(x: np.ndarray, step: float, options: Options) -> np.ndarray:
    return np.arange(len(x)) * (step if options.rate is None else 1.0 / options.rate)
