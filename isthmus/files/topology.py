"""The static part of a model (names, kinds, parents) as plain data and back, checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.describe.description import EXTRAS, Joint
from isthmus.files.objects import Damaged
from isthmus.model.joints import JOINTS
from isthmus.model.layout import layout_of
from isthmus.model.model import Model
from isthmus.model.source import SourceFile
from isthmus.schema import WHOLE, Kind, as_tuples, options_of

ALIKE = {
    "link_names": ("joint_names", "joint_kinds", "parents"),
    "point_names": ("point_links",),
    "shape_names": ("shape_kinds", "shape_links", "shape_spans"),
    "contact_kinds": ("contact_shapes", "contact_corners", "contact_planes"),
}
"""Fields with as many entries as another one."""
WITHOUT_CONTACT = {
    f.name: list(f.default) if isinstance(f.default, tuple) else f.default
    for f in dataclasses.fields(Model)
    if f.name.startswith("contact_") and f.metadata.get("static")
}
SINCE_FORMAT_2 = (
    "current_driven", "biased", "sticking", "load_rubbing", "cogging", "playing", "bristling",
)  # fmt: skip
"""Fields that older files lack: switches of leaves that these lack too."""


def static_fields() -> dict[str, Kind]:
    """Static fields of a model, and what each may hold."""
    static = {f.name for f in dataclasses.fields(Model) if f.metadata.get("static")}
    return {name: kind for name, kind in options_of(Model).items() if name in static}


def topology(model: Model) -> dict[str, Any]:
    """All static fields."""
    return {name: getattr(model, name) for name in static_fields()}


def from_topology(found: Any) -> dict[str, Any]:
    """Static fields from plain data; refuses what makes no mechanism."""
    if not isinstance(found, Mapping):
        raise Damaged("it has no topology")
    declared = static_fields()
    older = {field: [] for field in SINCE_FORMAT_2} | WITHOUT_CONTACT
    data: dict[str, Any] = {**older, **found}
    if odd := sorted(set(data) ^ set(declared)):
        raise Damaged(f"its topology should differ in {odd}")
    for name, value in data.items():
        if not declared[name].fits(value) or (declared[name] is WHOLE and value < 0):
            raise Damaged(f"{name!r} cannot be {str(value)[:40]}")
    fields = {name: as_tuples(value) for name, value in data.items()}
    for name, others in ALIKE.items():
        if wrong := [other for other in others if len(fields[other]) != len(fields[name])]:
            raise Damaged(f"{wrong[0]!r} and {name!r} differ in length")
    if unknown := sorted(set(fields["joint_kinds"]) - set(JOINTS)):
        raise Damaged(f"there is no joint of kind {unknown[0]!r}")
    _check_rows(fields)
    return fields


def with_extras(fields: dict[str, Any]) -> dict[str, Any]:
    """All fields of a model; those that older files lack have no effect."""
    dof = layout_of(fields["joint_kinds"], fields["mimics"]).nv
    usual = Joint("", "fixed", None, "")
    leaves = {f"joint_{name}": np.full(dof, getattr(usual, name)) for name in EXTRAS}
    leaves["contact_friction_load"] = np.zeros(len(fields.get("contact_kinds", ())))
    return {**dict.fromkeys(SINCE_FORMAT_2, ()), **leaves, **fields}


def source_table(source: SourceFile) -> dict[str, str]:
    """The file that a model came from as plain data; bytes are letters of Latin-1, so that all come back."""
    return {"text": source.text.decode("latin-1"), "format": source.format, "base": source.base}


def source_of(data: Any) -> SourceFile:
    """What `source_table` made the data from; None: a file of version 0.1, which has none."""
    match data:
        case None:
            return SourceFile()
        case {"text": str(text), "format": "" | "urdf" | "mjcf" as format, "base": str(base)}:
            return SourceFile(text.encode("latin-1"), format, base)
    raise Damaged("the file that it came from is not there as text")


def _check_rows(fields: dict[str, Any]) -> None:
    """Refuses numbers of links, joints or degrees of freedom that are not there."""
    links = len(fields["link_names"])
    pairs = [row for pair in fields["mimics"] for row in pair]
    _within("mimics", pairs, 0, links)
    _within("prescribed", fields["prescribed"], 0, links)
    for name in ("parents", "point_links", "shape_links"):
        _within(name, fields[name], -1, links)
    for name in ("contact_shapes", "contact_planes"):
        _within(name, fields[name], 0, len(fields["shape_names"]))
    _within("contact_excluded", [r for pair in fields["contact_excluded"] for r in pair], -1, links)
    pairs = [row for pair in fields["contact_named"] for row in pair]
    _within("contact_named", pairs, 0, len(fields["shape_names"]))
    _check_pairs(fields)
    dof = layout_of(fields["joint_kinds"], fields["mimics"]).nv
    for name in ("limited", "saturated", "position_controlled", *SINCE_FORMAT_2):
        _within(name, fields[name], 0, dof)


def _check_pairs(fields: dict[str, Any]) -> None:
    """Refuses contacts that are no points of a solid shape, and pairs in an order or number that no model has."""
    kinds, masks = fields["shape_kinds"], fields["contact_masks"]
    if masks and len(masks) != len(kinds):
        raise Damaged("'contact_masks' and 'shape_names' differ in length")
    rows = list(zip(fields["contact_shapes"], fields["contact_planes"], strict=True))
    pairs = [(s, o) for s, o in rows if kinds[o] != "plane"]
    odd = any(kinds[s] == "plane" for s, _ in rows) or pairs != rows[len(rows) - len(pairs) :]
    counts = {pair: pairs.count(pair) for pair in pairs}
    if odd or any(count not in (1, 2, 4, 8) for count in counts.values()):
        raise Damaged("'contact_planes' names shapes that could not touch so")


def _within(name: str, rows: Any, low: int, high: int) -> None:
    if wrong := [row for row in rows if not low <= row < high]:
        raise Damaged(f"{name!r} names a row {wrong[0]}, which is not there")
