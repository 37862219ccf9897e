"""Motion files of ours, of a known model, read back without loss; `ist.read_motion` reads files of anybody."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from isthmus.disk import PathLike
from isthmus.errors import BadFile, did_you_mean
from isthmus.model.model import Model
from isthmus.motion.files import coordinate_names, npz_arrays, read_table, velocity_columns
from isthmus.motion.motion import Motion
from isthmus.motion.spans import joints_of
from isthmus.types import AnyArray


def read_motion_file(path: PathLike, model: Model) -> Motion:
    """The motion of `model` that `save_motion_file` wrote."""
    if Path(path).suffix.lower() == ".csv":
        return _from_columns(read_table(path), model, path)
    return _from_arrays(npz_arrays(path), model, path)


def _from_arrays(arrays: dict[str, np.ndarray], model: Model, path: PathLike) -> Motion:
    if missing := [name for name in ("t", "q", "v", "joint_names") if name not in arrays]:
        raise BadFile(f"{str(path)!r} holds no motion: {_listed(missing)} is missing.")
    if (names := tuple(map(str, arrays["joint_names"]))) != model.joint_names:
        raise BadFile(
            f"{str(path)!r} has the joints {_listed(names)}, but {model.name!r} has {_listed(model.joint_names)}."
        )
    rows = arrays["t"].shape
    for name, width in (("t", ()), ("q", (model.nq,)), ("v", (model.dof,))):
        if len(rows) != 1 or arrays[name].shape != (*rows, *width):
            raise BadFile(f"{str(path)!r}: {name!r} has the wrong shape {arrays[name].shape}.")
    signals: dict[str, AnyArray] = {
        name.removeprefix("signals/"): value
        for name, value in arrays.items()
        if name.startswith("signals/")
    }
    return Motion(arrays["t"], arrays["q"], arrays["v"], signals, joints_of(model))


def _from_columns(columns: dict[str, np.ndarray], model: Model, path: PathLike) -> Motion:
    names_q, names_v = coordinate_names(model), velocity_columns(joints_of(model))
    if missing := [name for name in ("t", *names_q, *names_v) if name not in columns]:
        raise BadFile(
            f"{str(path)!r} has no column {missing[0]!r}.{did_you_mean(missing[0], columns)}"
        )
    rows = len(columns["t"])
    pick = lambda names: (
        np.stack([columns[n] for n in names], axis=1) if names else np.zeros((rows, 0))
    )
    rest = {name: x for name, x in columns.items() if name not in {"t", *names_q, *names_v}}
    signals = _signals(rest, rows, path)
    return Motion(columns["t"], pick(names_q), pick(names_v), signals, joints_of(model))


def _signals(columns: dict[str, np.ndarray], rows: int, path: PathLike) -> dict[str, AnyArray]:
    """Columns `name[i,j]` gathered into arrays."""
    parts: dict[str, dict[tuple[int, ...], np.ndarray]] = {}
    for column, values in columns.items():
        found = re.fullmatch(r"(.*)\[([\d,]*)\]", column)
        name, digits = (found[1], found[2]) if found else (column, "")
        parts.setdefault(name, {})[tuple(int(n) for n in digits.split(",") if n)] = values
    signals: dict[str, AnyArray] = {}
    for name, entries in parts.items():
        deep = {len(index) for index in entries}
        shape = tuple(1 + max(axis) for axis in zip(*entries, strict=False))
        if len(deep) > 1 or len(entries) != np.prod(shape, dtype=object):
            raise BadFile(f"{str(path)!r}: some columns of {name!r} are missing.")
        signals[name] = gathered = np.empty((rows, *shape))
        for index, values in entries.items():
            gathered[:, *index] = values
    return signals


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
