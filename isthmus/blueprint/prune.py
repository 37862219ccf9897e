"""`prune`: networks without the inputs that they do not use, and models without the networks that do nothing."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import numpy as np

from isthmus.blueprint.inputs import first_layers, is_silent, layer_at, live_inputs, numbers_of
from isthmus.blueprint.plan import planned, previous_of
from isthmus.entry import check_arguments
from isthmus.model.model import Model
from isthmus.networks.wired import Wired


@check_arguments
def prune(model: Model) -> Model:
    """The model without wires that have no effect, and without inputs whose weights are all zero.

    It moves as before. A wire keeps a row of a signal if it uses one of its numbers.
    """
    kept = tuple(_pruned(model, wired) for wired in model.networks if not is_silent(wired))
    return dataclasses.replace(model, networks=kept)


def _pruned(model: Model, wired: Wired) -> Wired:
    """A wire that reads only what it uses."""
    before, alive = numbers_of(model, wired), live_inputs(model, wired)
    rows = tuple(dict.fromkeys(n.row for n in alive))
    if len(rows) == len({n.row for n in before}) or not first_layers(wired.net):
        return wired
    wire = dataclasses.replace(wired.recipe, reads=rows)
    plan = planned(dataclasses.replace(model, networks=()), wire, wired.name)
    new = dataclasses.replace(wired, plan=plan)
    places = {n.name: n.columns for n in before}
    after = sorted((c, old) for n in numbers_of(model, new) for c, old in _pairs(n, places))
    chosen = np.array([old for _, old in after], dtype=np.int64)
    pick = lambda x: np.asarray(x)[..., chosen]
    return dataclasses.replace(
        new, net=_narrowed(wired.net, chosen, len(wired.shift)), shift=pick(wired.shift), scale=pick(wired.scale),
        seen=None if wired.seen is None else pick(wired.seen), recipe=wire,
        previous={name: wired.previous[name] for name in previous_of(plan)},
    )  # fmt: skip


def _pairs(number: Any, places: dict[str, tuple[int, ...]]) -> list[tuple[int, int]]:
    """New and old columns of one number."""
    return list(zip(number.columns, places[number.name], strict=True))


def _narrowed(net: Any, chosen: np.ndarray, inputs: int) -> Any:
    """The network with some of its inputs only; columns of its memory stay."""
    for path in first_layers(net):
        weight = np.asarray(layer_at(net, path))
        columns = np.concatenate([chosen, np.arange(inputs, weight.shape[1])])
        net = eqx.tree_at(lambda n, path=path: layer_at(n, path), net, weight[:, columns])
    return net
