"""Ctrl-C while modules are loaded: an exception inside the start of a compiled library may end or block it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Generator
from types import FrameType

RETRY_AFTER = 0.05
"""Seconds after which a Ctrl-C that came at a bad time is tried again."""


@contextlib.contextmanager
def after_imports() -> Generator[None]:
    """Inside, Ctrl-C is heard when the import that it falls into has ended; where it is ignored, it stays so."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not is_importing(frame):
        signal.default_int_handler(number, frame)
    again = threading.Timer(RETRY_AFTER, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def is_importing(frame: FrameType | None) -> bool:
    """Whether a frame, or one that waits for it, loads a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
