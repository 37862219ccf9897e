"""Named parameters of a simulation <-> the vector `z` that a search moves.

`z` is scaled so that a change by one is a large change of any parameter. Inertias move inside the physically possible
set; the reported `values` are then nonlinear functions of `z`, and standard errors follow from their Jacobian.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.errors import BadFree, did_you_mean
from isthmus.identify.parameters import resolve
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.groups import Group, Setting
from isthmus.identify.parameters.leaves import acting
from isthmus.identify.parameters.sensors import delay, offset
from isthmus.model import address
from isthmus.model.leaves import SWITCH_FIELDS
from isthmus.model.model import Model, leaf_fields
from isthmus.model.switches import refuse_idle_numbers
from isthmus.types import AnyArray

Make = Callable[[Mapping[str, Any]], Model]


@dataclasses.dataclass(frozen=True)
class Parameters:
    """All free numbers, in their order."""

    groups: tuple[Group, ...]
    template: Model
    """The model at the start."""
    make: Make | None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the reported numbers."""
        return tuple(label for group in self.groups for label in group.labels)

    @property
    def units(self) -> tuple[str, ...]:
        many = lambda group: (
            group.units if len(group.units) > 1 else group.units * len(group.labels)
        )
        return tuple(unit for group in self.groups for unit in many(group))

    @property
    def size(self) -> int:
        return len(self.scale)

    @functools.cached_property
    def scale(self) -> np.ndarray:
        """What one unit of `z` is of each number."""
        return _joined(group.scale() for group in self.groups)

    @property
    def start(self) -> np.ndarray:
        return _joined(group.start for group in self.groups) / self.scale

    @property
    def low(self) -> np.ndarray:
        return _joined(group.bound("low") for group in self.groups) / self.scale

    @property
    def high(self) -> np.ndarray:
        return _joined(group.bound("high") for group in self.groups) / self.scale

    @property
    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and precision of each entry of `z`; a precision of zero is no prior."""
        mean = _joined(g.free.centre(g.start) for g in self.groups) / self.scale
        spread = _joined(group.prior_spread() for group in self.groups)
        return mean, np.square(self.scale / spread)

    @property
    def is_linear(self) -> bool:
        """Whether all numbers of the simulation change in proportion to `z`."""
        return self.make is None and all(group.linear for group in self.groups)

    def is_weight(self) -> np.ndarray:
        """Which entries are weights of networks."""
        return _joined(
            np.full(g.start.shape, g.free.name.startswith("network/")) for g in self.groups
        ).astype(bool)

    def bodies(self) -> list[np.ndarray]:
        """Of each body whose whole inertia is free, the ten entries that are its log-Cholesky numbers."""
        ends = np.cumsum([len(group.start) for group in self.groups])
        pairs = zip(self.groups, ends.tolist(), strict=True)
        return [np.arange(end - len(g.start), end) for g, end in pairs if not g.direct]

    # from z to what it means --------------------------------------------------------------------------------

    def parts(self, z: AnyArray) -> list[AnyArray]:
        """The numbers of each group."""
        x = z * self.scale
        ends = np.cumsum([len(group.start) for group in self.groups])
        return [x[end - len(g.start) : end] for g, end in zip(self.groups, ends, strict=True)]

    def setting(self, z: AnyArray) -> Setting:
        """The simulation that `z` stands for."""
        setting = Setting(self.template)
        pairs = list(zip(self.groups, self.parts(z), strict=True))
        for group, x in pairs:
            setting = group.apply(setting, x) if group.own else setting
        if self.make is not None:
            switches = {field: getattr(self.template, field) for field in SWITCH_FIELDS}
            made = dataclasses.replace(self.make(setting.named), **switches)
            setting = dataclasses.replace(setting, model=made)
        for group, x in pairs:
            setting = setting if group.own else group.apply(setting, x)
        return setting.settled()

    def model(self, z: np.ndarray) -> Model:
        """The model of `z`, with NumPy numbers in 64 bits."""
        with jax.enable_x64(True):
            model = self.setting(np.asarray(z, np.float64)).model
            return jax.tree.map(lambda x: np.asarray(x, np.float64), model)

    def values(self, z: np.ndarray) -> np.ndarray:
        """What is reported of `z`, in the order of `names`."""
        return self.reported(z)[0]

    def reported(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is reported, and its Jacobian by `z`."""
        found, blocks = [], []
        for group, x in zip(self.groups, self.parts(np.asarray(z, np.float64)), strict=True):
            value, slope = (
                (x, np.eye(len(x))) if group.report is None else _slope(group.report, len(x))(x)
            )
            found.append(value)
            blocks.append(slope)
        J = np.zeros((sum(map(len, found)), self.size))
        row = column = 0
        for block in blocks:
            height, width = block.shape
            J[row : row + height, column : column + width] = block
            row, column = row + height, column + width
        return _joined(found), J * self.scale[None]

    def from_values(self, given: Mapping[str, Any]) -> np.ndarray:
        """`z` with some numbers set by name; the rest as at the start."""
        x, names = self.start * self.scale, []
        place = 0
        for group in self.groups:
            names += [group.free.name, *group.labels]
            for k, label in enumerate(group.labels):
                if group.direct and label in given:
                    x[place + k] = given[label]
            if group.direct and group.free.name in given:
                x[place : place + len(group.start)] = np.ravel(given[group.free.name])
            place += len(group.start)
        if unknown := sorted(set(given) - set(names)):
            raise BadFree(
                f"nothing free is called {unknown[0]!r}.{did_you_mean(unknown[0], names)}"
            )
        return x / self.scale


