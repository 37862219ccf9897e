"""The jobs of a search, in this process or another: improve points, or only evaluate them.

A job names its problem by fingerprint, so the process that runs it must know the problem: `introduce` registers one
that exists, `expect` registers how to make it when the first job comes.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
import threading
from collections.abc import Generator
from typing import Any

import numpy as np

from isthmus.distributed.job import named
from isthmus.errors import BadOption
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.as_dict import from_dict
from isthmus.identify.search.search import Listener, News, Outcome, Status, silent

IMPROVE, EVALUATE = f"{__name__}:improve", f"{__name__}:evaluate"


class Known:
    """A registered problem."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.listen: Listener = silent
        self.halted = threading.Event()
        self.partial: Outcome | None = None
        """What a job had found when the user stopped it."""
        self._lock, self._warm = threading.Lock(), False

    @contextlib.contextmanager
    def own(self) -> Generator[Evaluation]:
        """A copy of the problem for one thread, with its own counter; the first thread compiles, the others wait."""
        with self._lock:
            if not self._warm:
                yield copy.copy(self.evaluation)
                self._warm = True
                return
        yield copy.copy(self.evaluation)

    def on_progress(self, news: News) -> None:
        """Passes news on; raises `KeyboardInterrupt` in a thread that shall stop."""
        if self.halted.is_set():
            raise KeyboardInterrupt
        self.listen(news)


KNOWN: dict[str, Known] = {}
EXPECTED: dict[str, str | bytes] = {}


def introduce(evaluation: Evaluation) -> Known:
    """Registers a problem in this process, so that its jobs can be run."""
    made_known = KNOWN[evaluation.fingerprint] = Known(evaluation)
    return made_known


def forget(problem: str) -> None:
    """Removes a problem from the register."""
    KNOWN.pop(problem, None)


def expect(problem: str, recipe: str | bytes) -> None:
    """How to make a problem when a job names it: a function's name, or a pickled `Problem`."""
    EXPECTED[problem] = recipe


def known(problem: str) -> Known:
    """The problem of that fingerprint, made now if need be."""
    if problem not in KNOWN and problem in EXPECTED:
        recipe = EXPECTED[problem]
        source = named(recipe)() if isinstance(recipe, str) else pickle.loads(recipe)
        found = introduce(getattr(source, "evaluation", source)).evaluation.fingerprint
        if found != problem:
            where = repr(recipe) if isinstance(recipe, str) else "the copy"
            raise BadOption(
                f"{where} makes another problem ({found}) than the one that is fitted ({problem})."
            )
    if problem not in KNOWN:
        raise BadOption(
            f"no problem {problem} is known here: island_jobs.introduce(problem.evaluation) makes it so."
        )
    return KNOWN[problem]


def improve(
    seed: int, problem: str, local: dict[str, Any], starts: list[list[float]]
) -> dict[str, Any]:
    """A local search from each start, all in one batch."""
    at = known(problem)
    with at.own() as evaluation:
        outcome = from_dict(local).search(
            evaluation, np.array(starts, dtype=np.float64), at.on_progress
        )
    if Status.INTERRUPTED in outcome.status:
        at.partial = outcome
        raise KeyboardInterrupt
    return {
        "x": outcome.x.tolist(),
        "cost": outcome.cost.tolist(),
        "status": [status.name for status in outcome.status],
        "evaluations": outcome.evaluations,
    }


def evaluate(seed: int, problem: str, points: list[list[float]]) -> dict[str, Any]:
    """The cost of each point."""
    at = known(problem)
    with at.own() as evaluation:
        cost = evaluation.cost(np.array(points, dtype=np.float64))
    if at.halted.is_set():
        raise KeyboardInterrupt
    return {
        "x": points,
        "cost": cost.tolist(),
        "status": [Status.OUT_OF_STEPS.name] * len(points),
        "evaluations": len(points),
    }
