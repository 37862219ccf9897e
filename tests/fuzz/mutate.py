"""Damage to files and values, drawn from a generator: bytes, words of a text, plain data."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

WORDS = (
    "", " ", "nan", "inf", "-inf", "1e999", "-1", "0", "1e-320", "9" * 400, "0x10", "1,5", "1.2.3", "--1", "true",
    "null", "[]", "{}", "\0", "é·²", "\ud7ff", "a" * 10_000, "../../x", "*", "%s", "{0}", "-0.0", "1 2 3 4 5 6 7",
    "world",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**9, -(10**30), 10**400, 0.5, -0.5, 1e300, 1e-320, float("nan"), float("inf"), "",
    "x", "nan", "a" * 10_000, "*", "\0", [], [[]], [1, "2", None], [1.0] * 100, {}, {"kind": "x"}, {"": []}, [{}],
)  # fmt: skip
"""For plain data; TOML and JSON leave out what they cannot write."""


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """The data with one to three places changed, cut, repeated or filled with noise."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        a = rng.randrange(len(data) + 1)
        b = min(len(data), a + rng.choice((1, 1, 2, 4, 8, 64, 1000)))
        part = data[a:b]
        new = rng.choice((
            b"", part * 2, part[::-1], bytes(rng.randrange(256) for _ in part), b"\0" * len(part),
            b"\xff" * len(part), bytes(x ^ (1 << rng.randrange(8)) for x in part), None,
        ))  # fmt: skip
        data = data[:a] if new is None else data[:a] + new + data[b:]
    return data


def damaged_text(text: str, rng: random.Random) -> str:
    """The text with some words replaced by odd ones or by each other, or lines lost, repeated or swapped."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        lines = text.split("\n")
        k = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                lines[k : k + 1] = []
            case 1:
                lines[k : k + 1] = [lines[k]] * rng.choice((2, 3, 300))
            case 2:
                other = rng.randrange(len(lines))
                lines[k], lines[other] = lines[other], lines[k]
            case _:
                lines = [_with_another_word(text, rng)]
        text = "\n".join(lines)
    return text


def _with_another_word(text: str, rng: random.Random) -> str:
    words = list(re.finditer(r"[\w.+-]+", text)) or [re.match("", text)]
    old, other = rng.choice(words), rng.choice(words)
    new = other[0] if rng.random() < 0.3 else rng.choice(WORDS)
    return text[: old.start()] + new + text[old.end() :]


def damaged_data(data: Any, rng: random.Random) -> Any:
    """A copy of plain data (lists, tables, numbers, text) with some of its values replaced, lost or moved."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(data))
        if not places:
            break
        home, key = rng.choice(places)
        match rng.randrange(8):
            case 0:
                del home[key]
            case 1 if isinstance(home, dict):
                home[rng.choice((f"{key}x", "", "a" * 10_000, "kind"))] = home.pop(key)
            case 2:
                home[key] = [home[key]]
            case 3:
                other, name = rng.choice(places)
                home[key] = copy.deepcopy(other.get(name) if isinstance(other, dict) else home[key])
            case _:
                home[key] = copy.deepcopy(rng.choice(VALUES))
    return data


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Every value inside the data, as its container and its key."""
    keys = (
        list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    )
    inside = [place for key in keys for place in _places(data[key])]
    return [(data, key) for key in keys] + inside
