"""Few contacts of many: a problem of those that act, where no more do than a small problem holds.

A robot that may touch itself has a hundred contacts, of which its feet act. A problem of their size takes a small part
of the time, and code of one size whatever the number of contacts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from isthmus.types import AnyArray

FEW = 8
"""Contacts of a small problem, which is written out: the corners of a box."""
SOME = 32
"""Contacts of a problem between that and one of all, where these are at least twice as many: a small pile of bodies."""
T = TypeVar("T")
Rows = Int[AnyArray, " few"]
Used = Bool[AnyArray, " few"]


def few_or_all(
    active: Bool[AnyArray, " contacts"], few: Callable[[Rows, Used], T], every: Callable[[], T]
) -> T:
    """`every()`, or the same by `few(rows, used)`: the rows of the active contacts, and which of these rows count."""
    count = jnp.sum(active, dtype=np.int32)

    def by(sizes: tuple[int, ...]) -> T:
        if not sizes:
            return every()
        size, *larger = sizes

        def small() -> T:
            return few(_first_rows(active, size), np.arange(size, dtype=np.int32) < count)

        return jax.lax.cond(count <= size, small, lambda: by(tuple(larger)))

    contacts = active.shape[0]
    return by((FEW,) * (contacts > FEW) + (SOME,) * (contacts >= 2 * SOME))


def _first_rows(active: Bool[AnyArray, " contacts"], size: int) -> Rows:
    """Rows of the first active contacts, zero where there are fewer."""
    slots = np.arange(size, dtype=np.int32)

    def note(state: tuple, contact: tuple) -> tuple:
        rows, count = state
        acts, k = contact
        rows = jnp.where(acts & (slots == count), k, rows)
        return (rows, count + acts.astype(np.int32)), None

    start = jnp.zeros(size, np.int32), jnp.zeros((), np.int32)
    numbers = jnp.arange(active.shape[0], dtype=np.int32)
    return jax.lax.scan(note, start, (active, numbers))[0][0]


def spread(
    x: Float[AnyArray, "few 3"], rows: Rows, used: Used, count: int
) -> Float[AnyArray, "contacts 3"]:
    """What was found for a few contacts, as rows of all `count`; zero for the others."""
    return jnp.zeros((count, 3), x.dtype).at[rows].add(jnp.where(used[:, None], x, 0.0))
