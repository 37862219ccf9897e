"""`discover` on real recordings: does a correction at the places that it names predict runs that were left out?

Runs are divided into groups. Each group is left out in turn: the physics is fitted to the other runs, `discover` names
places on these runs, and a law and a network are fitted there to these runs. All models then predict the runs that were
left out, and errors are compared run by run. Nothing is chosen with the judged runs in view.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import savgol_coeffs
from scipy.stats import t as student

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.discovery.discover import discover
from isthmus.discovery.result import NOTHING, Discovery
from isthmus.distributed.job import Job, Record, named, run
from isthmus.distributed.runner import Processes
from isthmus.experiments.discover_figures import draw_ratios
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.networks.recipes import MLP, Linear
from isthmus.phases import in_turn

TASK = "isthmus.experiments.discover_recorded:left_out"
GROUPS = 4
MOST = 2
"""Places that are named at most."""
FRICTION = ("damping", "friction")
"""Leaves of each joint that are fitted again together with a correction."""
PENALTY = 10.0
"""On the weights of networks."""
METHODS = {
    "refitted": "friction fitted again, nothing placed",
    "law": "a law at the places",
    "network": "a network at the places",
}


@dataclasses.dataclass(frozen=True)
class Known:
    """What some runs say of the physics alone."""

    problem: Problem
    """For `discover`: free numbers begin where the fit ended."""
    model: Model
    motions: list[Motion]
    options: dict[str, Any]
    """Of the problem in which corrections are fitted to `motions`: loss, noise, integrator."""
    errors: Callable[[Model, int], np.ndarray]
    """Errors of a model on a run, one for each horizon."""


@dataclasses.dataclass(frozen=True)
class Recording:
    """Runs of one mechanism."""

    title: str
    runs: int
    horizons: tuple[str, ...]
    physics: Callable[[Sequence[int], Settings], Known]
    """Fits the physics to some of the runs."""


@dataclasses.dataclass(frozen=True)
class Judged:
    """What became of one recording."""

    recording: Recording
    errors: dict[str, np.ndarray]
    """Of each model, (runs, horizons)."""
    named: dict[str, int]
    """How often each place was named, over the groups."""
    groups: int

    @staticmethod
    def of(recording: Recording, parts: Sequence[dict[str, Any]]) -> Judged:
        """From the results of `left_out`, one for each group."""
        order = np.argsort([run for part in parts for run in part["runs"]])
        rows = lambda name: np.array([row for part in parts for row in part["errors"][name]])[order]
        places = Counter(name for part in parts for name in part["named"])
        errors = {name: rows(name) for name in ("physics", *METHODS)}
        return Judged(recording, errors, dict(places.most_common()), len(parts))

    def ratios(self, method: str) -> np.ndarray:
        """Logarithm of the errors over those of the physics alone, (runs, horizons)."""
        return np.log(self.errors[method] / self.errors["physics"])


def filter_noise(sigma: float, rows: int, order: int, dt: float) -> dict[str, float]:
    """Noise of positions and of their slopes behind a Savitzky-Golay filter, for noise `sigma` before it."""
    size = lambda **more: sigma * float(np.linalg.norm(savgol_coeffs(rows, order, **more)))
    return {"joint/position": size(), "joint/velocity": size(deriv=1, delta=dt)}


def begun(free: Free, values: Mapping[str, float]) -> Free:
    """A free number that begins where a fit ended; `values`: of all numbers, by their names."""
    own = [x for name, x in values.items() if name.split("[")[0] == free.name]
    return dataclasses.replace(free, start=own if free.shape else own[0])


def study_of(recordings: Sequence[Recording], settings: Settings, source: str) -> Result:
    """Tables, numbers and a figure of all recordings; `source`: the function that makes them, `module:function`."""
    jobs = [
        Job(TASK, {"source": source, "data": settings.data, "quick": settings.quick, "recording": k, "left_out": group})
        for k, recording in enumerate(recordings)
        for group in groups_of(recording, settings)
    ]  # fmt: skip
    jobs = [dataclasses.replace(job, seed=settings.seed) for job in jobs]
    found = [
        Judged.of(recording, [r.result for r in records if r.job.settings["recording"] == k])
        for records in [_run(jobs, settings)]
        for k, recording in enumerate(recordings)
    ]
    numbers = {
        j.recording.title: {
            "named": j.named, "groups": j.groups, "horizons": list(j.recording.horizons),
            "errors": {name: e.tolist() for name, e in j.errors.items()},
        }
        for j in found
    }  # fmt: skip
    shown = [(j.recording.title, j.recording.horizons, _ratios(j)) for j in found]
    tables = (places_table(found), *map(errors_table, found))
    note = (
        "Ratios are geometric means over the runs that were left out, with the 95 % interval of the mean (Student's t "
        "over runs); below 1 is better than the physics alone."
    )
    return Result(tables, {"recorded": numbers}, {"left_out_runs": draw_ratios(shown)}, (note,))


def groups_of(recording: Recording, settings: Settings) -> list[list[int]]:
    """Runs that are left out together."""
    count = min(2 if settings.quick else GROUPS, recording.runs)
    found = [list(range(k, recording.runs, count)) for k in range(count)]
    return found[:1] if settings.quick else found


def _run(jobs: Sequence[Job], settings: Settings) -> list[Record]:
    """The records of all jobs: one after the other, or in as many processes as the option `workers` says."""
    workers = int(settings.option("workers", 1))
    if workers > 1:
        with Processes(workers) as runner:
            return runner.run(jobs)
    records = []
    for job in in_turn(jobs, "group of runs"):
        records.append(run(job))
        settings.say(f"without runs {job.settings['left_out']}: {records[-1].result['said']}")
    return records


def left_out(
    seed: int, *, source: str, data: str, quick: bool, recording: int, left_out: list[int]
) -> dict[str, Any]:
    """Errors on some runs of models that have not seen them, nor anything that was chosen with them; plain data."""
    settings = Settings(seed, quick, data)
    own: Recording = named(source)(Path(data))[recording]
    rest = [k for k in range(own.runs) if k not in left_out]
    known = own.physics(rest, settings)
    found = discover(known.problem, most=1 if quick else MOST)
    models = placed(known, found, settings)
    return {
        "runs": left_out, "named": [place.name for place in found.places],
        "said": "; ".join(map(str, found.places)) or NOTHING,
        "errors": {
            name: [known.errors(model, k).tolist() for k in left_out] for name, model in models.items()
        },
    }  # fmt: skip


def placed(known: Known, found: Discovery, settings: Settings) -> dict[str, Model]:
    """The physics alone, and with what was fitted at the places of a discovery; all by the training runs."""
    friction = {
        name: Free(name)
        for joint, rows in known.model.rows("dof").items()
        for name in (f"joint/{joint}/{leaf}" for leaf in FRICTION)
        if rows
    }
    steps = 3 if settings.quick else 100
    fitted = lambda model, free, search=None, **more: (
        quiet_fit(
            Problem(model, known.motions, free=list(free.values()), **known.options, **more), search
        ).model
    )
    models = {"physics": known.model, "refitted": fitted(known.model, friction)}
    if not found.places:
        return models | dict.fromkeys(("law", "network"), models["refitted"])
    leaves = {p.free: Free(p.free) for p in found.places if p.free}
    own, wires = laws(known.model, found)
    plain = _attached(wires, known, settings)
    weights = {"network/*": Free("network/*")}
    free = friction | leaves | own | (weights if wires else {})
    models["law"] = fitted(plain, free)
    hybrid = _attached(list(found.blueprint(MLP(8, 1))), known, settings)
    if not hybrid.networks:
        return models | {"network": models["law"]}
    free = friction | leaves | weights
    models["network"] = fitted(hybrid, free, LBFGS(steps=steps), weight_penalty=PENALTY)
    return models


def laws(model: Model, found: Discovery) -> tuple[dict[str, Free], list[Wire]]:
    """Leaves of the formulas of all places; where a formula has none, a wire that is linear in what the place reads."""
    formulas = found.formula()
    free: dict[str, Free] = {}
    wires = []
    for place in found.places:
        own = formulas[place.name].free(model) if place.name in formulas else ()
        free |= {f.name: f for f in own}
        if place.reads and not own:
            wires.append(Wire(place.target, place.reads, Linear()))
    return free, wires


def _attached(wires: Sequence[Wire], known: Known, settings: Settings) -> Model:
    if not wires:
        return known.model
    return Blueprint(wires).attach(known.model, key=settings.seed, data=known.motions)


# tables ------------------------------------------------------------------------------------------------------


def interval(x: np.ndarray) -> tuple[float, float, float]:
    """Geometric mean of `exp(x)`, and the ends of its 95 % interval by Student's t."""
    mean, count = float(np.mean(x)), len(x)
    wide = student.ppf(0.975, count - 1) * np.std(x, ddof=1) / np.sqrt(count) if count > 1 else 0.0
    return float(np.exp(mean)), float(np.exp(mean - wide)), float(np.exp(mean + wide))


