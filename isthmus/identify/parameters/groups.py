"""`Group`: the numbers of one `Free`, where they start, and how they change the simulation.

A record of plain data and two functions. `leaves.py`, `sensors.py` and `resolve.py` make them; a new kind of free
number is one more function in `KINDS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from isthmus.errors import BadFree
from isthmus.identify.parameters.free import Free
from isthmus.model.model import Model
from isthmus.phases import counted
from isthmus.types import AnyArray, Number


@dataclasses.dataclass(frozen=True)
class Setting:
    """The parts of a simulation that parameters can change. Immutable: every change returns a new one."""

    model: Model
    named: Mapping[str, AnyArray] = dataclasses.field(default_factory=dict)
    dt: Any = None
    """Time between two rows of the log [s]; None: the log's."""
    offsets: Mapping[str, AnyArray] = dataclasses.field(default_factory=dict)
    """Of sensors; where they differ from run to run: (runs + 1, …), with the mean as last row, for other runs."""
    delays: Mapping[str, Number] = dataclasses.field(default_factory=dict)
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Changed leaves that are not in `model` yet: making a model costs more than changing a leaf."""

    def leaf(self, field: str) -> Any:
        """A leaf of the model, with its change if there is one."""
        return self.changes.get(field, getattr(self.model, field))

    def put(self, **leaves: Any) -> Setting:
        """With other leaves of the model."""
        return dataclasses.replace(self, changes={**self.changes, **leaves})

    def settled(self) -> Setting:
        """With all changes in the model."""
        model = dataclasses.replace(self.model, **self.changes) if self.changes else self.model
        return dataclasses.replace(self, model=model, changes={})


@dataclasses.dataclass(frozen=True)
class Group:
    """The numbers of one `Free`."""

    free: Free
    labels: tuple[str, ...]
    """Names of the reported numbers."""
    units: tuple[str, ...]
    """One for all, or one for each."""
    start: np.ndarray
    """In the coordinates of the search, before scaling."""
    apply: Callable[[Setting, AnyArray], Setting]
    """The setting with these numbers in it."""
    default_low: float = -np.inf
    least: float = -np.inf
    """Below this number there is no such mechanism."""
    report: Callable[[AnyArray], AnyArray] | None = None
    """From the coordinates of the search to what is reported; None: they are the same."""
    typical: float | None = None
    """Typical size of a change; None: from start and bounds."""
    own: bool = False
    """Whether the name is the user's own, known to `make` only."""
    linear: bool = True
    """Whether numbers of the simulation change in proportion to these."""
    direct: bool = True
    """Whether the coordinates of the search are the reported numbers, so that bounds can be given."""

    def bound(self, side: str) -> np.ndarray:
        """Lower or upper bound of each number."""
        given = getattr(self.free, side)
        if given is not None and not self.direct:
            raise BadFree(
                f"{self.free.name!r} is searched by log-Cholesky and takes no bounds; give a prior."
            )
        value = (self.default_low if side == "low" else np.inf) if given is None else given
        return spread(self.free, value, self.start.shape)

    def prior_spread(self) -> np.ndarray:
        """Standard deviation of each number's prior; infinite: none."""
        return spread(self.free, self.free.spread(), self.start.shape)

    def scale(self) -> np.ndarray:
        """Size of each number, from its start and its bounds."""
        width = self.bound("high") - self.bound("low")
        from_bounds = np.where(np.isfinite(width), 0.1 * width, 0.0)
        size = np.maximum(np.abs(self.start), from_bounds)
        return (
            np.where(size > 0, size, 1.0)
            if self.typical is None
            else np.full(size.shape, self.typical)
        )


def spread(free: Free, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """`value`, one number for all or one for each, as an array of this shape."""
    try:
        return np.broadcast_to(
            np.asarray(value, dtype=np.float64).ravel() if np.ndim(value) else value, shape
        ).astype(np.float64)
    except ValueError as mismatch:
        raise BadFree(
            f"{free.name!r} has {counted(shape[0], 'number')}, but {np.size(value)} were given."
        ) from mismatch


def starting(free: Free, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The start that was asked for, or the model's own value."""
    return spread(free, value if free.start is None else free.start, shape)
