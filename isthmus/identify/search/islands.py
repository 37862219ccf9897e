"""Runs the islands of a search as jobs: points -> jobs -> records -> where the points led.

Points are divided into jobs of a fixed size, whatever runs them: the batch that a point is in decides the last bits
of its result, so the number of processes must not decide the batches.
"""

from __future__ import annotations

import dataclasses
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.distributed.job import Job, Record, digest
from isthmus.distributed.runner import AbstractRunner, Here, Processes, Remembering
from isthmus.distributed.store import Store
from isthmus.errors import BadOption
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search import island_jobs
from isthmus.identify.search.as_dict import as_dict
from isthmus.identify.search.search import AbstractSearch, Listener, Status

Points = Float[np.ndarray, "islands n"]


@dataclasses.dataclass(frozen=True)
class Found:
    """Where a batch of points led."""

    x: Points
    cost: Float[np.ndarray, " islands"]
    """Infinite where the search failed."""
    status: np.ndarray
    evaluations: int = 0


@dataclasses.dataclass(frozen=True)
class Workers:
    """Who runs the jobs of a search, and where records go; the fields are those of `AbstractRounds`."""

    batch: int
    processes: int
    problem: str | Callable[[], Any] | None
    runner: AbstractRunner | None
    store: str | Path | None
    resume: bool


class Team:
    """Runs the jobs of one search; use it in a `with` statement."""

    def __init__(
        self, search: AbstractSearch, options: Workers, evaluation: Evaluation, starts: Points
    ) -> None:
        self.known = island_jobs.introduce(evaluation)
        self.batch, self.problem = options.batch, evaluation.fingerprint
        self.evaluations = self.rounds = 0
        self.jobs: list[Job] = []
        self.last: Found | None = None
        about = {"problem": self.problem, **as_dict(search), "starts": digest(starts.tolist())[:16]}
        self.store = None
        if options.store is not None:
            self.store = Store(options.store, about, resume=options.resume)
        try:
            inner = options.runner or self._runner(options, evaluation)
        except BaseException:
            self.close()
            raise
        self.own = options.runner is None
        self.runner = inner if self.store is None else Remembering(inner, self.store)

    def _runner(self, options: Workers, evaluation: Evaluation) -> AbstractRunner:
        if options.processes == 1:
            # loads LLVM, which only a search needs
            from isthmus.native.runtime.cores import cores

            return Here(cores(), self.known.halted.set)
        setup = (island_jobs.expect, (self.problem, recipe(options.problem, evaluation)))
        return Processes(options.processes, setup)

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *error: object) -> None:
        if self.own:
            self.runner.close()
        self.close()

    def close(self) -> None:
        """Closes the store, and forgets the problem."""
        island_jobs.forget(self.problem)
        if self.store is not None:
            self.store.close()

    def improve(self, local: AbstractSearch, starts: Points, listen: Listener) -> Found:
        """A local search from every row of `starts`."""
        self.known.listen = listen
        return self._run(island_jobs.IMPROVE, "starts", starts, {"local": as_dict(local)})

    def costs(self, points: Points) -> Found:
        """The cost of every row of `points`."""
        return self._run(island_jobs.EVALUATE, "points", points, {})

    def _run(self, task: str, name: str, points: Points, settings: dict[str, Any]) -> Found:
        batches = [points[k : k + self.batch].tolist() for k in range(0, len(points), self.batch)]
        settings = {"problem": self.problem, **settings}
        self.jobs, self.last = [Job(task, {**settings, name: rows}) for rows in batches], None
        self.rounds += 1
        self.last = gathered(self.runner.run(self.jobs))
        self.evaluations += self.last.evaluations
        return self.last

    def recovered(self) -> Found | None:
        """What the last round found, if it came to its end before the user stopped the run."""
        if self.last is None and self.store is not None:
            store = self.store
            if self.jobs and all(job.key in store for job in self.jobs):
                self.last = gathered([store[job.key] for job in self.jobs])
        return self.last


def gathered(records: Sequence[Record]) -> Found:
    """The results of all jobs of a round, as one batch."""
    results = [record.result for record in records]
    x, cost = (np.concatenate([np.array(r[key]) for r in results]) for key in ("x", "cost"))
    status = np.array([Status[name] for r in results for name in r["status"]], dtype=object)
    used = sum(result["evaluations"] for result in results)
    return Found(x, np.where(np.isfinite(cost), cost, np.inf), status, used)


def recipe(problem: str | Callable[[], Any] | None, evaluation: Evaluation) -> str | bytes:
    """How another process makes this problem: the name of a function that does, or a pickled copy."""
    if isinstance(problem, str):
        return problem
    if problem is not None:
        return name_of(problem)
    if evaluation.origin is None:
        raise BadOption(f"this problem cannot be sent to other processes. {REMEDY}")
    try:
        return pickle.dumps(evaluation.origin)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise BadOption(
            f"this problem cannot be sent to other processes: {error}. {REMEDY}"
        ) from error


REMEDY = (
    "Write a function that makes it (no lambda inside) and name it, problem='study.py:problem'; or stay with "
    "processes=1, which uses all cores."
)


def name_of(function: Callable[[], Any]) -> str:
    """`module:function` of a function that another process can import."""
    place, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<none>")
    if place is None or "<" in name or "." in name:
        raise BadOption(
            f"{name} cannot be found by name in another process: define it at the top of a module."
        )
    if place == "__main__":
        place = getattr(sys.modules["__main__"], "__file__", None)
        if place is None:
            raise BadOption(
                f"{name} was typed in, so another process cannot find it: write it into a file."
            )
        place = str(Path(place).resolve())
    return f"{place}:{name}"
