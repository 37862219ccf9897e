"""A wire as it is written -> its `Plan` for one model: which rows, in which order, entering how."""

from __future__ import annotations

import dataclasses
import re

from isthmus.blueprint.wire import Wire
from isthmus.errors import BadWiring, UnknownName, UnknownSignal
from isthmus.model.leaves import LeafSpec
from isthmus.model.model import Model
from isthmus.networks.names import PREVIOUS, select, shape_of, signals_of
from isthmus.networks.wired import Reading

BODIES = ("link", "joint", "dof", "coordinate", "pair")
"""Families whose rows belong to a joint or to the link that it carries: they can stand for each other."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Some rows of a signal: `units` are the rows of each joint, link, point or contact, `bodies` their numbers."""

    text: str
    name: str
    spec: LeafSpec
    rows: tuple[int, ...] | None
    bodies: tuple[int, ...] = ()
    units: tuple[tuple[int, ...], ...] = ()
    whole: bool = True

    @property
    def family(self) -> str | None:
        return "body" if self.spec.rows in BODIES else self.spec.rows


def place(model: Model, text: str, who: str) -> Place:
    """The signal, and the rows of it, that `text` names; `who` begins the sentence if there is none."""
    before = PREVIOUS if text.startswith(PREVIOUS) else ""
    bare = text.removeprefix(before)
    if bare.startswith("extra/"):
        return _channel(text, bare)
    try:
        chosen = select(dataclasses.replace(model, networks=()), bare)
    except UnknownSignal as unknown:
        raise UnknownSignal(f"{who} {text!r}: {unknown.message}") from None
    except UnknownName as unknown:
        raise BadWiring(f"{who} {text!r}: {unknown.message}") from None
    spec = {s.name: s for s in signals_of(model)}[chosen.name]
    if spec.rows is None:
        return Place(text, before + spec.name, spec, None)
    wanted = set(range(shape_of(model, spec)[0]) if chosen.rows is None else chosen.rows)
    each_row = spec.rows == "contact"  # a shape has several corners, and each one is a contact
    owners = (
        [(r,) for r in range(len(model.contact_kinds))]
        if each_row
        else model.rows(spec.rows).values()
    )
    found = [(i, tuple(r)) for i, r in enumerate(owners) if r and set(r) <= wanted]
    rows = tuple(r for _, unit in found for r in unit)
    bodies, units = tuple(i for i, _ in found), tuple(unit for _, unit in found)
    return Place(text, before + spec.name, spec, rows, bodies, units, chosen.rows is None)


def _channel(text: str, bare: str) -> Place:
    """A channel of the log: a number, or as many as stand in its brackets."""
    parts = re.fullmatch(r"(extra/[^\[\]/]+)(?:\[(\d+)\])?", bare)
    if parts is None or bare != text:
        raise BadWiring(
            f"{text!r}: a channel is written extra/NAME, or extra/NAME[6] for six numbers."
        )
    shape = (int(parts[2]),) if parts[2] else ()
    return Place(text, parts[1], LeafSpec(parts[1], None, shape, "?", "channel of the log"), None)


def reading(model: Model, wire: Wire, text: str, target: Place, angles: str) -> Reading:
    """How the signal `text` enters the network of `wire`."""
    found = place(model, text, f"the wire to {wire.target!r} reads")
    units = None
    if wire.rows == "each" and found.rows is not None:
        units = _units(wire, found, target)
    if units is None:
        kinds = [_kinds(model, found, body, angles) for body in found.bodies] or [
            _kinds(model, found, None, angles)
        ]
        plain, turns, quats = _joined(kinds)
    else:
        kinds = [_kinds(model, found, body, angles) for body in target.bodies]
        if any(kind != kinds[0] for kind in kinds):
            raise BadWiring(
                f"the wire to {wire.target!r} shares one network, but rows of {text!r} are of different kinds: "
                "name rows that are alike, or use rows='all'."
            )
        plain, turns, quats = _joined(kinds[:1])
    return Reading(text, found.name, found.rows, units, plain, turns, quats)


def _units(wire: Wire, found: Place, target: Place) -> tuple[tuple[int, ...], ...] | None:
    """For each unit of the target its own rows of what is read; None: all see the same."""
    if found.family != target.family:
        return None
    own = dict(zip(found.bodies, found.units, strict=True))
    missing = [body for body in target.bodies if body not in own]
    if missing and not found.whole:
        return None
    units = tuple(own.get(body, ()) for body in target.bodies)
    if missing or len({len(unit) for unit in units}) > 1:
        raise BadWiring(
            f"the wire to {wire.target!r} shares one network, but {found.text!r} has not the same number of rows "
            "for each of the target's: name rows that are alike, or use rows='all'."
        )
    return units


def _kinds(model: Model, found: Place, body: int | None, angles: str) -> tuple[str, ...]:
    """`plain`, `angle` or `quaternion`, one after the other, for the numbers of one unit."""
    size = 1
    for n in found.spec.shape:
        size *= n
    if angles == "raw":
        count = len(found.units[found.bodies.index(body)]) if body in found.bodies else 1
        return ("plain",) * (count * size)
    if found.spec.rows == "coordinate" and body is not None:
        kind = model.kind(body)
        if kind.nq == kind.nv:
            return tuple("angle" if unit == "rad" else "plain" for unit in kind.units)
        return (*("plain" for unit in kind.units if unit == "m"), "quaternion")
    if found.spec.name == "link/pose":
        return ("plain", "plain", "plain", "quaternion")
    if found.spec.name.endswith("/orientation"):
        return ("quaternion",)
    count = len(found.units[found.bodies.index(body)]) if body in found.bodies else 1
    return ("plain",) * (count * size)


def _joined(kinds: list[tuple[str, ...]]) -> tuple:
    """Places of plain numbers, of angles and of quaternions among all numbers."""
    plain, turns, quats, at = [], [], [], 0
    for kind in (k for unit in kinds for k in unit):
        if kind == "quaternion":
            quats.append((at, at + 1, at + 2, at + 3))
            at += 4
            continue
        (turns if kind == "angle" else plain).append(at)
        at += 1
    return tuple(plain), tuple(turns), tuple(quats)
