"""`Sparsify`: networks that read no more than they need, by a sparse-group lasso on their first layers.

Heiden et al. (NeuralSim, ICRA 2021) penalise the first layer of networks that read everything, so that inputs which do
not matter vanish. Here the networks are trained first: the last layer of a fresh one is zero, so that a penalty would
shrink the first layer before it has a gradient. The path of the lasso then proposes sets of inputs, each is fitted
without a penalty, and windows that took no part say which is best. From there inputs are left out one by one as long as
those windows are predicted as well, and what was lost comes back if they are predicted better with it. An input that
was lost early may also take the place of one that does its work since then: such a set is fitted from the trained
networks, as its neighbours may be stuck in another minimum. The windows are divided into parts that take turns to judge
(`sparsify_judge`), as a quarter of them cannot tell a weak effect. What is found for a set of inputs is decided by the
set and the point that its fit begins with: a stopped run goes on by repeating its steps from the file of records.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.distributed.job import Job, Record, digest
from isthmus.distributed.store import Store
from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.as_dict import IDLE, as_dict
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.search import (
    AbstractSearch,
    Listener,
    News,
    Outcome,
    Points,
    Status,
    silent,
)
from isthmus.identify.search.sparsify_inputs import Inputs, inputs_of
from isthmus.identify.search.sparsify_judge import (
    ERRORS,
    Fitted,
    Support,
    by_all,
    fewest,
    held_out,
    lowest,
    worse,
)
from isthmus.identify.search.sparsify_path import path
from isthmus.losses.penalties import huber

REFIT = LevenbergMarquardt(steps=12, tolerance=1e-4)
"""The search that fits a set of inputs that is tried: from a point that is nearly right, Gauss-Newton steps are few."""
AGAIN = LevenbergMarquardt(steps=4, tolerance=1e-4)
"""The search that fits it again without another part of the windows, from there."""
CLEAR = 4.0
"""Standard errors beyond which a set is worse even if few windows were asked, or its fit ended in a poor minimum."""
HOPELESS = 8.0
"""Standard errors beyond which inputs that still remain are not left out any more."""
DOUBTFUL = 1.0
"""Standard errors from which a set that looks worse is fitted from a second point."""
MOST_REFITS = 2
"""How often a set of inputs is fitted: a first time maybe from a point that is far off."""
TRIED = 3
"""Inputs that are tried before a set counts as settled: those that matter least or most by the Gauss-Newton model."""
SWAPPED = 2
"""Lost inputs that may take the place of others, and others whose place each may take."""
TASK = "sparsify: one set of inputs"


@check_arguments
@dataclasses.dataclass(frozen=True)
class Sparsify(AbstractSearch):
    """Finds the inputs that networks need: all other weights of their first layers are exactly zero in the result.

    `fit.inputs` lists what is left, `ist.prune(fit.model)` removes the rest from the model.
    """

    local: AbstractSearch = dataclasses.field(default_factory=LBFGS)
    """The search that fits all numbers for one set of inputs."""
    strengths: int = 7
    """Penalties that are tried."""
    share: float = 0.5
    """Of the penalty on single weights; the rest is on all weights of an input together. 0: group lasso, 1: lasso."""
    heldout: float = 0.25
    """Share of the windows, evenly spread, that judge a fit; as many parts as there are take turns, and in the end all
    windows are fitted."""
    store: str | Path | None = dataclasses.field(default=None, metadata=IDLE)
    """A file of records, written after each set of inputs."""
    resume: bool = dataclasses.field(default=False, metadata=IDLE)
    """Go on with the sets that `store` has."""

    def __post_init__(self) -> None:
        if self.resume and self.store is None:
            raise BadOption("resume=True needs store=, the file to go on with.")
        if self.strengths < 1 or not 0 <= self.share <= 1 or not 0 < self.heldout < 1:
            raise BadOption(
                "Sparsify needs strengths of at least 1, a share from 0 to 1 and heldout between 0 and 1."
            )

    def search(self, evaluation: Evaluation, starts: Points, listen: Listener = silent) -> Outcome:
        inputs = inputs_of(evaluation.plan.parameters)
        if not len(inputs.names):
            return self.local.search(evaluation, starts, listen)
        if evaluation.own:
            raise BadOption(
                "Sparsify judges by windows that start as measured: leave start/position and start/velocity out of "
                "free, and take Windows() instead of MultipleShooting()."
            )
        work = _Work(self, evaluation, inputs, listen)
        before, began = evaluation.evaluations, time.perf_counter()
        try:
            work.open(starts)
            outcome = work.final(work.chosen(starts))
        except KeyboardInterrupt:
            if work.best is None:
                raise  # nothing to keep
            outcome = work.stopped(work.best)
        finally:
            work.close()
        used = evaluation.evaluations - before
        return dataclasses.replace(outcome, evaluations=used, seconds=time.perf_counter() - began)


def without(support: Support, i: int) -> Support:
    """A set without one input."""
    less = support.copy()
    less[i] = False
    return less


def added_cost(C: np.ndarray, x: np.ndarray, gone: np.ndarray) -> float:
    """What the quadratic model with the covariance `C` adds to the cost if some entries of `x` become zero."""
    w = x[gone]
    return 0.5 * float(w @ np.linalg.solve(C[np.ix_(gone, gone)], w)) if len(w) else 0.0


class _Work:
    """One run of `Sparsify`."""

    def __init__(
        self, options: Sparsify, evaluation: Evaluation, inputs: Inputs, listen: Listener
    ) -> None:
        parts = held_out(evaluation.count, options.heldout)
        self.options, self.evaluation, self.inputs, self.listen = (
            options,
            evaluation,
            inputs,
            listen,
        )
        self.rest = [evaluation.of_windows(np.flatnonzero(~part)) for part in parts]
        """For each part of the windows that judges, all others."""
        self.fitting, judged = self.rest[0], parts.any(axis=0)
        self.judging, self.parts = evaluation.of_windows(np.flatnonzero(judged)), parts[:, judged]
        self.known: dict[bytes, tuple[int, Fitted]] = {}
        """How often each set of inputs was fitted, and the last result."""
        self.best: Fitted | None = None
        self.trained = np.zeros(evaluation.size)
        """The numbers of the networks that read everything."""
        self.store: Store | None = None

    def open(self, starts: Points) -> None:
        """Opens the file of records, if there is one."""
        if self.options.store is not None:
            about = {"problem": self.evaluation.fingerprint, **as_dict(self.options)}
            about["starts"] = digest(starts.tolist())[:16]
            self.store = Store(self.options.store, about, resume=self.options.resume)

    def close(self) -> None:
        """Others may open the file of records now."""
        if self.store is not None:
            self.store.close()

    def chosen(self, starts: Points) -> Fitted:
        """The set of inputs that predicts held-out windows with as few inputs as possible."""
        everything = np.ones(len(self.inputs.names), dtype=bool)
        trained = self.fit(everything, starts, self.options.local, "training")
        self.best, self.trained = trained, trained.x
        tried = [self.refit(everything, trained.x, "all inputs")]
        for k, x in enumerate(path(self.fitting, self.inputs, trained.x, self.options)):
            support = self.inputs.alive(x)
            tried.append(self.refit(support, x, f"strength {k + 1} of {self.options.strengths}"))
        self.best = fewest(tried)
        return self.settled(self.best, trained)

    def settled(self, now: Fitted, trained: Fitted) -> Fitted:
        """The best set of the path, from which inputs are left out, and to which lost ones come back."""
        seen: set[bytes] = set()
        while True:
            now = self.best = self.eliminated(now)
            seen.add(now.support.tobytes())
            larger = self.enlarged(now, trained)
            better = [fitted for fitted in larger if worse(now, fitted) > ERRORS]
            other = lowest(better) if better else self.swapped(now, larger, trained)
            if other.support.tobytes() in seen:
                return now
            now = self.best = other

    def eliminated(self, now: Fitted) -> Fitted:
        """Without the inputs that are not missed: the smallest of sets that shrink, the least important input first."""
        sets = [now]
        while now.support.any():
            best, tried = lowest(sets), []
            for i in self._by_loss(now)[:TRIED]:
                note = f"without {self.inputs.names[i]}"
                tried.append(self.refit(without(now.support, i), now.x, note))
                if worse(tried[-1], best) <= ERRORS:
                    break
            now = lowest(tried)
            sets.append(now)
            if worse(now, best) > HOPELESS:
                break
        return fewest(sets)

    def enlarged(self, now: Fitted, trained: Fitted) -> list[Fitted]:
        """Sets with one lost input more."""
        tried = []
        for more in self._by_gain(now):
            back = self.inputs.mask(more) & ~self.inputs.mask(now.support)
            silent = self.inputs.entries[self.inputs.answer & more & ~now.support].any(axis=0)
            active = (
                not silent.any()
            )  # a column of an active network has a slope at zero, one of a silent network not
            x = np.where(back & ~silent & (not active), trained.x, now.x)
            name = self.inputs.names[np.flatnonzero(more & ~now.support)[0]]
            tried.append(self.refit(more, x, f"with {name}"))
        return tried

    def swapped(self, now: Fitted, larger: list[Fitted], trained: Fitted) -> Fitted:
        """The best of the set and others of its size, in which a lost input takes the place of another."""
        tried = [now]
        for more in sorted(larger, key=lambda fitted: fitted.score)[:SWAPPED]:
            old = [i for i in self._by_loss(more) if now.support[i] and not self.inputs.answer[i]]
            for i in old[:SWAPPED]:
                note = f"another in place of {self.inputs.names[i]}"
                tried.append(self.refit(without(more.support, i), trained.x, note))
        return lowest(tried)

    def _by_loss(self, now: Fitted) -> list[int]:
        """Inputs that can go next, by the cost that their absence adds to the Gauss-Newton model, least first."""
        free = self.inputs.mask(now.support)
        C = self._covariance(now, free)
        removable = self.inputs.removable(now.support)
        loss = [added_cost(C, now.x[free], self.inputs.entries[i][free]) for i in removable]
        return [int(removable[k]) for k in np.argsort(loss)]

    def _by_gain(self, now: Fitted) -> list[Support]:
        """Sets with one input more: of networks that do nothing any input, of the others those of the largest slope."""
        _, gradient = self.fitting.gradient(now.x[None])
        silent, found = [], {}
        for i in np.flatnonzero(~now.support & ~self.inputs.answer):
            more = now.support.copy()
            more[i] = True
            answer = self.inputs.answer & (self.inputs.network == self.inputs.network[i])
            if np.any(answer & ~now.support):
                silent.append(more | answer)
            else:
                found[float(np.linalg.norm(gradient[0, self.inputs.entries[i]]))] = more
        return [*silent, *(found[slope] for slope in sorted(found, reverse=True)[:TRIED])]

    def _covariance(self, now: Fitted, free: np.ndarray) -> np.ndarray:
        """The inverse of the Gauss-Newton matrix by the free entries, slightly damped."""
        matrix = self.fitting.normal(now.x[None]).matrix
        H = matrix.reduced(len(free))[0][np.ix_(free, free)]
        size = np.sqrt(np.maximum(np.diag(H), 1e-12))
        inverse = np.linalg.inv(H / np.outer(size, size) + 1e-6 * np.eye(len(H)))
        return inverse / np.outer(size, size)

    # one set of inputs ------------------------------------------------------------------------------------------

    def refit(self, support: Support, x: np.ndarray, note: str) -> Fitted:
        """A set of inputs, fitted from `x`; asked again, once more, from the better one of `x` and what was found.

        A set that looks a little worse than the best one is fitted from the trained networks too: from numbers of a set
        that lost one input after the other, a fit may end in a poor minimum.
        """
        key, zero = support.tobytes(), ~self.inputs.mask(support)
        tries, before = self.known.get(key, (0, None))
        if before is not None and tries >= MOST_REFITS:
            return before
        starts = [np.where(zero, 0.0, x), *([] if before is None else [before.x])]
        best = starts[0]
        if len(starts) > 1:
            cost = self.fitting.cost(np.stack(starts))
            best = starts[int(np.nanargmin(np.where(np.isfinite(cost), cost, 1e300)))]
        found = self.fit(support, best[None], REFIT, note)
        if self.best is not None and DOUBTFUL < worse(found, self.best, self.parts[0]) <= HOPELESS:
            trained = np.where(zero, 0.0, self.trained)
            if not np.array_equal(trained, best):
                other = self.fit(support, trained[None], REFIT, note)
                found = min(found, other, key=lambda fitted: fitted.cost)
        found = self.crossed(found, note)
        self.known[key] = (tries + 1, found)
        return found

    def crossed(self, found: Fitted, note: str) -> Fitted:
        """The same set, each part of the windows judged by a fit without it; not if the first part is bad enough."""
        if self.best is not None and worse(found, self.best, self.parts[0]) > CLEAR:
            return found
        others = range(1, len(self.parts))
        fits = [found, *(self.fit(found.support, found.x[None], AGAIN, note, k) for k in others)]
        costs = by_all(np.stack([fitted.costs for fitted in fits]), self.parts)
        return dataclasses.replace(found, costs=costs)

    def fit(
        self, support: Support, starts: Points, local: AbstractSearch, note: str, part: int = 0
    ) -> Fitted:
        """A set of inputs, fitted without a part of the windows; from the file of records, if it is there."""
        begun = {
            "inputs": support.tolist(),
            "starts": digest(starts.tolist()),
            "local": as_dict(local),
            "without": part,
        }
        job = Job(TASK, begun)
        known: dict[str, Any] = {}
        if self.store is not None and job.key in self.store:
            known = self.store[job.key].result
            starts = np.array(known["x"])[None]
        if not known.get("complete"):
            known = self._searched(support, starts, local, note, part)
            if self.store is not None:
                self.store.append([Record(job, known, 0.0)])
        found = Fitted(support, np.array(known["x"]), np.array(known["costs"]), known["cost"])
        if not known["complete"]:
            self.best = self.best or found
            raise KeyboardInterrupt
        return found

    def _searched(
        self, support: Support, starts: Points, local: AbstractSearch, note: str, part: int
    ) -> dict[str, Any]:
        """The record of a set: its numbers, the costs of all windows, and whether the fit came to its end."""
        zero = ~self.inputs.mask(support)
        found = local.search(
            self.rest[part].with_zeros(zero), np.where(zero, 0.0, starts), self._news(note)
        )
        self.evaluation.evaluations += found.evaluations
        x = np.where(zero, 0.0, found.x[found.best])
        r, _ = self.judging.residuals(x[None])
        with np.errstate(all="ignore"):
            costs = np.sum(huber(r[0], self.judging.plan.huber)[0], axis=(1, 2))
        costs = np.where(np.isfinite(costs), np.maximum(costs, 1e-300), np.inf)
        complete = Status.INTERRUPTED not in found.status
        cost = float(found.cost[found.best])
        return {"x": x.tolist(), "costs": costs.tolist(), "cost": cost, "complete": complete}

    def _news(self, note: str) -> Listener:
        """Progress of one set of inputs; how many sets there will be is not known."""
        return lambda news: self.listen(News(news.step, news.steps, news.cost, news.x, note))

    def final(self, best: Fitted) -> Outcome:
        """The set of inputs, fitted to all windows."""
        zero = ~self.inputs.mask(best.support)
        whole = self.evaluation.with_zeros(zero)
        found = self.options.local.search(whole, best.x[None], self._news("all windows"))
        self.evaluation.evaluations += found.evaluations
        return dataclasses.replace(found, x=np.where(zero, 0.0, found.x))

    def stopped(self, best: Fitted) -> Outcome:
        """What was best when the user stopped the search."""
        x = best.x[None]
        cost = self.evaluation.cost(x)
        return Outcome(x, cost, (Status.INTERRUPTED,), (float(cost[0]),), 0, 0.0)
