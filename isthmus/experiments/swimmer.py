"""NeuralSim IV-B, figures 8 and 9, table II: a swimmer in a fluid, simulated in vacuum, learns the forces it lacks.

MuJoCo's swimmer in water or air is the unknown system. A network for the force on each link, one for all, reads the
link's own velocity and is trained through the rollout on ten motions of 200 rows; it is judged on motions of 900 rows
under new torques. Beside it: the plain model, networks that learn the whole dynamics, one that corrects the simulator
from outside.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.data.read import read_motion
from isthmus.errors import BadOption
from isthmus.experiments import baselines
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Result, Settings, Table
from isthmus.experiments.swimmer_figures import draw_errors, draw_motion
from isthmus.experiments.swimmer_truth import INNER, MEDIA, ROW, swim
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.library.swimmer import swimmer
from isthmus.losses.windows import Windows
from isthmus.model.model import Model
from isthmus.model.state import Control
from isthmus.motion.motion import Motion
from isthmus.networks.guarantees import Dissipative
from isthmus.networks.recipes import MLP
from isthmus.phases import in_turn
from isthmus.simulate.rollout import rollout

Predict = Callable[[Motion], tuple[np.ndarray, np.ndarray]]
ROOT = baselines.ROOT
WEIGHTS = 1900
"""Of the networks that learn everything, at least: as many as the paper's LSTM."""
RECORDED_ROW, RECORDED_STEPS = 0.02, 10
"""Of the published file: time between rows [s], and steps from row to row."""
HYBRIDS = {"hybrid": False, "hybrid, dissipative": True}
"""Methods whose models are saved, and whether their forces can only take energy."""
METHODS = ("plain", "hybrid", "hybrid, dissipative", "LSTM", "MLP", "residual")


@dataclasses.dataclass(frozen=True)
class Source:
    """Motions to learn from and motions to be judged by."""

    title: str
    name: str
    """Of saved models."""
    training: list[Motion]
    judged: list[Motion]
    row: float
    """Time between rows [s]."""
    substeps: int
    spans: dict[str, tuple[int, int]]


def study(settings: Settings) -> Result:
    """Every medium, method and seed; medians over seeds."""
    links = int(settings.option("links", 3))
    seeds = int(settings.option("seeds", 1 if settings.quick else 5))
    model = swimmer(links).set("gravity", 0.0)
    found: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    models: dict[str, Model] = {}
    row = ROW
    for make in _media(settings):
        runs = []
        for seed in in_turn(range(settings.seed, settings.seed + seeds), "seed"):
            source = make(model, seed)
            errors, curves, hybrids = one(model, source, seed, settings)
            runs.append(errors)
            row = source.row
            shown.setdefault(source.title, curves)
            for method, hybrid in hybrids.items():
                models.setdefault(f"{source.name}_{method.replace(', ', '_')}", hybrid)
        found[source.title] = {
            method: {
                key: float(np.median([run[method][key] for run in runs])) for key in runs[0][method]
            }
            for method in METHODS
        }
    figures = {
        f"motion_{k}": draw_motion(curves, row) for k, curves in enumerate(shown.values(), 1)
    }
    figures["errors"] = draw_errors(found, METHODS)
    numbers = {"links": links, "seeds": seeds, "median": found}
    return Result((table(found, links, seeds),), numbers, figures, notes(found), models)


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """Further recordings in the published format by the saved models, those of the first seed, and by the plain one."""
    runs = read_motion(str(settings.judge), dataset="swimmer_mujoco")
    shortest, plain = min(map(len, runs)), swimmer(int(numbers["links"])).set("gravity", 0.0)
    if runs[0].q.shape[1] != plain.dof:
        raise BadOption(
            f"{settings.judge!r} has {runs[0].q.shape[1]} degrees of freedom, the saved models {plain.dof}."
        )
    half = shortest // 2
    spans = {f"1-{half}": (1, half + 1), f"{half}-{shortest - 1}": (half, shortest)}
    cut = [m[:shortest] for m in runs]
    source = Source("judged", "judged", [], cut, RECORDED_ROW, RECORDED_STEPS, spans)
    made = {
        name: [rolled(model, source)(motion) for motion in cut]
        for name, model in {"plain": plain, **models}.items()
    }
    errors = {name: scored(own, source) for name, own in made.items()}
    columns = tuple(errors["plain"])
    rows = tuple((name, *(_cell(e[c]) for c in columns)) for name, e in errors.items())
    title = f"swimmer: RMSE over joints ÷ deviation of the truth on {settings.judge}, by steps"
    truth = (np.asarray(cut[0].q)[:, ROOT:], np.asarray(cut[0].v)[:, ROOT:])
    best = min((name for name in errors if name != "plain"), key=lambda n: errors[n][columns[0]])
    curves = {"truth": truth, "plain": made["plain"][0], "hybrid": made[best][0]}
    table = Table(title, ("model", *columns), rows)
    return Result((table,), {"errors": errors}, {"motion": draw_motion(curves, RECORDED_ROW)})


