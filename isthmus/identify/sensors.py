"""Free numbers between motion and log: time step, delays and offsets of sensors."""

from __future__ import annotations

from isthmus.errors import BadFree
from isthmus.identify.free import Free
from isthmus.identify.groups import Group, Setting, starting
from isthmus.model.model import Model
from isthmus.types import AnyArray


def step(model: Model, free: Free) -> list[Group]:
    """`dt`: the time between two rows of the log."""
    if free.name != "dt":
        return []
    if free.start is None:
        raise BadFree("Free('dt') needs start=: the time step [s] to begin with.")

    def apply(setting: Setting, x: AnyArray) -> None:
        setting.dt = x[0]

    return [Group(free, ("dt",), ("s",), starting(free, 0.0, (1,)), apply, 0.0)]


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
        Group(free, (free.name,), ("s",), starting(free, 0.5 * (free.low + free.high), (1,)), apply)
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

    return [Group(free, labels, ("",), starting(free, 0.0, (len(labels),)), apply)]
