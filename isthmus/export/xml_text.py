"""XML text line by line: the same input gives the same text; numbers are written so that none changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from isthmus.describe.files import PathLike
from isthmus.disk import check_target
from isthmus.errors import BadOption, NotExpressible

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML can hold, not even escaped."""


class Xml:
    """Elements in the order in which they are opened; each is one line, indented by its depth."""

    def __init__(self, *, header: bool = True) -> None:
        self._lines = ['<?xml version="1.0" encoding="utf-8"?>'] if header else []
        self._open: list[str] = []

    def open(self, tag: str, **attributes: Any) -> None:
        """An element with others inside."""
        self._add(tag, attributes, ">")
        self._open.append(tag)

    def close(self) -> None:
        """Ends the element that was opened last."""
        tag = self._open.pop()
        self._lines.append(f"{'  ' * len(self._open)}</{tag}>")

    def leaf(self, tag: str, **attributes: Any) -> None:
        """An element without others inside; attributes that are None are left out."""
        self._add(tag, attributes, "/>")

    def text(self) -> str:
        """All that was written; open elements are closed."""
        while self._open:
            self.close()
        return "\n".join([*self._lines, ""])

    def _add(self, tag: str, attributes: dict[str, Any], end: str) -> None:
        given = {name.rstrip("_"): x for name, x in attributes.items() if x is not None}
        words = "".join(f" {name}={quoteattr(word(x))}" for name, x in given.items())
        self._lines.append(f"{'  ' * len(self._open)}<{tag}{words}{end}")


def word(value: Any) -> str:
    """Text as it is; numbers by as many digits as tell them from all others."""
    if isinstance(value, str):
        return value
    return " ".join(repr(float(x) + 0.0).removesuffix(".0") for x in np.ravel(value))


def refuse_names(names: Iterable[str], format: str) -> None:
    """Names that would not come back as they are."""
    if bad := sorted({n for n in names if NO_XML.search(n) or n != n.strip()}):
        raise NotExpressible(
            format,
            [f"the names {', '.join(map(repr, bad))} hold characters that XML loses"],
            "Rename them.",
        )


def check_path(path: PathLike, kinds: Sequence[str]) -> None:
    """Refuses, before any work, a path that cannot be written."""
    if not hasattr(path, "__fspath__") and not isinstance(path, str):
        raise BadOption(f"a path is text or a pathlib.Path, but this is {type(path).__name__}.")
    check_target(path, kinds)
