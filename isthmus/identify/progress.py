"""A line that tells how a search is going: loss, best values, time left."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator

from isthmus.identify.parameters import Parameters
from isthmus.identify.search import Listener, News, silent

SHOWN = 3
"""So many values are shown while a search runs."""


PAUSE = 0.1
"""Seconds between two looks at a search."""


def wanted(shown: bool | None) -> bool:
    """Whether to tell: as asked, or where somebody watches."""
    return sys.stderr.isatty() if shown is None else shown


@contextlib.contextmanager
def progress(parameters: Parameters, shown: bool | None) -> Generator[Listener]:
    """A listener that draws a bar where somebody watches (`shown=None`), always, or never."""
    if not wanted(shown):
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, told = bar.add_task("compiling", total=None), [0.0]

        def listen(news: News) -> None:
            if time.perf_counter() < told[0] + PAUSE:
                return
            told[0] = time.perf_counter()
            bar.update(
                task, total=news.steps, completed=news.step, description=line(parameters, news)
            )

        yield listen


def line(parameters: Parameters, news: News) -> str:
    """`loss 1.2e+03   link/rod_1/mass 1.02   …`."""
    values = parameters.values(news.x[: parameters.size])
    pairs = zip(parameters.names[:SHOWN], values[:SHOWN], strict=False)
    numbers = "  ".join(f"{name} {float(value):.4g}" for name, value in pairs)
    more = " …" if len(parameters.names) > SHOWN else ""
    note = f"{news.note}  " if news.note else ""
    return f"{note}loss {news.cost:.5g}  {numbers}{more}"