def _ratios(judged: Judged) -> dict[str, np.ndarray]:
    """Of each method, the ratio of errors and its interval at each horizon, (horizons, 3)."""
    return {
        title: np.array([interval(x) for x in judged.ratios(name).T])
        for name, title in METHODS.items()
    }


def places_table(found: Sequence[Judged]) -> Table:
    """How often each place was named."""
    rows = [
        (j.recording.title, name or "nothing", f"{times} of {j.groups}")
        for j in found
        for name, times in (j.named or {"": j.groups}).items()
    ]
    return Table(
        "Places named without the judged runs", ("recording", "place", "named"), tuple(rows)
    )


def errors_table(judged: Judged) -> Table:
    """Errors of runs that were left out: of the physics alone, and how those of the others compare."""
    whole = np.sqrt(np.mean(np.square(judged.errors["physics"]), axis=0))
    rows = [("the physics alone [rad]", *(f"{x:.4f}" for x in whole))]
    for title, each in _ratios(judged).items():
        rows.append((title, *(f"{m:.3f} ({low:.3f} … {high:.3f})" for m, low, high in each)))
    runs = len(judged.errors["physics"])
    title = f"{judged.recording.title}: error of {runs} runs that were left out, over that of the physics"
    return Table(title, ("model", *judged.recording.horizons), tuple(rows))
