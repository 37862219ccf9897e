"""Dataclasses <-> plain tables (numbers, text, lists, dicts), and the one checker of such tables.

What a field may hold is read off its annotation: `kind_of(tuple[float, ...])` is a list of numbers. Faults are
sentences that begin with the name of the table, so that all of them can be reported at once.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from isthmus.errors import IsthmusError, did_you_mean, shortened


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a value may be: in words, for one and for several, and as a test."""

    words: str
    fits: Callable[[Any], bool]
    plural: str = ""


def list_of(kind: Kind, length: int | None = None) -> Kind:
    """A list whose entries are of one kind, of any length or of a given one."""
    right = lambda x: isinstance(x, list) and (length is None or len(x) == length)
    count = "" if length is None else f"{length} "
    words = f"a list of {count}{kind.plural}"
    return Kind(words, lambda x: right(x) and all(map(kind.fits, x)), f"lists of {kind.plural}")


def either(one: Kind, other: Kind) -> Kind:
    """One kind or the other."""
    return Kind(f"{one.words} or {other.words}", lambda x: one.fits(x) or other.fits(x))


def count_to(most: int) -> Kind:
    """A whole number from 1 to `most`."""
    return Kind(f"a whole number from 1 to {most}", lambda x: WHOLE.fits(x) and 1 <= x <= most)


def one_of(*names: str) -> Kind:
    """One of some words."""
    words = f"one of {', '.join(map(repr, names))}"
    return Kind(words, lambda x: isinstance(x, str) and x in names)


ANY_TEXT = Kind("text in quotes", lambda x: isinstance(x, str), "texts")
TEXT = Kind("text in quotes", lambda x: isinstance(x, str) and bool(x), "texts")
NUMBER = Kind("a number", lambda x: _is_number(x) and math.isfinite(x), "numbers")
LIMIT = Kind("a number", lambda x: _is_number(x) and not math.isnan(x), "numbers")
"""A number or an infinity, as a bound may be."""
ANY_NUMBER = Kind("a number", lambda x: _is_number(x), "numbers")
"""NaN and infinities too, as a result may be."""
WHOLE = Kind("a whole number", lambda x: _is_number(x) and isinstance(x, int), "whole numbers")
POSITIVE = Kind("a positive number", lambda x: NUMBER.fits(x) and x > 0, "positive numbers")
FLAG = Kind("true or false", lambda x: isinstance(x, bool), "truth values")
TABLE = Kind("a table", lambda x: isinstance(x, Mapping), "tables")
NOTHING = Kind("nothing", lambda x: x is None)
ANYTHING = Kind("anything", lambda x: True, "values")
TEXTS = Kind(
    "text in quotes, or a list of texts",
    lambda x: TEXT.fits(x) or (list_of(TEXT).fits(x) and bool(x)),
)
NUMBERS = dataclasses.replace(either(NUMBER, list_of(NUMBER)), plural="numbers")
LIMITS = either(LIMIT, list_of(LIMIT))
TABLES = list_of(TABLE)


def table_with(kind: Kind) -> Kind:
    """A table with any keys, whose values are of one kind."""
    return Kind(
        f"a table of {kind.plural}", lambda x: TABLE.fits(x) and all(map(kind.fits, x.values()))
    )


LARGEST_WHOLE = 2**53
"""Beyond it, whole numbers are no longer exact as float64."""


def _is_number(x: Any) -> bool:
    if isinstance(x, bool) or not isinstance(x, int | float):
        return False
    return isinstance(x, float) or abs(x) <= LARGEST_WHOLE


OF_TYPE: dict[Any, Kind] = {int: WHOLE, float: LIMIT, bool: FLAG, str: ANY_TEXT}


