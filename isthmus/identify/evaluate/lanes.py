"""How windows and points stand side by side in the lanes of native code; see `Native.flat_blocks`.

A block is a number of lanes that run together. Either neighbouring windows stand in the lanes of a block and share a
point, or points do and share a window. What does not fill the last block is padded with copies and thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

Given = tuple[list[np.ndarray], list[np.ndarray]]
"""Arguments, and for each of them the row that every block takes."""


def in_lanes(arrays: Sequence[np.ndarray], lanes: int) -> list[np.ndarray]:
    """Arrays (count, …) as (blocks, lanes, …), the last rows repeated."""
    count = len(arrays[0])
    blocks = -(-count // lanes)
    index = np.minimum(np.arange(blocks * lanes), count - 1)
    full = [x if len(index) == count else x[index] for x in arrays]
    return [np.ascontiguousarray(x).reshape(blocks, lanes, *x.shape[1:]) for x in full]


def windows_in_lanes(
    U: Float[np.ndarray, "islands windows length"],
    count: int,
    windows: Sequence[np.ndarray],
    more: Sequence[Any],
    lanes: int,
) -> Given:
    """Blocks (island, lanes of windows). `windows`: their arrays (blocks, lanes, …); `more`: shared by all."""
    islands, blocks = len(U), len(windows[0])
    island, block = (x.ravel() for x in np.indices((islands, blocks)))
    none = np.zeros_like(island)
    if U.shape[1] == 1:
        u, row = U[:, 0], island
    else:
        index = np.minimum(np.arange(blocks * lanes), count - 1)
        u = U[:, index].reshape(islands * blocks, lanes, U.shape[2])
        row = island * blocks + block
    given = [u, *windows, *(np.asarray(x)[None] for x in more)]
    return given, [row, *(block for _ in windows), *(none for _ in more)]


def points_in_lanes(
    U: Float[np.ndarray, "islands windows length"],
    windows: Sequence[np.ndarray],
    more: Sequence[Any],
    lanes: int,
) -> Given:
    """Blocks (window, lanes of islands). `windows`: their arrays (windows, …); `more`: shared by all."""
    (u,) = in_lanes([U], lanes)  # (blocks, lanes, windows or 1, length)
    count, blocks = len(windows[0]), len(u)
    u = np.moveaxis(u, 2, 0).reshape(-1, lanes, U.shape[2])
    window, block = (x.ravel() for x in np.indices((count, blocks)))
    own = block if U.shape[1] == 1 else window * blocks + block
    none = np.zeros_like(window)
    given = [u, *windows, *(np.asarray(x)[None] for x in more)]
    return given, [own, *(window for _ in windows), *(none for _ in more)]


def by_points(found: np.ndarray, first: int, second: int) -> np.ndarray:
    """Results (first · blocks, lanes, …) as (first, second, …), without the padding."""
    side = len(found) // first * found.shape[1]
    return found.reshape(first, side, *found.shape[2:])[:, :second]
