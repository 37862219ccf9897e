"""What `discover` says of the filmed double pendulum, and whether a network placed there predicts left-out runs better.

Parameters are fitted, places are discovered and the network is trained on all runs but the last two, which judge. See
`pendulum.py` for the recordings and the fit of the parameters.
"""

from __future__ import annotations

import numpy as np

from isthmus.data.read import read_motion
from isthmus.discovery.discover import discover
from isthmus.discovery.result import Discovery
from isthmus.experiments.pendulum import HORIZONS, films, from_all, judged
from isthmus.experiments.pendulum_markers import calibrate
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.problem import Problem
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.losses.windows import Windows
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.networks.recipes import MLP

NOISE = 2e-3
"""Of smoothed angles over 25 frames, as the fit of the parameters assumes [rad]."""


def on_recordings(settings: Settings) -> Result:
    """Places in the passive torques, and errors of the last two runs without and with a network there."""
    runs = read_motion(settings.data, dataset="ibm_double_pendulum")
    runs = runs if isinstance(runs, list) else [runs]
    markers = calibrate([np.asarray(m.signals["extra/markers"]) for m in runs[:-2]])
    filmed = films(runs, markers)
    settings.say("parameters")
    plain = from_all(filmed, markers, settings)
    motions = [film.motion(100, -100, plain.offset) for film in filmed[:-2]]
    settings.say("places")
    question = Problem(
        plain.model, motions, loss=Windows(25, 400), noise=NOISE, integrator="rk4", wrap=False
    )
    found = discover(question, most=int(settings.option("most", 2)))
    parts = {"parameters": plain}
    if any(place.reads for place in found.places):
        settings.say("a network there")
        hybrid = with_places(found, plain.model, motions, settings.seed)
        problem = Problem(
            hybrid, motions, free="network/*", loss=Windows(50, 100), noise=5e-3, huber=3.0, weight_penalty=100.0,
            integrator="rk4", wrap=False,
        )  # fmt: skip
        search = LBFGS(steps=2 if settings.quick else 300)
        fitted = quiet_fit(problem, search)
        parts["with a network there"] = judged(filmed, fitted.model, markers, plain.offset, {})
    rows = tuple((name, *(f"{x:.5f}" for x in part.many)) for name, part in parts.items())
    title = "open-loop error of absolute angles on the last two runs [rad], by frames ahead"
    table = Table(title, ("model", *map(str, HORIZONS)), rows)
    numbers = {
        "places": [{"target": p.target, "reads": list(p.reads), "explains": p.explains} for p in found.places],
        "errors": {name: list(part.many) for name, part in parts.items()},
    }  # fmt: skip
    return Result((table,), numbers, {}, (str(found),))


def with_places(found: Discovery, model: Model, motions: list[Motion], seed: int) -> Model:
    """The model with a small network at each place."""
    blueprint = found.blueprint(net=MLP(8, 1))
    return blueprint.attach(model, key=seed, data=motions[:2])
