"""Searches and losses as tables: `{ kind = "levenberg_marquardt", steps = 50 }` -> an object, or what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from isthmus.identify.search.horizon import LengtheningHorizon
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.names import SEARCHES, search_class
from isthmus.identify.search.search import AbstractSearch
from isthmus.losses.windows import NAMES, AbstractLoss
from isthmus.schema import ANYTHING, annotations_of, faults_of, kind_in, made, options_of

SET_BY_COMMAND = ("store", "resume")
"""Options of a search that the command decides, not the file."""


def search_in(table: Any, who: str, faults: list[str]) -> AbstractSearch | None:
    """The search of a table, or of a name alone; one that wraps another has it as a table inside."""
    if not isinstance(table, str | Mapping):
        faults.append(
            f'{who} must be a name or a table such as {{ kind = "adam" }}, not {table!r}.'
        )
        return None
    kind = kind_in(table, SEARCHES, who, faults)
    if kind is None:
        return None
    cls, rest = search_class(kind), {} if isinstance(table, str) else dict(table)
    rest.pop("kind", None)
    inside = [name for name, kind in annotations_of(cls).items() if kind is AbstractSearch]
    known = options_of(cls, dict.fromkeys(inside, ANYTHING))
    known = {name: kind for name, kind in known.items() if name not in SET_BY_COMMAND}
    wrong = list(faults_of(rest, known, f"{who} ({kind})"))
    for name in inside:
        if name in rest:
            rest[name] = search_in(rest[name], f"{who}, {name}", wrong)
        elif cls is LengtheningHorizon:
            rest[name] = LevenbergMarquardt()
    faults += wrong
    return None if wrong else made(cls, rest, f"{who} ({kind})", faults)


def loss_in(table: Mapping[str, Any], who: str, faults: list[str]) -> AbstractLoss | None:
    """The loss of a table."""
    kind = kind_in({"kind": "windows", **table}, NAMES, who, faults)
    if kind is None:
        return None
    rest = {key: value for key, value in table.items() if key != "kind"}
    wrong = list(faults_of(rest, options_of(NAMES[kind]), f"{who} ({kind})"))
    faults += wrong
    return None if wrong else made(NAMES[kind], rest, f"{who} ({kind})", faults)


def kept_in(search: AbstractSearch, store: Any, resume: bool) -> AbstractSearch:
    """The search with `store` as its file of records, if it keeps records."""
    if not keeps_records(search):
        return search
    options: dict[str, Any] = {"store": store, "resume": resume}
    return dataclasses.replace(search, **options)  # ty: ignore[invalid-argument-type]


def keeps_records(search: AbstractSearch) -> bool:
    """Whether a search writes a file of records from which it can continue."""
    return hasattr(search, "store")
