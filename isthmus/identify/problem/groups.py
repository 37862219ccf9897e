"""`Group`: the numbers of one `Free`, where they start, and how they change the simulation.

A record of plain data and two functions. `leaves.py`, `sensors.py` and `kinds.py` make them; a new kind of free
number is one more function in `KINDS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from isthmus.errors import BadFree
from isthmus.identify.problem.free import Free
from isthmus.model.model import Model
from isthmus.types import AnyArray


@dataclasses.dataclass
class Setting:
    """What a simulation is made of, as far as it can be free."""

    model: Model
    named: dict[str, AnyArray] = dataclasses.field(default_factory=dict)
    dt: Any = None
    """Time between two rows of the log [s]; None: the log's."""
    offsets: dict[str, AnyArray] = dataclasses.field(default_factory=dict)
    """What sensors add; where it differs from run to run: (runs + 1, …), at last their mean, for any other run."""
    delays: dict[str, AnyArray] = dataclasses.field(default_factory=dict)
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Leaves of the model that were changed and are not in it yet: making a model costs more than changing a leaf."""

    def leaf(self, field: str) -> Any:
        """A leaf of the model as it is now."""
        return self.changes.get(field, getattr(self.model, field))

    def put(self, **leaves: Any) -> None:
        """Changes leaves of the model."""
        self.changes.update(leaves)

    def settle(self) -> Model:
        """The model with all changes in it."""
        if self.changes:
            self.model = dataclasses.replace(self.model, **self.changes)
            self.changes = {}
        return self.model


@dataclasses.dataclass(frozen=True)
class Group:
    """The numbers of one `Free`."""

    free: Free
    labels: tuple[str, ...]
    """Names of what is reported, one for each number."""
    units: tuple[str, ...]
    """One for all, or one for each."""
    start: np.ndarray
    """In the coordinates of the search, before scaling."""
    apply: Callable[[Setting, AnyArray], None]
    """Puts numbers into a setting."""
    default_low: float = -np.inf
    report: Callable[[AnyArray], AnyArray] | None = None
    """From the coordinates of the search to what is reported; None: they are the same."""
    typical: float | None = None
    """Size of a change worth making, where neither start nor bounds say."""
    own: bool = False
    """Whether it is a name that only `make` knows."""
    linear: bool = True
    """Whether numbers of the simulation change in proportion to these."""
    plain: bool = True
    """Whether what is searched is what is reported, so that bounds can be given."""

    def bound(self, side: str) -> np.ndarray:
        """Lower or upper bound of each number."""
        given = getattr(self.free, side)
        if given is not None and not self.plain:
            raise BadFree(
                f"{self.free.name!r} is searched by log-Cholesky and takes no bounds; give a prior."
            )
        value = (self.default_low if side == "low" else np.inf) if given is None else given
        return spread(self.free, value, self.start.shape)

    def scale(self) -> np.ndarray:
        """Size of each number, from its start and its bounds."""
        width = self.bound("high") - self.bound("low")
        usual = np.where(np.isfinite(width), 0.1 * width, 0.0)
        size = np.maximum(np.abs(self.start), np.where(np.isfinite(usual), usual, 0.0))
        return (
            np.where(size > 0, size, 1.0)
            if self.typical is None
            else np.full(size.shape, self.typical)
        )


def spread(free: Free, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """One number for all, or one for each."""
    try:
        return np.broadcast_to(
            np.asarray(value, dtype=np.float64).ravel() if np.ndim(value) else value, shape
        ).astype(np.float64)
    except ValueError as mismatch:
        raise BadFree(
            f"{free.name!r} has {shape[0]} numbers, but {np.shape(value)} were given."
        ) from mismatch


def starting(free: Free, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The start that was asked for, or the model's own value."""
    return spread(free, value if free.start is None else free.start, shape)
