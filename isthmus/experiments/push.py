"""NeuralSim, figures 6 and 7: objects pushed on a table, with learned friction, beside the field's quasi-static model.

Each shape in turn is left out. The pushes of the others are judged in folds, each by what was learned from the other
folds, and the shape that was left out by what was learned from all of them. What is learned is chosen among the pushes
to learn from: for seen shapes with parts of the pushes left out, for a new shape with each shape left out. Errors are
root mean squares over the rows of a push and over pushes, of x and y on one axis, and of the angle.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
from typing import Any

import numpy as np

from isthmus.errors import BadOption
from isthmus.experiments import push_model
from isthmus.experiments.push_average import SCATTERS, Averaged, Grid, Parts, gridded
from isthmus.experiments.push_data import (
    Pushes,
    clearly_less,
    cost,
    never_moves,
    ratio,
    recorded,
    rms,
    squares,
)
from isthmus.experiments.push_figures import draw_errors, draw_paths
from isthmus.experiments.push_fits import (
    Learned,
    Line,
    by_shape,
    cross_validated,
    fitted,
    folds,
    predicted,
)
from isthmus.experiments.push_tables import (
    ANALYTIC,
    HYBRID,
    NEW,
    QUASISTATIC,
    STILL,
    Case,
    Fits,
    interval,
    notes,
    plain_numbers,
    pooled,
    said,
    shown,
    tables,
)
from isthmus.experiments.run import Result, Settings, Table
from isthmus.model.model import Model
from isthmus.phases import in_turn

MEAN = Line("mean over what is possible")
QUICK = 4
"""Pushes of each shape that the small version takes."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The sizes of the study."""

    steps: int
    """Of a search."""
    inner_steps: int
    inner_folds: int
    """Parts of the pushes to learn from that are left out in turn to choose what is learned."""
    folds: int
    """Parts of the pushes of seen shapes, each judged by a fit to the others."""
    networks: tuple[str, ...]
    cases: int
    """How many shapes are left out in turn."""
    workers: int
    seed: int
    quick: bool


def study(settings: Settings) -> Result:
    """Each shape left out in turn; then fits to all pushes, for further shapes."""
    if settings.data is None:
        raise BadOption("the push study needs its recordings: say --data mit_push_abs.npz.")
    pushes, plan = recorded(settings.data), planned(settings)
    if settings.quick:
        few = [pushes.of([name])[:QUICK] for name in pushes.kinds]
        pushes = pushes.pick(np.concatenate(few))
    check(pushes, plan, settings.data)
    left_out = [*pushes.kinds[: plan.cases], None]
    jobs = [(pushes, name, plan) for name in left_out]
    if plan.workers > 1:
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(plan.workers, mp_context=context) as pool:
            found = list(pool.map(_case, jobs))
    else:
        found = [_case(jobs[k]) for k in in_turn(list(range(len(jobs))), "shape left out")]
    cases, final = found[:-1], found[-1]
    for case in cases:
        settings.say(f"without {case.unseen}: {said(case)}")
    learned = {name: final.whole.learned[name] for name in (ANALYTIC.name, HYBRID, NEW)}
    models = {name: model_of(pushes, final.whole.chosen[name], x) for name, x in learned.items()}
    figures = {
        "paths": draw_paths(pushes.pick(cases[-1].rows), cases[-1].paths, cases[-1].seen_off[HYBRID]),
        "errors": draw_errors(pooled(cases)),
    }  # fmt: skip
    return Result(
        tables(cases, final, pushes, plan.folds),
        plain_numbers(cases, final, pushes), figures, notes(cases), models,
    )  # fmt: skip


def planned(settings: Settings) -> Plan:
    """The sizes, small for `--quick`; `--set network=no` leaves networks out."""
    quick = settings.quick
    network = str(settings.option("network", "yes")) != "no"
    return Plan(
        steps=int(settings.option("steps", 1 if quick else 10)), inner_steps=1 if quick else 5,
        inner_folds=2 if quick else 3, folds=int(settings.option("folds", 2 if quick else 3)),
        networks=(("tip",) if quick else tuple(push_model.NETWORKS)) if network else (),
        cases=int(settings.option("cases", 1 if quick else 99)),
        workers=int(settings.option("workers", 1)), seed=settings.seed, quick=quick,
    )  # fmt: skip


def check(pushes: Pushes, plan: Plan, file: str) -> None:
    """Refuses recordings of which nothing can be left out."""
    if len(pushes.kinds) < 2:
        raise BadOption(
            f"{file!r} has pushes of one shape, {pushes.kinds[0]!r}; one is left out and at least one is learned from."
        )
    fewest = min(pushes.kinds, key=lambda name: len(pushes.of([name])))
    most = len(pushes.of([fewest]))
    if not 2 <= plan.folds <= most:
        raise BadOption(
            f"{file!r} has {most} pushes of {fewest!r}: they can be judged in 2 to {most} folds, not {plan.folds}."
            if most > 1
            else f"{file!r} has one push of {fewest!r}; one is judged and at least one is learned from."
        )


