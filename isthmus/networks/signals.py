"""`Signal`: the function through which every quantity of a step passes.

Physics code calls `x = signal("joint/torque", x)`, or `signal("link/bias_force", x, row=i)` inside a pass over the
tree. `Signals` stores the value under its name and returns it, corrected where a wire of the model says so;
`NO_SIGNALS` returns it unchanged. A `Signals` lives for one evaluation, while tracing, and is called outside any `vmap`
within it (batch the whole step instead); values that are not read leave no operation in the compiled program.
"""

from __future__ import annotations

import abc
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import get_opaque_trace_state
from jax.interpreters.partial_eval import DynamicJaxprTracer

from isthmus.errors import BadWiring, UnknownSignal, did_you_mean
from isthmus.model.levels import Entries
from isthmus.networks.laws import LAWS, Effect
from isthmus.networks.wired import Wired
from isthmus.types import AnyArray

T = TypeVar("T")
Row = int | np.ndarray | Entries | None
"""Rows of a signal: one, several, those among the entries of a matrix; None: all."""


class Signal(abc.ABC):
    """What physics code calls with each quantity of a step."""

    @abc.abstractmethod
    def __call__(self, name: str, value: T, row: Row = None) -> T:
        """The value of the signal `name`, corrected; `row`: only these rows of it."""

    @abc.abstractmethod
    def slope(self, name: str, slope: AnyArray) -> AnyArray:
        """The slope of the signal `name`, for an implicit step, where its own is `slope`.

        A wire that scales the signal scales its slope, one that replaces the signal leaves none of it.
        """

    @abc.abstractmethod
    def damping(self, name: str) -> list[AnyArray]:
        """Damping that dissipative wires put on the signal, for an implicit step, as in `Effect.damping`."""

    @abc.abstractmethod
    def of(self, name: str) -> AnyArray:
        """The whole signal `name`, which was published before in this step."""

    @abc.abstractmethod
    def added_inertia(self) -> AnyArray | None:
        """Inertia that wires add in joint space, (dof, dof) [kg·m²]; None: none."""

    @abc.abstractmethod
    def recalled(self, name: str) -> AnyArray | None:
        """What the last step kept under this name in the memory of the state; None: nothing."""

    @abc.abstractmethod
    def keep(self, name: str, value: AnyArray) -> None:
        """Puts a value into the memory of the next state, if that memory has a place for it."""


class NoSignals(Signal):
    """A no-op: returns every value unchanged."""

    def __call__(self, name: str, value: T, row: Row = None) -> T:
        return value

    def slope(self, name: str, slope: AnyArray) -> AnyArray:
        return slope

    def damping(self, name: str) -> list[AnyArray]:
        return []

    def of(self, name: str) -> AnyArray:
        raise UnknownSignal(f"{name!r} is not kept: give a Signals.")

    def added_inertia(self) -> None:
        return None

    def recalled(self, name: str) -> None:
        return None

    def keep(self, name: str, value: AnyArray) -> None:
        pass


NO_SIGNALS = NoSignals()


