"""How long `import isthmus` takes beside `import jax, equinox`: at most a third longer is the aim."""

from __future__ import annotations

import statistics
import subprocess
import sys

TIMER = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def main(quick: bool = False) -> dict[str, float]:
    """Measures in fresh processes, alternating; prints medians and their ratio."""
    works = {
        "jax, equinox": "import jax, equinox",
        "isthmus": "import isthmus; isthmus.load, isthmus.rollout",
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(3 if quick else 9):
        for name, text in works.items():
            command = [sys.executable, "-c", TIMER.format(text)]
            times[name].append(
                float(subprocess.run(command, capture_output=True, check=True).stdout)
            )
    medians = {name: statistics.median(laps) for name, laps in times.items()}
    ratio = medians["isthmus"] / medians["jax, equinox"]
    print(
        f"import jax, equinox {medians['jax, equinox']:.2f} s, isthmus {medians['isthmus']:.2f} s: {ratio:.2f} times"
    )
    return medians
