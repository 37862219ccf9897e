"""`LeafSpec`: what a leaf of the model is, which values it may have."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from isthmus.describe.values import fault_in
from isthmus.model.arrays import is_traced


@dataclasses.dataclass(frozen=True)
class LeafSpec:
    """Describes a leaf of the model or a signal of the step: name, shape, unit, meaning."""

    name: str
    rows: str | None
    """What a row stands for: link, joint, dof, coordinate, mimic, point, shape, vertex; None: no rows."""
    shape: tuple[int, ...]
    """Of one row."""
    unit: str
    meaning: str

    @property
    def quantity(self) -> str:
        """The last part of the name, by which `isthmus.describe.values` knows what it may be."""
        return self.name.rsplit("/", 1)[-1]


def faults_of_leaf(spec: LeafSpec, value: Any) -> list[str]:
    """What is wrong with values of a leaf, (rows, *shape) or one number for all; nothing if they are traced."""
    if is_traced(value):
        return []
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim < len(spec.shape):
        numbers = np.broadcast_to(numbers, spec.shape)
    rows = numbers.reshape(-1, math.prod(spec.shape))
    faults = {_shown(row): fault_in(spec.quantity, row) for row in rows}
    return [f"{spec.name!r} cannot be {x}: it {words}." for x, words in faults.items() if words]


def _shown(row: np.ndarray) -> str:
    words = [f"{x:g}" for x in row]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"
