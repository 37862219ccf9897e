"""The choices that a reader makes about a log, checked before any file is opened."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from isthmus.data.units import factor
from isthmus.errors import BadOption, did_you_mean

CHOICES: dict[str, tuple[str, ...]] = {
    "missing": ("refuse", "nan"),
    "stamps": ("keep", "sort", "even", "fill"),
    "gaps": ("keep", "split"),
    "holes": ("keep", "drop", "fill"),
    "outliers": ("keep", "nan", "fill"),
    "angles": ("keep", "unwrap", "wrap"),
    "signs": ("keep", "fix"),
    "constant": ("keep",),
    "quaternions": ("wxyz", "xyzw"),
}
"""What each option may be; None (where it is the default) means: say so if there is any."""


@dataclasses.dataclass(frozen=True)
class Options:
    """As `read_motion` describes them."""

    # what a caller gets wrong is said here, in our words: the first few take anything
    columns: Any = dataclasses.field(default_factory=dict)
    units: Any = dataclasses.field(default_factory=dict)
    header: Any = None
    time: Any = None
    rate: Any = None
    runs: Any = None
    topics: Any = None
    align: Any = None
    missing: Any = "refuse"
    stamps: Any = None
    gaps: Any = None
    holes: Any = None
    outliers: Any = None
    angles: Any = None
    signs: Any = None
    constant: Any = None
    quaternions: Any = "wxyz"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if not (isinstance(value, str) and value in known) and not (
                value is None and _defaults()[name] is None
            ):
                raise BadOption(
                    f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}."
                )
        for name in ("columns", "units"):
            if not isinstance(getattr(self, name), Mapping):
                raise BadOption(f"{name} must be a dictionary, such as {EXAMPLES[name]}.")
        for name in ("header", "topics"):
            value = getattr(self, name)
            if isinstance(value, str) or not (value is None or isinstance(value, Iterable)):
                raise BadOption(f"{name} must be a list of names, not {value!r}.")
        for name in ("time", "runs"):
            if not isinstance(getattr(self, name), str | None):
                raise BadOption(
                    f"{name} must be the name of a column, not {getattr(self, name)!r}."
                )
        for column, meant in self.columns.items():
            if not isinstance(meant, str | None):
                raise BadOption(f"columns: {column!r} must be a name or None, not {meant!r}.")
        for unit in self.units.values():
            factor(unit, "")
        if self.rate is not None and not _positive(self.rate):
            raise BadOption(f"rate must be a positive number of rows a second, not {self.rate!r}.")
        named = self.align is None or (isinstance(self.align, str) and self.align == "union")
        if not (named or _positive(self.align)):
            raise BadOption(f"align must be 'union' or a step in seconds, not {self.align!r}.")


EXAMPLES = {
    "columns": "{'enc_1': 'joint/position[elbow]'}",
    "units": "{'joint/position': 'deg'}",
}


def _defaults() -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(Options)}


def _positive(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and 0 < x < float("inf")


def checked(given: Mapping[str, Any]) -> Options:
    """The options of a call; a misspelt one is named with its neighbour."""
    known = [field.name for field in dataclasses.fields(Options)]
    for name in given:
        if name not in known:
            raise BadOption(f"read_motion has no option {name!r}.{did_you_mean(name, known)}")
    return Options(**given)
