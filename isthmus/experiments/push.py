"""NeuralSim, figures 6 and 7: objects pushed on a table, with learned friction, beside the field's quasi-static model.

Each shape in turn is left out: simulators learn from some pushes of the others, and are judged on other pushes of
these and on all pushes of the shape that was left out. What is learned is chosen by cross-validation among the pushes
to learn from: for seen shapes with parts of the pushes left out, for a new shape with each shape left out. Errors are
root mean squares over the rows of a push and over pushes, of x and y on one axis, and of the angle.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.errors import BadOption
from isthmus.experiments import push_model
from isthmus.experiments.push_data import (
    Pushes,
    clearly_less,
    cost,
    never_moves,
    ratio,
    recorded,
    rms,
    split,
    squares,
)
from isthmus.experiments.push_figures import draw_errors, draw_paths
from isthmus.experiments.push_fits import (
    Line,
    Numbers,
    Parts,
    by_shape,
    cross_validated,
    fitted,
    folds,
    predicted,
)
from isthmus.experiments.run import Result, Settings, Table
from isthmus.model.model import Model
from isthmus.phases import in_turn

STILL = "never moves"
QUASISTATIC = Line("quasi-static", quasistatic=True)
ANALYTIC = Line("analytic")
HYBRID = "hybrid"
NEW = "hybrid_new"
"""The hybrid for a shape that was not learned from, chosen by shapes left out: without numbers of series, since all
of its series are new."""
LEARN = 2 / 3
"""Share of the pushes of each seen shape that are learned from."""
QUICK = 4
"""Pushes of each shape that the small version takes."""
SERIES = (0.03, 0.02, 0.05)
"""Weights of the number of each series among which cross-validation chooses; the small version takes the first."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The sizes of the study."""

    steps: int
    """Of a search."""
    fold_steps: int
    folds: int
    series: tuple[float, ...]
    networks: tuple[str, ...]
    cases: int
    """How many shapes are left out in turn."""
    workers: int
    seed: int


@dataclasses.dataclass(frozen=True)
class Case:
    """One shape left out; all that was found without it."""

    unseen: str
    seen_off: dict[str, np.ndarray]
    """Of each simulator: mean squares (pushes, 2) of other pushes of seen shapes."""
    unseen_off: dict[str, np.ndarray]
    """The same of the shape that was left out."""
    crossed: dict[str, dict[str, np.ndarray]]
    """Mean squares of the pushes to learn from by cross-validation, of each candidate for `HYBRID` and for `NEW`."""
    chosen: dict[str, Line]
    """Of `HYBRID` and of `NEW`."""
    numbers: dict[str, Numbers]
    test: np.ndarray
    """Which pushes were judged of seen shapes."""


def study(settings: Settings) -> Result:
    """Each shape left out in turn; then fits to all pushes, for further shapes."""
    if settings.data is None:
        raise BadOption("the push study needs its recordings: say --data mit_push_abs.npz.")
    pushes, plan = recorded(settings.data), planned(settings)
    if len(pushes.kinds) < 2:
        raise BadOption(
            f"{settings.data!r} has pushes of one shape, {pushes.kinds[0]!r}; one is left out and at least one is "
            "learned from."
        )
    if settings.quick:
        few = [pushes.of([name])[:QUICK] for name in pushes.kinds]
        pushes = pushes.pick(np.concatenate(few))
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
        settings.say(f"without {case.unseen}: {case.chosen[HYBRID].name}; {_said(case)}")
    tables = (
        errors_table(cases, pushes), ratios_table(cases), cases_table(cases), crossed_table([*cases, final]),
        numbers_table(final), own_table(final, pushes),
    )  # fmt: skip
    numbers = plain_numbers(cases, final) | {"shapes": pushes.kinds}
    models = {name: model_of(pushes, line_of(name, final), n) for name, n in final.numbers.items()
              if name != QUASISTATIC.name}  # fmt: skip
    return Result(tables, numbers, figures(cases, pushes), notes(cases), models)


