"""Timing: medians of repeats, alternating between what is compared, so that noise hits all alike."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass
class Row:
    """One line of the table: seconds of ours and of a peer, and the ratio to reach."""

    work: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    wanted: float | None = None
    """The least ratio theirs/ours; negative: the most ratio ours/theirs."""

    @property
    def ratio(self) -> float | None:
        if self.theirs is None:
            return None
        return self.theirs / self.ours

    @property
    def verdict(self) -> str:
        if self.ratio is None or self.wanted is None:
            return ""
        if self.wanted < 0:
            return "yes" if 1.0 / self.ratio <= -self.wanted else "NO"
        return "yes" if self.ratio >= self.wanted else "NO"


def race(
    *runs: Callable[[], object],
    repeats: int = 15,
    least: float = 2e-3,
    clock: Callable[[], float] = time.thread_time,
) -> list[float]:
    """Median seconds of each: CPU seconds of this thread, so that a busy machine does not decide.

    A round runs every one of them, long enough to be measured. XLA works on threads of its own and needs
    the clock on the wall.
    """
    counts = []
    for run in runs:
        run()
        began = clock()
        run()
        counts.append(max(1, int(least / max(clock() - began, 1e-7))))
    found = [[] for _ in runs]
    for _ in range(repeats):
        for run, count, times in zip(runs, counts, found, strict=True):
            began = clock()
            for _ in range(count):
                run()
            times.append((clock() - began) / count)
    return [float(np.median(times)) for times in found]


def fastest(*runs: Callable[[], object], repeats: int = 40) -> list[float]:
    """Least seconds on the wall of each: for work on several threads."""
    found = [[] for _ in runs]
    for _ in range(repeats):
        for run, times in zip(runs, found, strict=True):
            began = time.perf_counter()
            run()
            times.append(time.perf_counter() - began)
    return [min(times) for times in found]


def seconds(x: float | None) -> str:
    """A time in a unit that suits it."""
    if x is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if x >= size:
            return f"{x / size:.3g} {unit}"
    return f"{x / 1e-9:.3g} ns"


def show(rows: list[Row]) -> None:
    """The table, with a verdict where there is something to reach."""
    head = ("work", "ours", "peer", "theirs", "ratio", "to reach", "")
    lines = [head]
    for row in rows:
        wanted = (
            "" if row.wanted is None else f"{'≤' if row.wanted < 0 else '≥'} {abs(row.wanted):g}"
        )
        ratio = row.ratio
        if ratio is not None and row.wanted is not None and row.wanted < 0:
            ratio = 1.0 / ratio
        lines.append(
            (row.work, seconds(row.ours), row.peer, seconds(row.theirs),
             "" if ratio is None else f"{ratio:.2f}", wanted, row.verdict)
        )  # fmt: skip
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    for line in lines:
        print(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        )
