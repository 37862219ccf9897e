"""Ctrl-C during imports: an exception inside the start-up of a compiled library may crash or block it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Generator
from types import FrameType

RETRY_AFTER = 0.05
"""Seconds after which a delayed Ctrl-C is sent again."""


@contextlib.contextmanager
def after_imports() -> Generator[None]:
    """Delays Ctrl-C until the running import has ended; where Ctrl-C is ignored, it stays ignored."""
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