def planned(settings: Settings) -> Plan:
    """The sizes, small for `--quick`; `--set network=no` leaves networks out."""
    quick = settings.quick
    network = str(settings.option("network", "yes")) != "no"
    return Plan(
        steps=int(settings.option("steps", 1 if quick else 10)), fold_steps=1 if quick else 5,
        folds=2 if quick else 3, series=SERIES[:1] if quick else SERIES,
        networks=(("tip",) if quick else tuple(push_model.NETWORKS)) if network else (),
        cases=int(settings.option("cases", 1 if quick else 99)),
        workers=int(settings.option("workers", 1)), seed=settings.seed,
    )  # fmt: skip


def _case(job: tuple[Pushes, str | None, Plan]) -> Case:
    """All that is fitted without one shape; None: to all pushes."""
    pushes, unseen, plan = job
    seen = [name for name in pushes.kinds if name != unseen]
    if unseen is None:
        learn, test = np.arange(len(pushes)), np.arange(0)
    else:
        learn, test = split(pushes, seen, LEARN, plan.seed)
    part = pushes.pick(learn)
    found = {
        HYBRID: best(part, folds(part, plan.folds), plan),
        NEW: best(part, by_shape(part), dataclasses.replace(plan, series=())),
    }
    chosen = {name: line for name, (line, _) in found.items()}
    lines = {QUASISTATIC.name: QUASISTATIC, ANALYTIC.name: ANALYTIC, **chosen}
    fits = {line: learned(line, part, plan.steps) for line in dict.fromkeys(lines.values())}
    numbers = {name: fits[line] for name, line in lines.items()}
    off = []
    for rows, hybrid in ((test, HYBRID), (pushes.of([unseen] if unseen else []), NEW)):
        some = pushes.pick(rows)
        off.append({STILL: squares(never_moves(some), some)} if len(rows) else {})
        used = {QUASISTATIC.name: QUASISTATIC.name, ANALYTIC.name: ANALYTIC.name, HYBRID: hybrid}
        for name, own in used.items() if len(rows) else ():
            off[-1][name] = squares(predicted(lines[own], numbers[own], some), some)
    crossed = {name: off for name, (_, off) in found.items()}
    return Case(unseen or "none", off[0], off[1], crossed, chosen, numbers, test)


def learned(line: Line, pushes: Pushes, steps: int) -> Numbers:
    """The numbers of a line; a network comes last."""
    if line.network is None:
        return fitted(line, pushes, steps)
    plain = fitted(dataclasses.replace(line, network=None), pushes, steps)
    return fitted(line, pushes, steps, plain)


def best(pushes: Pushes, parts: Parts, plan: Plan) -> tuple[Line, dict[str, np.ndarray]]:
    """The simplest line that no other one clearly beats in cross-validation, and the mean squares of all.

    Numbers of series, and after them a network, are taken where the error falls by more than one standard error.
    """
    if not parts:
        return ANALYTIC, {}
    crossed: dict[str, np.ndarray] = {}
    found: dict[Line, list[Numbers]] = {}

    def score(line: Line, starts: Sequence[Numbers | None]) -> None:
        found[line], crossed[line.name] = cross_validated(
            line, pushes, parts, plan.fold_steps, starts
        )

    def better(simple: Line, lines: list[Line], starts: Sequence[Numbers | None]) -> Line:
        for line in lines:
            score(line, starts)
        least = min(lines, key=lambda line: cost(crossed[line.name]), default=simple)
        return least if clearly_less(crossed[least.name], crossed[simple.name]) else simple

    score(ANALYTIC, [None] * len(parts))
    series = [Line(f"series {x:g}", series=x) for x in plan.series]
    plain = better(ANALYTIC, series, [None] * len(parts))
    return better(plain, with_networks(plain, plan), found[plain]), crossed


def with_networks(line: Line, plan: Plan) -> list[Line]:
    """The line with each of the networks."""
    return [
        dataclasses.replace(line, name=f"{line.name}, network on {n}", network=n)
        for n in plan.networks
    ]


