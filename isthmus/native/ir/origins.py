"""Where the operations of a program come from: the lines of the user's code and of ours that asked for them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of isthmus."""
LIBRARIES = ("equinox", "jaxtyping", "beartype", "optax")
BETWEEN = (
    *(f"{os.sep}{name}{os.sep}" for name in LIBRARIES),
    *(str(PACKAGE / tool) for tool in (f"spatial{os.sep}", Path("model", "levels.py"))),
)
"""What stands between a line of physics and its operations: libraries, and our own algebra."""


@dataclasses.dataclass(frozen=True, order=True)
class Place:
    """One line of code: `dynamics/aba.py:87`, in `forward_dynamics`."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "unknown"


UNKNOWN = Place("", 0, "")


class Origins:
    """Numbers for places, cheap to hand out; what they mean is looked up when somebody asks."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, int], int] = {}
        self._rows: list[tuple[Any, int]] = [(None, 0)]
        self._places: dict[int, Place] = {0: UNKNOWN}

    def number(self, equation: Any, outer: int) -> int:
        """The number of an equation's line; `outer`: that of the equation which it stands inside."""
        row = (getattr(equation.source_info, "traceback", None), outer)
        found = self._known.get(row)
        if found is None:
            found = self._known[row] = len(self._rows)
            self._rows.append(row)
        return found

    def place(self, number: int) -> Place:
        """The innermost line that is no library's; that of the outer equation where there is none."""
        if number not in self._places:
            traceback, outer = self._rows[number]
            found = next(lines_of(traceback), None)
            self._places[number] = self.place(outer) if found is None else found
        return self._places[number]


def lines_of(traceback: Any) -> Iterator[Place]:
    """The lines of a traceback outside of libraries, innermost first."""
    try:
        from jax._src import source_info_util

        frames = list(source_info_util.user_frames(traceback))
    except (ImportError, AttributeError):
        return
    for frame in frames:
        if not frame.file_name.startswith("<") and not any(b in frame.file_name for b in BETWEEN):
            name = frame.function_name.replace("<locals>.", "")
            yield Place(shortened(frame.file_name), frame.start_line, name)


def shortened(file: str) -> str:
    """Our own files from the package's folder on, others by their name."""
    path = Path(file)
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE.parent).as_posix()
    return path.name
