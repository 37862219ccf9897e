"""Logs that studies are tested on: a double pendulum with other masses, as CSV files."""

from __future__ import annotations

import functools
from pathlib import Path

import isthmus as ist
from tests.identify.motions import recorded

ROBOT = ist.library.pendulum()
TRUTH = ROBOT.set("link/mass", [1.2, 0.7])


@functools.cache
def log(seed: int) -> ist.Motion:
    """A driven motion, 61 rows."""
    start = (0.1 * seed, -0.2)
    return recorded(TRUTH, 61, noise=1e-3, seed=seed, start=start).matched(ROBOT)


def write_logs(folder: Path, count: int) -> None:
    """`run_0.csv`, `run_1.csv` …"""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(count):
        log(k).save(folder / f"run_{k}.csv")
