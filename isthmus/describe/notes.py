"""Messages of a reader: all faults in one exception, one warning for each kind of problem."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from isthmus.errors import LONGEST_FAULT, DescriptionWarning, IsthmusWarning, first_of, shortened

LONGEST_WARNING = 2 * LONGEST_FAULT
PACKAGE = str(Path(__file__).parents[1]) + os.sep


def where(*lines: int | None) -> str:
    """` (line 12)`, ` (lines 12, 14)`, or nothing."""
    known = [str(line) for line in lines if line is not None]
    return f" (line{'s' * (len(known) > 1)} {', '.join(known)})" if known else ""


def quoted(names: Iterable[str]) -> str:
    """`'a', 'b'`."""
    return ", ".join(map(repr, names))


class Notes:
    """Collects faults and warnings while a file is read."""

    def __init__(self, source: str = "") -> None:
        self.source = source
        self.faults: list[str] = []
        self.doubts: dict[str, list[str]] = {}

    def fault(self, sentence: str, line: int | None = None, hint: str = "") -> None:
        """Something that ends the reading; the sentence comes without its full stop."""
        self.faults.append(f"{sentence}{where(line)}.{hint}")

    def doubt(self, kind: str, about: str) -> None:
        """Something to warn of; `kind` has a `{}` for everything it is about."""
        known = self.doubts.setdefault(kind, [])
        if about not in known:
            known.append(about)

    def speak(self) -> None:
        """One warning for each kind of doubt."""
        for kind, about in self.doubts.items():
            say(kind.format(", ".join(first_of(about))), self.source)


def say(sentence: str, source: str = "", kind: type[IsthmusWarning] = DescriptionWarning) -> None:
    """A warning that points at the user's line, not at ours."""
    frame, depth, ours = sys._getframe(), 1, 1
    while frame is not None:
        ours = depth if frame.f_code.co_filename.startswith(PACKAGE) else ours
        frame, depth = frame.f_back, depth + 1
    text = shortened(f"{source}: {sentence}" if source else sentence, LONGEST_WARNING)
    warnings.warn(text, kind, stacklevel=ours + 1)


def free_name(wish: str, taken: set[str]) -> str:
    """`wish`, or `wish_2`, `wish_3` …: the first name that is not taken."""
    name, number = wish, 1
    while name in taken:
        number += 1
        name = f"{wish}_{number}"
    return name
