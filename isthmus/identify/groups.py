"""What each kind of `Free` means: which numbers it has, where they start, and how they change the simulation.

A `Group` is a record of plain data and two functions; `KINDS` lists who makes them, and a new kind is one more entry.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.errors import BadFree, UnknownName
from isthmus.identify.free import Free
from isthmus.model import address
from isthmus.model.arrays import replaced
from isthmus.model.model import LeafSpec, Model, leaf_fields
from isthmus.model.stretch import stretch
from isthmus.spatial import inertia
from isthmus.types import AnyArray

NOT_NEGATIVE = frozenset(
    "mass armature stiffness damping friction friction_speed limit_stiffness limit_damping limit_width effort kp kd "
    "delay size".split()
)
"""Last parts of names whose numbers have 0 as their lower bound unless told otherwise."""


@dataclasses.dataclass
class Setting:
    """What a simulation is made of, as far as it can be free."""

    model: Model
    named: dict[str, AnyArray] = dataclasses.field(default_factory=dict)
    dt: Any = None
    """Time between two rows of the log [s]; None: the log's."""
    offsets: dict[str, AnyArray] = dataclasses.field(default_factory=dict)
    delays: dict[str, AnyArray] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Group:
    """The numbers of one `Free`."""

    free: Free
    labels: tuple[str, ...]
    """Names of what is reported, one for each number."""
    unit: str
    start: np.ndarray
    """In the coordinates of the search, before scaling."""
    apply: Callable[[Setting, AnyArray], None]
    """Puts numbers into a setting."""
    default_low: float = -np.inf
    report: Callable[[AnyArray], AnyArray] = lambda x: x
    """From the coordinates of the search to what is reported."""
    typical: float | None = None
    """Size of a change worth making, where neither start nor bounds say."""
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


# leaves of the model -------------------------------------------------------------------------------------


def leaf(model: Model, free: Free) -> list[Group]:
    """`link/*/mass`, `joint/elbow/damping`, `gravity`: one number for each row and entry, or one for all."""
    base, pattern = address.parse(free.name)
    found = [(field, spec) for field, spec in leaf_fields() if spec.name == base]
    if not found:
        return []
    field, spec = found[0]
    value = np.asarray(getattr(model, field))
    if not value.size:
        raise UnknownName(f"{free.name!r}: {model.name!r} has no such number.")
    rows = _rows(model, spec, free.name, pattern)
    names = leaf_names(model, spec, rows)
    here = value if rows is None else value[rows]
    low = 0.0 if base.rsplit("/", 1)[-1] in NOT_NEGATIVE else -np.inf

    def apply(setting: Setting, x: AnyArray) -> None:
        full = jnp.broadcast_to(x, here.shape) if free.shared else jnp.reshape(x, here.shape)
        index = Ellipsis if rows is None else rows
        new = replaced(getattr(setting.model, field), index, full)
        setting.model = dataclasses.replace(setting.model, **{field: new})

    if free.shared:
        start = starting(free, float(np.mean(here)), (1,))
        return [Group(free, (free.name,), spec.unit, start, apply, low)]
    return [Group(free, names, spec.unit, starting(free, here.ravel(), (here.size,)), apply, low)]


def _rows(model: Model, spec: LeafSpec, name: str, pattern: str | None) -> np.ndarray | None:
    if pattern is None or spec.rows is None:
        return None
    return np.array(address.rows_of(name, pattern, model.rows(spec.rows)), dtype=np.int32)


def leaf_names(model: Model, spec: LeafSpec, rows: np.ndarray | None) -> tuple[str, ...]:
    """A name for every entry: `link/upper/com[2]`."""
    inner = ["".join(f"[{i}]" for i in index) for index in np.ndindex(*spec.shape)]
    if spec.rows is None:
        return tuple(spec.name + part for part in inner)
    family, quantity = spec.name.split("/", 1)
    owned = [
        f"{family}/{name}/{quantity}" + (f"[{k}]" if len(own) > 1 else "")
        for name, own in model.rows(spec.rows).items()
        for k, _ in enumerate(own)
    ]
    picked = range(len(owned)) if rows is None else rows
    return tuple(owned[row] + part for row in picked for part in inner)


