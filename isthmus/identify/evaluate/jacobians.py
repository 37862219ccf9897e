"""Gauss-Newton matrices of large simulations: columns of the Jacobian by native code, their products by BLAS.

A window's columns are directional derivatives. Where there are many, they stand in the lanes of native code and share
the simulation of their window; where there are few, windows do. Where a window has far fewer rows than there are free
numbers, gradients of its rows are cheaper. Some windows at a time are in memory; sums are taken in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.blas import on_one_thread
from isthmus.identify.evaluate.batch import WindowBatch
from isthmus.identify.evaluate.lanes import by_points, in_lanes
from isthmus.identify.evaluate.programs import BLOCKS
from isthmus.losses.penalties import huber

MEMORY = 64 * 2**20
"""Bytes of columns that are in memory at a time, at least those of one window."""
FILLED = 0.7
"""Share of the lanes that directions must fill to stand there; else windows do, if there are enough of them."""
PULL = 3.0
"""How much more the gradient of a row costs than a column, roughly."""

Piece = tuple[np.ndarray, np.ndarray]
"""Differences (windows, data) and columns (windows, n, data) of some windows; or of several islands, as first axis."""


class Jacobians:
    """The Jacobians of all windows at a batch of points (islands)."""

    def __init__(self, batch: WindowBatch) -> None:
        self.e, self.plan = batch, batch.plan
        self.data = self.plan.width * batch.windows.target.shape[1]

    def normal(
        self, X: Float[np.ndarray, "islands n"]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cost (islands), gradient and matrix (islands, windows, …); (islands, 1, …) where windows have no starts."""
        U, V = self.e.of_window(X), self.e.directions(X)
        with on_one_thread():
            parts = [self._summed(pieces) for pieces in self.pieces(U, V)]
        return tuple(np.stack(x) for x in zip(*parts, strict=True))  # ty: ignore[invalid-return-type]

    def _summed(self, pieces: list[Piece]) -> tuple[float, np.ndarray, np.ndarray]:
        """Cost, gradient and matrix of one point, from its windows, some at a time."""
        cost, slopes, matrices = 0.0, [], []
        for r, D in pieces:
            rho, weight = huber(r, self.plan.huber)
            cost += float(rho.sum())
            heavy = D if self.plan.huber is None else D * weight[:, None]
            if self.e.own:
                slopes.append(np.einsum("wnd,wd->wn", heavy, r))
                matrices.append(heavy @ np.swapaxes(D, 1, 2))
                continue
            flat = lambda x: np.ascontiguousarray(np.swapaxes(x, 0, 1)).reshape(x.shape[1], -1)
            wide = flat(D)
            heavy = wide if heavy is D else flat(heavy)
            slopes.append((heavy @ r.ravel())[None])
            matrices.append((heavy @ wide.T)[None])
        if self.e.own:
            return cost, np.concatenate(slopes), np.concatenate(matrices)
        return cost, sum(slopes[1:], start=slopes[0]), sum(matrices[1:], start=matrices[0])

    def pieces(self, U: np.ndarray, V: np.ndarray) -> Iterator[list[Piece]]:
        """For each island, its windows: all at once, or some at a time if they would not fit into memory.

        Where a piece begins does not depend on the number of islands, nor do the bits of a sum over pieces.
        """
        count, n = self.e.count, V.shape[1]
        most = max(1, MEMORY // (8 * max(n, 1) * (self.data + self.plan.gaps)))
        islands = max(1, most // count)
        for first in range(0, len(U), islands):
            u, v = U[first : first + islands], V[first : first + islands]
            parts = [self._piece(u, v, w, min(w + most, count)) for w in range(0, count, most)]
            for k in range(len(u)):
                yield [(r[k], D[k]) for r, D in parts]

    def _piece(self, U: np.ndarray, V: np.ndarray, first: int, last: int) -> Piece:
        """Differences (islands, windows, data) and columns (islands, windows, n, data) of some windows."""
        by_rows = PULL * (self.data + self.plan.gaps) < V.shape[1]
        run = self._by_rows if by_rows else self._by_columns
        own = U if U.shape[1] == 1 else U[:, first:last]
        return run(own, V, [x[first:last] for x in self.e.leaves])

    def _by_columns(self, U: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]) -> Piece:
        fn = self.e.compiled.columns
        (islands, n, _), count = V.shape, len(leaves[0])
        full = n / (fn.lanes * -(-n // fn.lanes)) if n else 0.0
        run = self._directions_side_by_side
        if full < FILLED and count >= fn.lanes:
            run = self._windows_side_by_side
        r, gap, D, G = run(fn, U, V, leaves)
        r, D = r.reshape(islands, count, self.data), D.reshape(islands, count, n, self.data)
        if not self.plan.shooting:
            return r, D
        return np.concatenate([r, gap], axis=2), np.concatenate([D, G], axis=3)

    def _directions_side_by_side(
        self, fn: Any, U: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """Blocks (island, window, chunk of directions): all lanes share island and window."""
        # with it comes LLVM, which only a search needs
        from isthmus.native.runtime.cores import cores

        (islands, n, _), lanes, count = V.shape, fn.lanes, len(leaves[0])
        groups = -(-n // lanes)
        chunks = max(-(-groups // BLOCKS), min(groups, -(-cores() // (count * islands))))
        each = -(-groups // chunks)
        slots = np.arange(chunks * BLOCKS * lanes).reshape(chunks, BLOCKS, lanes)
        place = slots[:, :each].reshape(-1)[:n]  # where each direction stands
        padded = np.zeros((islands, slots.size, V.shape[2]))
        padded[:, place] = V
        seeds = np.swapaxes(padded.reshape(islands * chunks, BLOCKS, lanes, -1), 1, 2)
        island, window, chunk = (x.ravel() for x in np.indices((islands, count, chunks)))
        own = island if U.shape[1] == 1 else island * count + window
        rows = [own, *(window for _ in leaves), 0 * own, island * chunks + chunk, 0 * own]
        given = [joined(U), *leaves, np.array([self.e.substeps]), seeds, np.array([each])]
        r, gap, D, G = fn.flat_blocks(given, rows, self.e.threads(fn, len(own) * lanes))
        shape = (islands, count, chunks, lanes)
        once = lambda x: x.reshape(*shape, *x.shape[2:])[:, :, 0, 0]
        back = lambda x: np.swapaxes(x.reshape(*shape, BLOCKS, *x.shape[3:]), 3, 4).reshape(
            islands, count, slots.size, *x.shape[3:]
        )
        return once(r), once(gap), back(D)[:, :, place], back(G)[:, :, place]

    def _windows_side_by_side(
        self, fn: Any, U: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """Blocks (island, chunk of directions, lanes of windows): all lanes share the directions."""
        (islands, n, _), lanes, count = V.shape, fn.lanes, len(leaves[0])
        chunks = -(-n // BLOCKS)
        each = -(-n // chunks)
        place = np.arange(chunks * BLOCKS).reshape(chunks, BLOCKS)[:, :each].reshape(-1)[:n]
        padded = np.zeros((islands, chunks * BLOCKS, V.shape[2]))
        padded[:, place] = V
        side = in_lanes(leaves, lanes)
        blocks = len(side[0])
        island, chunk, block = (x.ravel() for x in np.indices((islands, chunks, blocks)))
        own, u = island, U[:, 0]
        if U.shape[1] > 1:
            own, u = island * blocks + block, np.concatenate([in_lanes([x], lanes)[0] for x in U])
        rows = [own, *(block for _ in side), 0 * own, island * chunks + chunk, 0 * own]
        seeds = padded.reshape(islands * chunks, BLOCKS, -1)
        given = [u, *side, np.array([self.e.substeps]), seeds, np.array([each])]
        found = fn.flat_blocks(given, rows, self.e.threads(fn, len(own) * lanes))
        found = [by_points(x, islands * chunks, count) for x in found]
        r, gap, D, G = (x.reshape(islands, chunks, *x.shape[1:]) for x in found)
        back = lambda x: np.moveaxis(x, 1, 2).reshape(islands, count, chunks * BLOCKS, *x.shape[4:])
        return r[:, 0], gap[:, 0], back(D)[:, :, place], back(G)[:, :, place]

    def _by_rows(self, U: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]) -> Piece:
        """Blocks (island, window, lanes of its rows): gradients of single differences, then by the free numbers."""
        fn = self.e.compiled.rows
        islands, count, data = len(U), len(leaves[0]), self.data + self.plan.gaps
        (seeds,) = in_lanes([np.eye(data)], fn.lanes)
        island, window, chunk = (x.ravel() for x in np.indices((islands, count, len(seeds))))
        own = island if U.shape[1] == 1 else island * count + window
        rows = [own, *(window for _ in leaves), chunk]
        r, slopes = fn.flat_blocks(
            [joined(U), *leaves, seeds], rows, self.e.threads(fn, len(own) * fn.lanes)
        )
        slopes = by_points(slopes, islands * count, data).reshape(islands, count, data, -1)
        D = np.matmul(V[:, None][..., self.e.compiled.kept], np.swapaxes(slopes, 2, 3))
        r = by_points(r, islands * count, len(seeds) * fn.lanes)[:, 0]
        return r.reshape(islands, count, data), D


def joined(U: np.ndarray) -> np.ndarray:
    """(islands, windows, length) as rows of islands and windows."""
    return U.reshape(-1, U.shape[2])
