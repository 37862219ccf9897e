"""`Bands`: what many models predict, as the middle and the two edges of each coordinate at each time."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.errors import BadOption
from isthmus.model.model import Model
from isthmus.model.state import StateLike
from isthmus.motion.motion import Motion
from isthmus.simulate.many import rollout_many
from isthmus.simulate.rollout import Controls
from isthmus.types import Number


@dataclasses.dataclass(frozen=True, eq=False)
class Bands:
    """Predicted positions of many models."""

    t: Float[np.ndarray, " rows"]
    """Time [s]."""
    low: Float[np.ndarray, "rows nq"]
    """Lower edge of the positions [rad, m]."""
    middle: Float[np.ndarray, "rows nq"]
    """Median."""
    high: Float[np.ndarray, "rows nq"]
    """Upper edge."""
    share: float
    """Share of the models between the edges."""
    motion: Motion
    """Of all models: the first axis are the models, the second is time."""


def bands_of(
    models: Model,
    start: StateLike,
    controls: Controls,
    dt: Number,
    share: float,
    options: dict[str, Any],
) -> Bands:
    """Rolls the models out side by side."""
    if not 0.0 < share < 1.0:
        raise BadOption(f"a band holds a share between 0 and 1, not {share!r}.")
    motion = rollout_many(models, start, controls, dt, **options)
    q = np.asarray(motion.q)
    ends = [0.5 - 0.5 * share, 0.5, 0.5 + 0.5 * share]
    low, middle, high = np.quantile(q, ends, axis=0)
    t = np.asarray(motion.t)
    return Bands(t[0] if t.ndim > 1 else t, low, middle, high, share, motion)
