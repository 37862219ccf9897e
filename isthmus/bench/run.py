"""Every benchmark by its name, and a run of some of them as plain data."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from isthmus.bench.machine import machine, versions
from isthmus.bench.rows import Row
from isthmus.bench.timing import code_kept_in
from isthmus.errors import BadOption, did_you_mean

CASES = {
    "importing": ("starting", "importing", "importing"),
    "starting": ("starting", "importing", "starting"),
    "pendulum": ("native code", "native_cases", "double_pendulum"),
    "path": ("native code", "native_cases", "path_problem"),
    "network": ("native code", "native_cases", "network"),
    "large": ("native code", "large", "large"),
    "quadruped": ("native code", "native_cases", "quadruped"),
    "threads": ("native code", "native_cases", "threads"),
    "contact": ("native code", "contact", "quadruped"),
    "tosses": ("native code", "contact", "cube"),
    "piles": ("native code", "piles", "standing"),
    "pairs": ("native code", "pairs", "narrow"),
    "tree": ("native code", "tree", "tree"),
    "sysid": ("identification", "sysid", "pendulum"),
    "sysid-arm": ("identification", "sysid_arm", "arm"),
    "design": ("identification", "design", "design"),
    "tracking": ("identification", "tracking", "tracking"),
    "xla-pendulum": ("plain XLA", "engine", "pendulum"),
    "xla-quadruped": ("plain XLA", "engine", "quadruped"),
}
"""Name -> title of its table, module, function."""


def chosen(names: Sequence[str]) -> list[str]:
    """The benchmarks of these names, all for none, in their own order."""
    if unknown := [name for name in names if name not in CASES]:
        known = ", ".join(CASES)
        raise BadOption(
            f"no benchmark is called {unknown[0]!r}.{did_you_mean(unknown[0], CASES)} There are {known}."
        )
    return [name for name in CASES if not names or name in names]


def run(
    names: Sequence[str] = (), quick: bool = False, begin: Callable[[str], None] = lambda name: None
) -> dict[str, Any]:
    """Runs benchmarks: machine, versions, rows; a benchmark that fails is named with its reason.

    `begin` is called with the name of each benchmark as it starts.
    """
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    with code_kept_in("off"):
        for name in chosen(names):
            begin(name)
            title, module, function = CASES[name]
            case = getattr(importlib.import_module(f"isthmus.bench.{module}"), function)
            try:
                found: list[Row] = case(quick)
            except Exception as error:  # a peer's, or ours: the other benchmarks still count
                failed[name] = f"{type(error).__name__}: {error}"
                continue
            rows += [{"table": title, "benchmark": name, **row.as_data()} for row in found]
    return {
        "machine": machine(),
        "versions": versions(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "rows": rows,
        "failed": failed,
    }
