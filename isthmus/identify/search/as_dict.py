"""Searches as plain data and back, so that a job can name the search it runs, and a fit the one that found it."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.distributed.job import named
from isthmus.errors import BadOption

IDLE = {"decides": False}
"""Metadata of a field that does not change what is found, only who finds it and when it stops."""


def as_dict(search: Any) -> dict[str, Any]:
    """Class and options of a search, which must be a dataclass, less those options that decide nothing."""
    kind = type(search)
    module = "isthmus" if kind.__module__.startswith("isthmus.") else kind.__module__
    name = {"search": f"{module}:{kind.__qualname__}"}
    if not dataclasses.is_dataclass(search):
        return name
    fields = [f for f in dataclasses.fields(search) if f.metadata.get("decides", True)]
    return name | {f.name: _as_plain(getattr(search, f.name)) for f in fields}


def _as_plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return as_dict(value)
    return list(value) if isinstance(value, tuple) else value


def in_words(data: dict[str, Any]) -> str:
    """What `as_dict` described, by its classes alone: `LengtheningHorizon(LevenbergMarquardt)`."""
    inside = [
        in_words(value) for value in data.values() if isinstance(value, dict) and "search" in value
    ]
    name = str(data.get("search", "")).rpartition(":")[2]
    return f"{name}({', '.join(inside)})" if inside else name


def from_dict(data: dict[str, Any]) -> Any:
    """What `as_dict` described."""
    options = {name: _from_plain(value) for name, value in data.items() if name != "search"}
    try:
        return named(data["search"])(**options)
    except TypeError as error:
        raise BadOption(f"{data['search']} cannot be made from its options: {error}.") from error


def _from_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return from_dict(value)
    return tuple(value) if isinstance(value, list) else value
