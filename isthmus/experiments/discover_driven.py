"""The torque-driven double pendulum as a recording of `discover_recorded`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from isthmus.experiments.acrobot import HORIZONS, judge, recorded
from isthmus.experiments.acrobot_fits import (
    BOUNDS,
    HUBER,
    NOISE,
    SMOOTH,
    identified,
    own_zero,
    windows,
    zeros_of,
)
from isthmus.experiments.acrobot_model import LABS, ROW, made
from isthmus.experiments.discover_recorded import Known, Recording, begun, filter_noise
from isthmus.experiments.run import Settings
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.losses.windows import Windows
from isthmus.model.model import Model

STEPS = 50
"""Rows of a window of `discover`: 0.1 s."""
SENSOR = 1e-3
"""Of encoders [rad]: they stand still when a joint turns round, and then jump by about so much."""


def driven(design: str, path: Path) -> Recording:
    """The runs of a design; its encoders' zeros are found in the first two seconds of a run that is judged."""
    runs, lab = recorded(path, at_least=2), LABS[design]
    noise, numbers = filter_noise(SENSOR, *SMOOTH, ROW), lab.numbers()

    def physics(train: Sequence[int], settings: Settings) -> Known:
        used = [runs[k] for k in train]
        found = identified(lab, used, settings)
        values = found.numbers
        free = [
            begun(Free(n, low=low, high=high, shape=np.shape(numbers[n])), values)
            for n, (low, high) in BOUNDS.items()
            if n != "lag"
        ]
        logs = [run.log(z) for run, z in zip(used, zeros_of(values, len(used)), strict=True)]
        seen = [run.log(z, rows=600) for run, z in zip(used[:2], zeros_of(values, 2), strict=True)]
        problem = Problem(
            make=lambda p: made(lab, {**p, "lag": values["lag"]}), motions=seen if settings.quick else logs, free=free,
            loss=Windows(20 if settings.quick else STEPS), signals=list(noise), noise=noise, integrator="rk4",
            wrap=False,
        )  # fmt: skip
        options = {"loss": windows(settings), "noise": NOISE, "huber": HUBER, "wrap": False}
        zeros = {
            k: own_zero(found.model, runs[k], settings) for k in range(len(runs)) if k not in train
        }

        def errors(model: Model, run: int) -> np.ndarray:
            return np.array([np.sqrt(x.mean()) for x in judge(model, runs[run], zeros[run])])

        return Known(problem, found.model, logs, options, errors)

    return Recording(f"driven pendulum {design}", len(runs), tuple(HORIZONS), physics)
