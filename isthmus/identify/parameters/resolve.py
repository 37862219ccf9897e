"""Resolves the name of a `Free` to groups of parameters. `KINDS` is the list of what names can mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.errors import BadFree, UnknownName
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.groups import Group, Setting, starting
from isthmus.identify.parameters.leaves import inertial, leaf, stretched
from isthmus.identify.parameters.sensors import step
from isthmus.model.address import matching
from isthmus.model.model import Model
from isthmus.types import AnyArray


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
        raise UnknownName(f"{free.name!r}: no network has this name; there are {there}.")
    return [_array(free, name, *arrays[name]) for name in picked]


def _array(free: Free, name: str, i: int, k: int, value: np.ndarray) -> Group:
    """One array of the network of wire `i`."""

    def apply(setting: Setting, x: AnyArray) -> Setting:
        networks = list(setting.leaf("networks"))
        leaves, tree = jax.tree.flatten(networks[i].net)
        leaves[k] = x.reshape(value.shape)
        networks[i] = dataclasses.replace(networks[i], net=jax.tree.unflatten(tree, leaves))
        return setting.put(networks=tuple(networks))

    inner = ["".join(f"[{j}]" for j in index) for index in np.ndindex(*value.shape)]
    labels = tuple(f"network/{name}{part}" for part in inner)
    start = starting(free, value.ravel(), (value.size,))
    return Group(free, labels, ("1",), start, apply, typical=1.0)


def _path(path: Any) -> str:
    part = lambda key: str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))
    return "/".join(part(key) for key in path)


def _matches(pattern: str, name: str) -> bool:
    """Whether the pattern matches the name of an array, or the beginning of its path."""
    parts, pattern = name.split("/"), pattern.removesuffix("/*")
    return bool(matching(pattern, ["/".join(parts[:k]) for k in range(1, len(parts) + 1)]))


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

    def apply(setting: Setting, x: AnyArray) -> Setting:
        value = jnp.reshape(x, free.dimensions)
        return dataclasses.replace(setting, named={**setting.named, free.name: value})

    return Group(free, labels, ("",), starting(free, middle, (count,)), apply, own=True)


KINDS: tuple[Callable[[Model, Free], list[Group]], ...] = (
    step,
    inertial,
    stretched,
    weights,
    leaf,
)
"""Tried in order; the first one that knows the name makes the groups."""
