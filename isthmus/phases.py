"""What a long call is doing right now: named phases, each with an estimated duration, sent to listeners.

Code that takes a while says so with `with phase("compiling the residual", seconds=2.0):`. The
command line and `ist.fit` listen. Phases may nest: listeners get the innermost one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Phase:
    """Something that takes a while."""

    text: str
    seconds: float | None = None
    """About how long it will take [s]; None: unknown."""
    began: float = 0.0
    """When, by `time.perf_counter`."""

    def __str__(self) -> str:
        """`compiling the residual: about 6 s`."""
        about = "" if self.seconds is None else f": about {max(1, round(self.seconds))} s"
        return f"{self.text}{about}"


Listener = Callable[[Phase | None], None]
"""Called with a phase that begins, and with the one that continues after it (None: no phase)."""

_lock = threading.Lock()
_listeners: list[Listener] = []
_open: list[Phase] = []


@contextlib.contextmanager
def phase(text: str, seconds: float | None = None) -> Generator[None]:
    """Calls all listeners when something begins, and when it is over."""
    here = Phase(text, seconds, time.perf_counter())
    with _lock:
        _open.append(here)
    _tell()
    try:
        yield
    finally:
        with _lock:
            _open.remove(here)
        _tell()


def in_turn(items: Sequence[Item], text: str) -> Generator[Item]:
    """Yields the items, each in a phase `text 2 of 5` that is expected to last as long as those before it did."""
    began = time.perf_counter()
    for done, item in enumerate(items):
        each = (time.perf_counter() - began) / done if done else None
        with phase(f"{text} {done + 1} of {len(items)}", each):
            yield item


@contextlib.contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Calls `listener` at every change of phase; phases may begin in other threads."""
    with _lock:
        _listeners.append(listener)
    try:
        yield
    finally:
        with _lock:
            _listeners.remove(listener)


@contextlib.contextmanager
def repeating(say: Callable[[str], None], every: float = 5.0, else_: str = "") -> Generator[None]:
    """Says every `every` seconds which phase is running and for how long; `else_` where there is none."""
    over = threading.Event()
    start = time.perf_counter()

    def run() -> None:
        while not over.wait(every):
            now = current()
            text, began = (else_, start) if now is None else (str(now), now.began)
            if text:
                say(f"{text} ({time.perf_counter() - began:.0f} s so far)")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(1.0)


def current() -> Phase | None:
    """The innermost phase, if there is one."""
    with _lock:
        return _open[-1] if _open else None


def _tell() -> None:
    now = current()
    for listener in list(_listeners):
        listener(now)


def sort_of(text: str) -> str:
    """A message without what is quoted and numbers: equal for messages that say the same of different things."""
    return re.sub(r"'[^']*'|[\d.,]+", "", text)


def counted(count: int, noun: str) -> str:
    """`1 number`, `21 numbers`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
