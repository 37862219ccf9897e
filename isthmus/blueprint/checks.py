"""Checks of a blueprint when it is attached: order, circles, replacements, guarantees, finite weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from isthmus.blueprint.resolve import Place, place
from isthmus.blueprint.wire import Wire
from isthmus.errors import BadWiring
from isthmus.model.arrays import is_traced
from isthmus.model.leaves import SWITCHED_BY, SWITCHES
from isthmus.model.model import Model
from isthmus.model.switches import row_name, rows_off
from isthmus.networks.laws import CONJUGATE
from isthmus.networks.names import INWARDS, OUTWARDS, PREVIOUS, signals_of
from isthmus.networks.wired import Plan

RECORDED = ("link/pose", "point/position", "point/velocity", "point/orientation", "shape/")
"""Signals from which nothing else in a step follows: they can be read and recorded."""


def target(model: Model, place: Place) -> None:
    """Refuses a target that is given, or from which nothing follows."""
    name = place.name
    if name.startswith((PREVIOUS, "extra/")) or name == "time":
        raise BadWiring(f"{place.text!r} is given, not computed: no wire can correct it.")
    if name.startswith(RECORDED):
        raise BadWiring(
            f"no wire can correct {place.text!r}: nothing in a step follows from it, it is only read and recorded."
        )


def order(model: Model, plan: Plan) -> None:
    """Refuses targets that the step does not compute, and inputs that come later in it."""
    known = [spec.name for spec in signals_of(model)]
    now = [r for r in plan.readings if not r.name.startswith((PREVIOUS, "extra/"))]
    if missing := [name for name in (plan.target, *(r.name for r in now)) if name not in known]:
        raise BadWiring(
            f"the wire to {plan.target!r}: {missing[0]!r} belongs to the articulated body algorithm, which this model "
            "cannot use: joints mimic others, or a network with coupled=True couples them."
        )
    at = known.index(plan.target)
    for reading in now:
        if known.index(reading.name) > at:
            raise BadWiring(
                f"the wire to {plan.target!r} reads {reading.text!r}, which comes later in the step. "
                f"Read the last step's value instead: {PREVIOUS + reading.text!r}."
            )
        if any(plan.target in both and reading.name in both for both in (INWARDS, OUTWARDS)):
            raise BadWiring(
                f"{reading.name!r} is computed link by link, so a wire to {plan.target!r} cannot read it; "
                f"read {PREVIOUS + reading.text!r}."
            )


def circles(plans: Sequence[Plan]) -> None:
    """Refuses wires that feed each other."""
    feeds: dict[str, set[str]] = {}
    for plan in plans:
        here = {r.name for r in plan.readings if r.name != plan.target}
        feeds.setdefault(plan.target, set()).update(n for n in here if not n.startswith(PREVIOUS))

    def walk(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            ring = " → ".join(reversed([*path[path.index(name) :], name]))
            raise BadWiring(
                f"the wiring goes in a circle: {ring}. Read one of them as '{PREVIOUS}{name}'."
            )
        for source in sorted(feeds.get(name, ())):
            walk(source, (*path, name))

    for name in feeds:
        walk(name, ())


def replacements(plans: Sequence[Plan]) -> None:
    """Refuses two networks that replace the same rows."""
    seen: dict[tuple, str] = {}
    for plan in plans:
        if plan.mode != "replace":
            continue
        for row in plan.rows or (None,):
            if (plan.target, row) in seen:
                raise BadWiring(
                    f"two wires replace {plan.target!r} in the same rows: "
                    f"{seen[plan.target, row]!r} and {plan.name!r}. Let one of them add."
                )
            seen[plan.target, row] = plan.name


def effect(model: Model, plan: Plan) -> None:
    """Refuses a wire to numbers that have no effect, whatever a network adds to them."""
    switched = SWITCHED_BY.get(plan.target, plan.target)
    switch = SWITCHES.get(switched)
    if switch is None:
        return
    value = getattr(model, plan.target.replace("/", "_"))
    idle = rows_off(model, switch) | (False if is_traced(value) else np.isinf(value))
    rows = np.arange(model.dof) if plan.rows is None else np.array(plan.rows)
    if idle[rows].any():
        where = row_name(model, switched, int(rows[np.argmax(idle[rows])]))
        raise BadWiring(
            f"the wire to {plan.target!r} would have no effect where {switch.off}: give {where!r} a value first, by "
            f"model.set({where!r}, ...), or name other joints."
        )


def weights(plan: Plan, net: Any) -> None:
    """Refuses weights that are not finite."""
    arrays = [x for x in jax.tree.leaves(net) if eqx.is_array_like(x)]
    if not all(np.all(np.isfinite(np.asarray(x, np.float64))) for x in arrays):
        raise BadWiring(
            f"the network of the wire to {plan.target!r} has weights that are not finite."
        )


def guarantee(model: Model, wire: Wire, law: str, target: Place) -> None:
    """Refuses a guarantee where it cannot be given."""
    who = f"the wire to {wire.target!r}"
    name = law.capitalize()
    if law == "free":
        return
    allowed = {
        "dissipative": tuple(CONJUGATE), "conservative": ("joint/passive_torque",),
        "internal": ("link/external_force",), "lagrangian": ("joint/armature",),
    }[law]  # fmt: skip
    if target.name not in allowed:
        raise BadWiring(
            f"{who}: {name} acts on {' or '.join(map(repr, allowed))}, not on this signal."
        )
    if wire.mode != "add":
        raise BadWiring(f"{who}: {name} needs mode='add': what is there already keeps its own law.")
    if law == "lagrangian" and wire.net.coupled and wire.rows == "each":
        raise BadWiring(f"{who}: coupled=True joins rows, so it needs rows='all'.")
    if law == "internal":
        _internal(model, wire, who)
    if law in ("conservative", "lagrangian"):
        _positions_only(model, wire, law, target, who)
    if law != "dissipative" and getattr(wire.net.net, "remembers", False):
        raise BadWiring(f"{who}: {name} cannot remember; give it a network without memory.")


def _internal(model: Model, wire: Wire, who: str) -> None:
    pair = wire.net.between
    if len(pair) != 2 or pair[0] == pair[1]:
        raise BadWiring(f"{who}: Internal needs two different links, between=('a', 'b').")
    for link in pair:
        model.link(link)
    if wire.rows == "each" or "[" in wire.target or wire.target.count("/") > 1:
        raise BadWiring(
            f"{who}: Internal takes its rows from between=; write 'link/external_force'."
        )


def _positions_only(model: Model, wire: Wire, law: str, target: Place, who: str) -> None:
    read = [place(model, text, f"{who} reads") for text in wire.reads]
    if not read or any(found.name != "joint/position" for found in read):
        raise BadWiring(
            f"{who}: {law.capitalize()} is a function of positions; let it read 'joint/position' only."
        )
    bodies = {body for found in read for body in found.bodies}
    if law == "conservative" and bodies != set(target.bodies):
        raise BadWiring(
            f"{who}: a potential acts on every joint that it reads: name the same joints in both."
        )
    if law == "lagrangian":
        turning = [
            model.joint_names[i]
            for i in {*bodies, *target.bodies}
            if model.kind(i).nq != model.kind(i).nv
        ]
        if turning or not bodies <= set(target.bodies):
            odd = f", not {turning[0]!r}" if turning else " that it reads"
            raise BadWiring(f"{who}: Lagrangian is for hinges and slides{odd}.")
