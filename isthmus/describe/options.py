"""Options that all readers share: the ground, and choices among words."""

from __future__ import annotations

import dataclasses
import math
import numbers

import numpy as np

from isthmus.describe.description import Description, Frame, Shape
from isthmus.describe.notes import free_name, quoted
from isthmus.errors import BadOption, did_you_mean
from isthmus.spatial.rotations import matrix


def ground_height(ground: object) -> float | None:
    """Height of the ground [m]; None: no ground."""
    if ground is None or isinstance(ground, bool):
        return 0.0 if ground else None
    if not isinstance(ground, numbers.Real) or not math.isfinite(ground):
        raise BadOption(f"ground is {ground!r}; it must be True, False, None or a height [m].")
    return float(ground)


def with_ground(description: Description, height: float | None) -> Description:
    """The description with a plane at that height, fixed to the world; as it is, where it has that plane."""
    if height is None or any(_is_level_at(shape, height) for shape in description.shapes):
        return description
    name = free_name("ground", {shape.name for shape in description.shapes})
    plane = Shape(name, "plane", None, Frame((0.0, 0.0, height)))
    return dataclasses.replace(description, shapes=(*description.shapes, plane))


def _is_level_at(shape: Shape, height: float) -> bool:
    if shape.kind != "plane" or shape.link is not None:
        return False
    normal = matrix(np.asarray(shape.frame.orientation, dtype=float))[:, 2]
    place = np.asarray(shape.frame.position, dtype=float)
    return bool(normal[2] > 1.0 - 1e-12 and abs(place[2] - height) < 1e-9)


def must_be_one_of(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuses a word that is not among the choices."""
    if value not in choices:
        hint = did_you_mean(str(value), choices)
        raise BadOption(f"{option} is {value!r}; it must be one of {quoted(choices)}.{hint}")
