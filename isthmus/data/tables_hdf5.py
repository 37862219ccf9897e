"""HDF5 files as tables: datasets with time as their first axis; a group with its own stamps is a clock of its own."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from isthmus.data.names import TIMES, plain
from isthmus.data.options import Options
from isthmus.data.tables import Table, as_columns
from isthmus.disk import check_size
from isthmus.errors import MissingExtra

WHAT = "HDF5 file"


def read(path: str | os.PathLike[str], options: Options) -> list[Table]:
    """The tables of an HDF5 file, one for each clock."""
    try:
        import h5py
    except ImportError:
        raise MissingExtra("h5py", "hdf5", f"Reading {str(path)!r}") from None
    arrays: dict[str, np.ndarray] = {}
    size = 0

    def keep(name: str, item: Any) -> None:
        nonlocal size
        if isinstance(item, h5py.Dataset) and item.ndim > 0:
            size += item.nbytes
            check_size(path, size)
            arrays.update(_fields(name, _values(item)))

    with h5py.File(path, "r") as file:
        file.visititems(keep)
    return by_clock(str(path), arrays, options)


def _values(item: Any) -> np.ndarray:
    """The numbers of a dataset, or its words."""
    text = item.dtype.kind in "OS"
    return np.array([_word(x) for x in item[...].ravel()]) if text else np.asarray(item[...])


def _word(x: Any) -> str:
    return x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x)


def _fields(name: str, x: np.ndarray) -> dict[str, np.ndarray]:
    """A dataset of records, field by field."""
    return {name: x} if x.dtype.names is None else {f"{name}/{f}": x[f] for f in x.dtype.names}


def by_clock(source: str, arrays: dict[str, np.ndarray], options: Options) -> list[Table]:
    """One table for each group with time stamps; the rest belongs to the group above that has some, or to the file."""
    is_time = lambda name: name == options.time or plain(name.rpartition("/")[2]) in TIMES
    homes = sorted(
        {name.rpartition("/")[0] for name in arrays if is_time(name)}, key=len, reverse=True
    )
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name, x in arrays.items():
        home = next((h for h in homes if h == "" or name.startswith(h + "/")), "")
        groups.setdefault(home, {})[name.removeprefix(home).lstrip("/")] = x
    words = {name: x for name, x in groups.get("", {}).items() if x.dtype.kind in "US"}
    if "" not in homes and len(groups) > 1 and len(groups.get("", {})) == len(words):
        groups.pop("", None)  # only names of joints stand outside: they serve every group
    return [
        Table(f"{source}:{home}" if home else source, as_columns(source, {**words, **group}))
        for home, group in groups.items()
    ] or [Table(source, {})]
