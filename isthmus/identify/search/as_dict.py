"""Searches as plain data and back, so that a job can name the search it runs, and a fit the one that found it."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.errors import BadOption
from isthmus.schema import as_tuples, table_of

IDLE = {"decides": False}
"""Metadata of a field that does not change what is found, only who finds it and when it stops."""


def as_dict(search: Any) -> dict[str, Any]:
    """Class and options of a search, which must be a dataclass, less those options that decide nothing."""
    kind = type(search)
    module = "isthmus" if kind.__module__.startswith("isthmus.") else kind.__module__
    name = {"search": f"{module}:{kind.__qualname__}"}
    if not dataclasses.is_dataclass(search):
        return name
    fields = table_of(search).items()
    return name | {key: as_dict(x) if dataclasses.is_dataclass(x) else x for key, x in fields}


def in_words(data: dict[str, Any]) -> str:
    """What `as_dict` described, by its classes alone: `LengtheningHorizon(LevenbergMarquardt)`."""
    inside = [
        in_words(value) for value in data.values() if isinstance(value, dict) and "search" in value
    ]
    name = str(data.get("search", "")).rpartition(":")[2]
    return f"{name}({', '.join(inside)})" if inside else name


def from_dict(data: dict[str, Any]) -> Any:
    """What `as_dict` described."""
    from isthmus.distributed.job import named  # only jobs and saved fits come here

    given = {name: value for name, value in data.items() if name != "search"}
    options = {n: from_dict(x) if isinstance(x, dict) else as_tuples(x) for n, x in given.items()}
    try:
        return named(data["search"])(**options)
    except TypeError as error:
        raise BadOption(f"{data['search']} cannot be made from its options: {error}.") from error
