"""Contacts of a model -> friction of geoms, which MuJoCo reads, and custom data, which `load` reads back."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.describe.description import Description, Shape
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.mjcf_touch import IMPULSES, KIND, NUMBER, SOLVER, USUAL

ONLY_OURS = (
    "how it touches the ground, but for sliding friction (only isthmus reads that of contact/*)"
)


def geom_numbers(shape: Shape) -> dict[str, Any]:
    """Attributes of the geom of a shape that touches: its friction counts, not that of the ground."""
    if not shape.touch.kind:
        return {}
    friction = float(np.mean(np.asarray(dict(shape.touch.numbers)["friction"])))
    return {"friction": (friction, *USUAL["friction"]), "priority": 1}


def custom_data(found: Description, lost: LeftOut) -> dict[str, Any]:
    """Names of custom data on contact, and their texts or numbers."""
    data: dict[str, Any] = {}
    for shape in found.shapes:
        if shape.touch.kind and shape.kind != "points":
            data[f"{KIND}{shape.name}"] = shape.touch.kind
            data |= {NUMBER.format(n, shape.name): numbers for n, numbers in shape.touch.numbers}
    if data:
        lost.add(ONLY_OURS)
        data |= {f"{SOLVER}{name}": value for name, value in found.impulses}
    return data


def is_of_contact(name: str) -> bool:
    """Whether custom data of this name are ours, on contact."""
    solver = name in [f"{SOLVER}{option}" for option in IMPULSES]
    return solver or name.startswith((KIND, NUMBER.partition("{")[0]))
