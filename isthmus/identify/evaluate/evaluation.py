"""Cost, gradient and Gauss-Newton matrix of a batch of points, by native code over windows, points and directions.

`x` is all that a search moves: `z`, then the free part of each window's start. A batch of points (islands) has shape
(islands, n); one point is a batch of one. Windows stand in SIMD lanes; where there are few of them the points do, and
in Gauss-Newton matrices of large simulations the directions.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.compiled import Compiled
from isthmus.identify.evaluate.jacobians import Jacobians
from isthmus.identify.evaluate.lanes import by_points, in_lanes, points_in_lanes, windows_in_lanes
from isthmus.identify.evaluate.window import Plan, Window
from isthmus.identify.problem.fingerprint import fingerprint
from isthmus.identify.search.damped import AbstractMatrix
from isthmus.identify.search.dense import Dense
from isthmus.identify.search.shooting import Arrow
from isthmus.losses.penalties import Quadratic, huber

Points = Float[np.ndarray, "islands n"]
AT_HAND = 40
"""Up to so many numbers, a Gauss-Newton matrix costs little."""
WORTH_A_THREAD = 300_000
"""Scalar operations below which a call is not split over threads."""


@dataclasses.dataclass(frozen=True)
class Normal:
    """A quadratic model of the cost around each point."""

    cost: Float[np.ndarray, " islands"]
    gradient: Points
    matrix: AbstractMatrix

    def take(self, chosen: np.ndarray) -> Normal:
        """Some of the points; `chosen` says of each whether."""
        rows = np.flatnonzero(chosen)
        return Normal(self.cost[rows], self.gradient[rows], self.matrix.take(rows))

    def put(self, rows: np.ndarray, new: Normal) -> Normal:
        """The batch with some points replaced."""
        cost, gradient = self.cost.copy(), self.gradient.copy()
        cost[rows], gradient[rows] = new.cost, new.gradient
        return Normal(cost, gradient, self.matrix.put(rows, new.matrix))


class Evaluation:
    """The loss of a problem as searches see it."""

    def __init__(
        self,
        plan: Plan,
        windows: Window,
        prior: Quadratic,
        *,
        compiled: Compiled | None = None,
        origin: Any = None,
    ) -> None:
        self.plan, self.windows, self.prior = plan, windows, prior
        self.origin = origin
        """The problem that this is the loss of, where it can be made again from it."""
        self.leaves = [np.ascontiguousarray(x) for x in jax.tree.leaves(windows)]
        self.compiled = compiled or Compiled(plan, jax.tree.map(lambda x: x[0], windows))
        self.evaluations = 0
        self._side_by_side: dict[int, list[np.ndarray]] = {}
        self.substeps = plan.scheme.substeps
        """Steps of the simulation for each row of the log."""

    # sizes and bounds -------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many windows there are."""
        return len(self.windows.steps)

    @property
    def own(self) -> int:
        """How many numbers of its start each window may move."""
        return len(self.plan.start_rows)

    @property
    def size(self) -> int:
        """Length of `x`."""
        return self.plan.parameters.size + self.count * self.own

    @property
    def start(self) -> Float[np.ndarray, " n"]:
        """Where the problem says to begin; windows as measured."""
        return np.concatenate([self.plan.parameters.start, np.zeros(self.count * self.own)])

    @property
    def low(self) -> Float[np.ndarray, " n"]:
        return np.concatenate([self.plan.parameters.low, np.full(self.count * self.own, -np.inf)])

    @property
    def high(self) -> Float[np.ndarray, " n"]:
        return np.concatenate([self.plan.parameters.high, np.full(self.count * self.own, np.inf)])

    @property
    def data(self) -> int:
        """How many numbers are compared."""
        return int(np.count_nonzero(self.windows.weight))

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of all that the loss is made of."""
        return fingerprint(self)

    @property
    def matrix_at_hand(self) -> bool:
        """Whether a Gauss-Newton matrix costs little: few numbers, or a search has compiled it already."""
        return self.plan.size <= AT_HAND or bool({"columns", "rows"} & set(vars(self.compiled)))

    @property
    def matrix_is_cheap(self) -> bool:
        """Whether a Gauss-Newton matrix costs little more than the cost alone."""
        return self.plan.inputs is None

    # what a search asks for ---------------------------------------------------------------------------------------

    def normal(self, X: Points) -> Normal:
        """The quadratic model around each point."""
        self.evaluations += len(X)
        if self.plan.inputs is not None:
            return self._assembled(X, *Jacobians(self).normal(X))
        n = self.plan.size
        cost, gradient, upper = self._map(self.compiled.normal, self.of_window(X))
        H = np.zeros((*upper.shape[:2], n, n))
        rows, columns = np.triu_indices(n)
        H[..., rows, columns] = upper
        H[..., columns, rows] = upper
        return self._assembled(X, cost.sum(axis=1), gradient, H)

    def gradient(
        self, X: Points, windows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cost and gradient of each point; of some windows only, scaled up to all, where they are given."""
        self.evaluations += len(X)
        cost, slope = self._map(self.compiled.gradient, self.of_window(X), windows=windows)
        gradient = slope if self.plan.inputs is None else self._by_free_numbers(X, slope)
        total, slope = cost.sum(axis=1), self._gathered(gradient, windows)
        if windows is not None:
            share = self.count / len(windows)
            total, slope = share * total, share * slope
        return total + self.prior.cost(X), slope + self.prior.gradient(X)

    def _by_free_numbers(self, X: Points, slope: np.ndarray) -> np.ndarray:
        """Gradients by the entries of `u` that are kept -> by the free numbers of each window."""
        A = self.directions(X)[:, :, self.compiled.kept]
        return np.matmul(slope, np.swapaxes(A, 1, 2))

    def residuals(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        """Weighted differences (islands, windows, rows, width), and gaps (islands, windows, 2 dof)."""
        r, gaps, _ = self._simulated(X)
        return r, gaps

    def positions(self, X: Points) -> Float[np.ndarray, "islands windows rows nq"]:
        """Simulated positions in each window; zeros after its end, nothing where the loss simulates nothing."""
        return self._simulated(X)[2]

    def _simulated(self, X: Points) -> list[np.ndarray]:
        return self._map(self.compiled.residuals, self.of_window(X), [np.int64(self.substeps)])

    def cost(self, X: Points) -> Float[np.ndarray, " islands"]:
        """Of each point."""
        r, gaps = self.residuals(X)
        rho = lambda x: np.sum(huber(x, self.plan.huber)[0], axis=tuple(range(1, x.ndim)))
        with np.errstate(
            all="ignore"
        ):  # a simulation that breaks down has a cost that is not finite
            return rho(r) + rho(gaps) + self.prior.cost(X)

    def shortened(self, share: float) -> Evaluation:
        """The same, of the first part of every window only."""
        steps = np.maximum(1, np.round(share * self.windows.steps)).astype(np.int64)
        rows = np.arange(self.windows.weight.shape[1])
        keep = rows[None, :, None] <= steps[:, None, None]
        return self.changed(steps=steps, weight=self.windows.weight * keep)

    def changed(self, **windows: Any) -> Evaluation:
        """The same loss with other arrays in its windows."""
        return Evaluation(
            self.plan,
            dataclasses.replace(self.windows, **windows),
            self.prior,
            compiled=self.compiled,
        )

    def finer(self) -> Evaluation:
        """The same with every step made in two."""
        scheme = dataclasses.replace(self.plan.scheme, substeps=2 * self.plan.scheme.substeps)
        plan = dataclasses.replace(self.plan, scheme=scheme)
        same = self.compiled if self.plan.splits_steps else Compiled(plan, self.compiled.example)
        return Evaluation(plan, self.windows, self.prior, compiled=same)

    # windows and points ---------------------------------------------------------------------------------------------

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

    def _map(
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
        from isthmus.native.runtime.cores import (
            cores,  # with it comes LLVM, which only a search needs
        )

        work = fn.facts.operations * int(self.windows.steps.max()) * worlds
        return max(1, min(cores(), work // WORTH_A_THREAD))

    def _gathered(self, gradient: np.ndarray, windows: np.ndarray | None) -> np.ndarray:
        """Gradients by what each window depends on, as one by `x`."""
        p, m = self.plan.parameters.size, self.own
        total = gradient[..., :p].sum(axis=1)
        if not m:
            return total
        own = np.zeros((len(gradient), self.count, m))
        picked = np.arange(self.count) if windows is None else windows
        own[:, picked] += gradient[..., p : p + m]
        if self.plan.shooting:
            inner = picked < self.count - 1
            own[:, picked[inner] + 1] += gradient[:, inner, p + m :]
        return np.concatenate([total, own.reshape(len(gradient), -1)], axis=1)

    def _assembled(
        self, X: Points, cost: np.ndarray, gradient: np.ndarray, H: np.ndarray
    ) -> Normal:
        """The quadratic model of all windows and the prior, from those of single windows or of all together."""
        total = cost + self.prior.cost(X)
        slope = self._gathered(gradient, None) + self.prior.gradient(X)
        p, m, extra = self.plan.parameters.size, self.own, self.prior.precision
        if not m:
            return Normal(total, slope, Dense(H.sum(axis=1) + np.diag(extra)))
        return Normal(
            total, slope, Arrow.gathered(H, p, m, self.plan.shooting).plus_diagonal(extra)
        )
