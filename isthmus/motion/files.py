"""A `Motion` as a file, and back without loss: `.npz` (arrays) or `.csv` (one named column for each number).

Columns of a CSV file: `t`; a position for each coordinate, called as its joint (`elbow`, `trunk.x`, `trunk.qw`); a
velocity for each degree of freedom (`elbow.v`, `trunk.vx`, `trunk.wx`); then the signals (`joint/torque[0]`, or the
bare name where a row is one number). An NPZ file holds `t`, `q`, `v`, `signals/NAME`, and the names of the joints.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import zipfile
from collections import Counter
from pathlib import Path
from typing import IO, Any

import numpy as np

from isthmus.describe.files import read_bytes
from isthmus.disk import PathLike, check_size, check_target, opened, whole_file
from isthmus.errors import BadFile, BadOption
from isthmus.model.model import Model
from isthmus.motion.fields import AbstractMotion
from isthmus.motion.spans import JointList, joints_of

PARTS: dict[str, tuple[str, str]] = {
    "spherical": ("qw qx qy qz", "wx wy wz"),
    "planar": ("x y angle", "vx vy w"),
    "free": ("x y z qw qx qy qz", "vx vy vz wx wy wz"),
}
"""What is put behind the name of a joint with several coordinates: for positions, for velocities."""
KINDS = (".npz", ".csv")


def coordinate_names(model: Model) -> list[str]:
    """A name for each number of `q`: the joint's, or the joint's and a part (`trunk.x`)."""
    return names_of(joints_of(model), 0)


def coordinate_units(model: Model) -> list[str]:
    """A unit for each number of `q`; none for those of quaternions."""
    units: list[str] = []
    for joint in range(len(model.joint_kinds)):
        kind, (start, stop) = model.kind(joint), model.layout.q_own[joint]
        turning = kind.nq > kind.nv  # by a quaternion, which comes last
        own = [*kind.units[: kind.nv - 3], *[""] * 4] if turning else kind.units
        units += own[: stop - start]
    return units


def dof_names(model: Model) -> list[str]:
    """A name for each number of `v`: the joint's, or the joint's and a part (`trunk.wx`)."""
    return names_of(joints_of(model), 1)


def names_of(joints: JointList, which: int) -> list[str]:
    """A name for each number of `q` (`which` 0) or `v` (1)."""
    names = []
    for joint, kind in joints:
        parts = PARTS.get(kind)
        names += [f"{joint}.{part}" for part in parts[which].split()] if parts else [joint]
    return names


# writing -------------------------------------------------------------------------------------------------


def save_motion_file(model: Model, motion: AbstractMotion, path: PathLike) -> None:
    """Writes a motion of `model`, as its ending says: `.npz` or `.csv`."""
    check_target(path, KINDS)
    names = {"joint_names": model.joint_names, "joint_kinds": model.joint_kinds}
    _save(dataclasses.replace(motion, joints=joints_of(model)), names, path)


def save_motion(motion: AbstractMotion, path: PathLike) -> None:
    """Writes a motion that knows its joints, as the ending of `path` says: `.npz` or `.csv`."""
    check_target(path, KINDS)
    if not motion.joints and (motion.q is not None or motion.v is not None):
        raise BadOption(
            "this motion does not know the names of its joints; save motion.matched(model) instead."
        )
    joints, kinds = zip(*motion.joints, strict=True) if motion.joints else ((), ())
    _save(motion, {"joint_names": joints, "joint_kinds": kinds}, path)


def _save(motion: AbstractMotion, names: dict[str, tuple[str, ...]], path: PathLike) -> None:
    if np.ndim(motion.t) != 1:
        raise BadOption("only a single motion can be saved, not a batch of them.")
    columns = _columns(motion) if Path(path).suffix.lower() == ".csv" else {}
    with whole_file(path) as file:
        if columns:
            _write_csv(columns, file)
        else:
            _write_npz(motion, names, file)


def _write_npz(motion: AbstractMotion, names: dict[str, tuple[str, ...]], file: IO[bytes]) -> None:
    measured = {"t": motion.t, "q": motion.q, "v": motion.v}
    signals = {f"signals/{name}": np.asarray(value) for name, value in motion.signals.items()}
    labels = {
        **names,
        "coordinate_names": names_of(motion.joints, 0),
        "dof_names": names_of(motion.joints, 1),
    }
    arrays: dict[str, Any] = {name: x for name, x in measured.items() if x is not None} | signals
    np.savez(file, **arrays, **{name: np.array(x, dtype=str) for name, x in labels.items()})


def _write_csv(columns: dict[str, np.ndarray], file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    # `tolist` gives Python's floats, which print with as many digits as tell them apart
    writer.writerows(np.stack([*columns.values()], axis=1, dtype=np.float64).tolist())
    text.flush()
    text.detach()


def _columns(motion: AbstractMotion) -> dict[str, np.ndarray]:
    """All numbers of a motion, column by column."""
    named: list[tuple[str, np.ndarray]] = [("t", np.asarray(motion.t))]
    for names, values in (
        (names_of(motion.joints, 0), motion.q),
        (velocity_columns(motion.joints), motion.v),
    ):
        if values is not None:
            named += zip(names, np.asarray(values).T, strict=True)
    for name, value in motion.signals.items():
        value = np.asarray(value)
        for index in itertools.product(*map(range, value.shape[1:])):
            named.append((signal_column(name, index), value[:, *index]))
    if twice := [name for name, times in Counter(name for name, _ in named).items() if times > 1]:
        raise BadOption(
            f"two columns would be called {twice[0]!r}; save this motion as .npz instead."
        )
    return dict(named)


def velocity_columns(joints: JointList) -> list[str]:
    """`elbow.v`: the joint's own name is its position's."""
    positions = set(names_of(joints, 0))
    return [f"{name}.v" if name in positions else name for name in names_of(joints, 1)]


def signal_column(name: str, index: tuple[int, ...]) -> str:
    """`link/pose[0,3]`; a row that is one number has the bare name, or `[]` where that ends in a bracket."""
    if not index:
        return f"{name}[]" if name.endswith("]") else name
    return f"{name}[{','.join(map(str, index))}]"


# reading -------------------------------------------------------------------------------------------------


def read_table(path: PathLike) -> dict[str, np.ndarray]:
    """The columns of a CSV file with a header, or the one-dimensional arrays of an NPZ file, all of one length."""
    if Path(path).suffix.lower() == ".npz":
        columns = {
            name: x for name, x in npz_arrays(path).items() if x.ndim == 1 and x.dtype.kind in "fiu"
        }
        columns = {name: x.astype(np.float64) for name, x in columns.items()}
        if len({len(x) for x in columns.values()}) > 1:
            raise BadFile(f"the columns of {str(path)!r} have different lengths.")
        return columns
    rows = _csv_rows(path)
    header, *body = rows
    names = [name.strip() for name in header[1]]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise BadFile(f"{str(path)!r} has two columns called {twice[0]!r}.")
    values = np.array([_numbers(path, line, names, cells) for line, cells in body]).reshape(
        -1, len(names)
    )
    return dict(zip(names, values.T.copy(), strict=True))


def _csv_rows(path: PathLike) -> list[tuple[int, list[str]]]:
    """Lines that hold something, with their numbers."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except UnicodeDecodeError:
        raise BadFile(f"{str(path)!r} is no CSV file: it is not text.") from None
    except csv.Error as failed:
        raise BadFile(f"{str(path)!r} is no CSV file: {failed}.") from None
    if not rows:
        raise BadFile(f"{str(path)!r} is empty.")
    return rows


def _numbers(path: PathLike, line: int, names: list[str], cells: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise BadFile(
            f"{str(path)!r}, line {line}: {len(cells)} cells, but there are {len(names)} columns."
        )
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        try:
            numbers.append(float(cell))
        except ValueError:
            raise BadFile(
                f"{str(path)!r}, line {line}, column {name!r}: {cell!r} is no number."
            ) from None
    return numbers


def npz_arrays(path: PathLike) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file, by name; objects are refused."""
    data = read_bytes(path)
    with opened(path, "NPZ file of plain arrays"):
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            check_size(path, sum(part.file_size for part in parts.infolist()))
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
