"""Runners of jobs: this process, its threads, or spawned processes; a cluster can implement the same interface.

Records come back in the order of the jobs, and a record depends on its job alone: not on what ran it, nor on how many
others there were. Processes are spawned, never forked: a fork of a process that has loaded JAX may hang.
"""

from __future__ import annotations

import abc
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any

from isthmus.distributed.job import Job, Record, run
from isthmus.distributed.store import Store
from isthmus.errors import BadOption, JobFailed, WorkerDied

Setup = tuple[Callable[..., None], tuple[Any, ...]]
"""A function, importable by name, and its arguments: called once in every process before its first job."""
ATTEMPTS = 3
"""How often jobs are tried again in new processes after a process died."""


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
        self._pool: ProcessPoolExecutor | None = None

    def run(self, jobs: Sequence[Job]) -> list[Record]:
        done: dict[int, Record] = {}
        for _ in range(ATTEMPTS):
            with contextlib.suppress(BrokenProcessPool):
                self._collect(jobs, done)
                return [done[k] for k in range(len(jobs))]
            self.close()
        raise WorkerDied(
            f"a process died {ATTEMPTS} times while it ran its job (out of memory, or killed). Take fewer processes; a "
            "script that starts some must do its work under `if __name__ == '__main__':`."
        )

    def _collect(self, jobs: Sequence[Job], done: dict[int, Record]) -> None:
        """Runs what is not done yet."""
        pool = self._started()
        waiting = {k: pool.submit(_run, job) for k, job in enumerate(jobs) if k not in done}
        try:
            for k, future in waiting.items():
                done[k] = future.result()
        except KeyboardInterrupt:
            self.kill()
            raise
        finally:
            for future in waiting.values():
                future.cancel()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.count,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_prepare,
                initargs=(self.setup,),
            )
        return self._pool

    def kill(self) -> None:
        """Kills the processes at once."""
        pool, self._pool = self._pool, None
        if pool is not None:
            running = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.kill()

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


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


# what runs in a process of its own ------------------------------------------------------------------------------


def _prepare(setup: Setup | None) -> None:
    """Ctrl-C is for the parent alone; a process whose parent is gone ends itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    if setup is not None:
        function, arguments = setup
        function(*arguments)


def _run(job: Job) -> Record:
    try:
        return run(job)
    except Exception as error:  # not every exception can be pickled, but its text can
        raise JobFailed(
            f"{job.task} failed in another process: {type(error).__name__}: {error}"
        ) from None