def parameters(
    model: Model | None,
    make: Make | None,
    free: Sequence[Free],
    channels: Callable[[Model], dict[str, tuple[str, ...]]],
    runs: Sequence[str] = (),
) -> Parameters:
    """All that is free in a model, or in what `make` makes."""
    own = [f for f in free if make is not None and is_foreign(f.name)]
    named = [resolve.named(f) for f in own]
    if make is not None:
        with jax.enable_x64(True):
            start = {g.free.name: np.reshape(g.start, g.free.dimensions) for g in named}
            model = jax.tree.map(lambda x: np.asarray(x, np.float64), make(start))
    assert model is not None
    refuse_idle_numbers(model)
    for f in free:
        model = acting(model, f)
    found = {id(group.free): [group] for group in named}
    for f in free:
        if id(f) not in found:
            found[id(f)] = _groups(model, f, channels, runs)
    everything = tuple(group for f in free for group in found[id(f)])
    _refuse_faults(everything)
    return Parameters(everything, model, make)


@functools.cache
def _slope(report: Callable[[AnyArray], AnyArray], size: int) -> Any:
    """`x -> report(x), its Jacobian`, as native code."""
    from isthmus import native  # loads LLVM, which only a search needs

    return native.jacobian(report, np.zeros(size))


def is_foreign(name: str) -> bool:
    """Whether a name means nothing to the library, so that it is the user's own."""
    base = name.split("[")[0]
    parts = base.split("/")
    whole = f"{parts[0]}/{parts[-1]}" if len(parts) > 1 else base
    leaves = {spec.name for _, spec in leaf_fields()} | {"link/inertial", "dt"}
    families = ("stretch", "network", "offset", "delay", "start")
    return whole not in leaves and not (len(parts) > 1 and parts[0] in families)


def _groups(model: Model, free: Free, channels: Callable, runs: Sequence[str]) -> list[Group]:
    for kind in resolve.KINDS:
        if found := kind(model, free):
            return found
    if free.name.startswith("delay/"):
        return delay(channels(model), free)
    if free.name.startswith("offset/"):
        return offset(channels(model), free, runs)
    known = [spec.name for _, spec in leaf_fields()] + ["link/inertial", "start/velocity", "dt"]
    pattern = address.parse(free.name)[1]
    if pattern is not None:
        known = [name.replace("/", f"/{pattern}/", 1) for name in known]
    near = did_you_mean(free.name, known)
    raise BadFree(
        f"nothing of {model.name!r} is called {free.name!r}, so it cannot be free.{near} "
        "A name of your own needs Problem(make=)."
    )


def _refuse_faults(groups: Sequence[Group]) -> None:
    """All faults of names and bounds at once."""
    faults, seen = [], set()
    for group in groups:
        if twice := sorted(seen & set(group.labels)):
            faults.append(f"{twice[0]!r} is free twice; leave one of the two out.")
        seen |= set(group.labels)
        group.prior_spread()  # refuses another number of standard deviations, as `bound` does of bounds
        low, high = group.bound("low"), group.bound("high")
        if np.any(low < group.least):
            faults.append(
                f"{group.free.name!r} has low={low.min():g}, but no mechanism has one below {group.least:g}: "
                "raise low, or leave it out."
            )
        elif np.any(low >= high):
            faults.append(
                f"{group.free.name!r} has low={low.max():g} and high={high.min():g}: nothing lies between."
            )
        elif group.direct and np.any((group.start < low) | (group.start > high)):
            k = int(np.argmax((group.start < low) | (group.start > high)))
            faults.append(
                f"{group.labels[k]!r} starts at {group.start[k]:g}, outside its bounds {low[k]:g} to {high[k]:g}: "
                "widen them or give start=."
            )
    if faults:
        raise BadFree(" ".join(faults))


def _joined(parts: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(np.asarray(x, dtype=np.float64) for x in parts)])