def _media(settings: Settings) -> list[Callable[[Model, int], Source]]:
    """What to learn from: MuJoCo in the chosen media, or a recorded file."""
    if (path := settings.data) is not None:
        return [lambda model, seed: recorded(path, settings.quick)]
    text = str(settings.option("media", "water5" if settings.quick else ",".join(MEDIA)))
    if wrong := [name for name in text.split(",") if name not in MEDIA]:
        raise BadOption(f"no medium is called {wrong[0]!r}; there are {', '.join(MEDIA)}.")
    return [
        functools.partial(simulated, medium=name, quick=settings.quick) for name in text.split(",")
    ]


def simulated(model: Model, seed: int, *, medium: str, quick: bool) -> Source:
    """Ten motions of 200 rows to learn from, five of 900 to be judged by."""
    count, rows, tests, long = (3, 61, 1, 241) if quick else (10, 201, 5, 901)
    swimming = functools.partial(swim, model, MEDIA[medium])
    training = [swimming(rows, seed=1000 * seed + k) for k in range(count)]
    judged = [swimming(long, seed=1000 * seed + 500 + k) for k in range(tests)]
    spans = {"1-200": (1, 201), "200-900": (200, 901)}
    return Source(MEDIA[medium].name, medium, training, judged, ROW, round(ROW / INNER), spans)


def recorded(path: str, quick: bool) -> Source:
    """A published file: runs 0-9 to learn from, 70-84 to be judged by, 200 rows each."""
    runs = read_motion(path, dataset="swimmer_mujoco")
    if len(runs) < 85:
        raise BadOption(f"{path!r} has {len(runs)} runs; runs 0-9 and 70-84 are needed.")
    training, judged = (runs[:3], runs[70:72]) if quick else (runs[:10], runs[70:85])
    shortest = min(map(len, runs))
    cut = lambda motions: [m[:shortest] for m in motions]
    spans = {"1-100": (1, 101), "100-200": (100, shortest)}
    return Source(
        "recorded, 3000 kg/m³", "recorded", cut(training), cut(judged), RECORDED_ROW, RECORDED_STEPS, spans
    )  # fmt: skip


def one(
    model: Model, source: Source, seed: int, settings: Settings
) -> tuple[dict, dict, dict[str, Model]]:
    """Errors of all methods on one source, what they predict of its first motion, and the hybrid models."""
    steps = 30 if settings.quick else 3000
    key, joints, training = jax.random.key(seed), model.dof - ROOT, source.training
    whole = lambda net: baselines.train(net, training, source.row, steps=steps).predict
    settings.say(f"{source.title}, seed {seed}: training")
    hybrids = {
        name: learned(model, source, settings, key, sure=sure) for name, sure in HYBRIDS.items()
    }
    predictors: dict[str, Predict] = {
        "plain": rolled(model, source),
        **{name: rolled(hybrid, source) for name, hybrid in hybrids.items()},
        "LSTM": whole(baselines.lstm(joints, WEIGHTS, key)),
        "MLP": whole(baselines.perceptron(joints, WEIGHTS, key)),
        "residual": baselines.residual(
            model, training, source.row, source.substeps, weights=WEIGHTS, steps=steps, key=key
        ),
    }
    first = source.judged[0]
    curves = {"truth": (np.asarray(first.q)[:, ROOT:], np.asarray(first.v)[:, ROOT:])}
    errors = {}
    for method, predict in predictors.items():
        made = [predict(motion) for motion in source.judged]
        curves[method] = made[0]
        errors[method] = scored(made, source)
        said = ", ".join(f"{name} {error:.3g}" for name, error in errors[method].items())
        settings.say(f"  {method}: {said}")
    return errors, curves, hybrids


