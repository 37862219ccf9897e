"""NeuralSim IV-C, figure 10: which inputs does the missing friction of a double pendulum depend on?

The model has no friction, the reference has. A network 4-5-5-1 for each torque reads the whole state; `Sparsify` leaves
it what it needs. With the inputs that were found, the hybrid is then fitted to a few samples of single steps and
compared with a feed-forward network that learns the whole dynamics from many. With `--data`, recordings of real double
pendulums are asked instead (`discover_recorded`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.blueprint.prune import prune
from isthmus.errors import BadOption
from isthmus.experiments.acrobot import files
from isthmus.experiments.acrobot_model import LABS
from isthmus.experiments.discover_driven import driven
from isthmus.experiments.discover_figures import draw_errors, draw_layers
from isthmus.experiments.discover_films import filmed
from isthmus.experiments.discover_recorded import Recording, study_of
from isthmus.experiments.discover_samples import feed_forward_error, hybrid_error, samples
from isthmus.experiments.discover_truth import (
    STEPS,
    TRUTHS,
    Truth,
    hybrid,
    question,
    recorded,
    support_of,
)
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.fit import Fit
from isthmus.identify.search.sparsify import Sparsify
from isthmus.model.model import Model
from isthmus.phases import in_turn

FEED_FORWARD_STEPS = 30_000
"""Of Adam, for the network that learns everything."""


def study(settings: Settings) -> Result:
    """All truths and seeds, and the comparison over samples; with recordings, what `discover` says of these."""
    if settings.data is not None:
        return study_of(recordings(Path(settings.data)), settings, f"{__name__}:recordings")
    noise = float(settings.option("noise", 1e-3))
    seeds = int(settings.option("seeds", 1 if settings.quick else 20))
    steps = 500 if settings.quick else STEPS
    counts: dict[str, Any] = {}
    layers, models = {}, {}
    for truth in TRUTHS[: 1 if settings.quick else None]:
        runs = []
        for seed in in_turn(range(settings.seed, settings.seed + seeds), truth.title):
            found, before, cpu = sparsified(truth, noise, seed, steps)
            runs.append((support_of(found.inputs) == truth.support, cpu))
            layers.setdefault(truth.title, (before, first_layers(found.model)))
            models.setdefault(truth.title, prune(found.model))
            settings.say(f"{truth.title}, seed {seed}: {found.inputs}, {cpu:.2g} s of CPU")
        right, cpu = zip(*runs, strict=True)
        counts[truth.title] = {"right": int(sum(right)), "of": seeds, "cpu": float(np.median(cpu))}
    errors = compared(TRUTHS[0], models[TRUTHS[0].title], settings)
    matrix = matrix_in_gradients(noise, settings.seed, steps)
    figures = {"first_layers": draw_layers(layers), "errors": draw_errors(errors)}
    numbers = {"noise": noise, "supports": counts, "one_step_errors": _plain(errors)} | {
        "matrix_in_gradients": matrix
    }
    notes = (f"A Gauss-Newton matrix of both networks takes the time of {matrix:.1f} gradients.",)
    names = {f"model_{k}": model for k, model in enumerate(models.values(), 1)}
    return Result((_supports(counts, noise), _errors(errors)), numbers, figures, notes, names)


def recordings(path: Path) -> list[Recording]:
    """The recordings of a file or folder: the filmed pendulum (`ibm` in the name), designs of the driven one."""
    every = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    found = [filmed(str(file)) for file in every if "ibm" in file.stem]
    designs = [file for file in every if re.search("|".join(LABS), file.stem)]
    found += [driven(design, file) for own in designs for design, file in files(own).items()]
    if not found:
        raise BadOption(
            f"no file name in {str(path)!r} says a recording: ibm …, or a design, {', '.join(LABS)}."
        )
    return found


def sparsified(truth: Truth, noise: float, seed: int, steps: int) -> tuple[Fit, np.ndarray, float]:
    """The fit by `Sparsify`, first layers before it (trained by its local search), seconds of CPU after compiling."""
    motion = recorded(truth, noise, seed, steps)
    problem = question(hybrid(motion, seed), motion, noise)
    search, evaluation = Sparsify(), problem.evaluation
    x = evaluation.start[None]
    evaluation.gradient(x), evaluation.normal(x), evaluation.cost(x)
    dense = search.local.search(evaluation, x)
    before = first_layers(problem.parameters.model(dense.x[0]))
    began = time.process_time()
    found = quiet_fit(problem, search)
    return found, before, time.process_time() - began


def matrix_in_gradients(noise: float, seed: int, steps: int) -> float:
    """CPU time of a Gauss-Newton matrix of all weights, divided by that of a gradient: the shortest of many runs."""
    motion = recorded(TRUTHS[0], noise, seed, steps)
    evaluation = question(hybrid(motion, seed), motion, noise).evaluation
    x = evaluation.start[None] + 0.1

    def shortest(call: Callable[[np.ndarray], Any]) -> float:
        call(x)
        times = []
        for _ in range(20):
            began = time.process_time()
            call(x)
            times.append(time.process_time() - began)
        return min(times)

    return shortest(evaluation.normal) / shortest(evaluation.gradient)


def first_layers(model: Model) -> np.ndarray:
    """Size of the weights of each input in the network of each torque, (2, 4); zero where it has no effect."""
    rows = []
    for wired in model.networks:
        sizes = np.linalg.norm(np.asarray(wired.net.layers[0].weight), axis=0)
        rows.append(sizes * bool(np.any(wired.net.layers[-1].weight)))
    return np.stack(rows)


def compared(truth: Truth, model: Model, settings: Settings) -> dict[str, dict[int, float]]:
    """Errors of one step over the number of samples: hybrid with the discovered inputs, feed-forward network."""
    quick = settings.quick
    test = samples(truth, 200 if quick else 5000, settings.seed + 10_000)
    few, many = ((30,), (100,)) if quick else ((30, 100, 300), (100, 1000, 10_000, 50_000))
    steps = 50 if quick else FEED_FORWARD_STEPS
    hybrids = {n: hybrid_error(model, truth, n, test, settings.seed) for n in few}
    nets = {
        n: feed_forward_error(truth, n, test, settings.seed, steps)
        for n in in_turn(many, "samples")
    }
    return {"hybrid": hybrids, "feed-forward": nets}


def _plain(errors: dict[str, dict[int, float]]) -> dict[str, dict[str, float]]:
    return {name: {str(n): e for n, e in found.items()} for name, found in errors.items()}


def _supports(counts: dict[str, Any], noise: float) -> Table:
    rows = [(title, f"{c['right']} of {c['of']}", f"{c['cpu']:.2g}") for title, c in counts.items()]
    title = f"Inputs found exactly, noise {noise:g}"
    return Table(title, ("friction of the reference", "right", "CPU [s]"), tuple(rows))


def _errors(errors: dict[str, dict[int, float]]) -> Table:
    rows = [(name, str(n), f"{e:.3g}") for name, found in errors.items() for n, e in found.items()]
    return Table("Velocities after one step", ("method", "samples", "error [rad/s]"), tuple(rows))
