"""Contacts of a model -> friction of geoms, which MuJoCo reads, and custom data, which `load` reads back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from isthmus.describe.description import Description, Shape, Touch, TouchingPair
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.mjcf_touch import IMPULSES, KIND, NUMBER, PAIR, SOLVER, USUAL
from isthmus.export.xml_text import Xml

ONLY_OURS = "how it touches, but for sliding friction (only isthmus reads that of contact/*)"


def touches(found: Description) -> bool:
    """Whether any contact is a part of the model."""
    return bool(found.pairs) or any(shape.touch.kind for shape in found.shapes)


def geom_numbers(shape: Shape) -> dict[str, Any]:
    """Attributes of the geom of a shape: its masks, and if it touches its friction, which counts, not the ground's."""
    bits = {} if shape.mask == (1, 1) else mask_numbers(shape)
    if not shape.touch.kind:
        return bits
    return {"friction": (_friction(shape.touch), *USUAL["friction"]), "priority": 1, **bits}


def mask_numbers(shape: Shape) -> dict[str, int]:
    """What a geom is, and what it touches, as bits."""
    return dict(zip(("contype", "conaffinity"), shape.mask, strict=True))


def pair_numbers(pair: TouchingPair) -> dict[str, Any]:
    """Attributes of a pair; of one that touches, its friction."""
    if not pair.touch.kind:
        return {}
    friction, (turning, rolling) = _friction(pair.touch), USUAL["friction"]
    return {"friction": (friction, friction, turning, rolling, rolling)}


def _friction(touch: Touch) -> float:
    """The mean of all contacts."""
    return float(np.mean(np.asarray(dict(touch.numbers)["friction"])))


def pairs_between(found: Description, shapes: Collection[str], lost: LeftOut) -> list[TouchingPair]:
    """The pairs whose two shapes are written; the others are noted."""
    for pair in found.pairs:
        if not {pair.first, pair.second} <= {*shapes}:
            lost.add("which bodies touch each other, of pair", PAIR.format(pair.first, pair.second))
    return [pair for pair in found.pairs if {pair.first, pair.second} <= {*shapes}]


def write_pairs(xml: Xml, found: Description, shapes: Collection[str], lost: LeftOut) -> None:
    """Which of the written shapes touch each other by name, and which links do not touch."""
    pairs = pairs_between(found, shapes, lost)
    if not pairs and not found.excluded:
        return
    xml.open("contact")
    for pair in pairs:
        name = PAIR.format(pair.first, pair.second)
        xml.leaf("pair", name=name, geom1=pair.first, geom2=pair.second, **pair_numbers(pair))
    for first, second in found.excluded:
        xml.leaf("exclude", body1=first or "world", body2=second or "world")
    xml.close()


def custom_data(found: Description, lost: LeftOut) -> dict[str, Any]:
    """Names of custom data on contact, and their texts or numbers."""
    data: dict[str, Any] = {}
    for shape in found.shapes:
        if shape.touch.kind and shape.kind != "points":
            data[f"{KIND}{shape.name}"] = shape.touch.kind
            data |= {NUMBER.format(n, shape.name): numbers for n, numbers in shape.touch.numbers}
    points = {shape.name for shape in found.shapes if shape.kind == "points"}
    for pair in found.pairs:
        if pair.touch.kind and not {pair.first, pair.second} & points:
            name = PAIR.format(pair.first, pair.second)
            data[f"{KIND}{name}"] = pair.touch.kind
            data |= {NUMBER.format(n, name): numbers for n, numbers in pair.touch.numbers}
    if data:
        lost.add(ONLY_OURS)
        data |= {f"{SOLVER}{name}": value for name, value in found.impulses}
    return data


def is_of_contact(name: str) -> bool:
    """Whether custom data of this name are ours, on contact."""
    solver = name in [f"{SOLVER}{option}" for option in IMPULSES]
    return solver or name.startswith((KIND, NUMBER.partition("{")[0]))
