"""Arms with measured joint torques: FloBaRoID's KUKA LWR4+."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isthmus.data.options import Options
from isthmus.errors import BadFile
from isthmus.motion.files import npz_arrays
from isthmus.motion.motion import About, Motion
from isthmus.types import AnyArray

COLUMNS = ("positions", "velocities", "accelerations", "torques")


def flobaroid_arm(path: Path, options: Options) -> list[Motion]:
    """NPZ files with `times`, `positions`, `velocities`, `accelerations` and `torques`; several runs as `times_1` ….

    Velocities, accelerations and torques were low-pass filtered without phase shift before they were published.
    """
    arrays = npz_arrays(path)
    ends = sorted(name.removeprefix("times") for name in arrays if name.startswith("times"))
    if not ends:
        raise BadFile(f"{str(path)!r} is not in the format of 'flobaroid_arm': it lacks 'times'.")
    return [_run(path, arrays, end) for end in ends]


def _run(path: Path, arrays: dict[str, np.ndarray], end: str) -> Motion:
    t = np.asarray(arrays[f"times{end}"], dtype=np.float64)
    q, v, a, tau = (np.asarray(arrays[f"{name}{end}"], dtype=np.float64) for name in COLUMNS)
    for name, x in zip(COLUMNS, (q, v, a, tau), strict=True):
        if x.ndim != 2 or x.shape != (len(t), q.shape[1]):
            raise BadFile(
                f"{str(path)!r}: '{name}{end}' has shape {x.shape}, not ({len(t)}, {q.shape[-1]})."
            )
    joints = tuple((f"lwr_{k}_joint", "revolute") for k in range(q.shape[1]))
    signals: dict[str, AnyArray] = {"joint/acceleration": a, "joint/motor_torque": tau}
    return Motion(t, q, v, signals, joints, About(f"flobaroid_arm:{path.stem}{end}"))
