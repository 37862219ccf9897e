"""What each network reads, number by number: by name, and by the columns of its first layer."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from isthmus.model.model import Model
from isthmus.networks.names import PREVIOUS, signals_of
from isthmus.networks.recipes import GatedUnit, LowPass, Perceptron
from isthmus.networks.wired import Reading, Wired


@dataclasses.dataclass(frozen=True)
class Number:
    """One number that a network reads."""

    name: str
    """`joint/position[elbow]`."""
    columns: tuple[int, ...]
    """Which inputs of the network it makes: one, or the sine and cosine of an angle."""
    row: str
    """What a wire can read, and has this number: a row of a signal, `joint/velocity[base]` of six numbers."""


def first_layers(net: Any) -> tuple[str, ...]:
    """Paths of the matrices whose first columns belong to the inputs; empty for networks without such layers."""
    if isinstance(net, Perceptron):
        return ("layers/0/weight",)
    if isinstance(net, GatedUnit):
        return ("gates/weight", "proposal/weight")
    return ("mix/weight",) if isinstance(net, LowPass) else ()


def last_layer(net: Any) -> str:
    """Path of the layer that gives the answer: a network whose last layer is zero answers zero."""
    return f"layers/{len(net.layers) - 1}" if isinstance(net, Perceptron) else "output"


def layer_at(net: Any, path: str) -> Any:
    """The part of a network at a path, such as `layers/0/weight`."""
    for part in path.split("/"):
        net = net[int(part)] if part.isdigit() else getattr(net, part)
    return net


def is_silent(wired: Wired) -> bool:
    """Whether a network has no effect: its last layer is zero, and nothing is replaced."""
    if not first_layers(wired.net) or wired.plan.mode == "replace":
        return False
    arrays = jax.tree.leaves(layer_at(wired.net, last_layer(wired.net)))
    return not any(np.any(np.asarray(x)) for x in arrays)


def numbers_of(model: Model, wired: Wired) -> tuple[Number, ...]:
    """All numbers that a network reads (of each unit, where it is shared), in their order."""
    found, place = [], 0
    for reading in wired.plan.readings:
        names = _names(model, reading)
        for j, columns in _columns(reading).items():
            name, row = names[j]
            found.append(Number(name, tuple(place + c for c in columns), row))
        place += reading.size
    return tuple(found)


def _columns(reading: Reading) -> dict[int, tuple[int, ...]]:
    """The inputs that each flat number of a reading makes; the four of a quaternion make six together."""
    p, a = len(reading.plain), len(reading.angles)
    found: dict[int, tuple[int, ...]] = {j: (k,) for k, j in enumerate(reading.plain)}
    found.update({j: (p + k, p + a + k) for k, j in enumerate(reading.angles)})
    for k, place in enumerate(reading.quaternions):
        first = p + 2 * a + 6 * k
        found[place[0]] = tuple(range(first, first + 6))
    return dict(sorted(found.items()))


def _names(model: Model, reading: Reading) -> dict[int, tuple[str, str]]:
    """Name of each flat number of a reading, and of the row that it belongs to."""
    spec = {s.name: s for s in signals_of(model)}.get(reading.name.removeprefix(PREVIOUS))
    shape = () if spec is None else spec.shape
    parts = ["".join(f"[{i}]" for i in index) for index in np.ndindex(*shape)]
    rows = [(reading.text, "")]
    if spec is None:  # a channel of the log
        parts = [""] if reading.size == 1 else [f"[{k}]" for k in range(reading.size)]
    elif reading.units is not None:
        size = len(reading.units[0])
        rows = [(reading.text, f"[{k}]" if size > 1 else "") for k in range(size)]
    elif reading.rows is not None and spec.rows is not None:
        owners = {
            row: (name, f"[{k}]" if len(own) > 1 else "")
            for name, own in model.rows(spec.rows).items()
            for k, row in enumerate(own)
        }
        named = [owners.get(row, (str(row), "")) for row in reading.rows]
        rows = [(f"{reading.name}[{owner}]", part) for owner, part in named]
    texts = [(row + k + part, row) for row, k in rows for part in parts]
    return dict(enumerate(texts))


def live_inputs(model: Model, wired: Wired) -> tuple[Number, ...]:
    """The numbers that reach the network: some weight of its first layer is not zero for them."""
    if is_silent(wired):
        return ()
    numbers = numbers_of(model, wired)
    layers = [np.asarray(layer_at(wired.net, path)) for path in first_layers(wired.net)]
    if not layers:
        return numbers
    return tuple(n for n in numbers if any(np.any(w[:, n.columns]) for w in layers))
