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
from jaxtyping import Bool, Float

from isthmus.identify.evaluate.abstract_evaluation import AbstractEvaluation, Normal
from isthmus.identify.evaluate.arrow_matrix import Arrow
from isthmus.identify.evaluate.batch import Points, WindowBatch
from isthmus.identify.evaluate.compiled import Compiled
from isthmus.identify.evaluate.dense_matrix import Dense
from isthmus.identify.evaluate.door import ByAnswers
from isthmus.identify.evaluate.fingerprint import fingerprint
from isthmus.identify.evaluate.jacobians import Jacobians
from isthmus.identify.evaluate.window import Plan, Window
from isthmus.losses.penalties import Quadratic, huber

MAX_CHEAP_SIZE = 40
"""Number of parameters up to which a Gauss-Newton matrix costs little."""


class Evaluation(AbstractEvaluation):
    """The loss of a problem: what searches call."""

    def __init__(
        self,
        plan: Plan,
        windows: Window,
        prior: Quadratic,
        *,
        compiled: Compiled | None = None,
        origin: Any = None,
        zero: Bool[np.ndarray, " n"] | None = None,
    ) -> None:
        """`zero`: entries of `x` that are zero and stay so; None: none of them."""
        self.plan, self.windows, self.prior, self.zero = plan, windows, prior, zero
        self.origin = origin
        """The problem, for other processes that make the same evaluation from it; None: not known."""
        self.compiled = compiled or Compiled(plan, jax.tree.map(lambda x: x[0], windows))
        self.batch = WindowBatch(plan, windows, self.compiled)
        self.evaluations = 0

    # sizes and bounds -------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many windows there are."""
        return self.batch.count

    @property
    def own(self) -> int:
        """How many numbers of its start each window may move."""
        return self.batch.own

    @property
    def size(self) -> int:
        """Length of `x`."""
        return self.plan.parameters.size + self.count * self.own

    @property
    def start(self) -> Float[np.ndarray, " n"]:
        """The start of the search; windows start as measured."""
        return np.concatenate([self.plan.parameters.start, np.zeros(self.count * self.own)])

    @property
    def low(self) -> Float[np.ndarray, " n"]:
        return self._bound(self.plan.parameters.low, -np.inf)

    @property
    def high(self) -> Float[np.ndarray, " n"]:
        return self._bound(self.plan.parameters.high, np.inf)

    def _bound(self, given: np.ndarray, beyond: float) -> Float[np.ndarray, " n"]:
        bound = np.concatenate([given, np.full(self.count * self.own, beyond)])
        return bound if self.zero is None else np.where(self.zero, 0.0, bound)

    @property
    def data(self) -> int:
        """How many numbers are compared."""
        return int(np.count_nonzero(self.windows.weight))

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of all that the loss is made of."""
        bounds = [self.start, self.low, self.high]
        numbers = [self.prior.mean, self.prior.precision, *bounds]
        return fingerprint(self.plan, self.windows, numbers)

    @property
    def matrix_at_hand(self) -> bool:
        """Whether a Gauss-Newton matrix costs little: few numbers, or a search has compiled it already."""
        return self.plan.size <= MAX_CHEAP_SIZE or bool(
            {"columns", "rows", "by_answers"} & set(vars(self.compiled))
        )

    @property
    def matrix_is_cheap(self) -> bool:
        """Whether a Gauss-Newton matrix costs little more than the cost alone."""
        return self.plan.inputs is None

    # what a search asks for ---------------------------------------------------------------------------------------

    def normal(self, X: Points) -> Normal:
        """The quadratic model around each point."""
        self.evaluations += len(X)
        if self.plan.inputs is not None:
            doors = self.compiled.doors
            way = Jacobians(self.batch) if doors is None else ByAnswers(self.batch, doors)
            return self._assembled(X, *way.normal(X))
        n = self.plan.size
        cost, gradient, upper = self.batch.map(self.compiled.normal, self.batch.of_window(X))
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
        U = self.batch.of_window(X)
        cost, slope = self.batch.map(self.compiled.gradient, U, windows=windows)
        gradient = slope if self.plan.inputs is None else self._by_free_numbers(X, slope)
        total, slope = cost.sum(axis=1), self._gathered(gradient, windows)
        if windows is not None:
            share = self.count / len(windows)
            total, slope = share * total, share * slope
        return total + self.prior.cost(X), slope + self.prior.gradient(X)

    def _by_free_numbers(self, X: Points, slope: np.ndarray) -> np.ndarray:
        """Gradients by the entries of `u` that are kept -> by the free numbers of each window."""
        A = self.batch.directions(X)[:, :, self.compiled.kept]
        return np.matmul(slope, np.swapaxes(A, 1, 2))

    def residuals(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        """Weighted differences (islands, windows, rows, width), and gaps (islands, windows, 2 dof)."""
        r, gaps, _ = self._simulated(X)
        return r, gaps

    def positions(self, X: Points) -> Float[np.ndarray, "islands windows rows nq"]:
        """Simulated positions in each window; zeros after its end, nothing where the loss simulates nothing."""
        return self._simulated(X)[2]

    def _simulated(self, X: Points) -> list[np.ndarray]:
        substeps = [np.int64(self.batch.substeps)]
        return self.batch.map(self.compiled.residuals, self.batch.of_window(X), substeps)

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

    def of_windows(self, picked: np.ndarray) -> Evaluation:
        """The loss of some windows, none of which has a free start; the prior stays whole."""
        return self._with(windows=jax.tree.map(lambda x: x[picked], self.windows))

    def with_zeros(self, zero: Bool[np.ndarray, " n"]) -> Evaluation:
        """The same loss, where some entries of `x` are zero and stay so."""
        return self._with(zero=zero, origin=self.origin)

    def with_prior(self, prior: Quadratic) -> Evaluation:
        """The same loss with another prior."""
        return self._with(prior=prior)

    def changed(self, **windows: Any) -> Evaluation:
        """The same loss with other arrays in its windows."""
        return self._with(windows=dataclasses.replace(self.windows, **windows))

    def _with(self, **changes: Any) -> Evaluation:
        """The same loss but for some of what it is made of."""
        made = {
            name: getattr(self, name) for name in ("plan", "windows", "prior", "compiled", "zero")
        }
        return Evaluation(**(made | changes))

    def finer(self) -> Evaluation:
        """The same with every step made in two."""
        scheme = dataclasses.replace(self.plan.scheme, substeps=2 * self.plan.scheme.substeps)
        plan = dataclasses.replace(self.plan, scheme=scheme)
        same = self.compiled if self.plan.splits_steps else Compiled(plan, self.compiled.example)
        return self._with(plan=plan, compiled=same)

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
