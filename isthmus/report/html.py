"""HTML as nested calls: everything is escaped unless it is `Markup` already."""

from __future__ import annotations

import html
import re
from typing import Any

VOID = frozenset("input br meta hr".split())
"""Elements without an end."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. `class_` is `class`, other `_` are `-`; None and False leave an attribute out, True names it bare."""
    pairs = [
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    start = f"<{name}{''.join(pairs)}>"
    return Markup(start if name in VOID else f"{start}{joined(*children)}</{name}>")


def joined(*parts: Any) -> Markup:
    """One after the other; None is nothing."""
    return Markup("".join(escaped(part) for part in parts if part is not None))


def escaped(part: Any) -> str:
    """Text, or Markup as it is."""
    return part if isinstance(part, Markup) else html.escape(str(part))


def sentence(text: str) -> Markup:
    """A message as a sentence: it begins with a capital, unless with a name; what stands in backticks is code."""
    begins_with_word = re.match(r"[^\W\d_]+('\w+)?[.,;:]?(\s|$)", text)
    parts = (text[:1].upper() + text[1:] if begins_with_word else text).split("`")
    return joined(*(tag("code", part) if k % 2 else part for k, part in enumerate(parts)))


def named(name: str) -> Markup:
    """A name like `joint/elbow/damping` as code that may break at its slashes."""
    return tag("code", Markup("<wbr>".join(escaped(p) for p in _pieces(name))), class_="name")


def _pieces(name: str) -> list[str]:
    """`joint/`, `elbow/`, `damping`."""
    *front, last = name.split("/")
    return [*(f"{part}/" for part in front), last]
