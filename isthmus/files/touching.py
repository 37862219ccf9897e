"""Contact of a robot that comes from a file: which shapes touch the ground, and what the file says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.describe.description import Description, Surface, Touch
from isthmus.describe.mjcf_touch import PAIR, POINTS
from isthmus.describe.notes import say
from isthmus.errors import BadDescription, IsthmusError
from isthmus.model.contacts import (
    NUMBERS,
    Contact,
    Ground,
    last_shapes,
    taken_shapes,
    with_contact,
    with_plane,
)
from isthmus.model.model import Model
from isthmus.model.pairs import Pair, PairsLike, as_pairs
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
    model: Model,
    found: Description,
    ground: GroundLike,
    contact: ContactLike,
    pairs: PairsLike = (),
) -> Model:
    """The model of a description with the contact that was asked for, or that its file says.

    Numbers in the file count where no `ist.Contact` says others.
    """
    said = {shape.name: shape.touch for shape in found.shapes}
    written = any(touch.kind for touch in (*said.values(), *_solid_pairs(found).values()))
    asked = ground is not None and ground is not False
    if isinstance(ground, Ground):
        model = with_plane(model, ground)
    more = as_pairs(pairs)
    of_pairs = _of_pairs(model, found, more, contact)
    if contact is False or (contact is None and not asked and not written):
        return _with_numbers(with_contact(model, [], pairs=more), of_pairs) if more else model
    if contact is None and written:
        return _as_written(model, found, more, of_pairs)
    touching = [*_pairs(found), *more]
    if contact is None or contact is True:
        return _with_numbers(_by_default(model, touching), said | of_pairs)
    model = with_contact(model, contact, pairs=touching)
    return _with_numbers(model, of_pairs | (said if isinstance(contact, str) else {}))


def with_contact_of_library(
    model: Model, ground: GroundLike, contact: ContactLike, pairs: PairsLike = ()
) -> Model:
    """The model of the library with the ground and the contact that were asked for."""
    if ground is not None and not isinstance(ground, Ground | bool):
        ground = Ground(float(ground))
    elif ground is True:
        ground = Ground()
    return with_contact_of_file(model, Description(model.name, (), ()), ground, contact, pairs)


def _solid_pairs(found: Description) -> dict[tuple[str, str], Touch]:
    """What a file says of the pairs of shapes that it names; those with planes are left out."""
    planes = {shape.name for shape in found.shapes if shape.kind == "plane"}
    return {(p.first, p.second): p.touch for p in found.pairs if not {p.first, p.second} & planes}


def _of_pairs(
    model: Model, found: Description, asked: Sequence[Pair], contact: ContactLike
) -> dict[str, Touch]:
    """What a file says of shapes that touch each other, by the names of their contacts.

    Of pairs that were `asked` for, that is friction and restitution where neither they nor an `ist.Contact` say others.
    """
    named = _solid_pairs(found)
    alone = {frozenset(names): touch for names, touch in named.items()}
    last = {frozenset(n): (n, p) for p in asked for n in model.pairs(p.first, p.second)}
    told = {PAIR.format(*n): touch for n, touch in named.items() if frozenset(n) not in last}
    records = [] if isinstance(contact, bool | str | None) else contact
    records = [records] if isinstance(records, Contact) else [*records]
    taken = {model.shape_names[s] for s in taken_shapes(model, records, paired=True)}
    of_shapes = {shape.name: shape.touch for shape in found.shapes}
    for both, (names, pair) in last.items():
        if both in alone:
            said = _single(alone[both])
        elif both & taken:
            continue
        else:
            said = _combined([of_shapes.get(name, Touch()) for name in names])
        numbers = {n: (x,) for n, x in said.items() if getattr(pair, n) is None}
        told[PAIR.format(*names)] = Touch(numbers=tuple(numbers.items()))
    return told


def _single(touch: Touch) -> dict[str, Any]:
    """Friction and restitution, where all contacts share them."""
    given = {name: numbers for name, numbers in touch.numbers if len(numbers) == 1}
    return {name: given[name][0] for name in ("friction", "restitution") if name in given}


def _combined(touches: Sequence[Touch]) -> dict[str, Any]:
    """Friction and restitution of two shapes: the larger ones, or as MuJoCo combines them."""
    said = [_single(touch) for touch in touches]
    made = {name: max(x[name] for x in said if name in x) for name in {*said[0], *said[1]}}
    first, second = (touch.surface for touch in touches)
    if isinstance(first, Surface) and isinstance(second, Surface):
        made["friction"] = first.on(second)
    return made


def _pairs(found: Description, written: bool = False) -> list[Pair]:
    """The pairs of a file; with `written`, those that `export_mjcf` wrote."""
    pairs = []
    for (first, second), touch in _solid_pairs(found).items():
        if touch.kind or not written:
            count: Any = int(dict(touch.numbers).get(POINTS, (4,))[0])
            kind: Any = touch.kind or None
            pairs.append(Pair(first, second, kind, points=count))
    return pairs


def _by_default(model: Model, pairs: list[Pair]) -> Model:
    """The model, whose last shapes touch; says which ones do not."""
    last, others = last_shapes(model)
    model = with_contact(model, Contact(shapes=last) if last else "impulse", pairs=pairs)
    if others:
        points = counted(len(model.contact_kinds), "point")
        say(CHOSEN.format(len(last), len(last) + others, points), model.name)
    return model


def _as_written(
    model: Model, found: Description, pairs: Sequence[Pair], of_pairs: Mapping[str, Touch]
) -> Model:
    """The model with the contacts that `export_mjcf` wrote."""
    kinds: Any = {shape.name: shape.touch.kind for shape in found.shapes if shape.touch.kind}
    try:
        records = [Contact(kind, name) for name, kind in kinds.items()]
        options: Any = dict(found.impulses)
        touching = [*_pairs(found, written=True), *pairs]
        made = with_contact(model, records, pairs=touching, **options)
        return _with_numbers(made, {s.name: s.touch for s in found.shapes} | dict(of_pairs))
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