# bodies, lengths ---------------------------------------------------------------------------------------------

TEN = ("mass", "com[0]", "com[1]", "com[2]", *(f"inertia[{k}]" for k in range(6)))


def inertial(model: Model, free: Free) -> list[Group]:
    """`link/*/inertial`: mass, centre of mass and inertia by ten free numbers each (log-Cholesky)."""
    base, pattern = address.parse(free.name)
    if base != "link/inertial":
        return []
    if free.shared:
        raise BadFree(f"{free.name!r} cannot be shared: bodies differ in more than one number.")
    rows = address.rows_of(free.name, pattern or "*", model.rows("link"))
    return [_body(model, free, i) for i in rows]


def _body(model: Model, free: Free, i: int) -> Group:
    with jax.enable_x64(True):
        ten = inertia.to_log_cholesky(
            jnp.asarray(model.link_mass[i]),
            jnp.asarray(model.link_com[i]),
            jnp.asarray(model.link_inertia[i]),
        )
    start, link = np.asarray(ten, dtype=np.float64), model.link_names[i]
    if not np.all(np.isfinite(start)):
        raise BadFree(
            f"link {link!r} has an inertia that no body of some extent has, so {free.name!r} cannot start there. "
            "Give it a positive mass and moments (load with repair='nearest')."
        )

    def report(x: AnyArray) -> AnyArray:
        mass, com, six = inertia.from_log_cholesky(x)
        return jnp.concatenate([jnp.reshape(mass, (1,)), com, six])

    def apply(setting: Setting, x: AnyArray) -> None:
        mass, com, six = inertia.from_log_cholesky(x)
        model = setting.model
        setting.model = dataclasses.replace(
            model,
            link_mass=replaced(model.link_mass, i, mass),
            link_com=replaced(model.link_com, i, com),
            link_inertia=replaced(model.link_inertia, i, six),
        )

    labels = tuple(f"link/{link}/{part}" for part in TEN)
    return Group(
        free, labels, "kg, m, kg·m²", start, apply, report=report, typical=0.3, plain=False
    )


def stretched(model: Model, free: Free) -> list[Group]:
    """`stretch/LINK`: by which factor a link is longer than the model says."""
    family, _, pattern = free.name.partition("/")
    if family != "stretch":
        return []
    rows = address.rows_of(free.name, pattern, model.rows("link"))
    links = [model.link_names[i] for i in rows]

    def apply(setting: Setting, x: AnyArray) -> None:
        for k, link in enumerate(links):
            setting.model = stretch(setting.model, link, x[0 if free.shared else k])

    labels = (free.name,) if free.shared else tuple(f"stretch/{link}" for link in links)
    return [Group(free, labels, "1", starting(free, 1.0, (len(labels),)), apply, 0.0)]


# sensors, time -------------------------------------------------------------------------------------------------


def step(model: Model, free: Free) -> list[Group]:
    """`dt`: the time between two rows of the log."""
    if free.name != "dt":
        return []
    if free.start is None:
        raise BadFree("Free('dt') needs start=: the time step [s] to begin with.")

    def apply(setting: Setting, x: AnyArray) -> None:
        setting.dt = x[0]

    return [Group(free, ("dt",), "s", starting(free, 0.0, (1,)), apply, 0.0)]


def delay(model: Model, free: Free) -> list[Group]:
    """`delay/SIGNAL`: by how much a sensor shows what was [s]."""
    family, _, signal = free.name.partition("/")
    if family != "delay":
        return []
    if free.low is None or free.high is None:
        raise BadFree(
            f"{free.name!r} needs low= and high= [s]: they say how much of each window can be compared."
        )

    def apply(setting: Setting, x: AnyArray) -> None:
        setting.delays[signal] = x[0]

    return [
        Group(free, (free.name,), "s", starting(free, 0.5 * (free.low + free.high), (1,)), apply)
    ]


