"""One formula for NumPy and JAX: which of the two an array belongs to."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def is_traced(x: Any) -> bool:
    """Whether any number in `x` has no value yet."""
    if isinstance(x, np.ndarray | float | int):  # usual, and flattening it takes microseconds
        return False
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(x))


def namespace(*x: Any) -> Any:
    """`jax.numpy` where one of the arrays belongs to JAX, else `numpy`."""
    return jnp if any(isinstance(array, jax.Array) for array in x) else np
