"""Long work outside of Python that Ctrl-C can end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 0.1
"""Seconds after which the main thread looks whether somebody wants to stop."""


def patiently(work: Callable[[], T]) -> T:
    """`work()`, done in a thread of its own where this is the main one, which goes on hearing Ctrl-C.

    Python raises KeyboardInterrupt between its own instructions, and a call into LLVM is none. After an interrupt
    the work goes on in the background to its end, and its result is dropped.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="isthmus-llvm", daemon=True).start()
    while True:
        try:
            return future.result(timeout=PATIENCE)
        except NotYet:
            if future.done():
                return future.result()