def _case(job: tuple[Pushes, str | None, Plan]) -> Case:
    """All that is fitted without one shape; None: to all pushes."""
    pushes, unseen, plan = job
    rows = pushes.of([name for name in pushes.kinds if name != unseen])
    seen = pushes.pick(rows)
    if unseen is None:
        return Case("none", rows, (), learned_from(seen, (HYBRID, NEW), plan), {}, {}, {})
    parts = folds(seen, plan.folds, plan.seed)
    fits = tuple(learned_from(seen.pick(fit), (HYBRID,), plan) for fit, _ in parts)
    whole = learned_from(seen, (NEW,), plan)
    paths = {name: np.empty_like(seen.objects) for name in fits[0].learned}
    for (_, judged), fit in zip(parts, fits, strict=True):
        for name, line in fit.chosen.items():
            paths[name][judged] = predicted(line, fit.learned[name], seen.pick(judged))
    new = pushes.pick(pushes.of([unseen]))
    made = {n: predicted(line, whole.learned[n], new) for n, line in whole.chosen.items()}
    made[HYBRID] = made.pop(NEW)
    return Case(
        unseen, rows, fits, whole,
        {name: squares(x, seen) for name, x in {STILL: never_moves(seen), **paths}.items()},
        {name: squares(x, new) for name, x in {STILL: never_moves(new), **made}.items()},
        {name: paths[name] for name in (ANALYTIC.name, HYBRID)},
    )  # fmt: skip


def learned_from(pushes: Pushes, hybrids: tuple[str, ...], plan: Plan) -> Fits:
    """The fitted models, and hybrids for seen shapes or a new one, as learned from some pushes."""
    plain = {line.name: fitted(line, pushes, plan.steps) for line in (QUASISTATIC, ANALYTIC)}
    fits = Fits({line.name: line for line in (QUASISTATIC, ANALYTIC)}, dict(plain), {})
    grid = gridded(pushes, plan.quick)
    for name in hybrids:
        parts = by_shape(pushes) if name == NEW else folds(pushes, plan.inner_folds, plan.seed)
        averaged, off = mean_path(grid, parts, one=name == NEW)
        line, fits.crossed[name] = best(pushes, parts, off, plan)
        fits.chosen[name] = line
        fits.learned[name] = (
            averaged if line is MEAN else fitted(line, pushes, plan.steps, plain[ANALYTIC.name])
        )
    return fits


def mean_path(grid: Grid, parts: Parts, one: bool) -> tuple[Averaged, np.ndarray | None]:
    """What all pushes of a grid say, and the mean squares of left out parts; none to leave out: None.

    How much the load scatters is left open too; with `one`, it is as is best for the parts: what is left out is then
    of another kind than what the evidence is of.
    """
    if not parts:
        return grid.averaged(SCATTERS), None
    if not one:
        return grid.averaged(SCATTERS), grid.left_out(parts, SCATTERS)
    off = [grid.left_out(parts, [scatter]) for scatter in SCATTERS]
    least = int(np.argmin([cost(x) for x in off]))
    return grid.averaged([SCATTERS[least]]), off[least]


def best(
    pushes: Pushes, parts: Parts, mean: np.ndarray | None, plan: Plan
) -> tuple[Line, dict[str, np.ndarray]]:
    """The mean path, or a network where it clearly beats that in cross-validation, and the mean squares of all.

    A network is taken where the error falls by more than one standard error.
    """
    if mean is None:
        return MEAN, {}
    crossed = {MEAN.name: mean}
    lines = [Line(f"network on {name}", network=name) for name in plan.networks]
    if lines:
        score = lambda line, starts: cross_validated(line, pushes, parts, plan.inner_steps, starts)
        starts, crossed[ANALYTIC.name] = score(ANALYTIC, [None] * len(parts))
        for line in lines:
            _, crossed[line.name] = score(line, starts)
    least = min(lines, key=lambda line: cost(crossed[line.name]), default=MEAN)
    return least if clearly_less(crossed[least.name], mean) else MEAN, crossed


def model_of(pushes: Pushes, line: Line, learned: Learned) -> Model:
    """The model of the first push's object; of a mean path, with the likeliest numbers."""
    if isinstance(learned, Averaged):
        learned = learned.likeliest(pushes.series[0])
    one = {name: np.array([x]) for name, x in learned.items()}
    return push_model.single(push_model.built(pushes.pick(np.array([0])), one, line.network))


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """What was fitted to all pushes is worth on further pushes, `settings.judge`, also of other shapes."""
    pushes = recorded(str(settings.judge))
    paths = {}
    for name in (QUASISTATIC.name, ANALYTIC.name, HYBRID, NEW):
        chosen, found = numbers["chosen"][name], numbers["learned"][name]
        line = Line(chosen["name"], chosen["network"], chosen["quasistatic"])
        learned = Averaged.from_plain(found) if line == MEAN else found
        paths[name] = predicted(line, learned, pushes)
    new = np.array([name not in numbers["shapes"] for name in pushes.names])
    paths[HYBRID][new] = paths.pop(NEW)[new]
    off = {name: squares(q, pushes) for name, q in {STILL: never_moves(pushes), **paths}.items()}
    rows = [
        (name, *(shown(x[pushes.of([k])]) for k in pushes.kinds), shown(x))
        for name, x in off.items()
    ]
    title = f"{len(pushes)} further pushes: RMS error of position on one axis / of the angle"
    ratios = ratio(off[HYBRID], off[ANALYTIC.name])
    return Result(
        (Table(title, ("simulator", *pushes.kinds, "all"), tuple(rows)),),
        {"errors": {name: rms(x) for name, x in off.items()}, "ratio": ratios},
        {"paths": draw_paths(pushes, paths, off[HYBRID])},
        (f"Error of the hybrid over that of the analytic model: {interval(ratios)}.",),
    )  # fmt: skip
