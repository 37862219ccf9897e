"""Files that users keep: written beside and renamed, under names that stay inside their folder."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO

from isthmus.errors import BadFile, BadOption

PathLike = str | os.PathLike[str]
LONGEST_STEM = 80
"""Letters of a file name that is made from a name in a file."""
RESERVED = frozenset("con prn aux nul".split()) | {
    f"{x}{k}" for x in ("com", "lpt") for k in range(10)
}
"""Names that Windows keeps for devices."""


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
    if file.is_dir():
        raise BadFile(f"{str(path)!r} is a folder, not a file.")
    if not file.parent.is_dir():
        raise BadFile(f"{str(path)!r} cannot be written: there is no folder {str(file.parent)!r}.")
    if not os.access(file.parent, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise BadFile(f"{str(path)!r} cannot be written: permission denied.")


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
