"""How the numbers of a network change a signal, so that every answer gives a valid value.

Most signals are plain numbers, one output for each. Inertias (6×6) are symmetric: the network gives the 21 numbers of
the lower triangle, row by row. Transforms (6×6) are given by rotations and translations: the network gives six
numbers, a rotation vector [rad] and a translation [m].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from isthmus.spatial import rotations, transforms
from isthmus.spatial.products import mm, mtv
from isthmus.types import AnyArray


@dataclasses.dataclass(frozen=True)
class Chart:
    """The numbers `y` by which a network adds to, scales or replaces a value `x`; over any leading axes."""

    numbers: int | None
    """How many for each row; None: as many as the row has."""
    add: Callable[[AnyArray, AnyArray], AnyArray]
    """The value changed by `y`; unchanged, to the bit, by zeros."""
    scale: Callable[[AnyArray, AnyArray], AnyArray]
    """The value changed in proportion to itself; unchanged, to the bit, by zeros."""
    make: Callable[[AnyArray], AnyArray]
    """The value that has the numbers `y`."""
    of: Callable[[AnyArray], AnyArray]
    """The numbers of a value: `make(of(x)) = x`."""


PLAIN = Chart(None, lambda x, y: x + y, lambda x, y: x * (1.0 + y), lambda y: y, lambda x: x)

_ROWS, _COLUMNS = np.tril_indices(6)
_PLACES = np.zeros((6, 6), np.int32)
_PLACES[_ROWS, _COLUMNS] = _PLACES[_COLUMNS, _ROWS] = np.arange(21)


def symmetric(y: AnyArray) -> AnyArray:
    """The symmetric 6×6 matrix whose lower triangle has these 21 numbers, row by row."""
    return jnp.asarray(y)[..., _PLACES]


SYMMETRIC = Chart(
    21,
    lambda x, y: x + symmetric(y),
    lambda x, y: x * (1.0 + symmetric(y)),
    symmetric,
    lambda x: x[..., _ROWS, _COLUMNS],
)


def displaced(X: AnyArray, y: AnyArray) -> AnyArray:
    """The transform into a child that is turned by `y[:3]` [rad] and shifted by `y[3:]` [m], in its own frame."""
    return mm(_transform(y), X)


def _scaled(X: AnyArray, y: AnyArray) -> AnyArray:
    R, p = transforms.pose_of(X)
    turn = rotations.log(rotations.from_matrix(R))
    return displaced(X, y * jnp.concatenate([turn, mtv(R, p)]))


def _transform(y: AnyArray) -> AnyArray:
    return transforms.into_child(rotations.matrix(rotations.exp(y[:3])), y[3:])


def _of_transform(X: AnyArray) -> AnyArray:
    R, p = transforms.pose_of(X)
    return jnp.concatenate([rotations.log(rotations.from_matrix(R)), p])


TRANSFORM = Chart(
    6,
    jnp.vectorize(displaced, signature="(6,6),(6)->(6,6)"),
    jnp.vectorize(_scaled, signature="(6,6),(6)->(6,6)"),
    jnp.vectorize(_transform, signature="(6)->(6,6)"),
    jnp.vectorize(_of_transform, signature="(6,6)->(6)"),
)

CHARTS = {
    "joint/transform": TRANSFORM,
    "link/spatial_inertia": SYMMETRIC,
    "link/articulated_inertia": SYMMETRIC,
}
"""Signals whose values have a form; all others are plain numbers."""


def chart_of(name: str) -> Chart:
    """The chart of the signal `name`."""
    return CHARTS.get(name, PLAIN)


def correction_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the numbers that correct a row, of the given shape, of the signal `name`."""
    numbers = chart_of(name).numbers
    return shape if numbers is None else (numbers,)
