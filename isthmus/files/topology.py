"""The static part of a model (names, kinds, parents) as plain data and back, checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from isthmus.files.objects import Damaged
from isthmus.model.joints import JOINTS
from isthmus.model.layout import layout_of
from isthmus.model.model import Model


def _is_int(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def _is_pair(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and all(map(_is_int, x))


FORMS: dict[str, Callable[[Any], bool]] = {
    "str": lambda x: isinstance(x, str),
    "int": lambda x: _is_int(x) and x >= 0,
    "tuple[str, ...]": lambda x: isinstance(x, tuple) and all(isinstance(y, str) for y in x),
    "tuple[int, ...]": lambda x: isinstance(x, tuple) and all(map(_is_int, x)),
    "tuple[tuple[int, int], ...]": lambda x: isinstance(x, tuple) and all(map(_is_pair, x)),
}
"""How a static field is declared -> what may stand there."""

ALIKE = {
    "link_names": ("joint_names", "joint_kinds", "parents"),
    "point_names": ("point_links",),
    "shape_names": ("shape_kinds", "shape_links", "shape_spans"),
}
"""Fields with as many entries as another one."""


def static_fields() -> dict[str, str]:
    """Static fields of a model: name -> how it is declared."""
    return {f.name: str(f.type) for f in dataclasses.fields(Model) if f.metadata.get("static")}


def topology(model: Model) -> dict[str, Any]:
    """All static fields."""
    return {name: getattr(model, name) for name in static_fields()}


def from_topology(data: Any) -> dict[str, Any]:
    """Static fields from plain data; refuses what makes no mechanism."""
    if not isinstance(data, Mapping):
        raise Damaged("it has no topology")
    declared = static_fields()
    if odd := sorted(set(data) ^ set(declared)):
        raise Damaged(f"its topology should differ in {odd}")
    fields = {name: _tuples(value) for name, value in data.items()}
    for name, value in fields.items():
        if not FORMS[declared[name]](value):
            raise Damaged(f"{name!r} cannot be {str(value)[:40]}")
    for name, others in ALIKE.items():
        if wrong := [other for other in others if len(fields[other]) != len(fields[name])]:
            raise Damaged(f"{wrong[0]!r} and {name!r} differ in length")
    if unknown := sorted(set(fields["joint_kinds"]) - set(JOINTS)):
        raise Damaged(f"there is no joint of kind {unknown[0]!r}")
    _check_rows(fields)
    return fields


def _check_rows(fields: dict[str, Any]) -> None:
    """Refuses numbers of links, joints or degrees of freedom that are not there."""
    links = len(fields["link_names"])
    pairs = [row for pair in fields["mimics"] for row in pair]
    _within("mimics", pairs, 0, links)
    _within("prescribed", fields["prescribed"], 0, links)
    for name in ("parents", "point_links", "shape_links"):
        _within(name, fields[name], -1, links)
    dof = layout_of(fields["joint_kinds"], fields["mimics"]).nv
    for name in ("limited", "saturated", "position_controlled"):
        _within(name, fields[name], 0, dof)


def _within(name: str, rows: Any, low: int, high: int) -> None:
    if wrong := [row for row in rows if not low <= row < high]:
        raise Damaged(f"{name!r} names a row {wrong[0]}, which is not there")


def _tuples(x: Any) -> Any:
    return tuple(map(_tuples, x)) if isinstance(x, list) else x
