"""Names of variables: `joint/torque`, `joint/torque[elbow]`, `joint/elbow/torque`, `link/*/mass`.

The second and third mean the same. A row's name may itself hold slashes; `*` matches within one part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from isthmus.errors import UnknownName, did_you_mean

Rows = Mapping[str, Sequence[int]]
"""Which rows of an array each joint, link or point owns."""


def parse(address: str) -> tuple[str, str | None]:
    """`(name of the whole array, pattern of its rows or None)`."""
    if bracketed := re.fullmatch(r"(.+?)\[(.+)\]", address):
        return bracketed[1], bracketed[2]
    parts = address.split("/")
    if len(parts) > 2:
        return f"{parts[0]}/{parts[-1]}", "/".join(parts[1:-1])
    return address, None


def matching(pattern: str, names: Sequence[str]) -> list[str]:
    """The names that `pattern` matches, in their order."""
    text = "".join(
        "[^/]*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", pattern)
    )
    return [name for name in names if re.fullmatch(text, name)]


def rows_of(address: str, pattern: str, rows: Rows) -> list[int]:
    """The rows that `pattern` picks; refuses a pattern that picks none."""
    names = matching(pattern, list(rows))
    if not names:
        raise UnknownName(
            f"{address!r}: nothing here is called {pattern!r}.{did_you_mean(pattern, rows)}"
        )
    picked = [row for name in names for row in rows[name]]
    if not picked:
        raise UnknownName(
            f"{address!r}: {names[0]!r} has no number of its own (fixed or mimicking)."
        )
    return picked


def picks_one(pattern: str) -> bool:
    """Whether the pattern names a single row."""
    return "*" not in pattern
