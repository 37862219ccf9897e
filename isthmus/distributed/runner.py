"""Runners of jobs: this process, its threads, or spawned processes; a cluster can implement the same interface.

Records come back in the order of the jobs, and a record depends on its job alone: not on what ran it, nor on how many
others there were. Processes are spawned, never forked: a fork of a process that has loaded JAX may hang.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from types import TracebackType

from isthmus.distributed.job import Job, Record, run
from isthmus.distributed.store import Store
from isthmus.distributed.worker import Setup, Worker, ctrl_c_blocked
from isthmus.errors import BadOption, JobFailed, WorkerDied

ATTEMPTS = 3
"""How often a job is tried in new processes after its process died."""


class AbstractRunner(abc.ABC):
    """Runs jobs; use it in a `with` statement."""

    @abc.abstractmethod
    def run(self, jobs: Sequence[Job]) -> list[Record]:
        """The record of every job, in their order. Ctrl-C comes out as `KeyboardInterrupt`."""

    def close(self) -> None:
        """Releases threads and processes; the runner can be used again."""
        return

    def __enter__(self) -> AbstractRunner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Here(AbstractRunner):
    """This process: one job after the other, or several at a time in threads (native code runs without the GIL)."""

    def __init__(self, threads: int = 1, halt: Callable[[], None] | None = None) -> None:
        self.threads, self.halt = _at_least_one("threads", threads), halt
        """`halt` is called when the user stops the run: threads cannot be ended, they must be asked."""

    def run(self, jobs: Sequence[Job]) -> list[Record]:
        if self.threads == 1 or len(jobs) < 2:
            return [run(job) for job in jobs]
        with ThreadPoolExecutor(self.threads) as pool:
            futures = [pool.submit(run, job) for job in jobs]
            try:
                return [future.result() for future in futures]
            except KeyboardInterrupt:
                if self.halt is not None:
                    self.halt()
                raise
            finally:
                for future in futures:
                    future.cancel()


class Processes(AbstractRunner):
    """Spawned processes of this machine, which end with this one. Jobs of a process that died are run again."""

    def __init__(self, count: int, setup: Setup | None = None) -> None:
        self.count, self.setup = _at_least_one("processes", count), setup
        self._workers: list[Worker] = []
        # without it, the interpreter would wait for these processes when it ends
        Finalize(self, _kill, (self._workers,), exitpriority=1)

    def run(self, jobs: Sequence[Job]) -> list[Record]:
        done: dict[int, Record] = {}
        waiting, deaths = list(range(len(jobs)))[::-1], Counter[int]()
        try:
            while len(done) < len(jobs):
                self._begin(jobs, waiting)
                for worker in self._answering():
                    k, answer = worker.answer()
                    if isinstance(answer, Record):
                        done[k] = answer
                        continue
                    if answer is not None:
                        raise JobFailed(answer)
                    self._workers.remove(worker)
                    waiting.append(k)
                    deaths[k] += 1
                    if deaths[k] == ATTEMPTS:
                        raise WorkerDied(DIED)
        except BaseException:
            self.close()
            raise
        return [done[k] for k in range(len(jobs))]

    def _begin(self, jobs: Sequence[Job], waiting: list[int]) -> None:
        """Gives waiting jobs to idle processes, and starts processes while there are too few."""
        for _ in range(min(self.count, len(jobs)) - len(self._workers)):
            with ctrl_c_blocked():  # no process is started and then forgotten
                self._workers.append(Worker(self.setup))
        for worker in self._workers:
            if worker.job is None and waiting:
                k = waiting.pop()
                worker.give(k, jobs[k])

    def _answering(self) -> list[Worker]:
        """Waits until processes have an answer, or have died."""
        busy = [worker for worker in self._workers if worker.job is not None]
        ready = wait([worker.pipe for worker in busy])
        return [worker for worker in busy if worker.pipe in ready]

    def close(self) -> None:
        _kill(self._workers)


DIED = (
    f"a process died {ATTEMPTS} times while it ran its job (out of memory, or killed). Take fewer processes; a script "
    "that starts some must do its work under `if __name__ == '__main__':`."
)


def _kill(workers: list[Worker]) -> None:
    while workers:
        workers[-1].kill()
        workers.pop()


class Remembering(AbstractRunner):
    """Wraps a runner with a store: jobs with a stored record are not run again, new records are stored."""

    def __init__(self, inner: AbstractRunner, store: Store) -> None:
        self.inner, self.store = inner, store

    def run(self, jobs: Sequence[Job]) -> list[Record]:
        missing = [job for job in jobs if job.key not in self.store]
        if missing:
            self.store.append(self.inner.run(missing))
        return [self.store[job.key] for job in jobs]

    def close(self) -> None:
        self.inner.close()


def _at_least_one(what: str, count: int) -> int:
    if count < 1:
        raise BadOption(f"{what} must be 1 or more, not {count!r}.")
    return count
