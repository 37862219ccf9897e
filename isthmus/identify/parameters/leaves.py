"""Parameters of the model itself: its leaves, inertias of whole bodies, lengths of links."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.describe.values import least
from isthmus.errors import BadFree, UnknownName
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.groups import Group, Setting, starting
from isthmus.model import address
from isthmus.model.arrays import broadcast, replaced
from isthmus.model.leaves import SWITCHES, LeafSpec
from isthmus.model.model import Model, leaf_fields, switched_on
from isthmus.model.stretch import stretch
from isthmus.model.switches import row_name, rows_off
from isthmus.networks.names import unit_for
from isthmus.spatial import inertia
from isthmus.types import AnyArray

OF_BODIES = ("link/mass", "link/com", "link/inertia")
"""Quantities that have no meaning for frames without mass and for links that never move."""


def acting(model: Model, free: Free) -> Model:
    """The model in which the numbers of a `Free` act, also where it was made without them; refuses idle starts."""
    base, pattern = address.parse(free.name)
    switch = SWITCHES.get(base)
    if switch is None:
        return model
    value = np.asarray(getattr(model, base.replace("/", "_")))
    rows = np.arange(model.dof)
    if pattern is not None:
        rows = np.array(address.rows_of(free.name, pattern, model.rows("dof")))
    start = starting(free, value[rows], rows.shape)
    off = rows_off(model, switch)[rows]
    idle = np.isinf(start) | (off & (start == switch.idle) & (not switch.from_idle))
    if idle.any():
        where = row_name(model, base, int(rows[np.argmax(idle)]))
        raise BadFree(
            f"{free.name!r} would have no effect on {where!r}, where {switch.off}: give start= "
            f"(now {start[np.argmax(idle)]:g}), or model.set({where!r}, ...) before."
        )
    return dataclasses.replace(model, **switched_on(model, base, rows.tolist()))


def leaf(model: Model, free: Free) -> list[Group]:
    """`link/*/mass`, `joint/elbow/damping`, `gravity`: one number for each row and entry, or one for all."""
    base, pattern = address.parse(free.name)
    found = [(field, spec) for field, spec in leaf_fields() if spec.name == base]
    if not found:
        return []
    field, spec = found[0]
    value = np.asarray(getattr(model, field))
    if not value.size:
        raise UnknownName(f"{free.name!r}: {model.name!r} has no such number.")
    rows = _rows(model, spec, free.name, pattern)
    names = leaf_names(model, spec, rows)
    here = value if rows is None else value[rows]
    low = least(spec.quantity)

    def apply(setting: Setting, x: AnyArray) -> Setting:
        full = broadcast(x, here.shape) if free.shared else x.reshape(here.shape)
        index = Ellipsis if rows is None else rows
        return setting.put(**{field: replaced(setting.leaf(field), index, full)})

    if free.shared:
        start = starting(free, float(np.mean(here)), (1,))
        return [Group(free, (free.name,), (spec.unit,), start, apply, low, low)]
    units = leaf_units(model, spec, rows)
    return [Group(free, names, units, starting(free, here.ravel(), (here.size,)), apply, low, low)]


def _rows(model: Model, spec: LeafSpec, name: str, pattern: str | None) -> np.ndarray | None:
    if pattern is None or spec.rows is None:
        return None
    rows = address.rows_of(name, pattern, model.rows(spec.rows))
    if spec.name in OF_BODIES:
        rows = _bodies(model, name, pattern, rows)
    return np.array(rows, dtype=np.int32)


def _bodies(model: Model, name: str, pattern: str, rows: Sequence[int]) -> list[int]:
    """Of the links that a pattern picks, those that are bodies: with a mass, and not welded to the world."""
    if address.picks_one(pattern, model.rows("link")):
        return list(rows)
    mass = np.asarray(model.link_mass)
    found = [i for i in rows if mass[i] != 0.0 and not _is_still(model, i)]
    if not found:
        raise UnknownName(f"{name!r}: no link that it picks has a mass and can move.")
    return found


def _is_still(model: Model, link: int) -> bool:
    """Whether only fixed joints lie between a link and the world."""
    while link >= 0 and model.joint_kinds[link] == "fixed":
        link = model.parents[link]
    return link < 0


def leaf_names(model: Model, spec: LeafSpec, rows: np.ndarray | None) -> tuple[str, ...]:
    """A name for every entry: `link/upper/com[2]`."""
    inner = ["".join(f"[{i}]" for i in index) for index in np.ndindex(*spec.shape)]
    if spec.rows is None:
        return tuple(spec.name + part for part in inner)
    family, quantity = spec.name.split("/", 1)
    owned = [
        f"{family}/{name}/{quantity}" + (f"[{k}]" if len(own) > 1 else "")
        for name, own in model.rows(spec.rows).items()
        for k, _ in enumerate(own)
    ]
    picked = range(len(owned)) if rows is None else rows
    return tuple(owned[row] + part for row in picked for part in inner)


def leaf_units(model: Model, spec: LeafSpec, rows: np.ndarray | None) -> tuple[str, ...]:
    """A unit for every entry; where turning and sliding joints differ, that of the joint."""
    if "|" not in spec.unit or spec.rows not in ("dof", "coordinate"):
        return (spec.unit,)
    spans = model.layout.v_own if spec.rows == "dof" else model.layout.q_own
    owned = []
    for i, (start, stop) in enumerate(spans):
        kinds = model.kind(i).units
        turning = ["rad" in (*kinds, *kinds[-1:])[k] for k in range(stop - start)]
        owned += [unit_for(spec.unit, ["revolute" if t else "prismatic"]) for t in turning]
    return tuple(owned if rows is None else [owned[row] for row in rows])


# bodies, lengths ---------------------------------------------------------------------------------------------

TEN = ("mass", "com[0]", "com[1]", "com[2]", *(f"inertia[{k}]" for k in range(6)))


def inertial(model: Model, free: Free) -> list[Group]:
    """`link/*/inertial`: mass, centre of mass and inertia by ten free numbers each (log-Cholesky)."""
    base, pattern = address.parse(free.name)
    if base != "link/inertial":
        return []
    if free.shared:
        raise BadFree(f"{free.name!r} cannot be shared: bodies differ in more than one number.")
    rows = address.rows_of(free.name, pattern or "*", model.rows("link"))
    return [_body(model, free, i) for i in _bodies(model, free.name, pattern or "*", rows)]


def ten_numbers(x: AnyArray) -> AnyArray:
    """Mass, centre of mass and inertia of ten log-Cholesky numbers, in the order of `TEN`."""
    mass, com, six = inertia.from_log_cholesky(x)
    return jnp.concatenate([jnp.reshape(mass, (1,)), com, six])


def _body(model: Model, free: Free, i: int) -> Group:
    with jax.enable_x64(True):
        ten = inertia.to_log_cholesky(
            jnp.asarray(model.link_mass[i]),
            jnp.asarray(model.link_com[i]),
            jnp.asarray(model.link_inertia[i]),
        )
    start, link = np.asarray(ten, dtype=np.float64), model.link_names[i]
    if not np.all(np.isfinite(start)):
        raise BadFree(
            f"link {link!r} has an inertia that no body of some extent has, so {free.name!r} cannot start there. "
            "Give it a positive mass and moments (load with repair='nearest')."
        )

    def apply(setting: Setting, x: AnyArray) -> Setting:
        mass, com, six = inertia.from_log_cholesky(x)
        return setting.put(
            link_mass=replaced(setting.leaf("link_mass"), i, mass),
            link_com=replaced(setting.leaf("link_com"), i, com),
            link_inertia=replaced(setting.leaf("link_inertia"), i, six),
        )

    labels = tuple(f"link/{link}/{part}" for part in TEN)
    return Group(
        free,
        labels,
        ("kg", *["m"] * 3, *["kg·m²"] * 6),
        start,
        apply,
        report=ten_numbers,
        typical=0.3,
        linear=False,
        direct=False,
    )


def stretched(model: Model, free: Free) -> list[Group]:
    """`stretch/LINK`: by which factor a link is longer than the model says."""
    family, _, pattern = free.name.partition("/")
    if family != "stretch":
        return []
    rows = address.rows_of(free.name, pattern, model.rows("link"))
    links = [model.link_names[i] for i in rows]

    def apply(setting: Setting, x: AnyArray) -> Setting:
        setting = setting.settled()
        model = setting.model
        for k, link in enumerate(links):
            model = stretch(model, link, x[0 if free.shared else k])
        return dataclasses.replace(setting, model=model)

    labels = (free.name,) if free.shared else tuple(f"stretch/{link}" for link in links)
    start = starting(free, 1.0, (len(labels),))
    return [Group(free, labels, ("1",), start, apply, 0.0, 0.0, linear=False)]
