"""Searches in rounds: propose points, let islands work on them, learn from what they found.

Between rounds, records are written, and a run may stop or go on. What a round proposes depends on the seed, the rounds
before it and nothing else, so that a run can be repeated with any number of processes, and a run with a store goes on
by repeating its rounds from the file.
"""

from __future__ import annotations

import abc
import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from isthmus.distributed.runner import AbstractRunner
from isthmus.errors import BadOption
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.as_dict import IDLE
from isthmus.identify.search.islands import Found, Team, Workers
from isthmus.identify.search.random_points import Box
from isthmus.identify.search.search import (
    AbstractSearch,
    Listener,
    News,
    Outcome,
    Points,
    Status,
    best_of_each,
    silent,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractRounds(AbstractSearch):
    """A search in rounds. It ends after `rounds`, before `seconds` have passed, or below `target`."""

    default_rounds: ClassVar[int] = 20
    """Number of rounds if neither `rounds` nor `seconds` is given."""

    tracks_islands: ClassVar[bool] = True
    """Whether each row of the points is an island whose cost is recorded round by round."""

    rounds: int | None = dataclasses.field(default=None, metadata=IDLE)
    seconds: float | None = dataclasses.field(default=None, metadata=IDLE)
    """Time for this call; a round is finished, and none is begun that would probably end too late."""
    target: float | None = dataclasses.field(default=None, metadata=IDLE)
    """The cost that is good enough."""
    seed: int = 0
    batch: int = 8
    """Islands that search together, as SIMD lanes of one native call; decides the last bits of the result."""
    processes: int = dataclasses.field(default=1, metadata=IDLE)
    """1: this process, with all its cores. More: spawned processes."""
    problem: str | Callable[[], Any] | None = dataclasses.field(default=None, metadata=IDLE)
    """Where other processes get a problem that cannot be sent: a function, or its name, `study.py:problem`."""
    runner: AbstractRunner | None = dataclasses.field(default=None, metadata=IDLE)
    """A runner of your own for the jobs, such as a cluster's."""
    store: str | Path | None = dataclasses.field(default=None, metadata=IDLE)
    """A file of records, written after each round."""
    resume: bool = dataclasses.field(default=False, metadata=IDLE)
    """Go on with the rounds that `store` has."""

    def __post_init__(self) -> None:
        rounds = 1 if self.rounds is None else self.rounds
        refuse_count(batch=self.batch, processes=self.processes, rounds=rounds)
        if self.seed < 0:
            raise BadOption(f"seed must not be negative, but is {self.seed!r}.")
        if self.seconds is not None and not self.seconds > 0:
            raise BadOption(f"seconds must be above zero, not {self.seconds!r}.")
        if self.resume and self.store is None:
            raise BadOption("resume=True needs store=, the file to go on with.")

    # what subclasses define ---------------------------------------------------------------------------------------

    @abc.abstractmethod
    def begin(self, box: Box, starts: Points) -> Any:
        """What is known before the first round."""

    @abc.abstractmethod
    def propose(self, box: Box, state: Any, turn: int) -> Points:
        """Where the islands begin in round `turn`."""

    @abc.abstractmethod
    def work(self, team: Team, points: Points, listen: Listener) -> Found:
        """Runs the jobs of these points."""

    @abc.abstractmethod
    def absorb(self, box: Box, state: Any, found: Found) -> Any:
        """What is known after a round."""

    def finished(self, state: Any) -> bool:
        """Whether more rounds would change nothing."""
        return False

    def settings(self, outcome: Outcome) -> dict[str, Any]:
        """With the rounds that were made, so that a run with a time limit can be repeated."""
        return super().settings(outcome) | {"rounds": len(outcome.history)}

    # the rounds -----------------------------------------------------------------------------------------------------

    def search(self, evaluation: Evaluation, starts: Points, listen: Listener = silent) -> Outcome:
        starts = np.clip(np.array(starts, dtype=np.float64), evaluation.low, evaluation.high)
        box = Box.of(evaluation, starts[0])
        log = Log(self, listen)
        fields = [field.name for field in dataclasses.fields(Workers)]
        workers = Workers(**{name: getattr(self, name) for name in fields})
        with Team(self, workers, evaluation, starts) as team:
            try:
                state = self.begin(box, starts)
                while not (log.enough() or self.finished(state)):
                    points = self.propose(box, state, log.turn)
                    found = self.work(team, points, log.on_progress)
                    state = self.absorb(box, state, found)
                    log.write(found)
                if self.finished(state):
                    log.mark(Status.CONVERGED)
            except KeyboardInterrupt:
                if team.rounds > log.turn and (last := team.recovered()) is not None:
                    log.add(last)
                log.interrupt(team.known.partial)
        evaluation.evaluations += team.evaluations
        return log.close(team.evaluations)


MOST = {"islands": 100_000, "batch": 100_000, "population": 100_000, "processes": 1000}
"""Counts beyond which a search would fill the memory before it begins."""


def refuse_count(**counts: int) -> None:
    """Refuses the first count that is below one or far too large, by its name."""
    for name, value in counts.items():
        if value < 1:
            raise BadOption(f"{name} must be 1 or more, not {value!r}.")
        if value > MOST.get(name, value):
            raise BadOption(f"{name} must be at most {MOST[name]}, not {value!r}.")


def refuse_no_step(step: float) -> None:
    """Refuses a step that goes nowhere."""
    if not step > 0:
        raise BadOption(f"step must be above zero, not {step!r}.")


class Log:
    """The best point of each island, the clock, and reports of progress."""

    def __init__(self, options: AbstractRounds, listen: Listener) -> None:
        self.options, self.listen = options, listen
        self.rounds = options.rounds
        if self.rounds is None and options.seconds is None:
            self.rounds = options.default_rounds
        self.ends = [time.perf_counter()]
        self.history: list[float] = []
        self.best: Found | None = None
        self.costs: list[np.ndarray] = []

    @property
    def turn(self) -> int:
        """Rounds so far."""
        return len(self.history)

    @property
    def cost(self) -> float:
        """The lowest of all."""
        return math.inf if self.best is None else float(self.best.cost.min())

    def enough(self) -> bool:
        """Whether to stop here."""
        if not self.history:
            return False
        if self.rounds is not None and self.turn >= self.rounds:
            return True
        if self.options.target is not None and self.cost <= self.options.target:
            return True
        if self.options.seconds is None:
            return False
        each = np.diff(self.ends[1:])  # without the first round, which compiles
        next_round = float(np.median(each)) if self.turn > 1 else 0.0
        return self.ends[-1] - self.ends[0] + next_round >= self.options.seconds

    def add(self, found: Found) -> None:
        """A round has ended."""
        self.best = better(self.best, found)
        self.history.append(self.cost)
        if self.options.tracks_islands and len(found.cost) > 1:
            self.costs.append(self.best.cost)
        self.ends.append(time.perf_counter())

    def write(self, found: Found) -> None:
        """A round has ended: reports the best point."""
        self.add(found)
        assert self.best is not None
        self.report(self.cost, self.best.x[int(np.argmin(self.best.cost))])

    def on_progress(self, news: News) -> None:
        """Reports progress within a round."""
        if self.best is None or news.cost < self.cost:
            self.report(news.cost, news.x)
        else:
            self.report(self.cost, self.best.x[int(np.argmin(self.best.cost))])

    def report(self, cost: float, x: np.ndarray) -> None:
        """Progress by rounds, or by time where that is what ends the run."""
        step, steps, seconds = self.turn, self.rounds, self.options.seconds
        spent = time.perf_counter() - self.ends[0]
        if seconds is not None and (steps is None or spent / seconds > step / steps):
            step, steps = min(int(spent), math.ceil(seconds)), math.ceil(seconds)
        assert steps is not None
        self.listen(News(step, steps, cost, x, f"round {self.turn + 1}"))

    def interrupt(self, partial: Outcome | None) -> None:
        """The user has stopped the run: what the running round has found so far still counts."""
        if partial is not None:
            cost = np.where(np.isfinite(partial.cost), partial.cost, np.inf)
            k = [int(np.argmin(cost))]
            status = np.array(partial.status, dtype=object)
            last = Found(partial.x[k], cost[k], status[k])
            self.best = last if self.best is None else joined(self.best, last)
        if self.best is None:
            raise KeyboardInterrupt  # nothing to keep
        self.mark(Status.INTERRUPTED)

    def mark(self, status: Status) -> None:
        """How the run ended, for all islands."""
        assert self.best is not None
        ended = np.full(len(self.best.cost), status, dtype=object)
        self.best = dataclasses.replace(self.best, status=ended)

    def close(self, evaluations: int) -> Outcome:
        """The outcome."""
        assert self.best is not None
        best, seconds = self.best, time.perf_counter() - self.ends[0]
        status, islands = tuple(best.status), best_of_each(self.costs)
        return Outcome(
            best.x, best.cost, status, tuple(self.history), evaluations, seconds, islands
        )


def better(before: Found | None, found: Found) -> Found:
    """The better of two points of each island."""
    if before is None:
        return found
    ahead = found.cost < before.cost
    return Found(
        np.where(ahead[:, None], found.x, before.x),
        np.where(ahead, found.cost, before.cost),
        np.where(ahead, found.status, before.status),
    )


def joined(one: Found, other: Found) -> Found:
    """All points of both."""
    return Found(
        np.concatenate([one.x, other.x]),
        np.concatenate([one.cost, other.cost]),
        np.concatenate([one.status, other.status]),
    )
