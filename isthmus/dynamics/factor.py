"""The mass matrix as `H = Lᵀ L`, from the leaves to the root (Featherstone 2008, section 6.5).

In this order zeros between branches stay zeros, in `L` and in all that is solved with it.
"""

from __future__ import annotations

import functools

import equinox as eqx
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
    before: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    """For each row, the columns in which it may have entries."""


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
    return Factor(jnp.stack(rows[::-1]), jnp.stack(inverse[::-1]), before)


@functools.lru_cache(maxsize=256)
def _before(sizes: tuple[int, ...], parents: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The degrees of freedom between each one and the root; `sizes`: how many each joint has."""
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
    for k in reversed(range(X.shape[0])):
        up = np.array(L.before[k], dtype=np.int32)
        row = X[k] * L.inverse[k]
        X = jnp.asarray(X).at[k].set(row).at[up].add(-L.below[k, up][:, None] * row[None])
    return X


def solve(L: Factor, x: Joints) -> Joints:
    """`L⁻¹ x`."""
    for k in range(x.shape[0]):
        up = np.array(L.before[k], dtype=np.int32)
        x = jnp.asarray(x).at[k].set((x[k] - L.below[k, up] @ x[up]) * L.inverse[k])
    return x


@jax.custom_jvp
def inverse_times(H: Float[AnyArray, "n n"], L: Factor, x: Joints) -> Joints:
    """`H⁻¹ x`, where `L` is the factor of `H`; its derivative needs none of `L`."""
    return solve(L, solve_transposed(L, x[:, None])[:, 0])


@inverse_times.defjvp
def _inverse_times_jvp(primals: tuple, tangents: tuple) -> tuple[Joints, Joints]:
    H, L, x = primals
    dH, _, dx = tangents
    y = inverse_times(H, L, x)
    return y, inverse_times(H, L, dx - dH @ y)