def offset(channels: dict[str, tuple[str, ...]], free: Free) -> list[Group]:
    """`offset/SIGNAL`: what a sensor adds to each of its numbers."""
    family, _, signal = free.name.partition("/")
    if family != "offset":
        return []
    if signal not in channels:
        raise BadFree(
            f"{free.name!r}: {signal!r} is not compared; signals= has {', '.join(channels)}."
        )
    labels = tuple(f"offset/{label}" for label in channels[signal])

    def apply(setting: Setting, x: AnyArray) -> None:
        setting.offsets[signal] = x

    return [Group(free, labels, "as the signal", starting(free, 0.0, (len(labels),)), apply)]


# trees of numbers ----------------------------------------------------------------------------------------------


def weights(model: Model, free: Free) -> list[Group]:
    """`network/*`, `network/WIRE`, `network/WIRE/layers/0/weight`: weights of the networks attached to the model."""
    family, _, pattern = free.name.partition("/")
    if family != "network":
        return []
    arrays = {
        f"{wired.name}/{_path(path)}": (i, k, np.asarray(leaf, np.float64))
        for i, wired in enumerate(model.networks)
        for k, (path, leaf) in enumerate(jax.tree_util.tree_flatten_with_path(wired.net)[0])
        if hasattr(leaf, "shape")
    }
    picked = [name for name in arrays if _matches(pattern, name)]
    if not picked:
        there = ", ".join(dict.fromkeys(wired.name for wired in model.networks)) or "none"
        raise UnknownName(f"{free.name!r}: no network is called so; there are {there}.")
    return [_array(free, name, *arrays[name]) for name in picked]


def _array(free: Free, name: str, i: int, k: int, value: np.ndarray) -> Group:
    """One array of the network of wire `i`."""

    def apply(setting: Setting, x: AnyArray) -> None:
        networks = list(setting.model.networks)
        leaves, tree = jax.tree.flatten(networks[i].net)
        leaves[k] = jnp.reshape(x, value.shape)
        networks[i] = dataclasses.replace(networks[i], net=jax.tree.unflatten(tree, leaves))
        setting.model = dataclasses.replace(setting.model, networks=tuple(networks))

    inner = ["".join(f"[{j}]" for j in index) for index in np.ndindex(*value.shape)]
    labels = tuple(f"network/{name}{part}" for part in inner)
    start = starting(free, value.ravel(), (value.size,))
    return Group(free, labels, "1", start, apply, typical=1.0)


def _path(path: Any) -> str:
    part = lambda key: str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))
    return "/".join(part(key) for key in path)


def _matches(pattern: str, name: str) -> bool:
    return (
        pattern == "*"
        or name == pattern
        or name.startswith(pattern.removesuffix("*").rstrip("/") + "/")
    )


def named(free: Free) -> Group:
    """A name of the user's own, which `make` understands."""
    ends = (free.low, free.high)
    if free.start is None and not all(x is not None and np.all(np.isfinite(x)) for x in ends):
        raise BadFree(f"{free.name!r} needs start=, or both low= and high= to start between.")
    middle = 0.5 * (np.asarray(free.low) + np.asarray(free.high)) if free.start is None else 0.0
    count = free.count
    labels = tuple(
        free.name + "".join(f"[{i}]" for i in index) for index in np.ndindex(*free.dimensions)
    )

    def apply(setting: Setting, x: AnyArray) -> None:
        setting.named[free.name] = jnp.reshape(x, free.dimensions)

    return Group(free, labels, "", starting(free, middle, (count,)), apply)


KINDS: tuple[Callable[[Model, Free], list[Group]], ...] = (
    step,
    delay,
    inertial,
    stretched,
    weights,
    leaf,
)
"""Tried in turn; the first that knows the name makes its groups."""
