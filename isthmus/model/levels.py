"""Links of equal depth in the tree, side by side: the passes of the dynamics go from level to level.

A pass that handles a whole level at once needs as many operations as the tree is deep, not as it has links.
"""

from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np

from isthmus.model.arrays import taken
from isthmus.model.layout import layout_of
from isthmus.model.model import Model
from isthmus.types import AnyArray

PADDING = -1
"""Fills the rows of joints that have fewer degrees of freedom than others of their level."""


@dataclasses.dataclass(frozen=True, eq=False)
class Level:
    """The links of one depth."""

    rows: np.ndarray
    above: np.ndarray | None
    """Places of their parents in the level before; None for the world."""
    width: int
    """How many links the level before has."""
    columns: np.ndarray
    """Degrees of freedom of each link's joint, in expanded `v`, filled up with `PADDING`; none for prescribed ones."""

    def of(self, whole: AnyArray) -> AnyArray:
        """This level's rows of an array with a row for each link."""
        return taken(jnp.asarray(whole), self.rows)

    def from_parents(self, values: AnyArray) -> AnyArray:
        """For each link of this level its parent's row of `values`, which has the level before."""
        if self.width == 1:
            return jnp.broadcast_to(values, (len(self.rows), *values.shape[1:]))
        return taken(values, self.above)

    def to_parents(self, values: AnyArray) -> AnyArray:
        """For each link of the level before the sum over its children of `values`, which has this level."""
        if self.width == 1:
            return jnp.sum(values, axis=0, keepdims=True)
        above = np.asarray(self.above)
        if np.array_equal(above, np.arange(self.width)):
            return values
        belongs = (np.arange(self.width)[:, None] == above[None]).astype(values.dtype)
        return jnp.tensordot(belongs, values, axes=1)

    def of_joints(self, whole: AnyArray, filling: float = 0.0) -> AnyArray:
        """For each link the numbers of its joint's degrees of freedom, `filling` where it has fewer."""
        whole = jnp.asarray(whole)
        if not (self.columns == PADDING).any():
            return taken(whole, self.columns.reshape(-1)).reshape(self.columns.shape)
        return jnp.concatenate([whole, jnp.full(1, filling, whole.dtype)])[self.columns]

    def diagonal(self, whole: AnyArray) -> AnyArray:
        """For each link a diagonal matrix of its joint's numbers, one where it has fewer."""
        return np.eye(self.columns.shape[1])[None] * self.of_joints(whole, 1.0)[:, None, :]

    def subspaces(self, S: list[AnyArray]) -> AnyArray:
        """Motion subspaces of the joints, filled up with zeros."""
        width = self.columns.shape[1]
        parts = []
        for i, columns in zip(self.rows, self.columns, strict=True):
            own = int(np.sum(columns != PADDING))
            parts.append(
                S[i] if own == width else jnp.pad(S[i][:, :own], ((0, 0), (0, width - own)))
            )
        return jnp.stack(parts)


def levels_of(model: Model) -> tuple[Level, ...]:
    """The levels of a mechanism, roots first."""
    return _levels(model.parents, model.joint_kinds, model.prescribed)


@functools.lru_cache(maxsize=256)
def _levels(
    parents: tuple[int, ...], kinds: tuple[str, ...], prescribed: tuple[int, ...]
) -> tuple[Level, ...]:
    spans = layout_of(kinds, ()).v
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent < 0 else depth[parent] + 1)
    levels: list[Level] = []
    for d in range(max(depth, default=-1) + 1):
        rows = [i for i, x in enumerate(depth) if x == d]
        before = levels[-1].rows.tolist() if levels else []
        above = _indices([before.index(parents[i]) for i in rows]) if levels else None
        own = [() if i in prescribed else tuple(range(*spans[i])) for i in rows]
        width = max(map(len, own))
        columns = [list(c) + [PADDING] * (width - len(c)) for c in own]
        levels.append(Level(_indices(rows), above, len(before), _indices(columns)))
    return tuple(levels)


@dataclasses.dataclass(frozen=True, eq=False)
class Entries:
    """Which entries of a level's array, filled up for joints with fewer degrees of freedom, are rows of a signal."""

    rows: np.ndarray
    places: tuple[np.ndarray, ...]
    """Index of each row in the array; of a symmetric matrix, in its lower triangle."""

    def of(self, whole: AnyArray) -> AnyArray:
        """Those entries, in the order of `rows`."""
        return jnp.asarray(whole)[self.places]

    def put(self, whole: AnyArray, values: AnyArray) -> AnyArray:
        """The array with other values there, and in the upper triangle of a symmetric matrix."""
        link, *rest = self.places
        below = jnp.asarray(whole).at[self.places].set(values)
        return below.at[link, *rest[::-1]].set(values)


def dofs_of(level: Level) -> Entries:
    """Degrees of freedom, as entries of an array (links, columns)."""
    places = np.nonzero(level.columns != PADDING)
    return Entries(level.columns[places], places)


def pairs_of(model: Model, level: Level) -> Entries:
    """Pairs of degrees of freedom of one joint, as entries of symmetric matrices (links, columns, columns)."""
    pairs = list(model.rows("pair").values())
    free = [(k, i) for k, i in enumerate(level.rows.tolist()) if i not in model.prescribed]
    places = [(k, *pair) for k, i in free for pair in _triangle(model.kind(i).nv)]
    rows = [row for _, i in free for row in pairs[i]]
    return Entries(_indices(rows), tuple(_indices(places).reshape(-1, 3).T))


def _triangle(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i + 1)]


def in_order(levels: tuple[Level, ...], values: list[AnyArray]) -> AnyArray:
    """One array with a row for each link, of one array for each level."""
    rows = np.concatenate([level.rows for level in levels])
    return taken(jnp.concatenate(values), _indices(np.argsort(rows)))


def joints_in_order(
    levels: tuple[Level, ...], values: list[AnyArray], given: AnyArray, rows: np.ndarray
) -> AnyArray:
    """One number for each degree of freedom, of one array for each level; `given` for the others, at `rows`."""
    columns = np.concatenate([*(level.columns.reshape(-1) for level in levels), rows])
    flat = jnp.concatenate([*(value.reshape(-1) for value in values), given])
    place = {int(column): k for k, column in enumerate(columns) if column != PADDING}
    return taken(flat, _indices([place[n] for n in range(len(place))]))


def _indices(numbers: object) -> np.ndarray:
    """As 32 bits: longer ones would not survive a change of precision."""
    return np.asarray(numbers, dtype=np.int32)
