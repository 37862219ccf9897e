"""Timing: medians of repeats, alternating between what is compared, so that noise hits all alike."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Generator
from typing import Any

import jax


def race(
    *runs: Callable[[], object],
    repeats: int = 15,
    least: float = 2e-3,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """Median seconds of each: CPU seconds of this process, so that a busy machine does not decide.

    A round runs every one of them, long enough to be measured. All threads count, since very large code runs in
    one of its own. XLA spreads its work over threads and needs the clock on the wall.
    """
    counts = []
    for run in runs:
        run()
        began = clock()
        run()
        counts.append(max(1, int(least / max(clock() - began, 1e-7))))
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, count, laps in zip(runs, counts, found, strict=True):
            began = clock()
            for _ in range(count):
                run()
            laps.append((clock() - began) / count)
    return [statistics.median(laps) for laps in found]


def cpu_seconds(run: Callable[[], object]) -> float:
    """CPU seconds of all threads."""
    began = time.process_time()
    run()
    return time.process_time() - began


@contextlib.contextmanager
def code_kept_in(place: str) -> Generator[None]:
    """Keeps compiled code in this folder inside the block, or nowhere (`off`), so that compiling is measured too."""
    before = os.environ.get("ISTHMUS_CACHE")
    os.environ["ISTHMUS_CACHE"] = place
    try:
        yield
    finally:
        if before is None:
            del os.environ["ISTHMUS_CACHE"]
        else:
            os.environ["ISTHMUS_CACHE"] = before


def fastest(*runs: Callable[[], object], repeats: int = 40) -> list[float]:
    """Least wall-clock seconds of each function: for work on several threads."""
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, laps in zip(runs, found, strict=True):
            began = time.perf_counter()
            run()
            laps.append(time.perf_counter() - began)
    return [min(laps) for laps in found]


def stopwatch(
    f: Callable[..., Any], *args: Any, repeats: int = 9, budget: float = 20.0
) -> tuple[float, float]:
    """Seconds to compile `jax.jit(f)`, and the median of one call after that.

    There are `repeats` calls, fewer where that would take longer than `budget` [s].
    """
    start = time.perf_counter()
    compiled = jax.jit(f).lower(*args).compile()
    ready = time.perf_counter()
    jax.block_until_ready(compiled(*args))  # the first call warms caches up
    laps: list[float] = []
    while len(laps) < repeats and sum(laps) < budget:
        lap = time.perf_counter()
        jax.block_until_ready(compiled(*args))
        laps.append(time.perf_counter() - lap)
    return ready - start, statistics.median(laps)