def learned(model: Model, source: Source, settings: Settings, key: Any, *, sure: bool) -> Model:
    """The swimmer with a network for the force on each link, trained through its rollouts."""
    size = MLP(6, 1) if settings.quick else MLP(16, 2)
    net = Dissipative(size, coupled=True) if sure else size
    wire = Wire(
        "link/external_force", ["link/velocity"], net, rows="each", output_scale=1e-3, fade=False
    )
    hybrid = Blueprint([wire]).attach(model, key=key, data=source.training)
    speed = np.concatenate([np.asarray(m.v) for m in source.training]).std(axis=0)
    problem = Problem(
        hybrid, source.training, free=[Free("network/*")], loss=Windows(20), wrap=False, substeps=source.substeps,
        signals=("joint/position", "joint/velocity"),
        noise={"joint/position": 0.2 * speed, "joint/velocity": speed},
    )  # fmt: skip
    steps = 5 if settings.quick else 1500
    return quiet_fit(problem, LBFGS(steps=steps, tolerance=1e-12, memory=30)).model


def rolled(model: Model, source: Source) -> Predict:
    """Joint angles and velocities by simulation."""

    def predict(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
        torque = Control(torque=np.asarray(motion.signals["joint/control"])[:-1])
        made = rollout(model, motion.state(0), torque, source.row, substeps=source.substeps)
        return np.asarray(made.q)[:, ROOT:], np.asarray(made.v)[:, ROOT:]

    return predict


def scored(made: list[tuple[np.ndarray, np.ndarray]], source: Source) -> dict[str, float]:
    """Root mean square over joints, rows and motions, in units of the truth's standard deviation."""
    out = {}
    for letter, part, truth in (
        ("q", 0, np.stack([np.asarray(m.q)[:, ROOT:] for m in source.judged])),
        ("v", 1, np.stack([np.asarray(m.v)[:, ROOT:] for m in source.judged])),
    ):
        with np.errstate(all="ignore"):
            off = np.stack([pair[part] for pair in made]) - truth
            for span, (first, last) in source.spans.items():
                error = (
                    np.sqrt(np.mean(off[:, first:last] ** 2)) if first < off.shape[1] else np.nan
                )
                out[f"{letter} {span}"] = float(np.nan_to_num(error / truth.std(), nan=np.inf))
    return out


def table(found: dict, links: int, seeds: int) -> Table:
    """One row for each medium and method."""
    columns = tuple(next(iter(next(iter(found.values())).values())))
    rows = [
        (medium, method, *(_cell(errors[c]) for c in columns))
        for medium, methods in found.items()
        for method, errors in methods.items()
    ]
    title = (
        f"swimmer of {links} links: RMSE over joints ÷ deviation of the truth, "
        f"positions q and velocities v by steps, median of {seeds} seeds"
    )
    return Table(title, ("medium", "method", *columns), tuple(rows))


def _cell(error: float) -> str:
    return "diverged" if not error < 1e3 else f"{error:.3g}"


def notes(found: dict) -> tuple[str, ...]:
    """What the numbers say."""
    out = []
    for medium, methods in found.items():
        late = [name for name in methods["hybrid"] if name.startswith("q")][-1]
        best, lstm, plain, sure = (
            methods[m][late] for m in ("hybrid", "LSTM", "plain", "hybrid, dissipative")
        )
        better = "better" if sure < best else "worse"
        out.append(
            f"{medium}: over steps {late[2:]} the hybrid is {lstm / best:.3g} times closer than the LSTM and "
            f"{plain / best:.3g} times closer than the plain model; the dissipative network does {better} ({sure:.3g})."
        )
    return tuple(out)
