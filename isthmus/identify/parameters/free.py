"""`Free`: a number, or all that a pattern matches, that a fit may change."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from isthmus.errors import BadFree


@dataclasses.dataclass(frozen=True)
class Free:
    """Numbers that a fit may change, by name.

    A leaf of the model (`link/*/mass`, `joint/elbow/damping`, `gravity`); `link/*/inertial`, all ten numbers of a
    body, inside the physically possible set; `stretch/LINK`, a link's length as a factor; `network/*`, weights;
    `start/position` and `start/velocity` of every stretch that is simulated; `dt`; `offset/SIGNAL` and
    `delay/SIGNAL` [s] of a sensor; or a name of your own, which `Problem(make=)` understands.
    """

    name: str
    low: Any = None
    """Lower bound, one number or one for each; default: 0 for what cannot be negative, else none."""
    high: Any = None
    prior: Any = None
    """`(mean, standard deviation)`, or a standard deviation about the start."""
    start: Any = None
    """Where the search begins; default: what the model has, or the middle of the bounds."""
    shared: bool = False
    """One number for all that the pattern matches, instead of one for each."""
    each_run: bool = False
    """An `offset/SIGNAL` for each run, as where encoders are set to zero anew each time."""
    shape: Any = ()
    """Of a name of your own."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise BadFree(f"Free needs a name, not {self.name!r}.")
        for bound in ("low", "high", "start"):
            value = getattr(self, bound)
            if value is not None and np.any(np.isnan(np.asarray(value, dtype=np.float64))):
                raise BadFree(f"{bound} of {self.name!r} is not a number: {value!r}.")
        if self.each_run and not self.name.startswith("offset/"):
            raise BadFree(f"{self.name!r} cannot differ from run to run; only offset/SIGNAL can.")
        if np.any(self.spread() <= 0):
            raise BadFree(f"the prior of {self.name!r} needs a positive standard deviation.")

    @property
    def dimensions(self) -> tuple[int, ...]:
        """`shape` as a tuple."""
        return (self.shape,) if isinstance(self.shape, int) else tuple(self.shape)

    @property
    def count(self) -> int:
        """How many numbers a name of your own has."""
        return math.prod(self.dimensions)

    def spread(self) -> np.ndarray:
        """Standard deviation of the prior; infinite: none."""
        given = self.prior[1] if isinstance(self.prior, tuple | list) else self.prior
        return np.asarray(np.inf if given is None else given, dtype=np.float64)

    def centre(self, start: np.ndarray) -> np.ndarray:
        """Mean of the prior."""
        given = self.prior[0] if isinstance(self.prior, tuple | list) else start
        return np.broadcast_to(np.asarray(given, dtype=np.float64), start.shape)
