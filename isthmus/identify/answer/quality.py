"""Root mean square differences between simulation and measurement, signal by signal, before and after a fit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from isthmus.identify.evaluate.evaluation import Evaluation

Errors = dict[str, tuple[float, float]]
"""Root mean square of the differences of each signal [its unit]: before, after."""


def errors_of(
    evaluation: Evaluation, sigma: Mapping[str, np.ndarray], before: np.ndarray, after: np.ndarray
) -> Errors:
    """Of each channel at two points."""
    r, _ = evaluation.residuals(np.stack([before, after]))
    used = evaluation.windows.weight > 0
    errors, column = {}, 0
    for c in evaluation.plan.channels:
        block = slice(column, column + c.width)
        size = np.broadcast_to(sigma[c.text], (c.width,))
        d = np.where(used[..., block], r[..., block] * size, 0.0)
        count = max(int(used[..., block].sum()), 1)
        first, second = (float(np.sqrt(np.sum(np.square(x)) / count)) for x in d)
        errors[c.text] = (first, second)
        column += c.width
    return errors
