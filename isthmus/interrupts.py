"""Ctrl-C while results that were found are not yet kept."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Generator
from types import FrameType


def _say(text: str) -> None:
    print(f"isthmus: {text}", file=sys.stderr)


@contextlib.contextmanager
def postponed(what: str, say: Callable[[str], None] = _say) -> Generator[None]:
    """Lets a short piece of work end although Ctrl-C is pressed, which is answered by a sentence.

    `what`: the work, as in "writing the results". For what comes after a search: nothing that was found is lost.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        yield
        return

    def answer(number: int, frame: FrameType | None) -> None:
        say(f"the search is over; {what}, a moment.")

    before = signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
