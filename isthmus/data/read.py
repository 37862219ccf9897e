"""`read_motion`: recorded files -> `Motion`; columns by name, doubtful data with a warning, repairs only on request."""

from __future__ import annotations

import dataclasses
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.align import aligned
from isthmus.data.datasets import read_dataset
from isthmus.data.doubts import doubts
from isthmus.data.match import match
from isthmus.data.options import Options, checked
from isthmus.data.stamps import as_float
from isthmus.data.tables import TEXTS, Table, found_files, read_tables
from isthmus.data.tidy import tidied
from isthmus.entry import check_arguments
from isthmus.errors import BadMotion, DataWarning
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.phases import phase

TEXT_RATE = 1e7
"""Bytes of a text file that are read in a second, about."""


@check_arguments
def read_motion(
    path: Any,
    model: Model | None = None,
    *,
    dataset: str | None = None,
    **options: Any,
) -> Any:
    """The `Motion` in a file; a list of them for a pattern (`logs/*.csv`), a list of paths, `runs=` or `gaps="split"`.

    CSV, NPZ, HDF5, Parquet, ROS 2 bags and MCAP. Columns are matched to the joints, points and signals of `model` by
    name; without a model, to the joints that the names reveal (`motion.matched(model)` follows). `docs/data.md` lists
    the names that are understood. What is doubtful is listed in one `DataWarning` for each motion and in
    `motion.notes`, unless an option makes the choice.

    `dataset` names a published set (`isthmus.data.datasets.DATASETS`), whose files are read as they were published; all
    its runs come as a list.

    Options, what and where:
        columns: `{name in the file: name or address we understand, or None to leave it out}`.
        units: `{"joint/position": "deg", "t": "ms", "joint/control[elbow]": 0.12}`; a number is a factor to SI.
        header: names of the columns of a CSV file that has no line of them.
        time, rate: the column of time stamps, or rows a second where there is none.
        runs: the column that numbers the runs. topics: of a ROS bag.
        missing: "refuse", or "nan" for coordinates that were not measured.
        align: for files with several clocks: "union" of all stamps (NaN between), or a step [s] to interpolate at.
        quaternions: "wxyz" or "xyzw", the order where columns are only numbered.
    Options, choices (None: say so if there is any):
        stamps: "keep" uneven ones, "sort" them, make them "even", or "fill" in rows that were lost, as not measured.
        gaps: "keep" or "split".
        holes: "keep" NaN as not measured, "fill" or "drop". outliers: "keep", "nan" or "fill".
        angles: "keep", "unwrap" or "wrap". signs (of quaternions): "keep" or "fix". constant: "keep".

    Raises:
        BadMotion: the log does not fit the model or is no motion. BadFile: it cannot be read.
    """
    chosen = checked(options)
    files, several = found_files(path)
    if dataset is not None:
        found = []
        for file in files:
            with _reading(file):
                found += read_dataset(file, dataset, model, chosen)
        return [piece for motion in found for piece in tidied(motion, chosen)]
    motions = []
    for motion in (motion for file in files for motion in _read(file, model, chosen)):
        if found := doubts(motion, model, chosen):
            rows = "".join(f"\n  - {sentence}" for sentence in found)
            warnings.warn(f"{motion.name!r}:{rows}", DataWarning, stacklevel=2)
        motions.append(motion.noted(*found))
    if several or chosen.runs is not None or chosen.gaps == "split":
        return motions
    return motions[0]


def _reading(file: Path) -> AbstractContextManager[None]:
    """The phase of reading one file."""
    is_text = file.suffix.lower() in TEXTS and file.is_file()
    return phase(f"reading {file.name}", file.stat().st_size / TEXT_RATE if is_text else None)


def _read(file: Path, model: Model | None, options: Options) -> list[Motion]:
    """The motions of one file."""
    with _reading(file):
        tables = [part for table in read_tables(file, options) for part in _by_run(table, options)]
        found = match(tables, model, options)
        motions = found if options.runs else [aligned(found, options)]
        return [piece for motion in motions for piece in tidied(motion, options)]


def _by_run(table: Table, options: Options) -> list[Table]:
    """The rows of each value of the column that numbers the runs."""
    if options.runs is None or options.runs not in table.columns:
        return [table]
    numbers = as_float(table.columns[options.runs])
    parts = []
    if not np.any(np.isfinite(numbers)):
        raise BadMotion(f"the column {options.runs!r} of {table.source!r} numbers no run.")
    for value in dict.fromkeys(numbers[np.isfinite(numbers)].tolist()):
        rows = numbers == value
        columns = {name: x[rows] for name, x in table.columns.items()}
        parts.append(
            dataclasses.replace(table, source=f"{table.source}:{value:g}", columns=columns)
        )
    return parts
