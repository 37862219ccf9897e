"""Double pendulums: IBM's, filmed, and DFKI's, driven; as `library.pendulum(2)` has it: 0 hangs, `q2` is relative."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isthmus.data.options import Options
from isthmus.data.runs import files_in, ragged
from isthmus.data.tables import csv_columns
from isthmus.errors import BadFile
from isthmus.motion.files import npz_arrays
from isthmus.motion.motion import About, Motion
from isthmus.motion.smooth import unwrap
from isthmus.types import AnyArray

JOINTS = (("joint_1", "revolute"), ("joint_2", "revolute"))
FRAMES = 400.0
"""Frames a second, as published; the motion itself says about 505 for a first link of 91 mm."""
MARKERS = ["red row", "red col", "green row", "green col", "blue row", "blue col"]


def ibm_double_pendulum(path: Path, options: Options) -> list[Motion]:
    """CSV files `0.csv` … of six integers a row (or one of them, or a ragged NPZ): (row, col) of pivot, elbow, tip.

    Published are absolute angles of both links; the second becomes relative to the first. The frame rate is
    doubtful: give `rate=`, or identify it. Pixels stay in `extra/markers`.
    """
    if path.suffix.lower() == ".npz":
        runs = list(ragged(path, "pixels", 6))
    else:
        runs = [(file.stem, _pixels(file)) for file in files_in(path, ".csv")]
    return [_filmed(name, pixels, options.rate) for name, pixels in runs]


def _pixels(file: Path) -> np.ndarray:
    return np.stack([*csv_columns(file, MARKERS).values()], axis=1)


def _filmed(name: str, pixels: np.ndarray, rate: float | None) -> Motion:
    red, green, blue = pixels[:, :2], pixels[:, 2:4], pixels[:, 4:]
    angle = lambda way: unwrap(np.arctan2(way[:, 1], way[:, 0]))  # rows grow downwards
    first, second = angle(green - red), angle(blue - green)
    note = "frames taken at the published 400 a second, which the motion contradicts: say rate=, or identify it."
    about = About(f"ibm_double_pendulum:{name}", () if rate else (note,))
    q = np.stack([first, second - first], axis=1)
    t = np.arange(len(q)) / (rate or FRAMES)
    return Motion(t, q, None, {"extra/markers": pixels}, JOINTS, about)


SPELLINGS = {
    "q": ("pos_meas", "pos"),
    "v": ("vel_meas", "vel"),
    "joint/motor_torque": ("tau_meas",),
    "joint/control": ("tau_con", "tau_des", "tau"),
}
"""Names in the lab's CSV files, each followed by the joint's number; the first that is there is taken."""


def dfki_double_pendulum(path: Path, options: Options) -> list[Motion]:
    """The lab's CSV files (`time, pos_meas1 …, tau_meas1 …`), or an NPZ file with an array of nine columns a run.

    0 hangs and `q2` is relative already. `joint/motor_torque` is what the motors measured, `joint/control` what they
    were told [N·m]: a rollout that shall follow the log is driven by the first.
    """
    if path.suffix.lower() == ".npz":
        return [_nine(path, name, x) for name, x in npz_arrays(path).items()]
    return [_lab(file) for file in files_in(path, ".csv")]


def _nine(path: Path, name: str, x: np.ndarray) -> Motion:
    if x.ndim != 2 or x.shape[1] != 9:
        raise BadFile(f"{str(path)!r}: {name!r} has shape {x.shape}, not rows of nine numbers.")
    signals: dict[str, AnyArray] = {"joint/motor_torque": x[:, 5:7], "joint/control": x[:, 7:9]}
    about = About(f"dfki_double_pendulum:{path.stem}:{name}")
    return Motion(x[:, 0], x[:, 1:3], x[:, 3:5], signals, JOINTS, about)


def _lab(file: Path) -> Motion:
    columns = csv_columns(file, None)
    found: dict[str, AnyArray] = {}
    for name, spellings in SPELLINGS.items():
        for word in spellings:
            if f"{word}1" in columns:
                found[name] = np.stack([columns[f"{word}1"], columns[f"{word}2"]], axis=1)
                break
    about = About(f"dfki_double_pendulum:{file.stem}")
    q, v = found.pop("q"), found.pop("v", None)
    return Motion(columns["time"], q, v, found, JOINTS, about)
