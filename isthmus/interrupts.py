"""Ctrl-C: heard once where it is pressed several times, and postponed while results are not yet kept."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType

GRACE = 2.0
"""Seconds after a Ctrl-C during which another one is the same one: what was begun is being ended."""
RETRY_AFTER = 0.05
"""Seconds after which a signal that came too early is sent again."""


class Once:
    """A handler of SIGINT that raises `KeyboardInterrupt`, but not again while the first one is dealt with."""

    def __init__(self, too_early: Callable[[FrameType | None], bool]) -> None:
        self.too_early = too_early
        """Whether the frame that was interrupted must end first; the signal is then sent again a little later."""
        self.heard: float | None = None
        """When the last `KeyboardInterrupt` was raised."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.too_early(frame):
            again = threading.Timer(RETRY_AFTER, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        now = time.monotonic()
        if self.heard is None or now - self.heard > GRACE:
            self.heard = now
            signal.default_int_handler(number, frame)


def _say(text: str) -> None:
    print(f"isthmus: {text}", file=sys.stderr)


@contextlib.contextmanager
def postponed(what: str, say: Callable[[str], None] = _say) -> Generator[None]:
    """Lets a short piece of work end although Ctrl-C is pressed, which is answered by a sentence.

    `what`: the work, as in "writing the results". For what comes after a search: nothing that was found is lost. Who
    has stopped the search by Ctrl-C already gets no second answer.
    """
    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not here or before in (signal.SIG_IGN, None):
        yield
        return
    told = isinstance(before, Once) and before.heard is not None

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if not told:
            told = True
            say(f"the search is over; {what}, a moment.")

    signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
