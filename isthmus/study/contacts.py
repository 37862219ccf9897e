"""Tables of a study -> the ground of a robot, and how its shapes touch it and each other."""

from __future__ import annotations

import typing
from typing import Any

from isthmus import schema as t
from isthmus.model.contacts import KINDS, NUMBERS, Contact, Ground, Order
from isthmus.model.pairs import Pair

GROUND = {"height": t.NUMBER, "tilt": t.list_of(t.NUMBER, 2), "name": t.TEXT}
CONTACT = {
    "kind": t.one_of(*KINDS), "shapes": t.TEXTS, **dict.fromkeys(NUMBERS, t.NUMBER),
}  # fmt: skip
"""Keys of `[[contact]]`: the fields of `ist.Contact`."""
PAIR = {
    "first": t.TEXT, "second": t.TEXT, "kind": t.one_of(*KINDS), "points": t.WHOLE, **dict.fromkeys(NUMBERS, t.NUMBER),
}  # fmt: skip
"""Keys of `[[pair]]`: the fields of `ist.Pair`."""
IMPULSES = {
    "order": t.one_of(*typing.get_args(Order)), "sweeps": t.WHOLE, "newton": t.WHOLE,
}  # fmt: skip
"""Keys of `[impulses]`: options of `ist.with_contact`."""
GROUNDS = t.either(t.NUMBER, t.TABLE)
CONTACTS = t.either(t.TEXT, t.TABLES)


def ground_in(value: Any, faults: list[str]) -> float | Ground | None:
    """The height of a horizontal plane, or a plane from its table."""
    if not isinstance(value, dict):
        return value
    return t.made(Ground, t.checked(value, GROUND, "[ground]", faults), "[ground]", faults)


def contact_in(
    value: Any, faults: list[str], who: str = "contact"
) -> str | tuple[Contact, ...] | None:
    """A kind or a pattern of shapes, or one record for each table."""
    if value is None or isinstance(value, str):
        return value
    found = []
    for n, table in enumerate(value, 1):
        known = t.checked(table, CONTACT, f"{who} {n}", faults)
        found.append(t.made(Contact, known, f"{who} {n}", faults))
    return tuple(record for record in found if record is not None)


def pairs_in(tables: Any, faults: list[str], who: str = "pair") -> tuple[Pair, ...]:
    """Shapes that touch each other: one record for each table."""
    found = []
    for n, table in enumerate(tables, 1):
        wrong = list(t.faults_of(table, PAIR, f"{who} {n}"))
        if missing := [key for key in ("first", "second") if key not in table]:
            wrong.append(
                f"{who} {n} has no {' and no '.join(missing)}; name two shapes, or patterns of their names."
            )
        faults += wrong
        found.append(None if wrong else t.made(Pair, table, f"{who} {n}", faults))
    return tuple(record for record in found if record is not None)
