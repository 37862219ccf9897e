"""Adam of optax on random windows at a time: for networks and much data."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.search import AbstractSearch, Diary, Listener, Outcome, Status, silent


@check_arguments
@dataclasses.dataclass(frozen=True)
class Adam(AbstractSearch):
    """First-order steps on the mean square of a random batch of windows, projected into the bounds."""

    steps: int = 1000
    rate: float = 1e-2
    """Length of a step, in units of each number's scale; falls to a hundredth of it along a cosine."""
    batch: int = 64
    """Windows for each step."""
    look: int = 50
    """All windows are evaluated every so many steps, and the best point is kept."""
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.steps, self.batch, self.look) < 1 or not 0 < self.rate < np.inf:
            raise BadOption("Adam needs steps, batch and look of at least 1, and a positive rate.")
        if self.seed < 0:
            raise BadOption(f"seed must not be negative, but is {self.seed!r}.")

    def search(
        self,
        evaluation: Evaluation,
        starts: Float[np.ndarray, "islands n"],
        listen: Listener = silent,
    ) -> Outcome:
        import optax  # heavy

        diary = Diary(evaluation, self.steps, listen)
        X = np.clip(np.array(starts, dtype=np.float64), evaluation.low, evaluation.high)
        best, cost = X.copy(), evaluation.gradient(X)[0]
        diary.write(best, cost)
        rng, data = np.random.default_rng(self.seed), max(evaluation.data, 1)
        status = [Status.OUT_OF_STEPS if c else Status.NOT_FINITE for c in np.isfinite(cost)]
        schedule = optax.cosine_decay_schedule(self.rate, self.steps, 0.01)
        with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
            rule = optax.adam(schedule)
            memory = rule.init(jnp.asarray(X))
            update = jax.jit(rule.update)
            try:
                for k in range(self.steps):
                    picked = self._batch(evaluation, rng)
                    _, gradient = evaluation.gradient(X, picked)
                    gradient = np.where(np.isfinite(gradient), gradient, 0.0) / data
                    move, memory = update(jnp.asarray(gradient), memory)
                    X = np.clip(X + np.asarray(move), evaluation.low, evaluation.high)
                    if (k + 1) % self.look == 0 or k + 1 == self.steps:
                        best, cost = _better(evaluation, X, best, cost)
                        diary.write(best, cost)
            except KeyboardInterrupt:
                status = [Status.INTERRUPTED] * len(X)
        return diary.close(best, cost, status)

    def _batch(self, evaluation: Evaluation, rng: np.random.Generator) -> np.ndarray | None:
        if evaluation.count <= self.batch:
            return None
        return np.sort(rng.choice(evaluation.count, self.batch, replace=False))


def _better(
    evaluation: Evaluation, X: np.ndarray, best: np.ndarray, cost: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The better of two points of each island, by all windows."""
    new, _ = evaluation.gradient(X)
    ahead = np.isfinite(new) & (new < np.where(np.isfinite(cost), cost, np.inf))
    return np.where(ahead[:, None], X, best), np.where(ahead, new, cost)
