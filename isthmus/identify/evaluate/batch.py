"""All windows of a problem and the native code that runs over them, for batches of points.

A point is one row of `X`, what a search moves; `u` is what one window depends on at that point. Windows stand in SIMD
lanes; where there are few of them the points do.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.compiled import Compiled
from isthmus.identify.evaluate.lanes import by_points, in_lanes, points_in_lanes, windows_in_lanes
from isthmus.identify.evaluate.window import Plan, Window

Points = Float[np.ndarray, "islands n"]
WORTH_A_THREAD = 300_000
"""Scalar operations below which a call is not split over threads."""


class WindowBatch:
    """Stacked windows with their plan and code."""

    def __init__(self, plan: Plan, windows: Window, compiled: Compiled) -> None:
        self.plan, self.windows, self.compiled = plan, windows, compiled
        self.leaves = [np.ascontiguousarray(x) for x in jax.tree.leaves(windows)]
        self._side_by_side: dict[int, list[np.ndarray]] = {}

    @property
    def count(self) -> int:
        """How many windows there are."""
        return len(self.windows.steps)

    @property
    def own(self) -> int:
        """How many numbers of its start each window may move."""
        return len(self.plan.start_rows)

    @property
    def substeps(self) -> int:
        """Steps of the simulation for each row of the log."""
        return self.plan.scheme.substeps

    def of_window(self, X: Points) -> np.ndarray:
        """What each window depends on, `u`: (islands, windows, length), or (islands, 1, length) if all are alike."""
        p, m = self.plan.parameters.size, self.own
        inner = X[:, :p] if self.plan.inputs is None else self.compiled.inputs(X[:, :p])[0]
        if not m:
            return inner[:, None]
        z = np.broadcast_to(inner[:, None], (len(X), self.count, inner.shape[1]))
        own = X[:, p:].reshape(len(X), self.count, m)
        after = [np.concatenate([own[:, 1:], own[:, -1:]], axis=1)] if self.plan.shooting else []
        return np.concatenate([z, own, *after], axis=2)

    def directions(self, X: Points) -> Float[np.ndarray, "islands directions length"]:
        """How `u` changes with each of the numbers that a window depends on."""
        p, plan = self.plan.parameters.size, self.plan
        V = np.zeros((len(X), plan.size, plan.length))
        V[:, :p, : plan.inner] = np.swapaxes(self.compiled.inputs(X[:, :p])[1], 1, 2)
        rest = np.arange(plan.starts)
        V[:, p + rest, plan.inner + rest] = 1.0
        return V

    def map(
        self, fn: Any, U: np.ndarray, more: Any = (), windows: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """`fn` of every point and window: results (islands, windows, …). `more`: arguments that all share."""
        leaves = self.leaves if windows is None else [x[windows] for x in self.leaves]
        if windows is not None and U.shape[1] > 1:
            U = U[:, windows]
        if len(leaves[0]) >= min(len(U), fn.lanes):
            side = self.side_by_side(fn.lanes) if windows is None else in_lanes(leaves, fn.lanes)
            given, rows = windows_in_lanes(U, len(leaves[0]), side, more, fn.lanes)
            found = fn.flat_blocks(given, rows, self.threads(fn, len(rows[0]) * fn.lanes))
            return [by_points(x, len(U), len(leaves[0])) for x in found]
        given, rows = points_in_lanes(U, leaves, more, fn.lanes)
        found = fn.flat_blocks(given, rows, self.threads(fn, len(rows[0]) * fn.lanes))
        return [np.swapaxes(by_points(x, len(leaves[0]), len(U)), 0, 1) for x in found]

    def side_by_side(self, lanes: int) -> list[np.ndarray]:
        """The arrays of all windows, (blocks, lanes, …)."""
        if lanes not in self._side_by_side:
            self._side_by_side[lanes] = in_lanes(self.leaves, lanes)
        return self._side_by_side[lanes]

    def threads(self, fn: Any, worlds: int) -> int:
        """How many threads pay for so many worlds."""
        # loads LLVM, which only a search needs
        from isthmus.native.runtime.cores import cores

        work = fn.facts.operations * int(self.windows.steps.max()) * worlds
        return max(1, min(cores(), work // WORTH_A_THREAD))
