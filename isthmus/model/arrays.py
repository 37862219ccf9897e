"""Numbers that may be traced: as NumPy float64 while they are concrete, as JAX arrays once they are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.entry import described
from isthmus.errors import BadOption
from isthmus.spatial.arrays import is_traced
from isthmus.types import AnyArray


def as_leaf(x: Any, name: str = "a number of a mechanism") -> Any:
    """`x` as a leaf of a model: NumPy float64, or untouched where it is traced; `name` is for error messages."""
    if is_traced(x):
        return x if isinstance(x, jax.Array) else stack(x)
    if isinstance(x, np.ndarray | jax.Array | complex | float | int | list | tuple | np.generic):
        try:
            if np.iscomplexobj(x):
                raise BadOption(f"{name} must be real, not {described(x)}.")
            return np.asarray(x, dtype=np.float64)
        except BadOption:
            raise
        except (TypeError, ValueError, OverflowError):  # of texts, rows of unequal length
            raise BadOption(f"{name} must be an array of numbers, not {described(x)}.") from None
    if isinstance(x, str | Mapping):
        raise BadOption(f"{name} must be an array of numbers, not {described(x)}.")
    return x  # a placeholder of jax.tree or equinox: None, an axis, a sentinel


def as_floats(name: str, x: Any) -> AnyArray:
    """`x` as an array of floating-point numbers; refuses what is not real numbers."""
    given, x = x, x if isinstance(x, np.ndarray | jax.Array) else as_leaf(x, name)
    kind = getattr(x, "dtype", np.dtype(object))
    if kind.kind == "f" or jnp.issubdtype(kind, jnp.floating):  # the second takes microseconds
        return x
    if jnp.issubdtype(kind, jnp.integer) or jnp.issubdtype(kind, jnp.bool_):
        return x.astype(np.float64 if isinstance(x, np.ndarray) else float)
    raise BadOption(f"{name} must be an array of numbers, not {described(given)}.")


def stack(rows: Iterable[Any]) -> AnyArray:
    """Rows of equal shape as one array; numbers and tuples of numbers may be mixed with traced ones."""
    rows = list(rows)
    if is_traced(rows):
        return jnp.stack(
            [stack(row) if isinstance(row, list | tuple) else jnp.asarray(row) for row in rows]
        )
    return np.asarray(rows, dtype=np.float64)


def replaced(leaf: AnyArray, index: Any, value: Any) -> AnyArray:
    """The leaf with other numbers at `index`; NumPy as long as nothing is traced."""
    if is_traced((leaf, value)):
        return jnp.asarray(leaf).at[index].set(value)
    new = np.array(leaf)
    new[index] = np.asarray(value)
    return new


def broadcast(x: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """`x` repeated up to a shape; NumPy as long as nothing is traced."""
    return jnp.broadcast_to(x, shape) if is_traced(x) else np.broadcast_to(x, shape)


def taken(values: AnyArray, rows: Any) -> AnyArray:
    """`values[rows]`, as a slice, or as it stands, where that is the same."""
    rows = np.asarray(rows, dtype=np.int32)  # longer ones would not survive a change of precision
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        start = int(rows[0])
        return values if len(rows) == len(values) else values[start : start + len(rows)]
    return values[rows]
