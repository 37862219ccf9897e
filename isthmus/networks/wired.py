"""`Wired`: a network in its place, made by `Blueprint.attach`: what it reads, what it corrects, how.

All that was decided when attaching stands in a static `Plan`; the network and its scales are leaves.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.model.arrays import as_leaf, taken
from isthmus.networks.charts import chart_of
from isthmus.networks.seen import FADING, share_inside
from isthmus.record import Record
from isthmus.spatial import rotations
from isthmus.types import AnyArray


@runtime_checkable
class Lookup(Protocol):
    """Signals by name."""

    def __getitem__(self, name: str, /) -> AnyArray: ...


@dataclasses.dataclass(frozen=True)
class Reading:
    """One input of a wire, resolved: which numbers of which signal, and how they enter."""

    text: str
    name: str
    """The signal; `previous/joint/torque` for the last step's."""
    rows: tuple[int, ...] | None
    """Rows that enter, in order; None: the signal has no rows."""
    units: tuple[tuple[int, ...], ...] | None
    """For a network shared by rows: each unit's own rows; None: all units see the same."""
    plain: tuple[int, ...]
    """Places, in the flat numbers of a unit (or of all rows), that enter as they are."""
    angles: tuple[int, ...] = ()
    """… that enter as sine and cosine."""
    quaternions: tuple[tuple[int, int, int, int], ...] = ()
    """… that enter as two columns of a rotation matrix: equal for a quaternion and its negative."""

    @property
    def size(self) -> int:
        """How many inputs it makes."""
        return len(self.plain) + 2 * len(self.angles) + 6 * len(self.quaternions)

    def encoded(self, x: Float[AnyArray, " numbers"]) -> Float[AnyArray, " inputs"]:
        """The inputs that the flat numbers `x` make."""
        if not self.angles and not self.quaternions:
            return x
        parts = [taken(x, self.plain)] if self.plain else []
        if self.angles:
            turn = taken(x, self.angles)
            parts += [jnp.sin(turn), jnp.cos(turn)]
        for place in self.quaternions:
            parts.append(rotations.matrix(taken(x, place))[:, :2].reshape(-1))
        return jnp.concatenate(parts)

    def of(self, values: Lookup, count: int | None) -> AnyArray:
        """Its inputs: a vector, or, for `count` units, a row for each."""
        value = jnp.asarray(values[self.name])
        if count is None or self.units is None:
            flat = (value if self.rows is None else taken(value, self.rows)).reshape(-1)
            one = self.encoded(flat)
            return one if count is None else jnp.broadcast_to(one, (count, one.size))
        picked = value[np.array(self.units, dtype=np.int32)]
        return jax.vmap(self.encoded)(picked.reshape(count, -1))


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything static about a wire in its place."""

    name: str
    target: str
    mode: str
    """`add`, `scale` or `replace`."""
    law: str
    """`free`, or a guarantee: see `isthmus.networks.laws`."""
    rows: tuple[int, ...] | None
    """Rows of the target that are corrected; None: it has no rows."""
    shape: tuple[int, ...]
    """Shape of what corrects a row of the target: see `isthmus.networks.charts`."""
    units: int | None
    """How many units share the network; None: it sees all rows at once."""
    readings: tuple[Reading, ...]
    targets: tuple[str, ...]
    """Signals that it acts on: mostly just the target."""
    links: tuple[int, int] | None = None
    """The two links of an internal force."""
    coupled: bool = False
    """Whether a law takes the outputs as a matrix."""

    @property
    def numbers(self) -> int:
        """How many numbers of the target each unit has."""
        rows = 1 if self.rows is None else len(self.rows) // (self.units or 1)
        return rows * math.prod(self.shape)

    @property
    def couples_joints(self) -> bool:
        """Whether its matrix couples joints: the accelerations then come from the mass matrix."""
        return self.coupled and self.numbers > math.prod(self.shape)


class Wired(Record):
    """A network in its place."""

    plan: Plan = eqx.field(static=True)
    net: Any
    """The weights: what `Free("network/*")` trains."""
    shift: Float[AnyArray, " inputs"] = eqx.field(converter=as_leaf)
    scale: Float[AnyArray, " inputs"] = eqx.field(converter=as_leaf)
    """Inputs enter as `(x − shift) / scale`."""
    gain: Float[AnyArray, " outputs"] = eqx.field(converter=as_leaf)
    """Outputs leave as `gain · net`."""
    offset: AnyArray = eqx.field(converter=as_leaf)
    """What `replace` starts from: the numbers of the target's rows at the neutral state."""
    previous: dict[str, AnyArray] = eqx.field(default_factory=dict)
    """Signals of the last step that it reads, as they are before the first."""
    recipe: Any = eqx.field(static=True, default=None)
    """The `Wire` it was made from."""
    seen: Float[AnyArray, "2 inputs"] | None = eqx.field(default=None, converter=as_leaf)
    """Lowest and highest inputs, before scaling, in the motions that it was scaled by or fitted to; None: unknown."""

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def kind(self) -> str:
        """What the network is: `MLP`, `Dissipative GRU`, or the name of the user's class."""
        net = getattr(self.recipe, "net", None)
        inner = getattr(net, "net", net) if hasattr(net, "law") else net
        name = getattr(inner, "kind", None) or type(inner).__name__
        return name if inner is net else f"{type(net).__name__} {name}"

    @property
    def fades(self) -> bool:
        """Whether the correction fades out where inputs leave the range that was seen, if that is known."""
        asked = getattr(self.recipe, "fade", None)
        return fades_by_default(self.plan) if asked is None else asked

    @property
    def weights(self) -> int:
        """How many numbers are learned."""
        return sum(int(np.size(x)) for x in jax.tree.leaves(self.net))

    def __str__(self) -> str:
        reads = ", ".join(reading.text for reading in self.plan.readings)
        what = f"{self.kind}, {self.weights} weight{'' if self.weights == 1 else 's'}"
        return f"{self.name}: {reads} → {self.recipe.target}  ({what}, {self.plan.mode})"

    def fresh_memory(self) -> AnyArray | None:
        """What the network remembers before the first step; None: nothing."""
        if not hasattr(self.net, "memory_start"):
            return None
        one = self.net.memory_start()
        return (
            one if self.plan.units is None else np.broadcast_to(one, (self.plan.units, *one.shape))
        )

    def inputs(self, values: Lookup) -> AnyArray:
        """What the network reads, before scaling: a vector, or a row for each unit."""
        count = self.plan.units
        axis = 0 if count is None else 1
        parts = [reading.of(values, count) for reading in self.plan.readings]
        if not parts:
            parts = [jnp.zeros((0,) if count is None else (count, 0))]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=axis)

    def answer(
        self, values: Lookup, memory: AnyArray | None, dt: Any
    ) -> tuple[AnyArray, AnyArray | None]:
        """What the network says, scaled: a vector, or a row for each unit; and what it remembers."""
        x = self.inputs(values)
        if self.plan.units is None:
            return self._answer_of_unit(x, memory, dt)
        return jax.vmap(lambda x, memory: self._answer_of_unit(x, memory, dt))(x, memory)

    def _answer_of_unit(
        self, x: AnyArray, memory: AnyArray | None, dt: Any
    ) -> tuple[AnyArray, AnyArray | None]:
        scaled = (x - self.shift) / self.scale
        y, memory = (self.net(scaled), None) if memory is None else self.net(scaled, memory, dt)
        y = self.gain * y
        if self.seen is not None and self.fades:
            y = y * share_inside(x, self.seen, self.scale)
        return y, memory

    def in_rows(self, y: AnyArray) -> AnyArray:
        """Flat outputs in the shape of the target's rows."""
        count = () if self.plan.rows is None else (len(self.plan.rows),)
        return y.reshape(*count, *self.plan.shape)

    def corrected(self, value: AnyArray, effect: AnyArray, row: Any) -> AnyArray:
        """The target's `value` (or its rows `row`) with this wire's effect."""
        chart = chart_of(self.plan.target)
        changes = {
            "add": lambda x, y, o: chart.add(x, y),
            "scale": lambda x, y, o: chart.scale(x, y),
            "replace": lambda x, y, o: chart.make(y + o),
        }
        return self._changed(changes[self.plan.mode], value, effect, row)

    def corrected_slope(self, slope: AnyArray, effect: AnyArray) -> AnyArray:
        """The derivative of the corrected target by something, where that of the target is `slope`."""
        if self.plan.mode == "add":
            return slope
        changes = {"scale": lambda x, y, o: x * (1.0 + y), "replace": lambda x, y, o: 0.0 * x}
        return self._changed(changes[self.plan.mode], slope, effect, None)

    def _changed(self, change: Callable, value: AnyArray, effect: AnyArray, row: Any) -> AnyArray:
        plan, value = self.plan, jnp.asarray(value)
        if plan.rows is None:
            return change(value, effect, self.offset)
        offset = jnp.asarray(self.offset) if plan.mode == "replace" else effect
        here, there = _places(plan.rows, row, len(value) if row is None or np.ndim(row) else 1)
        if not len(here):
            return value
        if row is not None and np.ndim(row) == 0:
            return change(value, effect[there[0]], offset[there[0]])
        if len(here) == len(value):
            order = there[np.argsort(here)]
            return change(value, taken(effect, order), taken(offset, order))
        new = change(value[here], taken(effect, there), taken(offset, there))
        return value.at[here].set(new)


def fades_by_default(plan: Plan) -> bool:
    """Whether a wire adds a torque or force to the physics, or scales one."""
    return plan.target in FADING and can_fade(plan)


def can_fade(plan: Plan) -> bool:
    """Whether the correction may be multiplied by a number from 0 to 1 and keeps its meaning.

    Without the output, `replace` has the value at the neutral state, not that of the physics; and the slope of a
    potential that fades has a part from the fading.
    """
    return plan.mode != "replace" and plan.law != "conservative"


def _places(rows: tuple[int, ...], row: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the wire's rows stand in the value, and where in the effect."""
    block = np.arange(count) if row is None else np.atleast_1d(row)
    found = [(k, rows.index(int(r))) for k, r in enumerate(block) if int(r) in rows]
    pairs = np.array(found, dtype=np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