def line_of(name: str, case: Case) -> Line:
    """The simulator of a name."""
    return {QUASISTATIC.name: QUASISTATIC, ANALYTIC.name: ANALYTIC, **case.chosen}[name]


def model_of(pushes: Pushes, line: Line, numbers: Numbers) -> Model:
    """The model of the first push's object."""
    one = {name: np.array([x]) for name, x in numbers.items()}
    return push_model.single(push_model.built(pushes.pick(np.array([0])), one, line.network))


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """What was fitted to all pushes is worth on further pushes, `settings.judge`, also of other shapes."""
    pushes = recorded(str(settings.judge))
    lines = {QUASISTATIC.name: QUASISTATIC, ANALYTIC.name: ANALYTIC}
    lines |= {name: Line(**numbers["chosen"][name]) for name in (HYBRID, NEW)}
    found = numbers["fitted"]
    paths = {name: predicted(line, found[name], pushes) for name, line in lines.items()}
    new = np.array([name not in numbers["shapes"] for name in pushes.names])
    paths[HYBRID][new] = paths.pop(NEW)[new]
    off = {name: squares(q, pushes) for name, q in {STILL: never_moves(pushes), **paths}.items()}
    rows = [
        (name, *(_shown(x[pushes.of([k])]) for k in pushes.kinds), _shown(x))
        for name, x in off.items()
    ]
    title = f"{len(pushes)} further pushes: RMS error of position on one axis / of the angle"
    ratios = ratio(off[HYBRID], off[ANALYTIC.name])
    return Result(
        (Table(title, ("simulator", *pushes.kinds, "all"), tuple(rows)),),
        {"errors": {name: rms(x) for name, x in off.items()}, "ratio": ratios},
        {"paths": draw_paths(pushes, paths, off[HYBRID])},
        (f"Error of the hybrid over that of the analytic model: {_interval(ratios)}.",),
    )  # fmt: skip


# what is shown -----------------------------------------------------------------------------------------


def _shown(off: np.ndarray) -> str:
    far, turned = rms(off)
    return f"{far:.2f} mm / {turned:.2f}°"


def _said(case: Case) -> str:
    return f"seen {_shown(case.seen_off[HYBRID])}, unseen {_shown(case.unseen_off[HYBRID])}"


def _interval(ratios: list[list[float]]) -> str:
    show = lambda x: f"{x[0]:.2f} ({x[1]:.2f} … {x[2]:.2f})"
    return f"position {show(ratios[0])}, angle {show(ratios[1])}"


