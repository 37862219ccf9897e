"""MIT's pushes: a round tip moves an object on a table; object, tip and force, brought to one clock.

As `library.pusher` has it: joint `table` is the object (x, y, angle), joint `hand` the tip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from isthmus.data.options import Options
from isthmus.data.runs import files_in
from isthmus.errors import BadFile, MissingExtra
from isthmus.motion.files import npz_arrays
from isthmus.motion.motion import About, Motion
from isthmus.motion.smooth import unwrap

RATE = 250.0
"""Rows a second; the three streams have about as many, each with its own clock."""
STREAMS = ("object_pose", "tip_pose", "ft_wrench")
JOINTS = (("table", "planar"), ("hand", "planar"))


def mit_push(path: Path, options: Options) -> list[Motion]:
    """HDF5 files as published (one, or a folder of them), or an NPZ with `NN_tip_pose`, `NN_object_pose` …

    Streams are interpolated at 250 rows a second (or `rate=`) while all three run. The object's recorded yaw is
    unwrapped and turned by π/2, so that the angle is that of the frame of the published outlines. The force on the tip
    (Fx Fy [N], Mz [N·m]) is `extra/wrench`.
    """
    rate = RATE if options.rate is None else options.rate
    runs = _gathered(path) if path.suffix.lower() == ".npz" else _published(path)
    return [_push(name, streams, rate) for name, streams in runs]


def outlines(path: Path) -> dict[str, np.ndarray]:
    """The corners [m] of each object in its own frame, from a gathered NPZ file."""
    arrays = npz_arrays(path)
    return {n.removeprefix("outline_"): x for n, x in arrays.items() if n.startswith("outline_")}


def _gathered(path: Path) -> Iterator[tuple[str, Mapping[str, np.ndarray]]]:
    arrays = npz_arrays(path)
    for i, row in enumerate(arrays["meta"]):
        shape, _, speed, side, place, angle = map(str, row)
        name = f"mit_push:{i}:{shape},v={speed},i={side},s={place},t={angle}"
        yield name, {stream: arrays[f"{i:02d}_{stream}"] for stream in STREAMS}


def _published(path: Path) -> Iterator[tuple[str, Mapping[str, np.ndarray]]]:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("h5py", "hdf5", f"Reading {str(path)!r}") from None
    for file in files_in(path, ".h5", ".hdf5"):
        try:
            with h5py.File(file, "r") as opened:
                yield f"mit_push:{file.stem}", {name: np.asarray(opened[name]) for name in STREAMS}
        except OSError:
            raise BadFile(
                f"{str(file)!r} is no HDF5 file, or was not written to its end."
            ) from None


def _push(name: str, streams: Mapping[str, np.ndarray], rate: float) -> Motion:
    clean = {key: _increasing(x) for key, x in streams.items()}
    begin = max(x[0, 0] for x in clean.values())
    end = min(x[-1, 0] for x in clean.values())
    t = begin + np.arange(int((end - begin) * rate + 1e-6) + 1) / rate
    at = lambda x: np.stack([np.interp(t, x[:, 0], column) for column in x[:, 1:].T], axis=1)
    clean["object_pose"][:, 3] = unwrap(clean["object_pose"][:, 3]) + 0.5 * np.pi
    clean["tip_pose"][:, 3] = unwrap(clean["tip_pose"][:, 3])
    q = np.concatenate([at(clean["object_pose"]), at(clean["tip_pose"])], axis=1)
    about = About(name, (f"three streams interpolated at {rate:g} rows a second.",))
    return Motion(t - begin, q, None, {"extra/wrench": at(clean["ft_wrench"])}, JOINTS, about)


def _increasing(x: np.ndarray) -> np.ndarray:
    """Rows in the order of their stamps, each stamp once; streams have some that arrived late."""
    _, first = np.unique(x[:, 0], return_index=True)
    return np.array(x[first], dtype=np.float64)
