"""How a search is going, while it runs: on a terminal a small screen, else a line every few seconds."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from isthmus.cli.output import say
from isthmus.phases import Phase, listening, repeating

if TYPE_CHECKING:
    from isthmus.identify.parameters.parameters import Parameters
    from isthmus.identify.search.search import News

EVERY = 5.0
"""Seconds between two lines."""
SHOWN = 8
"""So many of the best values are shown."""

Listener = Callable[["News"], None]


@contextlib.contextmanager
def watching(parameters: Parameters, islands: int) -> Generator[Listener]:
    """A listener that shows loss, best values, islands and time left, on stderr."""
    if not sys.stderr.isatty():
        with repeating(say, EVERY):
            yield _lines(parameters, islands)
        return
    from rich.console import Console
    from rich.live import Live

    screen = Screen(parameters, islands)
    with Live(
        screen.waiting(), console=Console(stderr=True), refresh_per_second=8, transient=True
    ) as live:

        def tell(now: Phase | None) -> None:
            if now is not None:
                live.update(screen.waiting(str(now)))

        with listening(tell):
            yield lambda news: live.update(screen.drawn(news))


def _lines(parameters: Parameters, islands: int) -> Listener:
    began = last = time.perf_counter()

    def listen(news: News) -> None:
        nonlocal last
        if time.perf_counter() - last < EVERY:
            return
        last = time.perf_counter()
        best = ", ".join(
            f"{name} = {value:.4g}" for name, _, value in best_of(parameters, news)[:3]
        )
        say(f"{head(news, islands, last - began)}; {best}")

    return listen


def head(news: News, islands: int, elapsed: float) -> str:
    """`step 3 of 100, 8 islands, loss 12.5, about 40 s left`."""
    note = getattr(news, "note", "")
    parts = [
        note or f"step {news.step} of {news.steps}",
        f"{islands} islands" if islands > 1 else "",
    ]
    parts += [f"loss {news.cost:.5g}", f"at most {left(news, elapsed)} left" if news.step else ""]
    return ", ".join(part for part in parts if part)


def left(news: News, elapsed: float) -> str:
    """The time that the remaining steps would take."""
    seconds = elapsed * max(news.steps - news.step, 0) / max(news.step, 1)
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def best_of(parameters: Parameters, news: News) -> list[tuple[str, float, float]]:
    """Names, start values and best values of what is free, weights of networks left out."""
    now = parameters.values(news.x[: parameters.size])
    first = parameters.values(parameters.start)
    rows = zip(parameters.names, first, now, strict=False)
    return [(n, float(a), float(b)) for n, a, b in rows if not n.startswith("network/")]


class Screen:
    """A bar, a line, and the best values so far."""

    def __init__(self, parameters: Parameters, islands: int) -> None:
        self.parameters, self.islands, self.began = parameters, islands, time.perf_counter()

    def waiting(self, what: str = "compiling") -> Any:
        """Before the first step, or while something else than a step goes on."""
        from rich.spinner import Spinner

        return Spinner("dots", what)

    def drawn(self, news: News) -> Any:
        """After a step."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        elapsed = time.perf_counter() - self.began
        line = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=max(news.steps, 1), completed=news.step, width=28)
        line.add_row(bar, Text(head(news, self.islands, elapsed)))
        table = Table.grid(padding=(0, 2))
        for name, first, now in best_of(self.parameters, news)[:SHOWN]:
            table.add_row(
                Text(name, style="cyan"), f"{now:.5g}", Text(f"from {first:.4g}", style="dim")
            )
        hint = Text("Ctrl-C ends the search and keeps the best", style="dim")
        return Group(line, table, hint)