def pooled(cases: list[Case]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each simulator: mean squares of all judged pushes of seen shapes, and of unseen shapes."""
    join = lambda parts: np.concatenate(parts)
    return {
        name: (join([c.seen_off[name] for c in cases]), join([c.unseen_off[name] for c in cases]))
        for name in cases[0].seen_off
    }


def errors_table(cases: list[Case], pushes: Pushes) -> Table:
    """One row for each simulator."""
    rows = [(name, *map(_shown, both)) for name, both in pooled(cases).items()]
    seen, unseen = (len(x) for x in pooled(cases)[STILL])
    title = (
        f"RMS error of position on one axis / of the angle; each of {len(cases)} shapes left out in turn, "
        f"{LEARN:.0%} of the pushes of the others learned from; {len(pushes)} pushes"
    )
    columns = ("simulator", f"other pushes, seen shapes ({seen})", f"unseen shape ({unseen})")
    return Table(title, columns, tuple(rows))


def ratios_table(cases: list[Case]) -> Table:
    """The hybrid beside the fitted models."""
    off = pooled(cases)
    rows = [
        (name, *(_interval(ratio(off[HYBRID][k], off[name][k])) for k in range(2)))
        for name in (QUASISTATIC.name, ANALYTIC.name)
    ]
    title = "error of the hybrid over that of another simulator, and 95 % interval"
    return Table(title, ("simulator", "seen shapes", "unseen shape"), tuple(rows))


def cases_table(cases: list[Case]) -> Table:
    """Each shape left out."""
    lines = [QUASISTATIC.name, ANALYTIC.name, HYBRID]
    rows = [
        (case.unseen, part, *(_shown(off[name]) for name in lines))
        for case in cases
        for part, off in (("seen shapes", case.seen_off), ("unseen shape", case.unseen_off))
    ]
    return Table("each shape left out", ("left out", "judged", *lines), tuple(rows))


def crossed_table(cases: list[Case]) -> Table:
    """What was chosen by."""
    rows = [
        (case.unseen, hybrid, name, _shown(off), f"{cost(off):.2f}",
         "chosen" if name == case.chosen[hybrid].name else "")
        for case in cases for hybrid, found in case.crossed.items() for name, off in found.items()
    ]  # fmt: skip
    title = (
        "cross-validation among the pushes to learn from (left out: none, the fit to all pushes)"
    )
    return Table(title, ("left out", "for", "candidate", "error", "cost", ""), tuple(rows))


def own_table(final: Case, pushes: Pushes) -> Table:
    """What the fits to all pushes miss of these very pushes."""
    names = (ANALYTIC.name, HYBRID)
    off = {
        n: squares(predicted(line_of(n, final), final.numbers[n], pushes), pushes) for n in names
    }
    parts = {name: pushes.of([name]) for name in pushes.kinds} | {"all": np.arange(len(pushes))}
    rows = [
        (name, str(len(part)), *(_shown(off[n][part]) for n in names))
        for name, part in parts.items()
    ]
    return Table(
        "fitted to all pushes: error of the same pushes", ("shape", "pushes", *names), tuple(rows)
    )


def numbers_table(final: Case) -> Table:
    """What was found from all pushes."""
    names = list(dict.fromkeys(n for found in final.numbers.values() for n in found))
    rows = [
        (n, *(f"{found[n]:.4g}" if n in found else "" for found in final.numbers.values()))
        for n in names if not n.startswith("w")
    ]  # fmt: skip
    return Table("numbers found from all pushes [SI]", ("number", *final.numbers), tuple(rows))


def plain_numbers(cases: list[Case], final: Case) -> dict[str, Any]:
    off = pooled(cases)
    return {
        "errors": {name: {"seen": rms(a), "unseen": rms(b)} for name, (a, b) in off.items()},
        "cases": {c.unseen: {"seen": {n: rms(x) for n, x in c.seen_off.items()},
                             "unseen": {n: rms(x) for n, x in c.unseen_off.items()},
                             "chosen": {n: line.name for n, line in c.chosen.items()}} for c in cases},
        "ratio": {name: {part: ratio(off[HYBRID][k], off[name][k]) for k, part in enumerate(("seen", "unseen"))}
                  for name in (QUASISTATIC.name, ANALYTIC.name)},
        "fitted": final.numbers, "chosen": {n: dataclasses.asdict(line) for n, line in final.chosen.items()},
    }  # fmt: skip


def figures(cases: list[Case], pushes: Pushes) -> dict[str, Any]:
    """Real and simulated paths of pushes that were not fitted, and errors of all."""
    case = cases[-1]
    some = pushes.pick(case.test)
    paths = {n: predicted(line_of(n, case), case.numbers[n], some) for n in (ANALYTIC.name, HYBRID)}
    return {
        "paths": draw_paths(some, paths, case.seen_off[HYBRID]),
        "errors": draw_errors(pooled(cases)),
    }


def notes(cases: list[Case]) -> tuple[str, ...]:
    """What the numbers say."""
    count = lambda name: sum(case.chosen[name].network is not None for case in cases)
    learned = sum(case.chosen[HYBRID].series is not None for case in cases)
    return (
        f"Of {len(cases)} cases, the hybrid has a number for each series of seen shapes in {learned}. It has a network "
        f"in {count(HYBRID)} for seen shapes and in {count(NEW)} for a new shape.",
    )
