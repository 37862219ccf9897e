"""The range of inputs that a network has seen, and how its correction fades out beyond it."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from isthmus.types import AnyArray

FADING = (
    "joint/motor_torque", "joint/passive_torque", "joint/limit_torque", "joint/torque", "link/external_force",
)  # fmt: skip
"""Targets whose corrections fade out by default."""
REACH = 0.25
"""A correction is gone where an input is this share of its range beyond the range's end."""
NARROWEST = 0.1
"""A range narrower than this, in units of the input's scale, counts as this wide: simulations of an input that was
constant in the log differ from it a little."""


def share_inside(
    x: Float[AnyArray, " inputs"],
    seen: Float[AnyArray, "2 inputs"],
    scale: Float[AnyArray, " inputs"],
) -> Float[AnyArray, ""]:
    """By how much the correction is multiplied: 1 within the range, 0 far from it, two continuous derivatives."""
    low, high = jnp.asarray(seen)[0], jnp.asarray(seen)[1]
    reach = REACH * jnp.maximum(high - low, NARROWEST * jnp.asarray(scale))
    beyond = jnp.maximum(jnp.maximum(low - x, x - high), 0.0) / reach
    return jnp.maximum(1.0 - jnp.sum(beyond * beyond * beyond), 0.0) ** 3


def range_of(inputs: Float[np.ndarray, "rows inputs"]) -> Float[np.ndarray, "2 inputs"]:
    """Lowest and highest of each input."""
    return np.stack([inputs.min(axis=0), inputs.max(axis=0)])


def is_outside(
    inputs: Float[np.ndarray, "rows inputs"], seen: Float[np.ndarray, "2 inputs"]
) -> Bool[np.ndarray, " rows"]:
    """Whether any input of a row lies outside of the range."""
    return np.any((inputs < seen[0]) | (inputs > seen[1]), axis=1)
