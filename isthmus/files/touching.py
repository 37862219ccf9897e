"""Contact of a robot that comes from a file: which shapes touch the ground, and what the file says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.describe.description import Description, Touch
from isthmus.describe.notes import say
from isthmus.errors import BadDescription, IsthmusError
from isthmus.model.contacts import (
    NUMBERS,
    Contact,
    Ground,
    last_shapes,
    with_contact,
    with_plane,
)
from isthmus.model.model import Model
from isthmus.phases import counted

GroundLike = bool | float | int | Ground | None
"""True: a plane at z = 0; its height [m]; or a plane."""
ContactLike = Contact | str | Sequence[Contact] | bool | None
"""As in `ist.with_contact`; True and None: `last_shapes` by impulses."""

CHOSEN = (
    "{} of {} shapes may touch the ground, with {}: those of links that carry no other link with shapes. "
    "contact='*' lets all shapes touch, contact='*_foot' those whose name or link is called so."
)


def with_contact_of_file(
    model: Model, found: Description, ground: GroundLike, contact: ContactLike
) -> Model:
    """The model of a description with the contact that was asked for, or that its file says.

    Numbers in the file count where no `ist.Contact` says others.
    """
    said = {shape.name: shape.touch for shape in found.shapes}
    written = any(touch.kind for touch in said.values())
    asked = ground is not None and ground is not False
    if isinstance(ground, Ground):
        model = with_plane(model, ground)
    if contact is False or (contact is None and not asked and not written):
        return model
    if contact is None and written:
        return _as_written(model, found)
    if contact is None or contact is True:
        return _with_numbers(_by_default(model), said)
    model = with_contact(model, contact)
    return _with_numbers(model, said) if isinstance(contact, str) else model


def with_contact_of_library(model: Model, ground: GroundLike, contact: ContactLike) -> Model:
    """The model of the library with the ground and the contact that were asked for."""
    if ground is not None and not isinstance(ground, Ground | bool):
        ground = Ground(float(ground))
    elif ground is True:
        ground = Ground()
    return with_contact_of_file(model, Description(model.name, (), ()), ground, contact)


def _by_default(model: Model) -> Model:
    """The model, whose last shapes touch; says which ones do not."""
    last, others = last_shapes(model)
    model = with_contact(model, Contact(shapes=last) if last else "impulse")
    if others:
        points = counted(len(model.contact_kinds), "point")
        say(CHOSEN.format(len(last), len(last) + others, points), model.name)
    return model


def _as_written(model: Model, found: Description) -> Model:
    """The model with the contacts that `export_mjcf` wrote."""
    kinds: Any = {shape.name: shape.touch.kind for shape in found.shapes if shape.touch.kind}
    try:
        records = [Contact(kind, name) for name, kind in kinds.items()]
        options: Any = dict(found.impulses)
        made = with_contact(model, records, **options)
        return _with_numbers(made, {s.name: s.touch for s in found.shapes})
    except IsthmusError as bad:
        raise BadDescription(f"its custom data on contact: {bad.message}", found.source) from None


def _with_numbers(model: Model, said: Mapping[str, Touch]) -> Model:
    """The model with the numbers that the file says of its contacts."""
    for shape, rows in model.rows("contact").items():
        for name, numbers in said.get(shape, Touch()).numbers:
            if name not in NUMBERS or len(numbers) not in (1, len(rows)):
                raise BadDescription(f"{shape!r} has {len(rows)} contacts, but {name} {numbers}.")
            value: Any = numbers[0] if len(numbers) == 1 else np.array(numbers)
            model = model.set(f"contact/{shape}/{name}", value)
    return model
