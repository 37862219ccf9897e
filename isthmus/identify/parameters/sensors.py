"""Parameters of the measurement: time step, delays and offsets of sensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from isthmus.errors import BadFree
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.groups import Group, Setting, starting
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model
from isthmus.types import AnyArray

Channels = dict[str, tuple[str, ...]]
"""Signals that are compared, each with the names of its numbers."""


def step(model: Model, free: Free) -> list[Group]:
    """`dt`: the time between two rows of the log."""
    if free.name != "dt":
        return []
    if free.start is None:
        raise BadFree("Free('dt') needs start=: the time step [s] to begin with.")

    def apply(setting: Setting, x: AnyArray) -> Setting:
        return dataclasses.replace(setting, dt=x[0])

    return [Group(free, ("dt",), ("s",), starting(free, 0.0, (1,)), apply, 0.0, 0.0)]


def delay(channels: Channels, free: Free) -> list[Group]:
    """`delay/SIGNAL`: how far a sensor lags behind the motion [s]."""
    signal = _compared(channels, free)
    if free.low is None or free.high is None:
        raise BadFree(
            f"{free.name!r} needs low= and high= [s]: they say how much of each window can be compared."
        )

    def apply(setting: Setting, x: AnyArray) -> Setting:
        return dataclasses.replace(setting, delays={**setting.delays, signal: x[0]})

    return [
        Group(free, (free.name,), ("s",), starting(free, 0.5 * (free.low + free.high), (1,)), apply)
    ]


def offset(channels: Channels, free: Free, runs: Sequence[str]) -> list[Group]:
    """`offset/SIGNAL`: what a sensor adds to each of its numbers, in all runs or in each of `runs`."""
    signal = _compared(channels, free)
    labels = tuple(f"offset/{label}" for label in channels[signal])

    def apply(setting: Setting, x: AnyArray) -> Setting:
        return dataclasses.replace(setting, offsets={**setting.offsets, signal: x})

    def apply_each(setting: Setting, x: AnyArray) -> Setting:
        each = x.reshape(len(runs), len(channels[signal]))
        join = jnp.concatenate if is_traced(x) else np.concatenate
        return apply(setting, join([each, each.mean(axis=0, keepdims=True)]))

    if not free.each_run:
        return [Group(free, labels, ("",), starting(free, 0.0, (len(labels),)), apply)]
    labels = tuple(f"{label} in {run}" for run in _distinct(runs) for label in labels)
    return [Group(free, labels, ("",), starting(free, 0.0, (len(labels),)), apply_each)]


def _compared(channels: Channels, free: Free) -> str:
    """The signal in the name, which must be among those that are compared."""
    signal = free.name.partition("/")[2]
    if signal not in channels:
        raise BadFree(
            f"{free.name!r}: {signal!r} is not compared; signals= has {', '.join(channels)}."
        )
    return signal


def _distinct(runs: Sequence[str]) -> list[str]:
    """Names of runs, with a number added to equal ones (files of two folders)."""
    return [name if runs.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(runs)]
