"""Ctrl-C in a command: heard once, and not during imports, where an exception may crash or block a library."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator
from types import FrameType

from isthmus.cli.start import leave
from isthmus.interrupts import Once


@contextlib.contextmanager
def ctrl_c(*, until_exit: bool = False) -> Generator[None]:
    """Hears Ctrl-C once, and not before a running import has ended; where it is ignored, it stays ignored.

    `until_exit`: the process ends next, so that Ctrl-C is ignored from then on.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, leave):
        yield
        return
    signal.signal(signal.SIGINT, Once(too_early=is_importing))
    try:
        yield
    finally:
        after = signal.SIG_IGN if until_exit else signal.default_int_handler
        signal.signal(signal.SIGINT, after)


def is_importing(frame: FrameType | None) -> bool:
    """Whether a frame, or one that waits for it, loads a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
