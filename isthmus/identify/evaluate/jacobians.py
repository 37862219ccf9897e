"""Gauss-Newton matrices of large simulations: columns of the Jacobian by native code, their products by BLAS.

A window's columns are directional derivatives. Where there are many, they stand in the lanes of native code and share
the simulation of their window; where there are few, windows do. Where a window has far fewer rows than there are free
numbers, gradients of its rows are cheaper. Some windows at a time are in memory; sums are taken in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from isthmus.blas import on_one_thread
from isthmus.identify.evaluate.lanes import by_points, in_lanes
from isthmus.identify.evaluate.programs import BLOCKS
from isthmus.losses.penalties import huber

if TYPE_CHECKING:
    from isthmus.identify.evaluate.evaluation import Evaluation

MEMORY = 64 * 2**20
"""Bytes of columns that are in memory at a time, at least those of one window."""
FILLED = 0.7
"""Share of the lanes that directions must fill to stand there; else windows do, if there are enough of them."""
PULL = 3.0
"""How much more the gradient of a row costs than a column, roughly."""


class Jacobians:
    """The Jacobians of all windows at a batch of points."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.e, self.plan = evaluation, evaluation.plan
        self.data = self.plan.width * evaluation.windows["target"].shape[1]

    def normal(
        self, X: Float[np.ndarray, "islands n"]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cost (islands), gradient and matrix (islands, windows, …); (islands, 1, …) where windows have no starts."""
        U, V = self.e.of_window(X), self.e.directions(X)
        with on_one_thread():
            parts = [self._one(u, v) for u, v in zip(U, V, strict=True)]
        return tuple(np.stack(x) for x in zip(*parts, strict=True))  # ty: ignore[invalid-return-type]

    def _one(self, u: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Cost, gradient and matrix of one point."""
        cost, slopes, matrices = 0.0, [], []
        for r, D in self.pieces(u, V):
            rho, weight = huber(r, self.plan.huber)
            cost += float(rho.sum())
            heavy = D if self.plan.huber is None else D * weight[:, None]
            if self.e.own:
                slopes.append(np.einsum("wnd,wd->wn", heavy, r))
                matrices.append(heavy @ np.swapaxes(D, 1, 2))
                continue
            flat = lambda x: np.ascontiguousarray(np.swapaxes(x, 0, 1)).reshape(len(V), -1)
            wide = flat(D)
            heavy = wide if heavy is D else flat(heavy)
            slopes.append((heavy @ r.ravel())[None])
            matrices.append((heavy @ wide.T)[None])
        if self.e.own:
            return cost, np.concatenate(slopes), np.concatenate(matrices)
        return cost, sum(slopes[1:], start=slopes[0]), sum(matrices[1:], start=matrices[0])

    def pieces(self, u: np.ndarray, V: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Differences (windows, data) and columns (windows, n, data), some windows at a time."""
        count, n = self.e.count, len(V)
        most = max(1, MEMORY // (8 * max(n, 1) * (self.data + self.plan.gaps)))
        by_rows = PULL * (self.data + self.plan.gaps) < n
        run = self._by_rows if by_rows else self._by_columns
        for first in range(0, count, most):
            chosen = np.arange(first, min(first + most, count))
            yield run(u if len(u) == 1 else u[chosen], V, [x[chosen] for x in self.e.leaves])

    def _by_columns(
        self, u: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        fn = self.e.compiled.columns
        n, count = len(V), len(leaves[0])
        full = n / (fn.lanes * -(-n // fn.lanes)) if n else 0.0
        run = self._directions_side_by_side
        if full < FILLED and count >= fn.lanes:
            run = self._windows_side_by_side
        r, gap, D, G = run(fn, u, V, leaves)
        r, D = r.reshape(count, self.data), D.reshape(count, n, self.data)
        if not self.plan.shooting:
            return r, D
        return np.concatenate([r, gap], axis=1), np.concatenate([D, G], axis=2)

    def _directions_side_by_side(
        self, fn: Any, u: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """Blocks (window, chunk of directions): all lanes share the window."""
        from isthmus.native.runtime.cores import (
            cores,  # with it comes LLVM, which only a search needs
        )

        n, lanes, count = len(V), fn.lanes, len(leaves[0])
        groups = -(-n // lanes)
        chunks = max(-(-groups // BLOCKS), min(groups, -(-cores() // count)))
        each = -(-groups // chunks)
        slots = np.arange(chunks * BLOCKS * lanes).reshape(chunks, BLOCKS, lanes)
        place = slots[:, :each].reshape(-1)[:n]  # where each direction stands
        padded = np.zeros((slots.size, V.shape[1]))
        padded[place] = V
        seeds = np.swapaxes(padded.reshape(chunks, BLOCKS, lanes, -1), 1, 2)
        window, chunk = (x.ravel() for x in np.indices((count, chunks)))
        none = np.zeros_like(window)
        rows = [none if len(u) == 1 else window, *(window for _ in leaves), none, chunk, none]
        given = [u, *leaves, np.array([self.e.substeps]), seeds, np.array([each])]
        r, gap, D, G = fn.flat_blocks(given, rows, self.e.threads(fn, len(rows[0]) * lanes))
        back = lambda x: np.swapaxes(
            x.reshape(count, chunks, lanes, BLOCKS, *x.shape[3:]), 2, 3
        ).reshape(count, slots.size, *x.shape[3:])
        once = lambda x: x.reshape(count, chunks, lanes, *x.shape[2:])[:, 0, 0]
        return once(r), once(gap), back(D)[:, place], back(G)[:, place]

    def _windows_side_by_side(
        self, fn: Any, u: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """Blocks (chunk of directions, lanes of windows): all lanes share the directions."""
        n, lanes, count = len(V), fn.lanes, len(leaves[0])
        chunks = -(-n // BLOCKS)
        each = -(-n // chunks)
        place = np.arange(chunks * BLOCKS).reshape(chunks, BLOCKS)[:, :each].reshape(-1)[:n]
        padded = np.zeros((chunks * BLOCKS, V.shape[1]))
        padded[place] = V
        side = in_lanes(leaves, lanes)
        own = u if len(u) == 1 else in_lanes([u], lanes)[0]
        chunk, block = (x.ravel() for x in np.indices((chunks, len(side[0]))))
        none = np.zeros_like(chunk)
        rows = [none if len(u) == 1 else block, *(block for _ in side), none, chunk, none]
        seeds = padded.reshape(chunks, BLOCKS, -1)
        given = [own, *side, np.array([self.e.substeps]), seeds, np.array([each])]
        found = fn.flat_blocks(given, rows, self.e.threads(fn, len(rows[0]) * lanes))
        r, gap, D, G = (by_points(x, chunks, count) for x in found)
        back = lambda x: np.moveaxis(x, 0, 1).reshape(count, chunks * BLOCKS, *x.shape[3:])
        return r[0], gap[0], back(D)[:, place], back(G)[:, place]

    def _by_rows(
        self, u: np.ndarray, V: np.ndarray, leaves: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Blocks (window, lanes of its rows): gradients of single differences, then by the free numbers."""
        fn = self.e.compiled.rows
        count, data = len(leaves[0]), self.data + self.plan.gaps
        (seeds,) = in_lanes([np.eye(data)], fn.lanes)
        window, chunk = (x.ravel() for x in np.indices((count, len(seeds))))
        rows = [0 * window if len(u) == 1 else window, *(window for _ in leaves), chunk]
        r, slopes = fn.flat_blocks(
            [u, *leaves, seeds], rows, self.e.threads(fn, len(window) * fn.lanes)
        )
        slopes = by_points(slopes, count, data)
        D = np.matmul(V[None][:, :, self.e.compiled.kept], np.swapaxes(slopes, 1, 2))
        return by_points(r, count, len(seeds) * fn.lanes)[:, 0], D
