"""What the methods of `ist.posterior` take and give."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isthmus.identify.search.as_dict import as_dict
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode


@dataclasses.dataclass(frozen=True)
class Draws:
    """Samples in unbounded coordinates, and what is known about them."""

    U: Points
    """Equally weighted."""
    modes: Sequence[Mode]
    weights: np.ndarray
    """Share of each mode."""
    khat: float = np.nan
    effective: float = np.nan
    notes: tuple[str, ...] = ()
    complete: bool = True
    state: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    """What `resume` needs."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """A posterior that is asked for."""

    density: Density
    modes: Sequence[Mode]
    """Those known so far, the best first; empty: none was searched for."""
    lengthen: bool
    """Whether windows are long."""
    state: dict[str, np.ndarray]
    """Where an earlier run stopped; empty: begin."""
    listen: Callable[[Draws], Any] | None
    """Gets the samples so far, now and then."""

    def tell(self, draws: Draws) -> None:
        """Reports the samples so far."""
        if self.listen is not None:
            self.listen(draws)


class AbstractMethod(abc.ABC):
    """A way to a posterior."""

    @abc.abstractmethod
    def run(self, asked: Asked) -> Draws:
        """Samples of the posterior."""

    def settings(self) -> dict[str, Any]:
        """The method and its options as plain data."""
        return as_dict(self)
