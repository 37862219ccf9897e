"""`Plan`: what `pipeline.py` finds for a function."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.native.ir.program import Program
from isthmus.native.runtime.known import Facts


@dataclasses.dataclass(frozen=True)
class Plan:
    """The program of a function, and what was found out on the way."""

    pruned: Program
    """Nothing idle is left; functions and products stand as they were written."""
    program: Program
    """As the target has prepared it."""
    out_tree: Any
    facts: Facts
    seconds: float
