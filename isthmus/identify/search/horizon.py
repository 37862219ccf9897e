"""`LengtheningHorizon`: the beginning of every window first, then more and more of it."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.search import AbstractSearch, Listener, News, Outcome, Status, silent


@check_arguments
@dataclasses.dataclass(frozen=True)
class LengtheningHorizon(AbstractSearch):
    """Fits the beginnings of long motions first: they have fewer false minima. Wraps any other search."""

    inner: AbstractSearch
    shares: tuple[float, ...] = (0.1, 0.2, 0.4, 0.7, 1.0)
    """Which part of every window is compared, one after the other; the last is the whole."""

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.shares, self.shares[1:], strict=False))
        if not len(self.shares) or not rising or self.shares[0] <= 0 or self.shares[-1] != 1.0:
            raise BadOption(f"shares must rise from above 0 to 1, not {self.shares!r}.")

    def search(
        self,
        evaluation: Evaluation,
        starts: Float[np.ndarray, "islands n"],
        listen: Listener = silent,
    ) -> Outcome:
        X, earlier, parts = starts, [starts], []
        for k, share in enumerate(self.shares):
            part = evaluation if share == 1.0 else evaluation.shortened(share)
            found = self.inner.search(part, X, staged(listen, k, len(self.shares)))
            parts.append(found)
            earlier.append(found.x)
            X = found.x
            if Status.INTERRUPTED in found.status or share == 1.0:
                break
            X = best_of(evaluation.shortened(self.shares[k + 1]), earlier)
        return dataclasses.replace(
            found,
            x=X,
            cost=found.cost if share == 1.0 else evaluation.cost(X),
            evaluations=sum(part.evaluations for part in parts),
            seconds=sum(part.seconds for part in parts),
        )


def best_of(evaluation: Evaluation, candidates: list[np.ndarray]) -> Float[np.ndarray, "islands n"]:
    """Of each island, the candidate with the lowest cost: a short beginning may have led astray."""
    cost = np.stack([evaluation.cost(X) for X in candidates])
    chosen = np.argmin(np.where(np.isfinite(cost), cost, np.inf), axis=0)
    return np.stack(candidates)[chosen, np.arange(len(chosen))]


def staged(listen: Listener, stage: int, stages: int) -> Listener:
    """A listener that reports one stage as a part of the whole search."""

    def on_progress(news: News) -> None:
        listen(
            dataclasses.replace(
                news, step=stage * news.steps + news.step, steps=stages * news.steps
            )
        )

    return on_progress
