"""A stopwatch for compiled functions, and a table of what it measured."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds to trace and compile, and the median of one call after that."""

    compile: float
    run: float


def stopwatch(f: Callable[..., Any], *args: Any, repeats: int = 9, budget: float = 20.0) -> Timing:
    """Compiles `jax.jit(f)` and calls it `repeats` times, fewer where that would take longer than `budget` [s]."""
    import jax

    start = time.perf_counter()
    compiled = jax.jit(f).lower(*args).compile()
    ready = time.perf_counter()
    jax.block_until_ready(compiled(*args))  # the first call warms caches up
    laps: list[float] = []
    while len(laps) < repeats and sum(laps) < budget:
        lap = time.perf_counter()
        jax.block_until_ready(compiled(*args))
        laps.append(time.perf_counter() - lap)
    return Timing(ready - start, statistics.median(laps))


def shown(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(title: str, rows: dict[str, dict[str, Timing]]) -> str:
    """Work by engine: run / compile, and how many times faster than each peer the first engine is."""
    lines = [title]
    for work, timings in rows.items():
        lines.append(f"  {work}")
        ours = next(iter(timings.values()))
        for engine, timing in timings.items():
            ratio = "" if timing is ours else (
                f"   isthmus is {timing.run / ours.run:.1f} times faster, "
                f"compiles {timing.compile / ours.compile:.1f} times faster"
            )  # fmt: skip
            lines.append(
                f"    {engine:10} {shown(timing.run):>9}  (compile {shown(timing.compile)}){ratio}"
            )
    return "\n".join(lines)
