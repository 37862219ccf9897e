"""Contact of a robot that comes from a file: which shapes touch the ground, and what the file says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.describe.description import Description, Touch
from isthmus.describe.mjcf_touch import PAIR, POINTS
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
from isthmus.model.pairs import Pair
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
    written = any(touch.kind for touch in (*said.values(), *_of_pairs(found).values()))
    asked = ground is not None and ground is not False
    if isinstance(ground, Ground):
        model = with_plane(model, ground)
    if contact is False or (contact is None and not asked and not written):
        return model
    if contact is None and written:
        return _as_written(model, found)
    if contact is None or contact is True:
        return _with_numbers(_by_default(model, _pairs(found)), said | _of_pairs(found))
    model = with_contact(model, contact, pairs=_pairs(found))
    return _with_numbers(model, _of_pairs(found) | (said if isinstance(contact, str) else {}))


def with_contact_of_library(model: Model, ground: GroundLike, contact: ContactLike) -> Model:
    """The model of the library with the ground and the contact that were asked for."""
    if ground is not None and not isinstance(ground, Ground | bool):
        ground = Ground(float(ground))
    elif ground is True:
        ground = Ground()
    return with_contact_of_file(model, Description(model.name, (), ()), ground, contact)


def _of_pairs(found: Description) -> dict[str, Touch]:
    """What a file says of shapes that touch each other, by the names of their contacts."""
    planes = {shape.name for shape in found.shapes if shape.kind == "plane"}
    solid = [p for p in found.pairs if not {p.first, p.second} & planes]
    return {PAIR.format(p.first, p.second): p.touch for p in solid}


def _pairs(found: Description, written: bool = False) -> list[Pair]:
    """The pairs of a file; with `written`, those that `export_mjcf` wrote."""
    touches, pairs = _of_pairs(found), []
    for p in found.pairs:
        touch = touches.get(PAIR.format(p.first, p.second))
        if touch is not None and (touch.kind or not written):
            count: Any = int(dict(touch.numbers).get(POINTS, (4,))[0])
            kind: Any = touch.kind or None
            pairs.append(Pair(p.first, p.second, kind, points=count))
    return pairs


def _by_default(model: Model, pairs: list[Pair]) -> Model:
    """The model, whose last shapes touch; says which ones do not."""
    last, others = last_shapes(model)
    model = with_contact(model, Contact(shapes=last) if last else "impulse", pairs=pairs)
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
        made = with_contact(model, records, pairs=_pairs(found, written=True), **options)
        return _with_numbers(made, {s.name: s.touch for s in found.shapes} | _of_pairs(found))
    except IsthmusError as bad:
        raise BadDescription(f"its custom data on contact: {bad.message}", found.source) from None


def _with_numbers(model: Model, said: Mapping[str, Touch]) -> Model:
    """The model with the numbers that the file says of its contacts."""
    for shape, rows in model.rows("contact").items():
        for name, numbers in said.get(shape, Touch()).numbers:
            if name == POINTS:
                continue
            if name not in NUMBERS or len(numbers) not in (1, len(rows)):
                raise BadDescription(f"{shape!r} has {len(rows)} contacts, but {name} {numbers}.")
            value: Any = numbers[0] if len(numbers) == 1 else np.array(numbers)
            model = model.set(f"contact/{shape}/{name}", value)
    return model
