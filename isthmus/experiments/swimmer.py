"""NeuralSim IV-B, figures 8 and 9, table II: a swimmer in a fluid, simulated in vacuum, learns the forces it lacks.

MuJoCo's swimmer in water or air is the unknown system. A network for the force on each link, one for all, reads the
link's own velocity and is trained through the rollout on ten motions of 200 rows; it is judged on motions of 900 rows
under new torques. Beside it: the plain model, networks that learn the whole dynamics, one that corrects the simulator
from outside.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from isthmus.augment.guarantees import Dissipative
from isthmus.augment.networks import MLP
from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.errors import BadOption, FitWarning
from isthmus.experiments import baselines
from isthmus.experiments.run import Result, Settings, Table
from isthmus.experiments.swimmer_figures import draw_errors, draw_motion
from isthmus.experiments.swimmer_truth import INNER, MEDIA, ROW, swim
from isthmus.identify.fit import fit
from isthmus.identify.free import Free
from isthmus.identify.lbfgs import LBFGS
from isthmus.identify.problem import Problem
from isthmus.library.swimmer import swimmer
from isthmus.losses.windows import Windows
from isthmus.model.model import Model
from isthmus.model.state import Control
from isthmus.simulate.motion import Motion
from isthmus.simulate.rollout import rollout

Predict = Callable[[Motion], tuple[np.ndarray, np.ndarray]]
ROOT = baselines.ROOT
WEIGHTS = 1900
"""Of the networks that learn everything, at least: as many as the paper's LSTM."""
SPANS = {"1-200": (1, 201), "200-900": (200, 901)}
METHODS = ("plain", "hybrid", "hybrid, dissipative", "LSTM", "MLP", "residual")


def study(settings: Settings) -> Result:
    """Every medium, method and seed; medians over seeds."""
    links = int(settings.option("links", 3))
    chosen = str(settings.option("media", "water5" if settings.quick else ",".join(MEDIA))).split(
        ","
    )
    if wrong := [name for name in chosen if name not in MEDIA]:
        raise BadOption(f"no medium is called {wrong[0]!r}; there are {', '.join(MEDIA)}.")
    seeds = int(settings.option("seeds", 1 if settings.quick else 5))
    model = swimmer(links).set("gravity", 0.0)
    found: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for name in chosen:
        runs = []
        for seed in range(settings.seed, settings.seed + seeds):
            errors, curves = one(model, name, seed, settings)
            runs.append(errors)
            shown.setdefault(name, curves)
        found[name] = {
            method: {
                key: float(np.median([run[method][key] for run in runs])) for key in runs[0][method]
            }
            for method in METHODS
        }
    figures = {f"motion_{name}": draw_motion(curves) for name, curves in shown.items()}
    figures["errors"] = draw_errors({MEDIA[n].name: v for n, v in found.items()}, METHODS)
    return Result(
        (table(found, links, seeds),),
        {"links": links, "seeds": seeds, "median": found},
        figures,
        notes(found),
    )


def one(model: Model, medium: str, seed: int, settings: Settings) -> tuple[dict, dict]:
    """Errors of all methods in one medium, trained and judged with the motions of one seed."""
    rows, long, tests = (61, 241, 1) if settings.quick else (201, 901, 5)
    count = 3 if settings.quick else 10
    training = [swim(model, MEDIA[medium], rows, seed=1000 * seed + k) for k in range(count)]
    judged = [swim(model, MEDIA[medium], long, seed=1000 * seed + 500 + k) for k in range(tests)]
    steps = 30 if settings.quick else 3000
    key = jax.random.key(seed)
    joints, substeps = model.dof - ROOT, round(ROW / INNER)
    settings.say(f"{MEDIA[medium].name}, seed {seed}: training")
    predictors: dict[str, Predict] = {
        "plain": rolled(model),
        "hybrid": rolled(learned(model, training, settings, key, sure=False)),
        "hybrid, dissipative": rolled(learned(model, training, settings, key, sure=True)),
        "LSTM": baselines.train(baselines.lstm(joints, WEIGHTS, key), training, ROW, steps=steps).predict,
        "MLP": baselines.train(baselines.perceptron(joints, WEIGHTS, key), training, ROW, steps=steps).predict,
        "residual": baselines.residual(
            model, training, ROW, substeps, weights=WEIGHTS, steps=steps, key=key
        ),
    }  # fmt: skip
    curves = {"truth": (np.asarray(judged[0].q)[:, ROOT:], np.asarray(judged[0].v)[:, ROOT:])}
    errors = {}
    for method, predict in predictors.items():
        made = [predict(motion) for motion in judged]
        curves[method] = made[0]
        errors[method] = scored(made, judged)
        settings.say(f"  {method:<20} {errors[method]['q 200-900']:.3g}")
    return errors, curves


