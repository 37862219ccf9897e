"""Numbers that are written in arguments: `elbow=0.5,shoulder=-0.2`, and lists of plain ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isthmus.errors import BadOption, UnknownName, did_you_mean


def number(text: str, where: str) -> float:
    """A finite number; `where` names the option."""
    try:
        value = float(text)
    except ValueError:
        raise BadOption(f"{where}: {text.strip()!r} is no number.") from None
    if not math.isfinite(value):
        raise BadOption(f"{where}: {text.strip()!r} is not finite.")
    return value


def positive(value: float, where: str) -> float:
    """`value`, refused unless it is finite and positive."""
    if not (math.isfinite(value) and value > 0.0):
        raise BadOption(f"{where} must be a positive number, not {value:g}.")
    return value


def numbers(text: str, where: str) -> list[float]:
    """Numbers between commas or spaces."""
    return [number(part, where) for part in text.replace(",", " ").split()]


def named_numbers(
    text: str, names: Sequence[str], where: str, also: Mapping[str, str] | None = None
) -> dict[str, float]:
    """`name=number` between commas; the names must be among `names`, or keys of `also`, which gives their own names."""
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.rpartition("=")
        name = (also or {}).get(name.strip(), name.strip())
        if not equals or not name:
            raise BadOption(f"{where}: {part!r} is not of the form NAME=NUMBER.")
        if name not in names:
            raise UnknownName(f"{where}: {_unknown(name, names)}")
        if name in found:
            raise BadOption(f"{where}: {name!r} occurs twice.")
        found[name] = number(value, f"{where}, {name}")
    return found


def _unknown(name: str, names: Sequence[str]) -> str:
    """The message for an unknown name: it suggests the nearest one, or the parts of a joint that has several."""
    if parts := [known for known in names if known.startswith(f"{name}.")]:
        return f"{name!r} has several numbers: {', '.join(map(repr, parts))}."
    return f"nothing that moves is called {name!r}.{did_you_mean(name, names)}"


def named_or_number(where: str, text: str) -> float | dict[str, float] | None:
    """A number, or `NAME=NUMBER` between commas with any names; None where nothing is given."""
    if not text.strip():
        return None
    if "=" not in text:
        return number(text, where)
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.rpartition("=")
        if not equals or not name.strip() or name.strip() in found:
            raise BadOption(f"{where}: {part!r} is not of the form NAME=NUMBER, each name once.")
        found[name.strip()] = number(value, f"{where}, {name.strip()}")
    return found
