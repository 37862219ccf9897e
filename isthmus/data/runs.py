"""What the files of published recordings have in common: folders of runs, ragged arrays, shapes to check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from isthmus.errors import BadFile
from isthmus.motion.files import npz_arrays


def files_in(path: Path, *endings: str) -> list[Path]:
    """The file itself, or all files of those endings in a folder, by number."""
    if not path.is_dir():
        return [path]
    found = [file for file in path.rglob("*") if file.suffix.lower() in endings]
    if not found:
        raise BadFile(f"the folder {str(path)!r} has no {' or '.join(endings)} file.")
    return sorted(
        found, key=lambda file: (not file.stem.isdecimal(), file.stem.zfill(12), str(file))
    )


def ragged(path: Path, name: str, width: int) -> Iterator[tuple[str, np.ndarray]]:
    """The runs of a ragged file: their original numbers and their rows."""
    arrays = npz_arrays(path)
    x, offsets, ids = arrays[name], arrays["offsets"], arrays["ids"]
    if x.ndim != 2 or x.shape[1] != width or offsets[-1] > len(x):
        raise BadFile(f"{str(path)!r}: {name!r} has shape {x.shape}, not rows of {width}.")
    for i, run in enumerate(ids):
        yield str(run), x[offsets[i] : offsets[i + 1]].astype(np.float64)
