"""Cost, gradient and Gauss-Newton matrix of a batch of points, by native code over windows and points.

`x` is all that a search moves: `z`, then the free part of each window's start. A batch of points (islands) has shape
(islands, n); one point is a batch of one. Windows stand in SIMD lanes and threads; where there are few windows and
many points, the points do.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from isthmus.identify import window as one
from isthmus.identify.dense import Dense
from isthmus.identify.fingerprint import fingerprint
from isthmus.identify.matrix import AbstractMatrix
from isthmus.identify.shooting import Arrow
from isthmus.identify.window import Plan, Window
from isthmus.losses.penalties import Quadratic

Points = Float[np.ndarray, "islands n"]
ACCUMULATE = 40
"""Up to so many numbers for each window, the Gauss-Newton matrix is summed in native code, else by BLAS."""
FORWARD = 12
"""Up to so many, a gradient is cheaper by forward mode."""
WORTH_A_THREAD = 300_000
"""Scalar operations below which a call is not split over threads."""


@dataclasses.dataclass(frozen=True)
class Normal:
    """A quadratic model of the cost around each point."""

    cost: Float[np.ndarray, " islands"]
    gradient: Points
    matrix: AbstractMatrix


class Compiled:
    """Native code of a plan, each function made when it is first wanted."""

    def __init__(self, plan: Plan, example: Window) -> None:
        self.plan, self.example = plan, example

    def _native(self, fn: Any) -> Any:
        from isthmus import native  # loads LLVM, which only a search needs

        return native.compile(fn, np.zeros(self.plan.size), self.example)

    @functools.cached_property
    def normal(self) -> Any:
        return self._native(one.normal(self.plan))

    @functools.cached_property
    def gradient(self) -> Any:
        if self.plan.size <= FORWARD:
            return self._native(one.normal(self.plan, matrix=False))
        return self._native(jax.value_and_grad(one.cost(self.plan)))

    @functools.cached_property
    def residuals(self) -> Any:
        return self._native(one.residuals(self.plan))

    @functools.cached_property
    def jacobian(self) -> Any:
        """Differences and their Jacobian, in the cheaper mode."""
        parts = one.residuals(self.plan)
        ravel = jax.numpy.ravel

        def flat(u: Any, window: Window) -> Any:
            r, gaps = parts(u, window)
            return jax.numpy.concatenate([ravel(r), gaps]) if self.plan.shooting else ravel(r)

        rows = self.plan.width * self.example["target"].shape[0]
        mode = jax.jacfwd if self.plan.size <= 2 * rows else jax.jacrev
        return self._native(lambda u, w: (flat(u, w), mode(flat)(u, w)))


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

    # sizes and bounds -------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many windows there are."""
        return len(self.windows["steps"])

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
        return int(np.count_nonzero(self.windows["weight"]))

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of all that the loss is made of."""
        return fingerprint(self)

    @property
    def matrix_at_hand(self) -> bool:
        """Whether a Gauss-Newton matrix costs little: few numbers, or a search has compiled it already."""
        return self.plan.size <= ACCUMULATE or "jacobian" in vars(self.compiled)

    # what a search asks for ---------------------------------------------------------------------------------------

    def normal(self, X: Points) -> Normal:
        """The quadratic model around each point."""
        self.evaluations += len(X)
        n = self.plan.size
        if n <= ACCUMULATE:
            cost, gradient, upper = self._map(self.compiled.normal, X)
            H = np.zeros((*upper.shape[:2], n, n))
            rows, columns = np.triu_indices(n)
            H[..., rows, columns] = upper
            H[..., columns, rows] = upper
        else:
            cost, gradient, H = self._by_jacobian(X)
        return self._assembled(X, cost, gradient, H)

    def gradient(
        self, X: Points, windows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cost and gradient of each point; of some windows only, scaled up to all, where they are given."""
        self.evaluations += len(X)
        cost, gradient = self._map(self.compiled.gradient, X, windows)
        total, slope = cost.sum(axis=1), self._gathered(gradient, windows)
        if windows is not None:
            share = self.count / len(windows)
            total, slope = share * total, share * slope
        return total + self.prior.cost(X), slope + self.prior.gradient(X)

    def residuals(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        """Weighted differences (islands, windows, rows, width), and gaps (islands, windows, 2 dof)."""
        r, gaps = self._map(self.compiled.residuals, X)
        return r, gaps

    def cost(self, X: Points) -> Float[np.ndarray, " islands"]:
        """Of each point."""
        r, gaps = self.residuals(X)
        rho = lambda x: half_square(x, self.plan.huber).sum(axis=tuple(range(1, x.ndim)))
        return rho(r) + rho(gaps) + self.prior.cost(X)

    def shortened(self, share: float) -> Evaluation:
        """The same, of the first part of every window only."""
        steps = np.maximum(1, np.round(share * self.windows["steps"])).astype(np.int64)
        rows = np.arange(self.windows["weight"].shape[1])
        keep = rows[None, :, None] <= steps[:, None, None]
        changed = {"steps": steps, "weight": self.windows["weight"] * keep}
        return Evaluation(self.plan, self.windows | changed, self.prior, compiled=self.compiled)

    # windows and points ---------------------------------------------------------------------------------------------

    def of_window(self, X: Points) -> np.ndarray:
        """What each window depends on, (islands, windows, size of `u`)."""
        p, m = self.plan.parameters.size, self.own
        z = np.broadcast_to(X[:, None, :p], (len(X), self.count, p))
        if not m:
            return z
        own = X[:, p:].reshape(len(X), self.count, m)
        after = [np.concatenate([own[:, 1:], own[:, -1:]], axis=1)] if self.plan.shooting else []
        return np.concatenate([z, own, *after], axis=2)

    def _map(self, fn: Any, X: Points, windows: np.ndarray | None = None) -> list[np.ndarray]:
        """`fn` of every point and window: results (islands, windows, …)."""
        leaves = self.leaves if windows is None else [x[windows] for x in self.leaves]
        count, islands = len(leaves[0]), len(X)
        U = self.of_window(X) if windows is None else self.of_window(X)[:, windows]
        threads = self._threads(fn, islands * count)
        if count >= min(islands, fn.lanes):
            still = self.own == 0
            parts = [
                fn.flat_map(
                    [U[i, 0] if still else U[i], *leaves], threads, [still, *[False] * len(leaves)]
                )
                for i in range(islands)
            ]
            return [np.stack(x) for x in zip(*parts, strict=True)]
        parts = [
            fn.flat_map([U[:, w], *(x[w] for x in leaves)], threads, [False, *[True] * len(leaves)])
            for w in range(count)
        ]
        return [np.stack(x, axis=1) for x in zip(*parts, strict=True)]

    def _threads(self, fn: Any, worlds: int) -> int:
        from isthmus.native.cores import cores  # with it comes LLVM, which only a search needs

        work = fn.stats.operations * int(self.windows["steps"].max()) * worlds
        return max(1, min(cores(), work // WORTH_A_THREAD))

    def _by_jacobian(self, X: Points) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r, J = self._map(self.compiled.jacobian, X)
        bound = self.plan.huber
        w = np.ones_like(r) if bound is None else bound / np.maximum(np.abs(r), bound)
        heavy = w[..., None] * J
        gradient = np.einsum("iwrn,iwr->iwn", heavy, r)
        return half_square(r, bound).sum(axis=2), gradient, np.swapaxes(heavy, 2, 3) @ J

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
        total = cost.sum(axis=1) + self.prior.cost(X)
        slope = self._gathered(gradient, None) + self.prior.gradient(X)
        p, m, extra = self.plan.parameters.size, self.own, self.prior.precision
        if not m:
            return Normal(total, slope, Dense(H.sum(axis=1) + np.diag(extra)))
        return Normal(
            total, slope, Arrow.gathered(H, p, m, self.plan.shooting).plus_diagonal(extra)
        )


def half_square(r: np.ndarray, bound: float | None) -> np.ndarray:
    """`½ r²`, or Huber's line beyond the bound."""
    if bound is None:
        return 0.5 * r * r
    size = np.abs(r)
    return np.where(size > bound, bound * (size - 0.5 * bound), 0.5 * r * r)
