"""L-BFGS-B of SciPy behind the interface of our searches: gradients only, for thousands of numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.search import AbstractSearch, Diary, Listener, Outcome, Status, silent


@check_arguments
@dataclasses.dataclass(frozen=True)
class LBFGS(AbstractSearch):
    """Quasi-Newton steps from gradients (Byrd et al. 1995), one start after the other."""

    steps: int = 300
    tolerance: float = 1e-10
    """Relative decrease of the cost below which a search has converged."""
    memory: int = 20
    """How many past steps shape the next one."""

    def __post_init__(self) -> None:
        if self.steps < 1 or self.memory < 1 or not self.tolerance >= 0:
            raise BadOption("LBFGS needs steps and memory of at least 1, and a tolerance from 0.")

    def search(
        self,
        evaluation: Evaluation,
        starts: Float[np.ndarray, "islands n"],
        listen: Listener = silent,
    ) -> Outcome:
        diary = Diary(evaluation, self.steps * len(starts), listen)
        X, cost, status = np.array(starts, dtype=np.float64), np.full(len(starts), np.inf), []
        for i, start in enumerate(X):
            X[i], cost[i], ended = self._one(evaluation, start, diary)
            status.append(ended)
            if ended is Status.INTERRUPTED:
                status += [Status.INTERRUPTED] * (len(X) - len(status))
                break
        return diary.close(X, cost, status)

    def _one(
        self, evaluation: Evaluation, start: np.ndarray, diary: Diary
    ) -> tuple[np.ndarray, float, Status]:
        from scipy.optimize import minimize

        best: list[Any] = [np.clip(start, evaluation.low, evaluation.high), np.inf]

        def f(x: np.ndarray) -> tuple[float, np.ndarray]:
            cost, gradient = evaluation.gradient(x[None])
            if not np.isfinite(cost[0]) or not np.all(np.isfinite(gradient)):
                return 1e300, np.zeros_like(x)  # too far: the line search comes back
            if cost[0] < best[1]:
                best[:] = [x.copy(), float(cost[0])]
            return float(cost[0]), gradient[0]

        on_progress = lambda x: diary.write(best[0][None], np.array([best[1]]))
        options = {
            "maxiter": self.steps, "maxcor": self.memory, "ftol": self.tolerance, "gtol": 1e-12,
            "maxfun": 20 * self.steps,
        }  # fmt: skip
        bounds = list(zip(evaluation.low, evaluation.high, strict=True))
        try:
            found = minimize(
                f,
                best[0],
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                callback=on_progress,
                options=options,
            )
        except KeyboardInterrupt:
            return best[0], best[1], Status.INTERRUPTED
        if not np.isfinite(best[1]):
            return best[0], np.inf, Status.NOT_FINITE
        out = found.status == 1
        return best[0], best[1], Status.OUT_OF_STEPS if out else Status.CONVERGED
