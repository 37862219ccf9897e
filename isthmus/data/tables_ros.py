"""ROS 2 bags (folder, `.db3`, `.mcap`) and ROS 1 bags as tables, one for each topic: no ROS is needed.

`sensor_msgs/JointState` gives positions, velocities and efforts (as commands) by the names of the joints; messages of
other topics, where asked for, give a column for each number in them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.options import Options
from isthmus.data.tables import Table
from isthmus.errors import BadMotion, BadOption, MissingExtra, did_you_mean

WHAT = "bag"
JOINT_STATE = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")
QUANTITIES = {"position": "joint/position", "velocity": "joint/velocity", "effort": "joint/control"}
LONGEST = 64
"""Entries of an array of a message that become columns; images and clouds do not."""


def read(path: str | os.PathLike[str], options: Options) -> list[Table]:
    """The tables of a bag, one for each topic, on one clock that begins with the earliest message."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingExtra("rosbags", "ros", f"Reading {str(path)!r}") from None
    with AnyReader([Path(path)], default_typestore=get_typestore(Stores.LATEST)) as bag:
        chosen = _chosen(str(path), bag.topics, options)
        found = {
            topic: _messages(bag, [c for c in bag.connections if c.topic == topic])
            for topic in chosen
        }
    begin = min((stamps[0] for stamps, _ in found.values() if stamps), default=0)
    return [
        _table(f"{path}:{topic}", stamps, rows, begin) for topic, (stamps, rows) in found.items()
    ]


def _chosen(source: str, topics: dict[str, Any], options: Options) -> list[str]:
    if options.topics is not None:
        for topic in options.topics:
            if topic not in topics:
                raise BadOption(f"{source!r} has no topic {topic!r}.{did_you_mean(topic, topics)}")
        return list(options.topics)
    found = [name for name, info in topics.items() if info.msgtype in JOINT_STATE]
    if not found:
        kinds = ", ".join(f"{name!r} ({info.msgtype})" for name, info in list(topics.items())[:8])
        raise BadMotion(
            f"{source!r} has no topic of joint states, but {kinds or 'nothing'}; name some with topics=[...]."
        )
    return found


def _messages(bag: Any, connections: list[Any]) -> tuple[list[int], list[dict[str, float]]]:
    """Stamps [ns] and numbers of the messages of a topic."""
    stamps, rows = [], []
    for connection, received, raw in bag.messages(connections=connections):
        message = bag.deserialize(raw, connection.msgtype)
        header = getattr(message, "header", None)
        stamp = 0 if header is None else header.stamp.sec * 10**9 + header.stamp.nanosec
        stamps.append(stamp or received)
        is_joints = connection.msgtype in JOINT_STATE
        prefix = connection.topic.strip("/").replace("/", ".")
        rows.append(dict(_joints(message) if is_joints else _numbers(message, prefix)))
    return stamps, rows


def _joints(message: Any) -> Iterator[tuple[str, float]]:
    for field, quantity in QUANTITIES.items():
        values = getattr(message, field)
        if len(values) == len(message.name):
            yield from (
                (f"{quantity}[{name}]", float(x))
                for name, x in zip(message.name, values, strict=True)
            )


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Every number of a message, by its path."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name not in ("header", "layout", "__msgtype__"):
                yield from _numbers(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.size <= LONGEST:
        yield from ((f"{name}[{i}]", float(x)) for i, x in enumerate(value))
    elif isinstance(value, bool | int | float | np.number):
        yield name, float(value)


def _table(source: str, stamps: list[int], rows: list[dict[str, float]], begin: int) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {"t": np.array([(stamp - begin) * 1e-9 for stamp in stamps])}
    for name in names:
        columns[name] = np.array([row.get(name, np.nan) for row in rows])
    if any("joint/control" in name for name in names):
        note = ("efforts are taken as commands, joint/control.",)
        return Table(source, columns, note)
    return Table(source, columns)
