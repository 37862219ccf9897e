"""Real tosses of a cube (Pfrommer, Halm, Posa 2020): impulses, yielding impulses or springs, beside MuJoCo."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.experiments import tosses_model as cube
from isthmus.experiments.run import Result, Settings
from isthmus.experiments.tosses_body import Body, Numbers, Starts
from isthmus.experiments.tosses_data import Flight, Tosses, errors, first_frame
from isthmus.experiments.tosses_figures import draw_toss
from isthmus.experiments.tosses_study import toss_judged, toss_study
from isthmus.model.model import Model


def flight(tosses: Tosses) -> Starts:
    """The start of a free flight through the first six rows; it depends on the centre of mass."""
    found = Flight(tosses)
    return lambda simulate, numbers: found.start(cube.centre_of_mass(numbers))


def centre_of_mass_of(model: Model) -> Numbers:
    """By the names of `free_numbers` [m]."""
    return dict(zip(("com_x", "com_y", "com_z"), np.asarray(model.link_com)[0], strict=True))


CUBE = Body(
    study="tosses", dataset="contactnets_cube", width="cube widths", starts=("first frame", "six frames"),
    training=200, evaluations=600, rows=90, kinds=cube.KINDS, networks=tuple(cube.NETWORKS),
    common=cube.COMMON, published=cube.MUJOCO_DEFAULTS, simulator=cube.isthmus_simulator,
    mujoco=cube.mujoco_simulator, built=cube.built, weights_of=cube.weights_of, first_frame=first_frame,
    flight=flight, errors=errors, rolled=cube.simulate_cube, numbers_of=centre_of_mass_of, draw_toss=draw_toss,
    own=cube.OWN,
)  # fmt: skip


def study(settings: Settings) -> Result:
    """Fits on some tosses, judged on the others."""
    return toss_study(CUBE, settings)


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """What the models and MuJoCo with its fitted numbers are worth on further tosses, `settings.judge`."""
    return toss_judged(CUBE, settings, models, numbers)
