"""Small logs as text, as users have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def sines(rows: int = 100, dt: float = 0.01) -> dict[str, np.ndarray]:
    """Two swinging joints: time, positions, velocities, torques."""
    t = dt * np.arange(rows)
    return {
        "t": t,
        "q1": np.sin(2 * t),
        "q2": np.cos(3 * t),
        "v1": 2 * np.cos(2 * t),
        "v2": -3 * np.sin(3 * t),
        "tau1": 0.1 * t,
        "tau2": -0.2 * t,
    }


def write_csv(path: Path, columns: dict[str, np.ndarray], separator: str = ",") -> Path:
    """A CSV file of those columns; NaN is a blank cell."""
    rows = [separator.join(columns)]
    rows += [
        separator.join("" if np.isnan(x) else repr(float(x)) for x in row)
        for row in np.stack([*columns.values()], axis=1)
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
