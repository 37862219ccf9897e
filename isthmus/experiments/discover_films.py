"""The filmed double pendulum as a recording of `discover_recorded`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.experiments.discover_recorded import Known, Recording, begun, filter_noise
from isthmus.experiments.pendulum import from_all, numbers, runs_of
from isthmus.experiments.pendulum_judge import (
    FRAME,
    HALF,
    HORIZONS,
    NOISE,
    ORDER,
    SPACING,
    films,
    predicted,
    rms,
)
from isthmus.experiments.pendulum_markers import calibrate
from isthmus.experiments.pendulum_model import made
from isthmus.experiments.run import Settings
from isthmus.identify.problem import Problem
from isthmus.losses.windows import Windows
from isthmus.model.model import Model

STEPS, STRIDE = 50, 200
"""Frames of a window, and between windows that corrections are fitted to."""
PARTS, ROWS = (100, 6100), 500
"""First frames and lengths of the parts of each run that `discover` sees: early ones move fast, late ones slowly."""


def filmed(path: str) -> Recording:
    """The films of a file."""
    runs = runs_of(path)
    pixels = [np.asarray(m.signals["extra/markers"]) for m in runs]
    noise = filter_noise(NOISE, 2 * HALF + 1, ORDER, FRAME)

    def physics(train: Sequence[int], settings: Settings) -> Known:
        markers = calibrate([pixels[k] for k in train])
        clean = films(runs, markers)
        used = [clean[k] for k in train]
        found = from_all([*used, *used[-2:]], markers, settings)
        parts = [
            film.motion(first, first + ROWS, found.offset)
            for film in (used[:2] if settings.quick else used)
            for first in PARTS
            if first + ROWS < len(film.q)
        ]
        values = {name: x for name, (x, _) in found.numbers.items()}
        free = [begun(free, values) for free in numbers().values()]
        problem = Problem(
            make=made, motions=parts, free=free, loss=Windows(STEPS), signals=list(noise), noise=noise,
            integrator="rk4", wrap=False,
        )  # fmt: skip
        whole = [film.motion(100, -100, found.offset) for film in used]
        options = {
            "loss": Windows(STEPS, STRIDE), "noise": 5e-3, "huber": 3.0, "integrator": "rk4", "wrap": False,
        }  # fmt: skip

        def errors(model: Model, run: int) -> np.ndarray:
            own = predicted([clean[run]], model, markers, found.offset, SPACING, True)[1]
            return np.array(rms(own))

        return Known(problem, found.model, whole, options, errors)

    return Recording("filmed pendulum", len(runs), tuple(f"{n} frames" for n in HORIZONS), physics)
