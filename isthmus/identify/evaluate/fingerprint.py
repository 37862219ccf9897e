"""A digest of all numbers and names that a loss depends on: it says whether records belong to a problem."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from isthmus.identify.evaluate.window import Plan, Window


def fingerprint(plan: Plan, windows: Window, numbers: Sequence[np.ndarray]) -> str:
    """The digest, the same on every machine; a function `make=` enters only by the model it makes at the start.

    `numbers`: mean and precision of the prior, start, lower and upper bounds.
    """
    parameters, named = plan.parameters, windows.named()
    made = hashlib.sha256()
    words = [
        *parameters.names, *(c.text for c in plan.channels), plan.scheme, plan.huber, plan.start_rows,
        plan.shooting, plan.margin, jax.tree.structure(parameters.template), sorted(named),
    ]  # fmt: skip
    made.update(re.sub(r" at 0x[0-9a-f]+", "", repr(words)).encode())
    for x in jax.tree.leaves([named, numbers, parameters.scale, parameters.template]):
        _add(made, x)
    return made.hexdigest()[:16]


def _add(made: Any, x: Any) -> None:
    array = np.ascontiguousarray(x)
    if array.dtype == object:
        made.update(re.sub(r" at 0x[0-9a-f]+", "", repr(x)).encode())
        return
    made.update(f"{array.dtype.str}{array.shape}".encode())
    made.update(array.tobytes())
