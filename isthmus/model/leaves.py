"""`LeafSpec`: what a leaf of the model is, which values it may have, and what makes it act."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from isthmus.describe.values import fault_in
from isthmus.model.arrays import is_traced

DELAY_STEPS = 32
"""How many past commands a model keeps once it has a delay, unless its actuators say otherwise."""


@dataclasses.dataclass(frozen=True)
class Switch:
    """A static field of the model that says for which rows of a leaf the program uses the numbers."""

    field: str
    idle: float
    """The number that has no effect, which the leaf has where it is switched off."""
    off: str
    """What a degree of freedom is where it is switched off."""
    from_idle: bool = False
    """Whether a fit may start from the idle number, and switch the leaf on there."""


SWITCHES = {
    "joint/lower": Switch("limited", -np.inf, "the joint has no ends of travel"),
    "joint/upper": Switch("limited", np.inf, "the joint has no ends of travel"),
    "joint/effort": Switch("saturated", np.inf, "the motor torque is not bounded"),
    "joint/kp": Switch("position_controlled", 0.0, "the command is a torque"),
    "joint/kd": Switch("position_controlled", 0.0, "the command is a torque"),
    "joint/delay": Switch("delay_steps", 0.0, "past commands are not kept", True),
    "joint/motor_constant": Switch("current_driven", 1.0, "the command is a torque", True),
    "joint/torque_offset": Switch("biased", 0.0, "no constant torque acts", True),
    "joint/stiction": Switch("sticking", 0.0, "dry friction at rest is that of sliding", True),
    "joint/load_friction": Switch(
        "load_rubbing", 0.0, "friction does not depend on the load", True
    ),
    "joint/bristle_deflection": Switch(
        "bristling", 0.0, "dry friction depends on the velocity, not on the way since a reversal"
    ),
    "joint/play": Switch("playing", 0.0, "spring and controller pull at once", True),
    "joint/cogging_sin": Switch("cogging", 0.0, "the torque does not ripple", True),
    "joint/cogging_cos": Switch("cogging", 0.0, "the torque does not ripple", True),
}
"""The leaves that act only where a static field says so; all have one number for each degree of freedom."""

SWITCHED_BY = {
    "joint/limit_stiffness": "joint/upper",
    "joint/limit_damping": "joint/upper",
    "joint/limit_width": "joint/upper",
    "joint/stiction_speed": "joint/stiction",
    "joint/stiction_exponent": "joint/stiction",
    "joint/cogging_periods": "joint/cogging_sin",
}
"""Leaves without a switch of their own that have no effect where that of another one is off."""

SWITCH_FIELDS = tuple({switch.field: None for switch in SWITCHES.values()})


@dataclasses.dataclass(frozen=True)
class LeafSpec:
    """Describes a leaf of the model or a signal of the step: name, shape, unit, meaning."""

    name: str
    rows: str | None
    """What a row stands for: link, joint, dof, pair (of degrees of freedom of one joint: the lower triangle of a
    matrix, row by row), coordinate, mimic, point, shape, vertex; None: no rows."""
    shape: tuple[int, ...]
    """Of one row."""
    unit: str
    meaning: str

    @property
    def quantity(self) -> str:
        """The last part of the name, by which `isthmus.describe.values` knows what it may be."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def switch(self) -> Switch | None:
        """What makes the leaf act; None: it always does."""
        return SWITCHES.get(self.name)


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
