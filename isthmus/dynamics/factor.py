"""The mass matrix as `H = Lᵀ L`, from the leaves to the root (Featherstone 2008, section 6.5).

In this order zeros between branches stay zeros, in `L` and in all that is solved with it.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.model.model import Model
from isthmus.record import Record
from isthmus.types import AnyArray, Joints


class Factor(Record):
    """`L`, lower triangular, in parts."""

    below: Float[AnyArray, "n n"]
    """`L` without its diagonal."""
    inverse: Joints
    """One over the diagonal."""


def factored(model: Model, H: Float[AnyArray, "n n"], dense: bool = False) -> Factor:
    """`L` of a mass matrix; `dense`: of one that couples branches too."""
    n = H.shape[0]
    if dense or model.mimics:
        before = _before((n,), (-1,))
    else:
        before = _before(tuple(stop - start for start, stop in model.layout.v), model.parents)
    rows: list[AnyArray] = []
    inverse: list[AnyArray] = []
    for k in reversed(range(n)):
        up = np.array(before[k], dtype=np.int32)
        inverse.append(1.0 / jnp.sqrt(H[k, k]))
        row = H[k, up] * inverse[-1]
        rows.append(jnp.zeros(n, H.dtype).at[up].set(row))
        H = jnp.asarray(H).at[up[:, None], up[None]].add(-row[:, None] * row[None])
    return Factor(jnp.stack(rows[::-1]), jnp.stack(inverse[::-1]))


@functools.lru_cache(maxsize=256)
def _before(sizes: tuple[int, ...], parents: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """For each row of `L`, the columns in which it may have entries: the degrees of freedom between it and the root."""
    start = np.cumsum([0, *sizes])
    chains: list[list[int]] = []
    for i, parent in enumerate(parents):
        chains.append([*(chains[parent] if parent >= 0 else []), *range(start[i], start[i + 1])])
    return tuple(
        tuple(int(d) for d in chain if d < k)
        for i, chain in enumerate(chains)
        for k in range(start[i], start[i + 1])
    )


def solve_transposed(L: Factor, X: Float[AnyArray, "n m"]) -> Float[AnyArray, "n m"]:
    """`L⁻ᵀ X`."""
    rows: list[AnyArray] = []
    for k in reversed(range(X.shape[0])):
        rows.append(X[k] * L.inverse[k])
        X = X - L.below[k][:, None] * rows[-1][None]
    return jnp.stack(rows[::-1])


def solve(L: Factor, x: Joints) -> Joints:
    """`L⁻¹ x`."""
    found: list[AnyArray] = []
    for k in range(x.shape[0]):
        found.append(x[k] * L.inverse[k])
        x = x - L.below[:, k] * found[-1]
    return jnp.stack(found)


def inverse_times(H: Float[AnyArray, "n n"], L: Factor, x: Joints) -> Joints:
    """`H⁻¹ x`, where `L` is the factor of `H`; its derivative needs none of `L`, and its transpose is itself."""
    solved = lambda _, x: solve(L, solve_transposed(L, x[:, None])[:, 0])
    return jax.lax.custom_linear_solve(lambda y: H @ y, x, solved, symmetric=True)