def learned(
    model: Model, motions: list[Motion], settings: Settings, key: Any, *, sure: bool
) -> Model:
    """The swimmer with a network for the force on each link, trained through its rollouts."""
    net = Dissipative(MLP(16, 2), coupled=True) if sure else MLP(16, 2)
    wire = Wire("link/external_force", ["link/velocity"], net, rows="each", output_scale=1e-3)
    hybrid = Blueprint([wire]).attach(model, key=key, data=motions)
    speed = np.concatenate([np.asarray(m.v) for m in motions]).std(axis=0)
    problem = Problem(
        hybrid, motions, free=[Free("network/*")], loss=Windows(20), wrap=False, substeps=round(ROW / INNER),
        signals=("joint/position", "joint/velocity"),
        noise={"joint/position": 0.2 * speed, "joint/velocity": speed},
    )  # fmt: skip
    steps = 5 if settings.quick else 1500
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", FitWarning
        )  # weights of a network are never determined one by one
        return fit(problem, LBFGS(steps=steps, tolerance=1e-12, memory=30), show=False).model


def rolled(model: Model) -> Predict:
    """Joint angles and velocities by simulation."""

    def predict(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
        torque = Control(torque=np.asarray(motion.signals["joint/control"])[:-1])
        made = rollout(model, motion.state(0), torque, ROW, substeps=round(ROW / INNER))
        return np.asarray(made.q)[:, ROOT:], np.asarray(made.v)[:, ROOT:]

    return predict


def scored(made: list[tuple[np.ndarray, np.ndarray]], judged: list[Motion]) -> dict[str, float]:
    """Root mean square over joints, rows and motions, in units of the truth's standard deviation."""
    out = {}
    for letter, part, truth in (
        ("q", 0, np.stack([np.asarray(m.q)[:, ROOT:] for m in judged])),
        ("v", 1, np.stack([np.asarray(m.v)[:, ROOT:] for m in judged])),
    ):
        with np.errstate(all="ignore"):
            off = np.stack([pair[part] for pair in made]) - truth
            for span, (first, last) in SPANS.items():
                error = (
                    np.sqrt(np.mean(off[:, first:last] ** 2)) if first < off.shape[1] else np.nan
                )
                out[f"{letter} {span}"] = float(np.nan_to_num(error / truth.std(), nan=np.inf))
    return out


def table(found: dict, links: int, seeds: int) -> Table:
    """One row for each medium and method."""
    columns = ("medium", "method", *(f"{a} {span}" for a in ("q", "v") for span in SPANS))
    number = lambda x: "diverged" if not x < 1e3 else f"{x:.3g}"
    rows = [
        (MEDIA[medium].name, method, *(number(errors[c]) for c in columns[2:]))
        for medium, methods in found.items()
        for method, errors in methods.items()
    ]
    title = (
        f"swimmer of {links} links: RMSE over joints ÷ deviation of the truth, "
        f"steps 1-200 and 200-900, median of {seeds} seeds"
    )
    return Table(title, columns, tuple(rows))


def notes(found: dict) -> tuple[str, ...]:
    """What the numbers say."""
    out = []
    for medium, methods in found.items():
        best = methods["hybrid"]["q 200-900"]
        lstm, plain, sure = (
            methods[m]["q 200-900"] for m in ("LSTM", "plain", "hybrid, dissipative")
        )
        better = "better" if sure < best else "worse"
        out.append(
            f"{MEDIA[medium].name}: over steps 200-900 the hybrid is {lstm / best:.3g} times closer than the LSTM and "
            f"{plain / best:.3g} times closer than the plain model; the dissipative network does {better} ({sure:.3g})."
        )
    return tuple(out)
