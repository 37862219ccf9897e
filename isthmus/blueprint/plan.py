"""A wire -> its `Plan` in one model, and how many numbers its network takes and gives."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.blueprint import checks
from isthmus.blueprint.resolve import Place, place, reading
from isthmus.blueprint.wire import Named, Wire
from isthmus.errors import BadWiring
from isthmus.model.model import Model
from isthmus.networks.charts import correction_shape
from isthmus.networks.laws import triangle
from isthmus.networks.names import PREVIOUS
from isthmus.networks.wired import Plan


def planned(model: Model, wire: Wire, name: str) -> Plan:
    """Where the wire goes in this model: rows found, inputs in their order, guarantees checked."""
    target = place(model, wire.target, "no wire can go to")
    checks.target(model, target)
    law = getattr(wire.net, "law", "free")
    checks.guarantee(model, wire, law, target)
    angles = wire.angles or ("raw" if kind_of(recipe_of(wire)) == "Spline" else "sincos")
    if wire.rows == "each":
        target = _sharing(wire, target)
    readings = tuple(reading(model, wire, text, target, angles) for text in wire.reads)
    rows, links = target.rows, None
    if law == "internal":
        a, b = (model.link(link) for link in wire.net.between)
        rows = links = (a, b)
    coupled = getattr(wire.net, "coupled", False)
    units = len(target.bodies) if wire.rows == "each" else None
    extra = ("joint/passive_torque",) if law == "lagrangian" else ()
    return Plan(
        name, target.name, wire.mode, law, rows, correction_shape(target.name, target.spec.shape), units,
        readings, (target.name, *extra), links, coupled,
    )  # fmt: skip


def recipe_of(wire: Wire) -> Any:
    """The network of a wire, without the law it stands under."""
    return wire.net.net if hasattr(wire.net, "law") else wire.net


def with_recipe(wire: Wire, recipe: Any) -> Wire:
    """The wire with another network, under the same law."""
    guarded = hasattr(wire.net, "law")
    return dataclasses.replace(
        wire, net=dataclasses.replace(wire.net, net=recipe) if guarded else recipe
    )


def kind_of(recipe: Any) -> str:
    """What a network is called: the name of its class."""
    return recipe.kind if isinstance(recipe, Named) else type(recipe).__name__


def inputs_of(plan: Plan) -> int:
    """How many numbers the network takes (for each unit)."""
    return sum(reading.size for reading in plan.readings)


def outputs_of(plan: Plan) -> int:
    """How many numbers the network must give (for each unit)."""
    if plan.law == "conservative":
        return 1
    if plan.law == "internal":
        return 6
    return triangle(plan.numbers) if plan.coupled else plan.numbers


def previous_of(plan: Plan) -> list[str]:
    """Signals whose last value the wire reads."""
    names = (reading.name for reading in plan.readings)
    return sorted({name.removeprefix(PREVIOUS) for name in names if name.startswith(PREVIOUS)})


def _sharing(wire: Wire, target: Place) -> Place:
    """The target of a shared network: rows that are alike."""
    if target.rows is None or not target.bodies:
        raise BadWiring(f"the wire to {wire.target!r}: rows='each' needs a signal with rows.")
    if len({len(unit) for unit in target.units}) > 1:
        raise BadWiring(
            f"the wire to {wire.target!r} shares one network, but its rows are not alike: joints have different "
            "numbers of degrees of freedom. Name rows that are alike, or use rows='all'."
        )
    return target
