"""Where predictions of a model start: at the states from which it agrees best with the first frames of a recording."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SHIFT = 0.02
"""Steps of the finite differences by a start, in units of its doubt."""
ROUNDS = 2
"""Gauss-Newton steps: the problem is almost linear."""


def estimated_starts(
    rolled: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    seen: np.ndarray,
    doubt: np.ndarray,
    noise: float,
) -> np.ndarray:
    """States (starts, n) from which `rolled` agrees best with what was `seen` (starts, frames, 2), near `start`.

    `doubt` (n,): how far the states of `start` may be off; `noise`: of what was seen, both as standard deviations.
    `rolled` takes states (k starts, n), all starts k times.
    """
    x, shifts, prior = start, SHIFT * doubt, np.diag(doubt**-2.0)
    for _ in range(ROUNDS):
        shifted = [x, *(x + step[None] for step in np.diag(shifts))]
        here, *others = np.split(rolled(np.concatenate(shifted)), len(shifted))
        slopes = [(other - here) / h for other, h in zip(others, shifts, strict=True)]
        J = np.stack(slopes, axis=-1).reshape(len(x), -1, x.shape[1]) / noise
        r = ((seen - here) / noise).reshape(len(x), -1, 1)
        H = J.transpose(0, 2, 1) @ J + prior[None]
        g = J.transpose(0, 2, 1) @ r + prior[None] @ (start - x)[..., None]
        x = x + np.linalg.solve(H, g)[..., 0]
    return x
