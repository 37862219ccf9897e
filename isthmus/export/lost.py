"""Which numbers of a model a file format cannot hold, listed in one warning."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from isthmus.describe.description import Description, Joint
from isthmus.describe.files import PathLike
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.notes import say
from isthmus.disk import whole_file
from isthmus.errors import ExportWarning
from isthmus.export.description import row
from isthmus.export.xml_text import check_path
from isthmus.model.model import Model

SPEED = Joint("", "fixed", None, "").friction_speed
"""[rad/s or m/s]"""


def note_common_losses(model: Model, found: Description, lost: LeftOut) -> None:
    """Notes what neither URDF nor MJCF can hold."""
    if model.networks:
        lost.add("networks at named variables")
    for joint in found.joints:
        if joint.prescribed:
            lost.add("that its motion is prescribed, of joint", joint.name)


def is_unusual_speed(joint: Joint) -> bool:
    """Whether dry friction is smoothed within another speed than a reader takes for granted."""
    return any(speed != SPEED for speed in row(joint.friction_speed))


def single(joint: Joint, field: str, lost: LeftOut) -> float:
    """The one number that a format has for all degrees of freedom of a joint: their mean, if they differ."""
    numbers = np.atleast_1d(np.asarray(getattr(joint, field), float))
    if not numbers.size:
        return 0.0
    if np.all(numbers == numbers[0]):
        return float(numbers[0])
    lost.add(f"differences of {field} (the mean was written) within joint", joint.name)
    return float(np.mean(numbers))


def export_text(
    make: Callable[[], tuple[str, LeftOut]], path: PathLike, endings: Sequence[str], format: str
) -> None:
    """Writes the text that `make` gives, with one warning that lists what the text does not hold."""
    check_path(path, endings)
    text, lost = make()
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))
    if sentence := lost.sentence(f"what the model has and {format} has not was left out"):
        say(sentence, os.fspath(path), ExportWarning)
