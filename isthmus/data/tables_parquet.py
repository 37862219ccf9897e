"""Parquet files as tables: columns of numbers, times, and lists of one length."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from isthmus.data.options import Options
from isthmus.data.tables import JOINT_NAMES, Table, as_columns
from isthmus.disk import check_size
from isthmus.errors import BadFile, MissingExtra

WHAT = "Parquet file"


def read(path: str | os.PathLike[str], options: Options) -> list[Table]:
    """The one table of a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"Reading {str(path)!r}") from None
    if os.path.isfile(path):  # or a folder of such files
        table = _bounded(path, parquet.ParquetFile).flatten()
    else:
        table = parquet.read_table(path).flatten()
    arrays: dict[str, np.ndarray] = {}
    notes: list[str] = []
    for name in table.column_names:
        if name in arrays:
            raise BadFile(f"{str(path)!r} has two columns called {name!r}.")
        values = _values(str(path), name, table.column(name), notes)
        if values is not None:
            arrays[name] = values
    return [Table(str(path), as_columns(str(path), arrays), tuple(notes))]


def _bounded(path: str | os.PathLike[str], opener: Any) -> Any:
    """The table of one file, part by part, so that its size is known before it fills the memory."""
    import pyarrow

    with opener(path) as file:
        check_size(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
        parts, size = [], 0
        for part in file.iter_batches():
            size += part.nbytes
            check_size(path, size)
            parts.append(part)
        return pyarrow.Table.from_batches(parts, file.schema_arrow)


def _values(source: str, name: str, column: Any, notes: list[str]) -> np.ndarray | None:
    """The numbers of a column, or the words of its lists; None for other text."""
    from pyarrow import types

    kind = column.type
    if types.is_timestamp(kind):
        whole = column.cast("timestamp[ns]").cast("int64").to_numpy(zero_copy_only=False)
        notes.append(f"{name!r} is counted from its first row, {column[0]}.")
        return (whole - whole[0]) * 1e-9
    if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
        rows = column.to_pylist()
        if types.is_string(kind.value_type) or types.is_large_string(kind.value_type):
            return _words(source, name, rows)
        if types.is_struct(kind.value_type) or types.is_binary(kind.value_type):
            return None
        if len({len(row) for row in rows if row is not None}) != 1:
            raise BadFile(f"{source!r}: the lists of column {name!r} have different lengths.")
        width = next(len(row) for row in rows if row is not None)
        blank = [np.nan] * width
        return np.array([blank if row is None else row for row in rows], dtype=np.float64)
    if types.is_integer(kind) and not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return column.cast("float64").to_numpy(zero_copy_only=False)
    return None


def _words(source: str, name: str, rows: list[list[str] | None]) -> np.ndarray | None:
    """The names of joints that every row repeats, as in a `sensor_msgs/JointState`; None for other lists of text."""
    if name.rpartition(".")[2] not in JOINT_NAMES:
        return None
    known = [row for row in rows if row]
    if any(row != known[0] for row in known):
        raise BadFile(
            f"{source!r}: the lists of column {name!r} differ from row to row, so the numbers beside them do not "
            "always belong to the same joints. Write a file in which every row has the same order."
        )
    return np.array(known[0] if known else [], dtype=np.str_)
