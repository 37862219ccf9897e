"""Files as tables of named columns, whatever the columns mean: CSV and NPZ here, others by extra.

Blank cells, `nan`, `null` and the like are NaN: not measured. Arrays with several columns become `name[0]`,
`name[1,2]`, or `name[elbow]` where the file names its joints.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.options import Options
from isthmus.data.stamps import EPOCH, from_cells, kept
from isthmus.describe.files import read_bytes
from isthmus.disk import PathLike, check_size, is_folder, opened
from isthmus.errors import BadFile, BadOption, MissingFile
from isthmus.motion.files import npz_arrays, signal_column

TEXTS = (".csv", ".tsv", ".txt", ".log", ".dat")
"""Endings of text files."""
BLANK = {"", "nan", "na", "n/a", "null", "none", "-"}
CHUNK = 4096
COMPARED = 20
"""Lines before the last one that say how many decimals a number has."""
NAMES = re.compile(r"%\w")
"""How the line of names of `rostopic echo -p` begins: `%time,field.position0`; other lines with % are comments."""
OTHERS = {
    ".h5": "hdf5", ".hdf5": "hdf5", ".hdf": "hdf5", ".parquet": "parquet", ".pq": "parquet",
    ".mcap": "ros", ".db3": "ros", ".bag": "ros",
}  # fmt: skip
"""Endings that need an extra of that name, read by `isthmus.data.tables_NAME`."""

JOINT_NAMES = ("joint_names", "names", "name")
"""Arrays of text that name the columns of the matrices beside them."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns of equal length that share their time stamps."""

    source: str
    columns: dict[str, np.ndarray]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def read_tables(path: PathLike, options: Options) -> list[Table]:
    """The tables of a file; several only where it has several clocks."""
    file = Path(path)
    kind = file.suffix.lower()
    check_size(file)
    if kind in OTHERS or (file.is_dir() and (file / "metadata.yaml").is_file()):
        if not file.exists():
            read_bytes(path)  # says what is missing, with its neighbour
        reader = import_module(f"isthmus.data.tables_{OTHERS.get(kind, 'ros')}")
        with opened(path, reader.WHAT):
            return reader.read(path, options)
    if kind == ".npz":
        return [Table(str(path), npz_columns(path))]
    if kind in TEXTS:
        return [csv_table(path, options.header)]
    if not file.exists():
        read_bytes(path)
    raise BadFile(
        f"{str(path)!r}: files are read by their ending, .csv .tsv .txt .npz {' '.join(OTHERS)}, or as the folder "
        "of a ROS 2 bag."
    )


# CSV -----------------------------------------------------------------------------------------------------


def csv_columns(path: PathLike, header: Sequence[str] | None) -> dict[str, np.ndarray]:
    """The columns of `csv_table`."""
    return csv_table(path, header).columns


def csv_table(path: PathLike, header: Sequence[str] | None) -> Table:
    """A text file: a line of names (or `header`), then lines of numbers; columns of text are left out."""
    text, mark = _text(path)
    text, cut = _whole_lines(text, mark)
    lines = _lines(path, text, mark)
    names = _names(path, lines) if header is None else [str(name) for name in header]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise BadFile(f"{str(path)!r} has two columns called {twice[0]!r}.")
    values = _at_once(
        text if header is not None else text.lstrip().partition("\n")[2], mark, len(names)
    )
    words: dict[str, str] = {}
    if values is None:  # blanks, text, or something wrong that must be found
        some = iter(lambda: list(itertools.islice(lines, CHUNK)), [])
        chunks = []
        for each in some:
            words = words if chunks else _words(names, each)
            chunks.append(_chunk(path, names, each, words))
        values = np.concatenate(chunks) if chunks else np.zeros((0, len(names)))
    columns = dict(zip(names, values.T.copy(), strict=True))
    dated = [name for name, x in columns.items() if len(x) and abs(x[0]) > EPOCH]
    if dated:  # float64 rounds them: once more as they are written
        rows = [cells for _, cells in _lines(path, text, mark) if len(cells) >= len(names)]
        for name in dated:
            cells = [row[names.index(name)] for row in rows[-len(values) :]]
            columns[name] = from_cells(cells)
    columns = {_by_word(name, words): x for name, x in columns.items() if name not in words}
    notes = [f"left out, since they hold text: {', '.join(map(repr, words))}."] if words else []
    if cut:
        notes.append(f"left out: the last line, which ends inside a number, {cut!r}.")
    return Table(str(path), columns, tuple(notes))


