"""How a search is going, while it runs: phase, loss, best values and time left, on stderr.

On a terminal and in notebooks a small screen is drawn; elsewhere a line is written every five seconds.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

from isthmus.identify.parameters.parameters import Parameters
from isthmus.identify.search.search import Listener, News, silent
from isthmus.phases import Phase, counted, listening, repeating

MAX_ON_SCREEN, MAX_IN_LINE = 8, 3
"""Number of best values that are shown."""
PAUSE = 0.1
"""Shortest time between two drawings [s]."""
EVERY = 5.0
"""Time between two lines where nothing can be drawn [s]."""


def wanted(verbose: bool | None) -> bool:
    """True if requested, or by default when stderr is a terminal or the code runs in a notebook."""
    return is_watched() if verbose is None else verbose


def is_watched() -> bool:
    """Whether progress can be drawn: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def to_stderr(text: str) -> None:
    """Writes one line."""
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(
    parameters: Parameters,
    verbose: bool | None = None,
    *,
    islands: int = 1,
    say: Callable[[str], None] = to_stderr,
) -> Generator[Listener]:
    """A listener that draws how a search is going, or says it with `say` where nothing can be drawn."""
    began = time.perf_counter()
    if not wanted(verbose):
        yield silent
    elif is_watched():
        with _screen(parameters, islands, began) as listen:
            yield listen
    else:
        tell = lambda news: say(line(parameters, news, islands, time.perf_counter() - began))
        with repeating(say, EVERY):
            yield _spaced(tell, EVERY, began)


def _spaced(listener: Listener, pause: float, last: float = 0.0) -> Listener:
    """Calls a listener at most once in `pause` seconds; `last`: when it was called last."""

    def listen(news: News) -> None:
        nonlocal last
        if time.perf_counter() >= last + pause:
            last = time.perf_counter()
            listener(news)

    return listen


# words ---------------------------------------------------------------------------------------------------


def line(parameters: Parameters, news: News, islands: int, elapsed: float) -> str:
    """`step 3 of 100, loss 12.5, at most 40 s left; link/rod_1/mass = 1.02, …`."""
    values = best_of(parameters, news)
    shown = [f"{name} = {value:.4g}" for name, _, value in values[:MAX_IN_LINE]]
    more = ["…"] if len(values) > MAX_IN_LINE else []
    return "; ".join(filter(None, (head(news, islands, elapsed), ", ".join(shown + more))))


def head(news: News, islands: int, elapsed: float) -> str:
    """`step 3 of 100, 8 islands, loss 12.5, at most 40 s left`."""
    parts = [
        news.note or f"step {news.step} of {news.steps}",
        counted(islands, "island") if islands > 1 else "",
        f"loss {news.cost:.5g}",
        f"at most {left(news, elapsed)} left" if news.step else "",
    ]
    return ", ".join(filter(None, parts))


def left(news: News, elapsed: float) -> str:
    """The time that the remaining steps would take."""
    seconds = elapsed * max(news.steps - news.step, 0) / max(news.step, 1)
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def best_of(parameters: Parameters, news: News) -> list[tuple[str, float, float]]:
    """Names, start values and best values of the free numbers, without weights of networks."""
    now = parameters.values(news.x[: parameters.size])
    first = parameters.values(parameters.start)
    rows = zip(parameters.names, first, now, strict=False)
    return [(n, float(a), float(b)) for n, a, b in rows if not n.startswith("network/")]


# drawing -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _screen(parameters: Parameters, islands: int, began: float) -> Generator[Listener]:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner

    console = Console(stderr=True)
    with Live(Spinner("dots", "starting"), console=console, transient=True) as live:

        def tell(now: Phase | None) -> None:
            if now is not None:
                live.update(Spinner("dots", str(now)))

        def draw(news: News) -> None:
            live.update(_drawn(parameters, news, islands, time.perf_counter() - began))

        with listening(tell):
            yield _spaced(draw, PAUSE)


def _drawn(parameters: Parameters, news: News, islands: int, elapsed: float) -> Any:
    """A bar, a line, and the best values so far."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    top = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=max(news.steps, 1), completed=news.step, width=28)
    top.add_row(bar, Text(head(news, islands, elapsed)))
    table = Table.grid(padding=(0, 2))
    for name, first, now in best_of(parameters, news)[:MAX_ON_SCREEN]:
        start = Text(f"from {first:.4g}", style="dim")
        table.add_row(Text(name, style="cyan"), f"{now:.5g}", start)
    return Group(top, table, Text("Ctrl-C ends the search and keeps the best", style="dim"))
