"""`Blueprint`: wires, kept apart from the physics; `attach` checks them and gives a model with networks in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from isthmus.augment.laws import triangle
from isthmus.augment.names import PREVIOUS
from isthmus.augment.networks import made
from isthmus.augment.wired import Plan, Wired
from isthmus.blueprint import checks
from isthmus.blueprint.resolve import place, reading
from isthmus.blueprint.scales import with_scales
from isthmus.blueprint.wire import Wire
from isthmus.errors import BadWiring
from isthmus.model.model import Model
from isthmus.model.state import Control, State, prescribed_rows
from isthmus.simulate.motion import Motion
from isthmus.simulate.observe import observe


@dataclasses.dataclass(frozen=True)
class Blueprint:
    """Which networks read what and correct what. Wires on one target act one after the other."""

    wires: tuple[Wire, ...] = ()

    def __init__(self, wires: Iterable[Wire] = ()) -> None:
        given = (wires,) if isinstance(wires, Wire) else tuple(wires)
        if wrong := [w for w in given if not isinstance(w, Wire)]:
            raise BadWiring(f"a Blueprint takes Wires, not {wrong[0]!r}.")
        object.__setattr__(self, "wires", given)

    def __iter__(self) -> Iterator[Wire]:
        return iter(self.wires)

    def __len__(self) -> int:
        return len(self.wires)

    def attach(
        self, model: Model, *, key: PRNGKeyArray, data: Motion | Sequence[Motion] | None = None
    ) -> Model:
        """The model with these networks in it, weights drawn from `key`; networks it has already stay.

        `data`: motions of this model whose range sets the scales of inputs and outputs.
        """
        taken = [wired.name for wired in model.networks]
        new: list[Wired] = []
        for n, wire in enumerate(self.wires):
            wired = _attached(model, wire, _name(wire, taken), jax.random.fold_in(key, n))
            taken.append(wired.name)
            new.append(wired)
        plans = [wired.plan for wired in (*model.networks, *new)]
        checks.circles(plans)
        checks.replacements(plans)
        for plan in plans:
            checks.order(model, plan)
        if data is not None:
            motions = [data] if isinstance(data, Motion) else list(data)
            new = [with_scales(model, wired, motions) for wired in new]
        return dataclasses.replace(model, networks=(*model.networks, *new))

    @staticmethod
    def of(model: Model) -> Blueprint:
        """The blueprint of the networks that are in the model."""
        return Blueprint([wired.recipe for wired in model.networks])


def detach(model: Model, *names: str) -> Model:
    """The model without its networks, or without those called `names`."""
    known = [wired.name for wired in model.networks]
    if wrong := [name for name in names if name not in known]:
        raise BadWiring(
            f"no network is called {wrong[0]!r}; there are {', '.join(map(repr, known)) or 'none'}."
        )
    kept = tuple(w for w in model.networks if names and w.name not in names)
    return dataclasses.replace(model, networks=kept)


def _name(wire: Wire, taken: list[str]) -> str:
    base = wire.name or wire.target.split("[")[0].split("/")[-1]
    if wire.name in taken:
        raise BadWiring(f"two networks are called {wire.name!r}; their names must differ.")
    rest = (f"{base}_{n}" for n in range(2, len(taken) + 3))
    return base if base not in taken else next(name for name in rest if name not in taken)


def _attached(model: Model, wire: Wire, name: str, key: PRNGKeyArray) -> Wired:
    """One wire in its place: rows found, network made, nothing changed yet."""
    target = place(model, wire.target, "no wire can go to")
    if target.name.startswith((PREVIOUS, "extra/")) or target.name == "time":
        raise BadWiring(f"{wire.target!r} is given, not computed: no wire can correct it.")
    law = getattr(wire.net, "law", "free")
    checks.guarantee(model, wire, law, target)
    recipe = wire.net if law == "free" else wire.net.net
    angles = wire.angles or ("raw" if type(recipe).__name__ == "Spline" else "sincos")
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
    plan = Plan(
        name, target.name, wire.mode, law, rows, target.spec.shape, units, readings,
        (target.name, *extra), links, coupled,
    )  # fmt: skip
    inputs = sum(r.size for r in readings)
    outputs = _outputs(plan)
    net = made(recipe, inputs, outputs, key=key)
    checks.weights(plan, net)
    plain = dataclasses.replace(model, networks=())
    read = sorted({r.name.removeprefix(PREVIOUS) for r in readings if r.name.startswith(PREVIOUS)})
    neutral = _neutral(plain, [*read, *([target.name] if wire.mode == "replace" else [])])
    offset = _rows(neutral[target.name], rows) if wire.mode == "replace" else np.zeros(0)
    return Wired(
        plan, net, np.zeros(inputs), np.ones(inputs), np.full(outputs, wire.output_scale or 1.0), offset,
        {name: neutral[name] for name in read}, _kept(wire),
    )  # fmt: skip


def _sharing(wire: Wire, target: Any) -> Any:
    """The target of a shared network: rows that are alike."""
    if target.rows is None or not target.bodies:
        raise BadWiring(f"the wire to {wire.target!r}: rows='each' needs a signal with rows.")
    if len({len(unit) for unit in target.units}) > 1:
        raise BadWiring(
            f"the wire to {wire.target!r} shares one network, but its rows are not alike: joints have different "
            "numbers of degrees of freedom. Name rows that are alike, or use rows='all'."
        )
    return target


def _outputs(plan: Plan) -> int:
    """How many numbers the network must give (for each unit)."""
    if plan.law == "conservative":
        return 1
    if plan.law == "internal":
        return 6
    count = int(np.prod(plan.shape)) * (
        1 if plan.rows is None else len(plan.rows) // (plan.units or 1)
    )
    return triangle(count) if plan.coupled else count


def _neutral(model: Model, names: Sequence[str]) -> dict[str, Any]:
    """Signals at the neutral state, at rest, without commands."""
    if not names:
        return {}
    state = State.neutral(model)
    rows_q, rows_v = prescribed_rows(model)
    given = (state.q[rows_q], state.v[rows_v], state.v[rows_v]) if model.prescribed else (None,) * 3
    control = Control(position=given[0], velocity=given[1], acceleration=given[2])
    return observe(model, state, control, names=names)


def _rows(value: Any, rows: tuple[int, ...] | None) -> Any:
    return value if rows is None else value[np.array(rows)]


def _kept(wire: Wire) -> Wire:
    """The wire as a static part of the model: a module of the user's is named, its arrays are leaves already."""
    recipe = getattr(wire.net, "net", wire.net) if hasattr(wire.net, "law") else wire.net
    if hasattr(recipe, "make"):
        return wire
    named = Named(type(recipe).__name__)
    net = dataclasses.replace(wire.net, net=named) if hasattr(wire.net, "law") else named
    return dataclasses.replace(wire, net=net)


@dataclasses.dataclass(frozen=True)
class Named:
    """Stands for a module of the user's in a blueprint that was read back from a model."""

    kind: str
