"""Which numbers of a model a file format cannot hold, listed in one warning."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from isthmus.describe.description import EXTRAS, Description, Joint
from isthmus.describe.files import PathLike
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.notes import say
from isthmus.disk import whole_file
from isthmus.errors import ExportWarning
from isthmus.export.description import row
from isthmus.export.xml_edit import NotKept
from isthmus.export.xml_text import check_path
from isthmus.model.leaves import SWITCHES
from isthmus.model.model import Model

USUAL = Joint("", "fixed", None, "")
"""A joint with the numbers that a reader takes for granted."""


def note_common_losses(model: Model, found: Description, lost: LeftOut) -> None:
    """Notes what neither URDF nor MJCF can hold."""
    if model.networks:
        lost.add("networks at named variables")
    for joint in found.joints:
        if joint.prescribed:
            lost.add("that its motion is prescribed, of joint", joint.name)
        for name in EXTRAS:
            if f"joint/{name}" in SWITCHES and is_unusual(joint, name):
                lost.add(f"{name} (only isthmus reads it) of joint", joint.name)


def is_unusual(joint: Joint, field: str) -> bool:
    """Whether a number of a joint is another one than a reader takes for granted."""
    return any(number != getattr(USUAL, field) for number in row(getattr(joint, field)))


def single(joint: Joint, field: str, lost: LeftOut) -> float:
    """The one number that a format has for all degrees of freedom of a joint: their mean, if they differ."""
    numbers = np.atleast_1d(np.asarray(getattr(joint, field), float))
    if not numbers.size:
        return 0.0
    if np.all(numbers == numbers[0]):
        return float(numbers[0])
    lost.add(f"differences of {field} (the mean was written) within joint", joint.name)
    return float(np.mean(numbers))


Written = tuple[str | bytes, LeftOut]
"""The text of a file, and what it does not hold."""


def kept_or_new(
    model: Model, format: str, kept: Callable[[], Written], new: Callable[[], Written]
) -> Written:
    """The file that the model came from with its present numbers, or a new one where there is none to keep."""
    if model.source.format != format:
        return new()
    try:
        return kept()
    except NotKept as reason:
        say(f"the file that it came from was not kept, since {reason}", model.name, ExportWarning)
        return new()


def export_text(
    make: Callable[[], Written],
    path: PathLike,
    endings: Sequence[str],
    format: str,
) -> None:
    """Writes the text that `make` gives, with one warning that lists what the text does not hold."""
    check_path(path, endings)
    text, lost = make()
    with whole_file(path) as file:
        file.write(text if isinstance(text, bytes) else text.encode("utf-8"))
    if sentence := lost.sentence(f"{format} has no place for"):
        say(sentence, os.fspath(path), ExportWarning)
