"""`Signals`: the one door through which every quantity of a step passes.

Physics code calls `x = signal("joint/torque", x)`, or `signal("link/bias_force", x, row=i)` inside a pass over the
tree. The door publishes the value under its name and returns it. A `Signals` lives for one evaluation, while
tracing; what nobody reads leaves no operation behind.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

from isthmus.errors import UnknownSignal, did_you_mean
from isthmus.types import AnyArray

T = TypeVar("T")
Row = int | np.ndarray | None


class NoSignals:
    """The door that only lets pass."""

    def __call__(self, name: str, value: T, row: Row = None) -> T:
        return value


NO_SIGNALS = NoSignals()


class Signals(NoSignals):
    """Keeps what has been published, in the order of the step."""

    def __init__(self) -> None:
        self.published: dict[str, Any] = {}

    def __call__(self, name: str, value: T, row: Row = None) -> T:
        if row is None:
            self.published[name] = value
        else:
            self.published.setdefault(name, []).append((row, value))
        return value

    def __getitem__(self, name: str) -> AnyArray:
        """The value published as `name`, rows stacked in their order."""
        if name not in self.published:
            raise UnknownSignal(f"no step publishes {name!r}.{did_you_mean(name, self.published)}")
        value = self.published[name]
        if isinstance(value, list):
            rows = np.concatenate([np.atleast_1d(row) for row, _ in value])
            parts = [part[None] if isinstance(row, int) else part for row, part in value]
            return jnp.concatenate(parts)[np.argsort(rows)]
        return jnp.asarray(value)
