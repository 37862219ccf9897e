"""A digest of all numbers and names that a loss is made of: is this the problem that those records belong to?"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

if TYPE_CHECKING:
    from isthmus.identify.evaluate.evaluation import Evaluation


def fingerprint(evaluation: Evaluation) -> str:
    """The same on every machine and in every process; what a `make=` does inside shows only in the model it makes."""
    plan, parameters = evaluation.plan, evaluation.plan.parameters
    windows = evaluation.windows.named()
    made = hashlib.sha256()
    words = [
        *parameters.names, *(c.text for c in plan.channels), plan.scheme, plan.huber, plan.start_rows,
        plan.shooting, plan.margin, jax.tree.structure(parameters.template), sorted(windows),
    ]  # fmt: skip
    made.update(re.sub(r" at 0x[0-9a-f]+", "", repr(words)).encode())
    numbers = [
        windows, evaluation.prior.mean, evaluation.prior.precision, evaluation.start,
        evaluation.low, evaluation.high, parameters.scale, parameters.template,
    ]  # fmt: skip
    for x in jax.tree.leaves(numbers):
        _add(made, x)
    return made.hexdigest()[:16]


def _add(made: Any, x: Any) -> None:
    array = np.ascontiguousarray(x)
    if array.dtype == object:
        made.update(re.sub(r" at 0x[0-9a-f]+", "", repr(x)).encode())
        return
    made.update(f"{array.dtype.str}{array.shape}".encode())
    made.update(array.tobytes())
