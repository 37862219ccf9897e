"""TDS, figure 1 (right): a filmed double pendulum, its numbers and its frame rate from the motion alone.

A free motion tells inertias only up to a common factor, and of the second link only its first moment and its inertia
about the elbow: m1, m2 and the second centre of mass are fixed (`MASS`, `CENTRE`), and what is reported is divided by
the first moment of the second link. The lengths are known, so gravity is a clock: the frame time is a free number.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.data.read import read_motion
from isthmus.errors import BadOption
from isthmus.experiments.pendulum_figures import draw_errors, draw_motion
from isthmus.experiments.pendulum_judge import (
    FRAME,
    HORIZONS,
    SPACING,
    Film,
    Found,
    films,
    judge,
    start_of_example,
)
from isthmus.experiments.pendulum_markers import Markers, as_they_are, calibrate
from isthmus.experiments.pendulum_model import LENGTHS, made
from isthmus.experiments.pendulum_network import compared as compared_networks
from isthmus.experiments.pendulum_network import with_network
from isthmus.experiments.pendulum_support import on_a_spring
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.fit import Fit
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.identify.search.horizon import LengtheningHorizon
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.losses.windows import WholeRun, Windows
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.phases import in_turn

SECOND = 505
"""Frames of the first second, at the rate that the motion says."""
SPRUNG = "all runs, markers, sprung support"
SHORTEST = 600
"""Frames of a run, at least."""
FLOOR = (0.004, 0.011, 0.032, 0.139)
"""Errors [rad] of least squares on accelerations, at these frames of runs 14-15."""
OFFSETS = tuple(f"offset/joint/joint_{k}/position" for k in (1, 2))


def study(settings: Settings) -> Result:
    """One second of run 0, then all runs but two: as filmed, with marker offsets, on a spring, with a network."""
    if settings.data is None:
        raise BadOption("the pendulum study needs its recordings: say --data FILE.")
    runs = runs_of(settings.data)
    if len(runs) < 3:
        raise BadOption(f"{settings.data!r} has {len(runs)} runs; two are kept for judging.")
    pixels = [np.asarray(m.signals["extra/markers"]) for m in runs[:-2]]
    plain, markers = as_they_are(), calibrate(pixels)
    raw, clean = films(runs, plain), films(runs, markers)
    rods = {name: free.start for name, free in numbers().items()}
    one = from_one_second(raw[0])
    parts = {
        "uniform rods": judge(raw[-2:], made(rods), plain, np.zeros(2), {}),
        "one second of run 0": judge(raw[-2:], one.model, plain, np.zeros(2), values(one)),
        "all runs": from_all(raw, plain, settings),
        "all runs, markers": from_all(clean, markers, settings),
    }
    settings.say("a support that yields")
    parts[SPRUNG], compared, rivals = on_a_spring(clean, parts["all runs, markers"], settings)
    settings.say("networks")
    parts["all runs, markers, network"] = with_network(clean, parts["all runs, markers"], settings)
    parts[f"{SPRUNG}, network"] = with_network(clean, parts[SPRUNG], settings, by_model=True)
    tables = (
        errors_table(parts), many_table(parts), numbers_table(parts), velocities_table(one, raw[0]),
    )  # fmt: skip
    models = {file_name(name): part.model for name, part in parts.items()}
    figures = drawn(raw[-1], parts)
    said = (*notes(parts, markers), *compared, *compared_networks(clean, rivals, settings))
    return Result(tables, plain_numbers(parts, markers), figures, said, models)


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """Further films by the saved models; where their markers are was found with the models."""
    runs = runs_of(str(settings.judge))
    known = Markers(**{name: np.array(x) for name, x in numbers["markers"].items()})
    parts: dict[str, Found] = {}
    for name, offset in numbers["offsets"].items():
        if file_name(name) in models:
            markers = known if "markers" in name else as_they_are()
            model = models[file_name(name)]
            parts[name] = judge(films(runs, markers), model, markers, np.array(offset), {})
    tables = (errors_table(parts, settings.judge), many_table(parts))
    figures = drawn(films(runs, as_they_are())[-1], parts, ())
    return Result(tables, plain_numbers(parts, known), figures)


def runs_of(path: str) -> list[Motion]:
    """The runs of a file, none too short to be judged."""
    found = read_motion(path, dataset="ibm_double_pendulum")
    runs = found if isinstance(found, list) else [found]
    if short := [k for k, m in enumerate(runs) if len(m) < SHORTEST]:
        raise BadOption(
            f"run {short[0]} of {path!r} has {len(runs[short[0]])} frames; {SHORTEST} are needed. Leave it out."
        )
    return runs


def file_name(part: str) -> str:
    """Of a saved model."""
    return re.sub("[, ]+", "_", part)


def drawn(film: Film, parts: Mapping[str, Found], floor: Sequence[float] = FLOOR) -> dict[str, Any]:
    """The figures: a prediction of a film, and all errors beside a floor, if it is known."""
    start = start_of_example(film)
    seen = film.seen[start : start + HORIZONS[-1] + 1]
    return {"motion": draw_motion(seen, parts), "errors": draw_errors(HORIZONS, floor, parts)}


# the model --------------------------------------------------------------------------------------------------


def numbers() -> dict[str, Free]:
    """What is free, beginning at two uniform rods of equal density at the published frame rate."""
    upper, lower = LENGTHS
    moment = lower**2 / 2  # of a rod of unit density
    start = {
        "weight": (upper**2 / 2 + lower * upper) / moment,
        "inertia_1": (upper**3 / 3 + lower * upper**2) / moment,
        "inertia_2": lower**3 / 3 / moment,
    }
    return {
        "frame_time": Free("frame_time", low=0.5 * FRAME, high=2.0 * FRAME, start=FRAME),
        "weight": Free("weight", low=1.5, high=50.0, start=start["weight"]),
        "inertia_1": Free("inertia_1", low=0.1, high=5.0, start=start["inertia_1"]),
        "inertia_2": Free("inertia_2", low=0.031, high=0.3, start=start["inertia_2"]),
        "damping": Free("damping", low=0.0, high=1.0, start=[0.01, 0.01], shape=2),
        "friction": Free("friction", low=0.0, high=5.0, start=[0.0, 0.0], shape=2),
    }


# fits -------------------------------------------------------------------------------------------------------


def from_one_second(film: Film) -> Fit:
    """Inertias, friction, frame time and initial velocities from the first second; starts are free."""
    free = [f for name, f in numbers().items() if name != "friction"]
    fixed = lambda p: made({**p, "friction": (0.0, 0.0)})
    problem = Problem(
        make=fixed, motions=film.motion(0, SECOND + 1, np.zeros(2)), loss=WholeRun(), noise=1.5e-3,
        free=[*free, Free("start/position", prior=2e-3), Free("start/velocity", prior=1.0)],
        integrator="rk4", wrap=False,
    )  # fmt: skip
    search = LengtheningHorizon(LevenbergMarquardt(), (0.1, 0.2, 0.4, 0.7, 1.0))
    return quiet_fit(problem, search)


def from_all(films: list[Film], markers: Markers, settings: Settings) -> Found:
    """From windows of all runs but two: short ones first, then longer ones, in which outliers count less."""
    motions = [film.motion(100, -100, np.zeros(2)) for film in films[:-2]]
    stride = 200 if settings.quick else 800
    free = [*numbers().values(), Free("offset/joint/position")]
    lengths = ((25, 2e-3), (50, 4e-3), (100, 1e-2))
    for steps, noise in in_turn(lengths, "length of windows"):
        settings.say(f"windows of {steps} frames")
        problem = Problem(
            make=made, motions=motions, free=free, loss=Windows(steps, stride), noise=noise,
            huber=None if steps == 25 else 3.0, integrator="rk4", wrap=False,
        )  # fmt: skip
        found = quiet_fit(problem)
        free = [dataclasses.replace(f, start=value(found, f.name)) for f in free]
        if settings.quick:
            break
    offset = np.array([found[name].value for name in OFFSETS])
    return judge(films[-2:], found.model, markers, offset, values(found))


def value(found: Fit, name: str) -> Any:
    """One number, or those of a vector."""
    if name.startswith("offset/"):
        return None  # begins at zero each time
    return found[name].value if name in found.estimates else np.array(_several(found, name))


def values(found: Fit) -> dict[str, Any]:
    """All numbers of the pendulum with their errors."""
    return {name: (e.value, e.error) for name, e in found.estimates.items() if "start/" not in name}


def _several(found: Fit, name: str) -> list[float]:
    return [e.value for key, e in found.estimates.items() if key.startswith(name)]


# tables -----------------------------------------------------------------------------------------------------


def errors_table(parts: dict[str, Found], judged: str | None = None) -> Table:
    """Errors beside those of least squares on accelerations, which are known for the last two runs."""
    rows = _rows({name: (part.errors, part.by_model) for name, part in parts.items()})
    if not judged:
        rows.insert(0, ("least squares on accelerations (floor)", "filter", *map(str, FLOOR)))
    of = judged or "the last two runs"
    title = f"double pendulum: open-loop error of absolute angles on {of} [rad], by frames ahead"
    return Table(title, ("fitted to", "starts by", *map(str, HORIZONS)), tuple(rows))


def many_table(parts: dict[str, Found]) -> Table:
    """From sixteen times as many starts as the protocol has."""
    rows = _rows({name: (part.many, part.many_by_model) for name, part in parts.items()})
    title = f"the same from a start every {SPACING} frames, not every 400 [rad]"
    return Table(title, ("fitted to", "starts by", *map(str, HORIZONS)), tuple(rows))


def _rows(errors: Mapping[str, tuple[Sequence[float], ...]]) -> list[tuple[str, ...]]:
    """Two rows for each model: starts from the filter, and by the model itself."""
    return [
        (name, starts, *(f"{x:.5f}" for x in own))
        for name, both in errors.items()
        for starts, own in zip(("filter", "model"), both, strict=True)
    ]


def numbers_table(parts: dict[str, Found]) -> Table:
    """What was identified, with errors."""
    fitted = {name: part.numbers for name, part in parts.items() if part.numbers}
    names = dict.fromkeys(name for numbers in fitted.values() for name in numbers)
    error = lambda x: "" if np.isnan(x) else f" ± {x:.1g}"
    show = lambda given: "-" if given is None else f"{given[0]:.6g}{error(given[1])}"
    rows = [(name, *(show(numbers.get(name)) for numbers in fitted.values())) for name in names]
    title = (
        "inertias, moments and friction over the first moment of link 2 (m1, m2 and its centre of mass are fixed: "
        "free motion tells only such ratios); frame time [s], offsets [rad], support [Hz, 1, kg]"
    )
    return Table(title, ("number", *fitted), tuple(rows))


def velocities_table(one: Fit, film: Film) -> Table:
    """Velocities at the first frame, beside those of the filter, in real seconds."""
    share = FRAME / one["frame_time"].value
    moved = one.x[
        -2:
    ]  # the last numbers of the search: velocities of the one start, less the filter's
    rows = [
        (f"joint_{k + 1}", f"{share * (film.v[0, k] + moved[k]):+.4f}", f"{share * moved[k]:+.4f}")
        for k in range(2)
    ]
    title = "first frame of run 0: velocity, and by how much it differs from the filter's [rad/s]"
    return Table(title, ("joint", "velocity", "difference"), tuple(rows))


def plain_numbers(parts: dict[str, Found], markers: Markers) -> dict[str, Any]:
    """The results as plain data for `numbers.json`."""
    return {
        "horizons": list(HORIZONS), "floor": list(FLOOR),
        "errors": {name: list(part.errors) for name, part in parts.items()},
        "errors_many": {name: list(part.many) for name, part in parts.items()},
        "errors_by_model": {name: list(part.by_model) for name, part in parts.items()},
        "errors_many_by_model": {name: list(part.many_by_model) for name, part in parts.items()},
        "offsets": {name: part.offset.tolist() for name, part in parts.items()},
        "estimates": {name: {k: v[0] for k, v in part.numbers.items()} for name, part in parts.items()},
        "markers": {k: list(map(float, v)) for k, v in dataclasses.asdict(markers).items()},
    }  # fmt: skip


def notes(parts: dict[str, Found], markers: Markers) -> tuple[str, ...]:
    """What the numbers say."""
    rate = 1.0 / parts["all runs, markers"].numbers["frame_time"][0]
    size = {k: float(np.hypot(*v)) for k, v in dataclasses.asdict(markers).items()}
    return (
        f"The camera took {rate:.1f} frames a second.",
        "Markers are off their axes by "
        + ", ".join(f"{1e3 * x:.1f} ‰ ({k})" for k, x in size.items())
        + " of a link's length: the links' apparent lengths say so.",
    )
