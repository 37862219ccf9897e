"""`Free`: a number, or all that a pattern matches, that a fit may change."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.entry import check_arguments, described
from isthmus.errors import BadFree
from isthmus.types import Numbers


@check_arguments
@dataclasses.dataclass(frozen=True)
class Free:
    """Numbers that a fit may change, by name.

    A leaf of the model (`link/*/mass`, `joint/elbow/damping`, `gravity`); `link/*/inertial`, all ten numbers of a
    body, inside the physically possible set; `stretch/LINK`, a link's length as a factor; `network/*`, weights;
    `start/position` and `start/velocity` of every stretch that is simulated; `dt`; `offset/SIGNAL` and
    `delay/SIGNAL` [s] of a sensor; or a name of your own, which `Problem(make=)` understands.
    """

    name: str
    low: Numbers | None = None
    """Lower bound, one number or one for each; default: 0 for what cannot be negative, else none."""
    high: Numbers | None = None
    prior: Numbers | None = None
    """`(mean, standard deviation)`, or a standard deviation about the start."""
    start: Numbers | None = None
    """Where the search begins; default: what the model has, or the middle of the bounds."""
    shared: bool = False
    """One number for all that the pattern matches, instead of one for each."""
    each_run: bool = False
    """An `offset/SIGNAL` for each run, as where encoders are set to zero anew each time."""
    shape: int | Sequence[int] = ()
    """Of a name of your own."""

    def __post_init__(self) -> None:
        if not self.name:
            raise BadFree("Free needs a name, such as 'link/*/mass'.")
        for option in ("low", "high", "start"):
            value = getattr(self, option)
            if value is not None and np.any(np.isnan(np.asarray(value, dtype=np.float64))):
                raise BadFree(f"{option} of {self.name!r} is not a number: {value!r}.")
        if isinstance(self.prior, tuple | list) and len(self.prior) != 2:
            raise BadFree(
                f"the prior of {self.name!r} must be (mean, standard deviation), not {self.prior!r}."
            )
        if self.each_run and not self.name.startswith("offset/"):
            raise BadFree(f"{self.name!r} cannot differ from run to run; only offset/SIGNAL can.")
        if self.start is not None and not np.all(np.isfinite(np.asarray(self.start))):
            raise BadFree(f"the start of {self.name!r} must be finite, not {self.start!r}.")
        if not all(isinstance(n, int | np.integer) and n >= 0 for n in self.dimensions):
            raise BadFree(f"the shape of {self.name!r} must be whole numbers, not {self.shape!r}.")
        if not np.all(self.spread() > 0):
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


def as_frees(given: Any) -> tuple[Free, ...]:
    """A `Free`, a name, a list of these, or nothing, as a tuple of `Free`."""
    given = () if given is None else given
    is_list = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    entries: tuple[Any, ...] = tuple(given) if is_list else (given,)
    if wrong := [x for x in entries if not isinstance(x, str | Free)]:
        raise BadFree(
            f"free must be ist.Free('link/*/mass'), such a name, or a list of these, not {described(wrong[0])}."
        )
    return tuple(Free(x) if isinstance(x, str) else x for x in entries)
