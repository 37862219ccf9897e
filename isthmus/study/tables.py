"""Tables of a study file against what they may hold: every key known, every value of its kind; faults as sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from isthmus.errors import IsthmusError, did_you_mean


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _are_numbers(x: Any) -> bool:
    return isinstance(x, list) and all(map(_is_number, x))


def _are_texts(x: Any) -> bool:
    return isinstance(x, list) and bool(x) and all(isinstance(text, str) for text in x)


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a value may be."""

    words: str
    fits: Callable[[Any], bool]


TEXT = Kind("text in quotes", lambda x: isinstance(x, str) and bool(x))
TEXTS = Kind("text in quotes, or a list of texts", lambda x: TEXT.fits(x) or _are_texts(x))
NUMBER = Kind("a number", _is_number)
NUMBERS = Kind("a number or a list of numbers", lambda x: _is_number(x) or _are_numbers(x))
WHOLE = Kind("a whole number", lambda x: isinstance(x, int) and not isinstance(x, bool))
FLAG = Kind("true or false", lambda x: isinstance(x, bool))
TABLE = Kind("a table", lambda x: isinstance(x, dict))
TABLES = Kind("a list of tables", lambda x: isinstance(x, list) and all(map(TABLE.fits, x)))
ANYTHING = Kind("anything", lambda x: True)
OF_CLASS = {
    "int": WHOLE, "int | None": WHOLE, "float": NUMBER, "float | None": NUMBER, "bool": FLAG, "str": TEXT,
    "tuple[float, ...]": Kind("a list of numbers", _are_numbers),
}  # fmt: skip
"""How a field of a class is declared -> what may stand there."""


def one_of(*names: str) -> Kind:
    """One of some words."""
    return Kind(f"one of {', '.join(map(repr, names))}", lambda x: x in names)


def faults_of(table: Mapping[str, Any], known: Mapping[str, Kind], who: str) -> Iterator[str]:
    """What is wrong with the keys and values of a table; `who` begins each sentence."""
    for key, value in table.items():
        if key not in known:
            yield f"{who} does not know {key!r}.{did_you_mean(key, known)}"
        elif not known[key].fits(value):
            yield f"{who}: {key} must be {known[key].words}, not {value!r}."


def options_of(cls: Any, besides: Mapping[str, Kind] | None = None) -> dict[str, Kind]:
    """What a class takes that has a form in text."""
    fields = {field.name: str(field.type) for field in dataclasses.fields(cls)}
    known = {name: OF_CLASS[kind] for name, kind in fields.items() if kind in OF_CLASS}
    return known | {name: kind for name, kind in (besides or {}).items() if name in fields}


def made(cls: Any, table: Mapping[str, Any], who: str, faults: list[str]) -> Any:
    """An object of a class whose options are the table; None, and a sentence more, where it refuses them."""
    declared = {field.name: str(field.type) for field in dataclasses.fields(cls)}
    options = {name: _as_declared(value, declared[name]) for name, value in table.items()}
    try:
        return cls(**options)
    except IsthmusError as bad:
        faults.append(f"{who}: {bad.message}")
        return None


def _as_declared(value: Any, kind: str) -> Any:
    """Lists as tuples, and whole numbers as `float` where that is wanted."""
    if isinstance(value, list):
        return tuple(value)
    return float(value) if kind.startswith("float") and isinstance(value, int) else value


def kind_in(table: Any, known: Mapping[str, Any], who: str, faults: list[str]) -> str | None:
    """The `kind` that a table, or a text alone, names; None if there is no such kind."""
    kind = table if isinstance(table, str) else table.get("kind")
    if kind is None:
        faults.append(f"{who} has no kind.{did_you_mean('', known)}")
    elif kind not in known:
        faults.append(f"{who}: there is no kind {kind!r}.{did_you_mean(str(kind), known)}")
        kind = None
    return kind
