"""Names of variables: `joint/torque`, `joint/torque[elbow]`, `joint/elbow/torque`, `link/*/mass`.

The second and third mean the same. A row's name may itself hold slashes. In a pattern, `*` matches anything within one
part, `[67]` and `[a-c]` one of these characters, `[!67]` any other one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from isthmus.errors import UnknownName, did_you_mean

MARKS = re.compile(r"(\*|\[!?[^\]/!][^\]/]*\])")
"""What makes a pattern of a name."""
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


def matching(pattern: str, names: Collection[str]) -> list[str]:
    """The names that `pattern` matches, in their order; a name that is spelt like the pattern is the only one."""
    if pattern in names:
        return [pattern]
    text = "".join(map(_as_regex, MARKS.split(pattern)))
    return [name for name in names if re.fullmatch(text, name)]


def _as_regex(part: str) -> str:
    if part == "*":
        return "[^/]*"
    if not MARKS.fullmatch(part):
        return re.escape(part)
    inner = re.sub(r"([\\\[^&~|])", r"\\\1", part[1:-1])
    text = f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    try:
        re.compile(text)
    except re.error:  # such as [z-a]
        return re.escape(part)
    return text


def rows_of(address: str, pattern: str, rows: Rows) -> list[int]:
    """The rows that `pattern` picks; refuses a pattern that picks none."""
    names = matching(pattern, rows)
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


def picks_one(pattern: str, names: Collection[str]) -> bool:
    """Whether the pattern is a name, not a pattern of names."""
    return pattern in names or not MARKS.search(pattern)
