"""`Blueprint`: wires, kept apart from the physics; `attach` checks them and gives a model with networks in it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from isthmus.blueprint import checks
from isthmus.blueprint.neighbours import neighbours
from isthmus.blueprint.plan import (
    inputs_of,
    kind_of,
    outputs_of,
    planned,
    previous_of,
    recipe_of,
    with_recipe,
)
from isthmus.blueprint.scales import with_scales
from isthmus.blueprint.wire import Named, Networks, Wire
from isthmus.describe.files import read_bytes
from isthmus.disk import check_target, whole_file
from isthmus.entry import check_arguments
from isthmus.errors import BadWiring, warn_renamed
from isthmus.model.model import Model
from isthmus.model.state import Control, State, prescribed_rows
from isthmus.motion.motion import Motion
from isthmus.networks.charts import chart_of
from isthmus.networks.recipes import made
from isthmus.networks.wired import Plan, Wired
from isthmus.shown import Shown
from isthmus.simulate.observe import observe


@dataclasses.dataclass(frozen=True)
class Blueprint(Shown):
    """Which networks read what and correct what. Wires on one target act one after the other."""

    wires: tuple[Wire, ...] = ()

    @check_arguments
    def __init__(self, wires: Wire | Iterable[Any] = ()) -> None:
        given = (wires,) if isinstance(wires, Wire) else tuple(wires)
        if wrong := [w for w in given if not isinstance(w, Wire)]:
            raise BadWiring(f"a Blueprint takes Wires, not {wrong[0]!r}.")
        object.__setattr__(self, "wires", given)

    def __iter__(self) -> Iterator[Wire]:
        return iter(self.wires)

    def __len__(self) -> int:
        return len(self.wires)

    @check_arguments
    def attach(
        self,
        model: Model,
        *,
        key: PRNGKeyArray | int,
        data: Motion | Sequence[Motion] | None = None,
    ) -> Model:
        """The model with these networks in it, weights drawn from `key`, a whole number or a key of JAX.

        Networks that it has already stay.

        `data`: motions of this model whose range sets the scales of inputs and outputs.
        """
        key = jax.random.key(key) if isinstance(key, int | np.integer) else key
        taken = [wired.name for wired in model.networks]
        new: list[Wired] = []
        for n, wire in enumerate(self.wires):
            wired = _attached(model, wire, _name(wire, taken), jax.random.fold_in(key, n))
            taken.append(wired.name)
            new.append(wired)
        plans = [wired.plan for wired in (*model.networks, *new)]
        checks.circles(plans)
        checks.replacements(plans)
        neighbours(plans)
        hybrid = dataclasses.replace(model, networks=(*model.networks, *new))
        for plan in plans:
            checks.order(hybrid, plan)
        if data is not None:
            motions = [data] if isinstance(data, Motion) else list(data)
            if not motions:
                raise BadWiring("Blueprint.attach: data has no motion; leave it out, or give one.")
            new = [with_scales(model, wired, motions) for wired in new]
        return dataclasses.replace(model, networks=(*model.networks, *new))

    @staticmethod
    def detach(model: Model, *names: str) -> Model:
        """The model without its networks, or without those called `names`."""
        return detach(model, *names)

    @staticmethod
    @check_arguments
    def of(model: Model) -> Blueprint:
        """The blueprint of the networks that are in the model."""
        return Blueprint([wired.recipe for wired in model.networks])

    # as text -------------------------------------------------------------------------------------------

    @staticmethod
    @check_arguments
    def load(path: str | os.PathLike[str], networks: Networks | None = None) -> Blueprint:
        """The blueprint in a TOML file; `networks` has modules or recipes of your own, by the kind that names them."""
        from isthmus.blueprint.text import decoded, from_toml

        text = decoded(read_bytes(path), str(path))
        return Blueprint(from_toml(text, networks or {}, str(path)))

    @staticmethod
    @check_arguments
    def from_toml(text: str, networks: Networks | None = None) -> Blueprint:
        """The blueprint that a TOML text describes; `networks` as in `load`."""
        from isthmus.blueprint.text import from_toml

        return Blueprint(from_toml(text, networks or {}))

    @check_arguments
    def save(self, path: str | os.PathLike[str], networks: Networks | None = None) -> None:
        """Writes a TOML file, from which `load` makes the same blueprint; `networks` as there."""
        check_target(path, (".toml",))
        text = self.to_toml(networks)
        with whole_file(path) as file:
            file.write(text.encode())

    @check_arguments
    def to_toml(self, networks: Networks | None = None) -> str:
        """The blueprint as TOML text; `networks` as in `load`."""
        from isthmus.blueprint.text import to_toml

        return to_toml(self.wires, networks or {})

    @staticmethod
    def read(path: str | os.PathLike[str], networks: Networks | None = None) -> Blueprint:
        """The old name of `load`, until version 0.3."""
        warn_renamed("Blueprint.read", "Blueprint.load")
        return Blueprint.load(path, networks)

    def write(self, path: str | os.PathLike[str], networks: Networks | None = None) -> None:
        """The old name of `save`, until version 0.3."""
        warn_renamed("Blueprint.write", "Blueprint.save")
        self.save(path, networks)

    # as a picture --------------------------------------------------------------------------------------

    @check_arguments
    def draw(self, path: str | os.PathLike[str] | None = None, *, dark: bool = False) -> Any:
        """Which signals feed which network feed which signal, as a matplotlib figure.

        With a `path` it is written there too: `.png`, `.svg` or `.pdf`. `dark`: for dark pages.
        """
        from isthmus.blueprint.draw import draw, save_drawing

        names: list[str] = []
        for wire in self.wires:
            names.append(_name(wire, names))
        figure = draw(self.wires, names, dark=dark)
        if path is not None:
            save_drawing(figure, path)
        return figure


@check_arguments
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
    plan = planned(model, wire, name)
    checks.effect(model, plan)
    inputs, outputs, read = inputs_of(plan), outputs_of(plan), previous_of(plan)
    net = made(recipe_of(wire), inputs, outputs, key=key)
    checks.weights(plan, net)
    plain = dataclasses.replace(model, networks=())
    neutral = _neutral(plain, [*read, *([plan.target] if wire.mode == "replace" else [])])
    offset = _numbers(neutral[plan.target], plan) if wire.mode == "replace" else np.zeros(0)
    return Wired(
        plan, net, np.zeros(inputs), np.ones(inputs), np.full(outputs, wire.output_scale or 1.0), offset,
        {name: neutral[name] for name in read}, _kept(wire),
    )  # fmt: skip


def _neutral(model: Model, names: Sequence[str]) -> dict[str, Any]:
    """Signals at the neutral state, at rest, without commands."""
    if not names:
        return {}
    state = State.neutral(model)
    rows_q, rows_v = prescribed_rows(model)
    given = (state.q[rows_q], state.v[rows_v], state.v[rows_v]) if model.prescribed else (None,) * 3
    control = Control(position=given[0], velocity=given[1], acceleration=given[2])
    return observe(model, state, control, names=names)


def _numbers(value: Any, plan: Plan) -> Any:
    """The numbers, in the chart of the target, of the rows that a wire corrects."""
    rows = value if plan.rows is None else value[np.array(plan.rows)]
    with jax.enable_x64(True):
        return np.asarray(chart_of(plan.target).of(rows))


def _kept(wire: Wire) -> Wire:
    """The wire as a static part of the model: a module of the user's is named, its arrays are leaves already."""
    recipe = recipe_of(wire)
    return wire if hasattr(recipe, "make") else with_recipe(wire, Named(kind_of(recipe)))
