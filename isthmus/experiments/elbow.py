"""Real tosses of two boxes on a hinge (Bianchini, Halm, Posa 2023): contact by impulses or springs, beside MuJoCo."""

from __future__ import annotations

from typing import Any

from isthmus.experiments import elbow_model as elbow
from isthmus.experiments.elbow_data import errors, first_frame, flight
from isthmus.experiments.elbow_figures import draw_toss
from isthmus.experiments.run import Result, Settings
from isthmus.experiments.tosses_body import Body, Numbers
from isthmus.experiments.tosses_study import toss_judged, toss_study
from isthmus.model.model import Model


def no_numbers(*_: Any) -> Numbers:
    """There are no networks, and starts depend on no number of a model."""
    return {}


ELBOW = Body(
    study="elbow", dataset="dairpll_elbow", width="box lengths", starts=("first frame", "eight frames"),
    training=200, evaluations=600, rows=45, kinds=elbow.KINDS, networks=(),
    common=elbow.COMMON, published=elbow.MUJOCO_DEFAULTS, simulator=elbow.isthmus_simulator,
    mujoco=elbow.mujoco_simulator, built=elbow.built, weights_of=no_numbers,
    first_frame=first_frame, flight=flight, errors=errors, rolled=elbow.simulate_elbow,
    numbers_of=no_numbers, draw_toss=draw_toss, own=elbow.OWN,
)  # fmt: skip


def study(settings: Settings) -> Result:
    """Fits on some tosses, judged on the others."""
    return toss_study(ELBOW, settings)


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """What the models and MuJoCo with its fitted numbers are worth on further tosses, `settings.judge`."""
    return toss_judged(ELBOW, settings, models, numbers)