class Signals(Signal):
    """Keeps what has been published, in the order of the step; corrects it by the wires of `model`."""

    def __init__(self, model: Any = None, memory: Any = None, dt: Any = None) -> None:
        self.published: dict[str, Any] = {}
        self._level = get_opaque_trace_state()
        self.model, self.dt = model, dt
        self._wires: tuple[Wired, ...] = () if model is None else model.networks
        self._memory = memory or {}
        self._after: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}
        self._effects: dict[str, Effect] = {}
        for name, value in self._memory.get("previous", {}).items():
            self.published[f"previous/{name}"] = value

    def __call__(self, name: str, value: T, row: Row = None) -> T:
        if get_opaque_trace_state() != self._level and _is_transformed(value):
            raise BadWiring(
                f"the signal {name!r} is called inside a jax.vmap (or jvp, grad) within the step, where its value is "
                "one of many: call it outside, with the whole array."
            )
        for wired in self._wires:
            if name in wired.plan.targets:
                self.published[name] = value if row is None else self.published.get(name, [])
                value = self._corrected(wired, name, value, row)
        if row is None:
            self.published[name] = value
        else:
            self.published.setdefault(name, []).append((row, value))
        return value

    def _corrected(self, wired: Wired, name: str, value: Any, row: Row) -> Any:
        found = self._effects.get(wired.name)
        if found is None:
            memory = self._memory.get("networks", {}).get(wired.name)
            y, after = wired.answer(_Reads(self, wired), memory, self.dt)
            found = self._effects[wired.name] = LAWS[wired.plan.law](wired, self, y)
            if after is not None:
                self._after[wired.name] = after
        if name != wired.plan.target:
            return value + found.of[name]
        if isinstance(row, Entries):
            return row.put(value, wired.corrected(row.of(value), found.of[name], row.rows))
        return wired.corrected(value, found.of[name], row)

    def __getitem__(self, name: str) -> AnyArray:
        """The value published as `name`, rows stacked in their order."""
        if name not in self.published:
            raise UnknownSignal(f"no step publishes {name!r}.{did_you_mean(name, self.published)}")
        value = self.published[name]
        if isinstance(value, list):
            rows, parts = zip(*(_rows(row, part) for row, part in value), strict=True)
            return jnp.concatenate(parts)[np.argsort(np.concatenate(rows))]
        return jnp.asarray(value)

    def slope(self, name: str, slope: AnyArray) -> AnyArray:
        for wired in self._wires:
            effect = self._effects.get(wired.name)
            if effect is not None and name == wired.plan.target:
                slope = wired.corrected_slope(slope, effect.of[name])
        return slope

    def damping(self, name: str) -> list[AnyArray]:
        return [e.damping[name] for e in self._effects.values() if name in e.damping]

    def of(self, name: str) -> AnyArray:
        return self[name]

    def added_inertia(self) -> AnyArray | None:
        found = [e.inertia for e in self._effects.values() if e.inertia is not None]
        return sum(found[1:], start=found[0]) if found else None

    def recalled(self, name: str) -> AnyArray | None:
        return self._memory.get(name)

    def keep(self, name: str, value: AnyArray) -> None:
        if name in self._memory:
            self._kept[name] = value

    def has(self, memory: Any) -> bool:
        """Whether every signal that the next step reads as `previous/…` has been published."""
        return (memory or {}).get("previous", {}).keys() <= self.published.keys()

    def remembered(self, memory: Any) -> Any:
        """The memory that the next step starts from."""
        if not memory or not (self._wires or self._kept):
            return memory
        after = {**memory, **self._kept}
        if "previous" in memory:
            after["previous"] = {name: self[name] for name in memory["previous"]}
        if "networks" in memory:
            after["networks"] = {**memory["networks"], **self._after}
        return after


def _is_transformed(value: Any) -> bool:
    """Whether a value stands for many of them, or for a value with a derivative."""
    return isinstance(value, Tracer) and not isinstance(value, DynamicJaxprTracer)


def _rows(row: Any, part: AnyArray) -> tuple[np.ndarray, AnyArray]:
    """Numbers of some rows, and their values with one axis for them."""
    if isinstance(row, Entries):
        return row.rows, row.of(part)
    return np.atleast_1d(row), part[None] if isinstance(row, int) else part


class _Reads:
    """The signals that a wire reads; the error for a missing one names the wire."""

    def __init__(self, signals: Signals, wired: Wired) -> None:
        self.signals, self.wired = signals, wired

    def __getitem__(self, name: str) -> AnyArray:
        if name in self.signals.published:
            return self.signals[name]
        who = f"the wire to {self.wired.plan.target!r} reads {name!r}"
        if name.startswith("extra/"):
            channel = name.removeprefix("extra/")
            raise UnknownSignal(
                f"{who}, which the controls do not bring: give Control(extra={{{channel!r}: ...}})."
            )
        if name.startswith("previous/"):
            raise UnknownSignal(
                f"{who}, which the state does not remember: start from State.neutral(model) of the hybrid model."
            )
        raise UnknownSignal(f"{who}, which this step does not publish.")