def _names(path: PathLike, lines: Iterator[tuple[int, list[str]]]) -> list[str]:
    """The names of the columns, from the first line."""
    _, names = next(lines, (0, []))
    if not names:
        raise BadFile(f"{str(path)!r} is empty.")
    if all(_is_number(name) for name in names):
        raise BadFile(
            f"{str(path)!r} begins with numbers, not with the names of its columns; "
            f"name all {len(names)} with header=[...]."
        )
    return names


def _words(names: list[str], lines: list[tuple[int, list[str]]]) -> dict[str, str]:
    """Columns of text, without any number, with their first cells; none where all are text."""
    found = {}
    for name, cells in zip(names, zip(*(cells for _, cells in lines), strict=False), strict=False):
        written = [cell for cell in cells if cell.lower() not in BLANK]
        if written and not any(_is_number(cell.replace(",", ".")) for cell in written):
            found[name] = written[0]
    return found if len(found) < len(names) else {}


def _by_word(name: str, words: Mapping[str, str]) -> str:
    """`field.position0` -> `field.position[elbow]` where `field.name0` holds the word `elbow`."""
    if found := re.fullmatch(r"(.*?)([a-z]+)(\d+)", name):
        word = words.get(f"{found[1]}name{found[3]}")
        return name if word is None else f"{found[1]}{found[2]}[{word}]"
    return name


def _text(path: PathLike) -> tuple[str, str]:
    """The text of a file, and the separator of its cells."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile(f"{str(path)!r} is no CSV file: it is not text.") from None
    first = text.lstrip("\n\r").partition("\n")[0]
    if any(map(first.count, ",;\t")):
        return text, max(",;\t", key=first.count)
    if len(first.split()) > 1:
        text = "".join(
            ",".join(line.split()) + "\n" * line.endswith("\n") for line in text.splitlines(True)
        )
    return text, ","


def _whole_lines(text: str, mark: str) -> tuple[str, str]:
    """The text without a last line that was cut inside its last number, and this number as it is written.

    Such a line has no end, and its number has fewer decimals than any other one in its column.
    """
    if text.endswith("\n"):
        return text, ""
    whole, _, last = text.rpartition("\n")
    decimals = lambda line: len(line.rpartition(mark)[2].strip().partition(".")[2])
    before = [decimals(line) for line in whole.rsplit("\n", COMPARED)[1:]]
    if len(before) < COMPARED or not 0 < min(before) > decimals(last):
        return text, ""
    return f"{whole}\n", last.rpartition(mark)[2].strip()


def _at_once(body: str, mark: str, width: int) -> np.ndarray | None:
    """Plain numbers, fast; None where a line holds anything else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # an empty body
            values = np.loadtxt(io.StringIO(body), delimiter=mark, ndmin=2, comments=None)
    except ValueError:
        return None
    return values if values.ndim == 2 and values.shape[1] == width and len(values) else None


