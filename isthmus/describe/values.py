"""What a number of a mechanism may be: one table for descriptions, `Model.set` and the bounds of a `Free`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from isthmus.spatial.inertia import symmetric

Must = Literal[
    "", "not negative", "less than one", "positive", "not zero", "a share", "at least one", "possible inertia"
]  # fmt: skip
"""Name of a rule; "": any number."""

MUST: dict[str, Must] = {
    "mass": "not negative", "inertia": "possible inertia", "size": "not negative",
    "orientation": "not zero", "axis": "not zero",
    "armature": "not negative", "stiffness": "not negative", "damping": "not negative",
    "friction": "not negative", "friction_speed": "positive",
    "stiction": "not negative", "stiction_speed": "positive", "stiction_exponent": "positive",
    "load_friction": "less than one",
    "bristle_deflection": "not negative", "motor_constant": "not zero", "play": "not negative",
    "limit_stiffness": "not negative", "limit_damping": "not negative", "limit_width": "positive",
    "effort": "not negative", "kp": "not negative", "kd": "not negative", "delay": "not negative",
    "restitution": "a share", "restitution_speed": "not negative", "exponent": "at least one",
    "friction_load": "not negative", "softness": "not negative", "erp": "a share", "radius": "not negative",
}  # fmt: skip
"""Which rule each quantity follows; any other may be any finite number."""

MAY_BE_INFINITE = ("lower", "upper", "effort")

TRIANGLE = 1e-4
"""Relative excess of the largest principal inertia over the sum of the others that is rounding."""

WORDS: dict[str, str] = {
    "not negative": "must not be negative",
    "less than one": "must not be negative, and less than 1",
    "positive": "must be positive",
    "not zero": "must not be zero",
    "a share": "must be between 0 and 1",
    "at least one": "must not be less than 1",
    "possible inertia": "must be that of a body: no principal inertia is negative, "
    "none is larger than the two others together",
}

_HOLDS: dict[str, Callable[[np.ndarray], bool]] = {
    "": lambda x: True,
    "not negative": lambda x: not (x < 0.0).any(),
    "less than one": lambda x: not ((x < 0.0) | (x >= 1.0)).any(),
    "positive": lambda x: not (x <= 0.0).any(),
    "not zero": lambda x: bool(np.linalg.norm(x) >= 1e-9),
    "a share": lambda x: bool(((x >= 0.0) & (x <= 1.0)).all()),
    "at least one": lambda x: not (x < 1.0).any(),
    "possible inertia": lambda x: _of_a_body(np.linalg.eigvalsh(symmetric(x))),
}


def fault_in(quantity: str, value: np.ndarray) -> str:
    """What is wrong with one value of a quantity: "must not be negative"; "" where nothing is."""
    if np.isnan(value).any() or not (quantity in MAY_BE_INFINITE or np.isfinite(value).all()):
        return "must be a finite number"
    must = MUST.get(quantity, "")
    return "" if _HOLDS[must](value) else WORDS[must]


def least(quantity: str) -> float:
    """The lower bound that the rule of a quantity sets."""
    must = MUST.get(quantity)
    if must in ("not negative", "less than one", "positive", "a share"):
        return 0.0
    return 1.0 if must == "at least one" else -np.inf


def _of_a_body(principal: np.ndarray) -> bool:
    """Whether principal inertias, least first, are those of a body; points and rods are bodies too."""
    rounding = TRIANGLE * float(abs(principal).max())
    return bool(principal[0] >= -rounding and principal[:2].sum() >= principal[2] - rounding)
