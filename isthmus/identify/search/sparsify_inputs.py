"""The inputs of all networks that are trained, and the entries of `x` that are zero without them."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
from jaxtyping import Bool, Float

from isthmus.blueprint.inputs import first_layers, last_layer, numbers_of
from isthmus.identify.parameters.parameters import Parameters

WEIGHT = re.compile(r"(.*?)\[(\d+)\]\[(\d+)\]")


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Inputs of networks; the last one of each network is its answer, without which the network does nothing."""

    names: tuple[str, ...]
    """`network/NAME: joint/velocity[elbow]`, and `network/NAME` for its answer."""
    network: np.ndarray
    """Which network each belongs to."""
    answer: Bool[np.ndarray, " inputs"]
    """Whether it is an answer."""
    entries: Bool[np.ndarray, "inputs n"]
    """Entries of `x`: weights of the first layer, or all of the last one."""

    def mask(self, support: Bool[np.ndarray, " inputs"]) -> Bool[np.ndarray, " n"]:
        """The entries that are free if only some inputs are left; all that belong to no input are."""
        dead = self.entries[~support].any(axis=0)
        return ~dead

    def columns(self) -> list[np.ndarray]:
        """Entries of each input, without answers."""
        return [np.flatnonzero(row) for row in self.entries[~self.answer]]

    def alive(self, x: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " inputs"]:
        """Inputs with a weight that is not zero; a network without inputs is left out."""
        found = (self.entries & (x != 0.0)).any(axis=1)
        for k in np.flatnonzero(self.answer):
            found[k] = (found & ~self.answer & (self.network == self.network[k])).any()
        return found

    def removable(self, support: Bool[np.ndarray, " inputs"]) -> np.ndarray:
        """Inputs that can go next: the answer of a network only after all its inputs."""
        reads = {int(self.network[i]) for i in np.flatnonzero(support & ~self.answer)}
        return np.array(
            [
                i
                for i in np.flatnonzero(support)
                if not self.answer[i] or int(self.network[i]) not in reads
            ],
            dtype=np.int64,
        )


def inputs_of(parameters: Parameters) -> Inputs:
    """All inputs whose weights in the first layer are free."""
    places = {name: k for k, name in enumerate(parameters.names)}
    names, network, answer, entries = [], [], [], []

    def add(name: str, owner: int, is_answer: bool, own: list[int]) -> None:
        row = np.zeros(parameters.size, dtype=bool)
        row[own] = True
        names.append(name)
        network.append(owner)
        answer.append(is_answer)
        entries.append(row)

    for i, wired in enumerate(parameters.template.networks):
        base, columns = f"network/{wired.name}", {}
        for path in first_layers(wired.net):
            for name, k in places.items():
                parts = WEIGHT.fullmatch(name)
                if parts and parts[1] == f"{base}/{path}":
                    columns.setdefault(int(parts[3]), []).append(k)
        if not columns:
            continue
        for number in numbers_of(parameters.template, wired):
            own = [k for c in number.columns for k in columns.get(c, [])]
            add(f"{base}: {number.name}", i, False, own)
        last = [k for n, k in places.items() if n.startswith(f"{base}/{last_layer(wired.net)}/")]
        if last and len(wired.net.layers if hasattr(wired.net, "layers") else (0, 0)) > 1:
            add(base, i, True, last)
    size = parameters.size
    return Inputs(
        tuple(names), np.array(network, dtype=np.int64), np.array(answer, dtype=bool),
        np.array(entries, dtype=bool).reshape(len(names), size),
    )  # fmt: skip
