"""One spawned process that runs jobs, one after the other, and how this process talks to it: by a pipe.

A pool of the standard library has queues with named semaphores, which outlive a killed process; a pipe has none.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from isthmus.distributed.job import Job, Record, run

Setup = tuple[Callable[..., None], tuple[Any, ...]]
"""A function, importable by name, and its arguments: called once in every process before its first job."""


class Worker:
    """A spawned process. It never hears Ctrl-C, and it ends when this process ends, however that happens."""

    def __init__(self, setup: Setup | None) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.pipe, other = spawn.Pipe()
        self.job: int | None = None
        """The number of the job that it runs; None: it waits for one."""
        self.process = spawn.Process(target=_serve, args=(other, setup))
        self.process.start()
        other.close()

    def give(self, number: int, job: Job) -> None:
        """Sends a job; that the process has died is noticed by `answer`."""
        self.job = number
        with contextlib.suppress(OSError):
            self.pipe.send(job)

    def answer(self) -> tuple[int, Record | str | None]:
        """The number of the job, and its record, or the text of its error, or None if the process died."""
        number, self.job = self.job, None
        assert number is not None
        try:
            return number, self.pipe.recv()
        except (EOFError, OSError):
            self.kill()
            return number, None

    def kill(self) -> None:
        """Ends the process at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextlib.contextmanager
def ctrl_c_blocked() -> Generator[None]:
    """A process that is started meanwhile never hears Ctrl-C; this one hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # every spawn needs it, and its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# what runs in the process ---------------------------------------------------------------------------------------


def _serve(pipe: Connection, setup: Setup | None) -> None:
    """Runs the jobs that come through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent alone
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    if setup is not None:
        function, arguments = setup
        function(*arguments)
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
        while True:
            pipe.send(_record(pipe.recv()))


def _record(job: Job) -> Record | str:
    """The record of a job, or the text of its error: not every exception can be pickled."""
    try:
        return run(job)
    except Exception as error:
        return f"{job.task} failed in another process: {type(error).__name__}: {error}"
