"""Files of users: read so that any damage is one error; written beside and renamed, under names that stay inside."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO

from isthmus.errors import BadFile, BadOption, IsthmusError

PathLike = str | os.PathLike[str]
LONGEST_STEM = 80
"""Letters of a file name that is made from a name in a file."""
RESERVED = frozenset("con prn aux nul".split()) | {
    f"{x}{k}" for x in ("com", "lpt") for k in range(10)
}
"""Names that Windows keeps for devices."""
LARGEST = 4 << 30
"""Bytes of a file, or of the arrays in it, that we try to hold in memory at once."""


@contextlib.contextmanager
def opened(path: PathLike, what: str) -> Generator[None]:
    """Around all that reads a file which should be a `what` ("Parquet file"): any damage is one `BadFile`.

    Libraries that read files raise exceptions of many kinds where the bytes are wrong; the cause stays attached.
    """
    try:
        yield
    except IsthmusError:
        raise
    except MemoryError as failed:
        raise BadFile(
            f"{str(path)!r} needs more memory than there is, or is damaged; split it into runs."
        ) from failed
    except PermissionError as failed:
        raise BadFile(f"{str(path)!r} cannot be read: permission denied.") from failed
    except Exception as failed:
        file = Path(path)
        empty = file.is_file() and file.stat().st_size == 0
        again = "or was not written to its end, or is damaged; write or copy it again"
        why = "empty" if empty else f"no {what}, {again}"
        raise BadFile(f"{str(path)!r} is {why}.") from failed


def check_size(path: PathLike, size: int | None = None) -> None:
    """Refuses a file of more bytes than we hold in memory; `size`: of the arrays in it, once expanded."""
    if size is None:
        try:
            size = Path(path).stat().st_size
        except (OSError, ValueError):
            return  # what is wrong with it is said where it is opened
    if size > LARGEST:
        raise BadFile(
            f"{str(path)!r} holds {size / 2**30:.3g} GiB, more than the {LARGEST / 2**30:.3g} GiB we hold in memory "
            "at once; split it into runs and read them by a pattern."
        )


def safe_stem(name: str, otherwise: str = "robot") -> str:
    """A file name, without its ending, for something called `name`, which may come from a file of anybody.

    Letters, digits, `_`, `-`, `.` and spaces stay, all else becomes `_`; it never leaves its folder.
    """
    stem = re.sub(r"[^\w. -]", "_", name).strip(" .")[:LONGEST_STEM].strip(" .")
    stem = stem.lstrip("-")
    if not stem.strip("_. "):
        return otherwise
    return f"{stem}_" if stem.split(".")[0].lower() in RESERVED else stem


def check_target(path: PathLike, kinds: Sequence[str]) -> None:
    """Refuses a file that cannot be written, before the work whose result it shall hold."""
    file = Path(path)
    if file.suffix.lower() not in kinds:
        raise BadOption(
            f"{str(path)!r} must end in {' or '.join(kinds)}, which says what to write."
        )
    if is_folder(file):
        raise BadFile(f"{str(path)!r} is a folder, not a file.")
    if not file.parent.is_dir():
        raise BadFile(f"{str(path)!r} cannot be written: there is no folder {str(file.parent)!r}.")
    if not os.access(file.parent, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise BadFile(f"{str(path)!r} cannot be written: permission denied.")


def is_folder(path: PathLike) -> bool:
    """Whether there is such a folder; refuses a name that no file can have."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError) as failed:  # a name of 10,000 letters, or a null in it
        reason = failed.strerror if isinstance(failed, OSError) else failed
        raise BadFile(f"{str(path)!r} cannot be the name of a file: {reason}.") from None


def made_folder(path: PathLike) -> Path:
    """The folder `path`, made if need be."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as failed:  # a null in the name is a ValueError
        reason = failed.strerror if isinstance(failed, OSError) else failed
        raise BadFile(f"the folder {str(path)!r} cannot be made: {reason}.") from None
    return folder


@contextlib.contextmanager
def whole_file(path: PathLike) -> Generator[IO[bytes], None, None]:
    """A file to write that appears under its name when it is complete, and never in part."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(target)
    except OSError as failed:
        raise BadFile(f"{str(path)!r} cannot be written: {failed.strerror}.") from None
    finally:
        beside.unlink(missing_ok=True)
