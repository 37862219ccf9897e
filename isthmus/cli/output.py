"""What commands print, and how they wait: answers on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from isthmus.disk import made_folder
from isthmus.phases import Phase, listening, repeating, sort_of

Result = TypeVar("Result")

WIDTH = 80
"""Columns of what goes into a pipe or a file."""
MAX_ALIKE = 6
"""Warnings that are shown of each kind."""
STACK = 64 * 1024 * 1024
"""Bytes for the thread that works: compilers recurse deeply."""
_unfinished: list[threading.Event] = []


class Refused(Exception):
    """Arguments that are not understood; the message is one sentence."""


def say(sentence: str) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError, ValueError):  # stderr is closed
        print("isthmus:", " ".join(sentence.split()), file=sys.stderr, flush=True)


def shown_warnings() -> Callable[..., None]:
    """A function that stands in for `warnings.showwarning`: one line on stderr, without the place in the code.

    Of warnings that differ only in names and numbers, as of a thousand logs, it shows the first few.
    """
    seen: Counter[str] = Counter()

    def show_warning(message: Any, *_: Any, **__: Any) -> None:
        text = _on_one_line(str(message))
        kind = sort_of(text)
        seen[kind] += 1
        if seen[kind] <= MAX_ALIKE:
            say(f"warning: {text}")
        elif seen[kind] == MAX_ALIKE + 1:
            say("warning: further warnings like these are not shown.")

    return show_warning


def _on_one_line(text: str) -> str:
    """A heading with items below it, as a sentence: `heading: first; second`."""
    head, *items = [line.strip() for line in text.splitlines()]
    listed = "; ".join(item.removeprefix("- ").removesuffix(".") for item in items)
    return f"{head} {listed}." if items else head


def show(*parts: Any) -> None:
    """Text or tables of rich on stdout: plain and 80 columns wide where that is no terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDTH
    console = Console(width=width, markup=False, highlight=False, emoji=False)
    with console.capture() as shown:
        for part in parts:
            console.print(part, soft_wrap=hasattr(part, "plain"))  # long names stay in one line
    lines = (line.rstrip() for line in shown.get().splitlines())
    sys.stdout.write("\n".join([*lines, ""]))
    sys.stdout.flush()


def show_json(data: Any) -> None:
    """Plain data as JSON on stdout, with letters that its encoding lacks as `\\uXXXX`."""
    write = functools.partial(json.dumps, data, indent=2, allow_nan=False)
    text = write(ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = write(ensure_ascii=True)
    print(text)


def prepare_streams() -> None:
    """Opens a stdout or stderr that was closed (`>&-`) on nothing; letters it cannot show are replaced."""
    for name, mode in (
        ("stdin", "r"),
        ("stdout", "w"),
        ("stderr", "w"),
    ):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def silence() -> None:
    """Discards further output: the reader of the pipe has closed it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def target(out: str, name: str) -> Path:
    """The file that `--out` means: `out` itself, or the file `name` in it where `out` is a folder.

    A path that ends in a slash is a folder, and is made if need be.
    """
    is_folder = out.endswith(("/", os.sep)) or Path(out).is_dir()
    return made_folder(out) / name if is_folder else Path(out)


def opened(page: Path) -> bool:
    """Opens a page in the browser where somebody sits before this terminal; whether it did."""
    import webbrowser

    seen = sys.stdout.isatty() and not os.environ.get("SSH_CONNECTION")
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return seen and has_screen and webbrowser.open(page.resolve().as_uri())


# waiting -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def working(what: str, total: int | None = None) -> Generator[Callable[[int], None], None, None]:
    """A spinner, or a bar of `total` parts, on stderr during some work; yields a function that sets the bar.

    The present phase is named beside it. Where stderr is no terminal, a line says it every five seconds.
    """
    if not sys.stderr.isatty():
        with repeating(say, else_=what):
            yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = [BarColumn()] if total else []
    columns = [SpinnerColumn(), TextColumn("{task.description}"), *bar, TimeElapsedColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)

        def tell(now: Phase | None) -> None:
            progress.update(task, description=what if now is None else f"{what}: {now}")

        with listening(tell):
            yield lambda done: progress.update(task, completed=done)


def in_background(work: Callable[[], Result], *, float64: bool = True) -> Result:
    """`work()` in a thread, so that Ctrl-C works at once even inside a compiler.

    `float64`: JAX computes in 64 bits; False: as it is set for all threads.
    """
    import jax

    done: list[Result] = []
    failed: list[BaseException] = []

    finished = threading.Event()  # `Thread.join` takes an interrupted thread for a stopped one

    def attempt() -> None:
        try:
            with jax.enable_x64(True) if float64 else contextlib.nullcontext():
                done.append(work())  # the setting holds for this thread
        except BaseException as error:
            failed.append(error)
        finally:
            finished.set()

    _unfinished.append(finished)
    before = threading.stack_size(STACK)
    try:
        threading.Thread(target=attempt, daemon=True).start()
    finally:
        threading.stack_size(before)
    while not finished.wait(timeout=0.2):
        pass
    _unfinished.remove(finished)
    if failed:
        raise failed[0]
    return done[0]


def leave_if_busy(status: int) -> None:
    """Ends the process where a thread is still inside a compiler, which cannot be stopped otherwise."""
    if any(not finished.is_set() for finished in _unfinished):
        sys.stdout.flush()
        os._exit(status)
    _unfinished.clear()