def kind_of(annotation: Any) -> Kind | None:
    """What a field with this annotation may hold in a table; None where it has no form in text."""
    inside = typing.get_args(annotation)
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        left = [part for part in inside if part is not types.NoneType]
        return kind_of(left[0]) if len(left) == 1 else None
    if typing.get_origin(annotation) is tuple:
        kind, alike = kind_of(inside[0]), set(inside) - {...}
        if kind is None or len(alike) > 1:
            return None
        return list_of(kind, None if ... in inside else len(inside))
    return OF_TYPE.get(annotation)


@functools.cache
def annotations_of(cls: Any) -> dict[str, Any]:
    """Fields of a dataclass and their annotations, as types."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def options_of(cls: Any, besides: Mapping[str, Kind] | None = None) -> dict[str, Kind]:
    """The fields of a class that have a form in text; `besides` says what the annotations do not."""
    given = besides or {}
    known = {name: given.get(name) or kind_of(a) for name, a in annotations_of(cls).items()}
    return {name: kind for name, kind in known.items() if kind is not None}


# tables -> objects ---------------------------------------------------------------------------------------


def faults_of(table: Mapping[str, Any], known: Mapping[str, Kind], who: str) -> Iterator[str]:
    """What is wrong with the keys and values of a table; `who` begins each sentence."""
    for key, value in table.items():
        if key not in known:
            yield f"{who} does not know {key!r}.{did_you_mean(key, known)}"
        elif not known[key].fits(value):
            yield f"{who}: {key} must be {known[key].words}, not {said(value)}."


def said(value: Any) -> str:
    """A wrong value as a message shows it, however long or deep it is."""
    try:
        return shortened(repr(value), 200)
    except (RecursionError, ValueError):  # too deep, or a whole number of thousands of digits
        return f"such a {type(value).__name__}"


def checked(
    table: Mapping[str, Any], known: Mapping[str, Kind], who: str, faults: list[str]
) -> dict[str, Any]:
    """What is right in a table; `faults` gains a sentence for everything else."""
    faults += faults_of(table, known, who)
    return {key: x for key, x in table.items() if key in known and known[key].fits(x)}


def made(cls: Any, table: Mapping[str, Any], who: str, faults: list[str]) -> Any:
    """An object of a class whose options are the table; None, and a sentence more, where it refuses them."""
    declared = annotations_of(cls)
    options = {name: _as_declared(value, declared[name]) for name, value in table.items()}
    try:
        return cls(**options)
    except IsthmusError as bad:
        faults.append(f"{who}: {bad.message}")
        return None


def _as_declared(value: Any, annotation: Any) -> Any:
    """Lists as tuples, and whole numbers as `float` where that is wanted."""
    if isinstance(value, list):
        return as_tuples(value)
    is_float = kind_of(annotation) is LIMIT
    return float(value) if is_float and isinstance(value, int) else value


def as_tuples(value: Any) -> Any:
    """Lists, and lists inside them, as tuples."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def kind_in(table: Any, known: Mapping[str, Any], who: str, faults: list[str]) -> str | None:
    """The `kind` that a table, or a text alone, names; None if there is no such kind."""
    kind = table if isinstance(table, str) else table.get("kind")
    if kind is None:
        faults.append(f"{who} has no kind.{did_you_mean('', known)}")
    elif not isinstance(kind, str):
        faults.append(f"{who}: kind must be {TEXT.words}, not {said(kind)}.")
        kind = None
    elif kind not in known:
        faults.append(f"{who}: there is no kind {kind!r}.{did_you_mean(kind, known)}")
        kind = None
    return kind


# objects -> tables ---------------------------------------------------------------------------------------


def table_of(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass, tuples as lists; values that are no plain data stay as they are.

    Fields whose metadata has `decides=False` stay out: they do not change the result.
    """
    fields = [f for f in dataclasses.fields(thing) if f.metadata.get("decides", True)]
    return {f.name: _as_lists(getattr(thing, f.name)) for f in fields}


def _as_lists(value: Any) -> Any:
    return list(map(_as_lists, value)) if isinstance(value, tuple) else value
