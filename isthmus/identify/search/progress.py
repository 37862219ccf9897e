"""How a search is going, for users of Python: phase, loss, best values, time left."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator

from isthmus.identify.parameters.parameters import Parameters
from isthmus.identify.search.search import Listener, News, silent
from isthmus.phases import Phase, listening, repeating

SHOWN = 3
"""So many values are shown while a search runs."""
PAUSE = 0.1
"""Seconds between two looks at a search."""
EVERY = 5.0
"""Seconds between two lines where nothing can be drawn."""


def wanted(verbose: bool | None) -> bool:
    """True if requested, or by default when stderr is a terminal or the code runs in a notebook."""
    return is_watched() if verbose is None else verbose


def is_watched() -> bool:
    """Whether progress can be drawn: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextlib.contextmanager
def progress(parameters: Parameters, verbose: bool | None) -> Generator[Listener]:
    """A listener that draws a bar, or writes a line every five seconds where nothing can be drawn."""
    if not wanted(verbose):
        yield silent
    elif is_watched():
        with _drawn(parameters) as listen:
            yield listen
    else:
        say = lambda text: print(text, file=sys.stderr, flush=True)
        with repeating(say, EVERY):
            yield _spaced(lambda news: say(line(parameters, news)), EVERY)


@contextlib.contextmanager
def _drawn(parameters: Parameters) -> Generator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def tell(now: Phase | None) -> None:
            if now is not None:
                bar.update(task, description=str(now))

        def draw(news: News) -> None:
            text = line(parameters, news)
            bar.update(task, total=news.steps, completed=news.step, description=text)

        with listening(tell):
            yield _spaced(draw, PAUSE)


def _spaced(listener: Listener, pause: float) -> Listener:
    """Tells a listener at most once in so many seconds."""
    told = [0.0]

    def listen(news: News) -> None:
        if time.perf_counter() >= told[0] + pause:
            told[0] = time.perf_counter()
            listener(news)

    return listen


def line(parameters: Parameters, news: News) -> str:
    """`loss 1.2e+03   link/rod_1/mass 1.02   …`."""
    values = parameters.values(news.x[: parameters.size])
    pairs = zip(parameters.names[:SHOWN], values[:SHOWN], strict=False)
    numbers = "  ".join(f"{name} {float(value):.4g}" for name, value in pairs)
    more = " …" if len(parameters.names) > SHOWN else ""
    note = f"{news.note}  " if news.note else ""
    return f"{note}loss {news.cost:.5g}  {numbers}{more}"
