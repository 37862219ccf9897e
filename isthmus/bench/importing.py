"""How long things take to start, measured in fresh processes: importing, and the first rollout."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from isthmus.bench.rows import Row

TIMER = "import time; t = time.process_time(); {}; print(time.process_time() - t)"
README_NAMES = (
    "Blueprint", "Free", "LevenbergMarquardt", "MLP", "Problem", "State", "Windows", "Wire",
    "fit", "library", "load", "observe", "rollout",
)  # fmt: skip
"""What the Python code of README uses."""
ROLLOUT = """
import time, isthmus as ist, isthmus.native
ist.rollout
model = ist.library.{}
start = ist.State.neutral(model)
t = time.perf_counter()
ist.rollout(model, start, None, 0.001, steps=100)
print(time.perf_counter() - t)
"""


def printed(program: str, **environment: str) -> float:
    """The number that a program prints, run by this Python."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, check=True, env={**os.environ, **environment}
    )
    return float(done.stdout)


def importing(quick: bool) -> list[Row]:
    """The names that README uses beside `import jax, equinox`, alternating: the least CPU time of fresh processes."""
    names = ", ".join(f"isthmus.{name}" for name in README_NAMES)
    works = (f"import isthmus; {names}", "import jax, equinox")
    laps = [[printed(TIMER.format(work)) for work in works] for _ in range(5 if quick else 15)]
    ours, theirs = (
        min(column) for column in zip(*laps[1:], strict=True)
    )  # the first writes bytecode
    return [Row("import the names of README", ours, "jax, equinox", theirs, -1.2, own=True)]


def starting(quick: bool) -> list[Row]:
    """The first rollout of a process: code that is compiled, and code that another process left on disk."""
    rows = []
    for name, call in (("double pendulum", "pendulum(2)"), ("quadruped", "quadruped()")):
        with tempfile.TemporaryDirectory() as folder:
            first = printed(ROLLOUT.format(call), ISTHMUS_CACHE=folder)
            again = [printed(ROLLOUT.format(call), ISTHMUS_CACHE=folder) for _ in range(3)]
        work = f"{name}, first rollout of a second process"
        rows.append(Row(work, statistics.median(again), "first process", first, own=True))
        if quick:
            break
    return rows
