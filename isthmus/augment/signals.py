"""`Signals`: the one door through which every quantity of a step passes.

Physics code calls `x = signal("joint/torque", x)`, or `signal("link/bias_force", x, row=i)` inside a pass over the
tree. The door publishes the value under its name and returns it. A `Signals` lives for one evaluation, while
tracing; what nobody reads leaves no operation behind.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax.numpy as jnp

from isthmus.errors import UnknownSignal, did_you_mean
from isthmus.types import AnyArray

T = TypeVar("T")


class NoSignals:
    """The door that only lets pass."""

    def __call__(self, name: str, value: T, row: int | None = None) -> T:
        return value


NO_SIGNALS = NoSignals()


class Signals(NoSignals):
    """Keeps what has been published, in the order of the step."""

    def __init__(self) -> None:
        self.published: dict[str, Any] = {}

    def __call__(self, name: str, value: T, row: int | None = None) -> T:
        if row is None:
            self.published[name] = value
        else:
            self.published.setdefault(name, {})[row] = value
        return value

    def __getitem__(self, name: str) -> AnyArray:
        """The value published as `name`, rows stacked in their order."""
        if name not in self.published:
            raise UnknownSignal(f"no step publishes {name!r}.{did_you_mean(name, self.published)}")
        value = self.published[name]
        if isinstance(value, dict):
            return jnp.stack([value[i] for i in sorted(value)])
        return jnp.asarray(value)