def _lines(path: PathLike, text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of each line that holds something, with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    begins = True
    try:
        for cells in reader:
            is_comment = (
                cells and cells[0].startswith("%") and not (begins and NAMES.match(cells[0]))
            )
            if any(cell.strip() for cell in cells) and not is_comment:
                begins = False
                yield reader.line_num, [cell.strip().lstrip("#% ") for cell in cells]
    except csv.Error as failed:
        raise BadFile(
            f"{str(path)!r}, line {reader.line_num}: {failed}; was the file written to its end?"
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _chunk(
    path: PathLike, names: list[str], lines: list[tuple[int, list[str]]], words: Mapping[str, str]
) -> np.ndarray:
    for number, cells in lines:
        if len(cells) == len(names) + 1 and not cells[-1]:
            cells.pop()  # a separator at the end of the line
        if len(cells) != len(names):
            raise BadFile(
                f"{str(path)!r}, line {number}: {len(cells)} cells, but there are {len(names)} columns; "
                "was the file written to its end?"
            )
    try:
        return np.array([cells for _, cells in lines], dtype=np.float64)
    except ValueError:
        return np.array([_numbers(path, number, names, cells, words) for number, cells in lines])


def _numbers(
    path: PathLike, line: int, names: list[str], cells: list[str], words: Mapping[str, str]
) -> list[float]:
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        if cell.lower() in BLANK or name in words:
            numbers.append(np.nan)
        elif _is_number(cell):
            numbers.append(float(cell))
        else:
            hint = " Is it a decimal comma?" if _is_number(cell.replace(",", ".")) else ""
            raise BadFile(
                f"{str(path)!r}, line {line}, column {name!r}: {cell!r} is no number.{hint}"
            )
    return numbers


# arrays --------------------------------------------------------------------------------------------------


def npz_columns(path: PathLike) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file as columns."""
    return as_columns(str(path), npz_arrays(path))


def as_columns(source: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays whose first axis is time, column by column; arrays of text may name the joints."""
    words = {
        name: [str(word) for word in x] for name, x in arrays.items() if x.dtype.kind in "USO" and x.ndim == 1
    }  # fmt: skip
    if strange := [name for name, x in arrays.items() if x.dtype.kind == "c"]:
        raise BadFile(f"{source!r}: {strange[0]!r} holds complex numbers, which no sensor gives.")
    numbers = {name: x for name, x in arrays.items() if x.dtype.kind in "fiub" and x.ndim > 0}
    lengths = Counter(len(x) for x in numbers.values())
    if len(lengths) > 1:
        shown = ", ".join(f"{name!r}: {len(x)}" for name, x in list(numbers.items())[:8])
        raise BadFile(f"the arrays of {source!r} have different lengths ({shown}).")
    columns: dict[str, np.ndarray] = {}
    for name, x in numbers.items():
        short = name.removeprefix("signals/")
        labels = _labels(name, x, words)
        for index in itertools.product(*map(range, x.shape[1:])):
            column = labels[index[0]] if labels else signal_column(short, index)
            if column in columns:
                raise BadFile(f"{source!r} has two columns called {column!r}.")
            columns[column] = kept(x[(slice(None), *index)])
    return columns


def _labels(name: str, x: np.ndarray, words: Mapping[str, list[str]]) -> list[str]:
    """Names of the columns of a matrix, where the file has them."""
    if x.ndim != 2:
        return []
    own = {"q": "coordinate_names", "v": "dof_names"}.get(name, "")
    quantity = {"q": "joint/position", "v": "joint/velocity"}.get(name, name)
    topic = name.rpartition(".")[0]
    for label in (own, *(f"{topic}.{x}" if topic else x for x in JOINT_NAMES)):
        if label in words and len(words[label]) == x.shape[1] and "/" not in name:
            return [f"{quantity}[{word}]" for word in words[label]]
    return []


def found_files(path: Any) -> tuple[list[Path], bool]:
    """The files that a path, a pattern with `*` or a list of paths names; and whether several were asked for."""
    if not isinstance(path, str | os.PathLike):
        if not isinstance(path, Iterable) or not (path := list(path)):
            raise BadOption(f"a path, a pattern with * or a list of paths is needed, not {path!r}.")
        return [file for each in path for file in found_files(each)[0]], True
    text = os.fspath(path)
    is_folder(text)  # refuses a name that no file can have
    if not any(mark in text for mark in "*?[") or Path(text).exists():
        return [Path(text)], False
    anchor = Path(Path(text).anchor)
    pattern = str(Path(text).relative_to(anchor)) if Path(text).anchor else text
    files = sorted(anchor.glob(pattern), key=by_number)
    if not files:
        raise MissingFile(f"no file matches {text!r}.")
    return files, True


def by_number(path: Path) -> list[tuple[int, int | str]]:
    """`run_10` comes after `run_9`."""
    parts = ["".join(part) for _, part in itertools.groupby(str(path), str.isdecimal)]
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
