"""Bodies that are tossed on a table: numbers found from some tosses, judged on the others, beside MuJoCo.

All simulators have the numbers of the body and its table free, and a few of their own contact, and search them with as
many rollouts of the same tosses. They are judged on tosses that no search has seen. The contact, and whether a network
corrects it, is chosen by cross-validation among the tosses to learn from. With `--set folds=K` all tosses are judged,
each part of them by numbers that were fitted to the others, and nothing is chosen.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.data.read import read_motion
from isthmus.errors import BadOption
from isthmus.experiments.run import Result, Settings, Table
from isthmus.experiments.tosses_body import Body, Numbers, Simulate
from isthmus.experiments.tosses_data import FLIGHT, Errors, Tosses, tosses_of
from isthmus.experiments.tosses_figures import draw_errors
from isthmus.experiments.tosses_fits import (
    Budget,
    Search,
    cost_of,
    costs_of,
    cross_validated,
    folds,
    interval,
    network_by_folds,
    predicted,
    run_all,
)
from isthmus.model.model import Model

PEERS = ("MuJoCo, defaults", "MuJoCo")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The sizes of a study."""

    training: int
    rows: int
    """Rows of a toss that a search sees; judged are all."""
    evaluations: int
    """Of each simulator: rollouts of all tosses to learn from."""
    fold_evaluations: int
    folds: int
    kinds: tuple[str, ...]
    networks: tuple[str, ...]
    workers: int
    """Processes."""
    judged_folds: int = 0
    """Parts of all tosses, each judged by a fit to the others; 0: those not learned from are judged."""


@dataclasses.dataclass(frozen=True)
class Judged:
    """A simulator with its numbers, and its errors by start."""

    simulate: Simulate
    numbers: Numbers
    off: dict[str, Errors]
    model: Model | None = None
    """None: a simulation by MuJoCo."""


def toss_study(body: Body, settings: Settings) -> Result:
    """Fits on some tosses, judged on the others."""
    if settings.data is None:
        raise BadOption(
            f"the {body.study} study needs its recordings: say --data {body.dataset}.npz."
        )
    plan = planned(body, settings)
    if plan.judged_folds:
        return study_by_folds(body, settings, plan)
    learn, judge = split(body, settings.data, plan, settings.seed)
    settings.say(f"{len(learn)} tosses to learn from, {len(judge)} to be judged by")
    whole = Budget(plan.evaluations, plan.rows, settings.seed)
    budget = dataclasses.replace(whole, evaluations=plan.fold_evaluations)
    workers = plan.workers
    without, crossed = cross_validated(body, plan.kinds, learn, plan.folds, budget, workers)
    for kind, off in crossed.items():
        settings.say(f"cross-validation, {kind}: {said(off)}")
    chosen = min(plan.kinds, key=lambda kind: cost_of(crossed[kind]))
    found = fitted(body, plan, learn, judge, whole, settings)
    nets = network_by_folds(body, chosen, plan.networks, without[chosen], learn, budget, workers)
    for name, off in nets.items():
        settings.say(f"cross-validation, {chosen}, network {name}: {said(off)}")
    told = notes(body, found, chosen)
    if plan.networks:
        network = min(plan.networks, key=lambda name: cost_of(nets[name]))
        name = f"{chosen}, network on {network}"
        numbers = Search(body, chosen, learn, budget, found[chosen].numbers, network).run()
        model = body.built(chosen, numbers, network)
        found[name] = assessed(body, body.simulator(chosen, network), numbers, judge, model)
        settings.say(f"{name}: {said(found[name].off[body.starts[1]])}")
        told += network_notes(body, found, nets, chosen, network)
    told_of = f"{len(judge)} tosses that were not fitted", f"{len(learn)} tosses"
    tables = (
        errors_table(body, found, *told_of, plan),
        crossed_table(crossed, {f"{chosen}, network: {n}": off for n, off in nets.items()}, plan),
        paired_table(body, found, chosen),
        numbers_table(body, found),
    )
    models = {n.replace(", ", "_").replace(" ", "_"): f.model for n, f in found.items() if f.model}
    numbers = plain_numbers(body, found, crossed, nets, chosen)
    return Result(tables, numbers, figures(body, found, chosen, judge), told, models)


def study_by_folds(body: Body, settings: Settings, plan: Plan) -> Result:
    """All tosses judged, each by numbers fitted to the other parts; the models are those fitted to all tosses."""
    every = recorded(body, str(settings.data))
    parts = plan.judged_folds
    if settings.option("training", None) is not None:
        raise BadOption("with folds=…, all tosses are learned from: leave training=… out.")
    if not 2 <= parts <= len(every):
        raise BadOption(f"{len(every)} tosses make 2 to {len(every)} folds, not {parts}.")
    every = every.pick(np.random.default_rng(settings.seed).permutation(len(every)))
    found = fitted_by_folds(body, plan, every, parts, settings)
    shown = plan.kinds[-1]
    told_of = f"all {len(every)} tosses", f"the others in {parts} folds"
    tables = (
        errors_table(body, found, *told_of, plan),
        paired_table(body, found, shown),
        numbers_table(body, found),
    )
    drawn = {
        "errors": draw_errors({n: f.off[body.starts[1]] for n, f in found.items()}, body.width)
    }
    models = {name: f.model for name, f in found.items() if f.model}
    told = (f"Beside the fitted MuJoCo, toss by toss, {beside(body, found, shown)}.",)
    return Result(tables, plain_numbers(body, found, {}, {}, shown), drawn, told, models)


def fitted_by_folds(
    body: Body, plan: Plan, every: Tosses, parts: int, settings: Settings
) -> dict[str, Judged]:
    """Every simulator: errors by folds, and the numbers of a last search, of all tosses."""
    budget = Budget(plan.evaluations, plan.rows, settings.seed)
    learned = [(every.pick(fit), kept) for fit, kept in folds(len(every), parts)]
    names = (PEERS[1], *plan.kinds)
    searches = {
        name: [Search(body, name.lower(), part, budget) for part, _ in [*learned, (every, None)]]
        for name in names
    }
    each = iter(run_all([s for some in searches.values() for s in some], plan.workers, "fit"))
    found = {PEERS[0]: assessed(body, body.mujoco(), body.published, every)}
    for name, some in searches.items():
        simulate = some[0].simulator()
        off = {start: np.zeros((2, len(every))) for start in body.starts}
        for _, kept in learned:
            part = assessed(body, simulate, next(each), every.pick(kept))
            for start, x in part.off.items():
                off[start][:, kept] = x
        numbers = next(each)
        model = body.built(name, numbers, None) if name in plan.kinds else None
        pairs_of = {start: (x[0], x[1]) for start, x in off.items()}
        found[name] = Judged(simulate, numbers, pairs_of, model)
        settings.say(f"{name}: {said(pairs_of[body.starts[1]])}")
    return found


def planned(body: Body, settings: Settings) -> Plan:
    """The sizes, small for `--quick`; `--set evaluations=… training=… folds=… contact=… workers=…` changes them."""
    quick = settings.quick
    kinds = _named_kinds(body, settings) or (body.kinds[-1:] if quick else body.kinds)
    evaluations = int(settings.option("evaluations", 18 if quick else body.evaluations))
    return Plan(
        training=int(settings.option("training", 6 if quick else body.training)),
        rows=60 if quick else body.rows, evaluations=evaluations,
        fold_evaluations=18 if quick else evaluations // 2, folds=2,
        kinds=kinds, networks=body.networks[-1:] if quick else body.networks,
        workers=int(settings.option("workers", 1)), judged_folds=int(settings.option("folds", 0)),
    )  # fmt: skip


def _named_kinds(body: Body, settings: Settings) -> tuple[str, ...]:
    """Those of `--set contact=…`; none: all."""
    named = settings.option("contact", None)
    if named is not None and named not in body.kinds:
        raise BadOption(
            f"{named!r} is no contact of the {body.study} study; there are {', '.join(body.kinds)}."
        )
    return () if named is None else (named,)


def recorded(body: Body, path: str) -> Tosses:
    """All tosses of a file."""
    motions = read_motion(path, dataset=body.dataset)
    motions = motions if isinstance(motions, list) else [motions]
    if short := [k for k, m in enumerate(motions) if len(m) <= FLIGHT]:
        raise BadOption(
            f"toss {short[0]} of {path!r} has {len(motions[short[0]])} rows; {FLIGHT} rows of flight and one more "
            "are needed. Leave it out."
        )
    return tosses_of(motions)


def split(body: Body, path: str, plan: Plan, seed: int) -> tuple[Tosses, Tosses]:
    """Tosses to learn from, and tosses to be judged by, drawn at random."""
    every = recorded(body, path)
    if len(every) <= plan.training:
        raise BadOption(
            f"{path!r} has {len(every)} tosses; {plan.training} are learned from and at least one is judged. "
            "Say --set training=NUMBER."
        )
    order = np.random.default_rng(seed).permutation(len(every))
    return every.pick(order[: plan.training]), every.pick(order[plan.training :])


def fitted(
    body: Body, plan: Plan, learn: Tosses, judge: Tosses, budget: Budget, settings: Settings
) -> dict[str, Judged]:
    """Every simulator, searched with the same budget."""
    found = {PEERS[0]: assessed(body, body.mujoco(), body.published, judge)}
    names = (PEERS[1], *plan.kinds)
    searches = [Search(body, name.lower(), learn, budget) for name in names]
    each = run_all(searches, plan.workers, "fit")
    for name, search, numbers in zip(names, searches, each, strict=True):
        model = body.built(name, numbers, None) if name in plan.kinds else None
        found[name] = assessed(body, search.simulator(), numbers, judge, model)
        settings.say(f"{name}: {said(found[name].off[body.starts[1]])}")
    return found


def assessed(
    body: Body, simulate: Simulate, numbers: Numbers, tosses: Tosses, model: Model | None = None
) -> Judged:
    """Errors of whole tosses from both starts; the few long tosses are simulated apart."""
    off = {start: np.zeros((2, len(tosses))) for start in body.starts}
    usual = int(np.percentile(tosses.counts, 95))
    for which in (tosses.counts <= usual, tosses.counts > usual):
        rows = np.flatnonzero(which)
        if not len(rows):
            continue
        part = tosses.pick(rows, int(tosses.counts[rows].max()))
        for start, flight in zip(body.starts, (None, body.flight(part)), strict=True):
            q = predicted(body, simulate, numbers, part, flight)
            off[start][:, rows] = body.errors(q, part)
    return Judged(simulate, numbers, {start: (x[0], x[1]) for start, x in off.items()}, model)


def toss_judged(
    body: Body, settings: Settings, models: dict[str, Model], numbers: dict[str, Any]
) -> Result:
    """What the models and MuJoCo with its fitted numbers are worth on further tosses, `settings.judge`."""
    tosses = recorded(body, str(settings.judge))
    found = {
        name: assessed(body, body.mujoco(), numbers["numbers"][name], tosses) for name in PEERS
    }
    for name, model in models.items():
        simulate = lambda _, q, v, rows, model=model: body.rolled(model, q, v, rows)
        found[name] = assessed(body, simulate, body.numbers_of(model), tosses, model)
    rows = [(name, *(said(f.off[start]) for start in body.starts)) for name, f in found.items()]
    columns = ("simulator", *(f"from the {start}" for start in body.starts))
    title = f"{len(tosses)} further tosses: mean position error in {body.width} / rotation error"
    means = {
        n: {s: [float(e.mean()) for e in x] for s, x in f.off.items()} for n, f in found.items()
    }
    return Result((Table(title, columns, tuple(rows)),), {"errors": means})


# what is shown -----------------------------------------------------------------------------------------


def said(off: Errors) -> str:
    """Mean errors in words."""
    return f"{100.0 * off[0].mean():.1f} % / {off[1].mean():.1f}°"


def errors_table(
    body: Body, found: dict[str, Judged], judged: str, learned: str, plan: Plan
) -> Table:
    """One row for each simulator; `judged` and `learned` say how many tosses."""
    rows = [(name, *(said(f.off[start]) for start in body.starts)) for name, f in found.items()]
    title = (
        f"{judged}: mean position error in {body.width} / rotation error; fitted to {learned} with {plan.evaluations} "
        "rollouts of them"
    )
    columns = ("simulator", *(f"from the {start}" for start in body.starts))
    return Table(title, columns, tuple(rows))


def crossed_table(crossed: dict[str, Errors], nets: dict[str, Errors], plan: Plan) -> Table:
    """What was chosen by."""
    rows = [(name, said(off), f"{cost_of(off):.3f}") for name, off in {**crossed, **nets}.items()]
    title = f"cross-validation among the tosses to learn from, {plan.folds} folds, {plan.fold_evaluations} rollouts"
    return Table(title, ("contact", "error", "cost"), tuple(rows))


def pairs(
    body: Body, found: dict[str, Judged], chosen: str
) -> dict[str, list[tuple[float, float, float]]]:
    """Of each other simulator: by how much the chosen one is closer, in widths and degrees, with intervals."""
    start = body.starts[1]
    mine = found[chosen].off[start]
    return {
        name: [interval(f.off[start][k] - mine[k]) for k in range(2)]
        for name, f in found.items()
        if name != chosen
    }


def paired_table(body: Body, found: dict[str, Judged], chosen: str) -> Table:
    """Paired differences toss by toss."""
    show = lambda x, unit, digits: (
        f"{x[0]:+.{digits}f} ({x[1]:+.{digits}f} … {x[2]:+.{digits}f}){unit}"
    )
    rows = [
        (name, show([100.0 * y for y in position], " %", 1), show(angle, "°", 1))
        for name, (position, angle) in pairs(body, found, chosen).items()
    ]
    title = (
        f"error less that of {chosen}, toss by toss, from {body.starts[1]}: mean and 95 % interval"
    )
    return Table(title, ("simulator", "position", "rotation"), tuple(rows))


def numbers_table(body: Body, found: dict[str, Judged]) -> Table:
    """What was found."""
    fits = {name: f for name, f in found.items() if "," not in name}
    rows = [(n, *(f"{f.numbers[n]:.4g}" for f in fits.values())) for n in body.common]
    own = [
        ", ".join(f"{n} {x:.3g}" for n, x in f.numbers.items() if n not in body.common)
        for f in fits.values()
    ]
    return Table(
        "numbers found [SI; inertia: ÷ published]", ("number", *fits), (*rows, ("own", *own))
    )


def plain_numbers(
    body: Body,
    found: dict[str, Judged],
    crossed: dict[str, Errors],
    nets: dict[str, Errors],
    chosen: str,
) -> dict[str, Any]:
    means = lambda off: [float(x.mean()) for x in off]
    return {
        "errors": {n: {s: means(x) for s, x in f.off.items()} for n, f in found.items()},
        "numbers": {name: f.numbers for name, f in found.items()},
        "cross_validation": {name: means(off) for name, off in crossed.items()},
        "networks": {name: means(off) for name, off in nets.items()},
        "chosen": chosen, "paired": pairs(body, found, chosen),
    }  # fmt: skip


def figures(body: Body, found: dict[str, Judged], chosen: str, judge: Tosses) -> dict[str, Any]:
    """Errors of all tosses, and the toss of median error beside its prediction."""
    start = body.starts[1]
    far = found[chosen].off[start][0]
    middle = np.argsort(far)[len(far) // 2]
    one = judge.pick(np.array([middle]), int(judge.counts[middle]))
    curves = {
        name: predicted(body, found[name].simulate, found[name].numbers, one, body.flight(one))[0]
        for name in (chosen, "MuJoCo")
    }
    return {
        "errors": draw_errors({name: f.off[start] for name, f in found.items()}, body.width),
        "toss": body.draw_toss({"recorded": one.q[0], **curves}),
    }


def notes(body: Body, found: dict[str, Judged], chosen: str) -> tuple[str, ...]:
    """Which contact was chosen, and how it stands beside MuJoCo."""
    where = beside(body, found, chosen)
    return (f"Cross-validation chose {chosen}. Beside the fitted MuJoCo, toss by toss, {where}.",)


def beside(body: Body, found: dict[str, Judged], chosen: str) -> str:
    """How a simulator stands beside MuJoCo."""
    position, angle = pairs(body, found, chosen)[PEERS[1]]
    words = lambda x: "better" if x[1] > 0.0 else "worse" if x[2] < 0.0 else "not clearly different"
    return f"{chosen} is {words(position)} in position and {words(angle)} in rotation"


def network_notes(
    body: Body, found: dict[str, Judged], nets: dict[str, Errors], chosen: str, network: str
) -> tuple[str, ...]:
    """What a network changes."""
    position, angle = pairs(body, found, chosen)[f"{chosen}, network on {network}"]
    clear = "clearly" if position[1] * position[2] > 0 or angle[1] * angle[2] > 0 else "not clearly"
    helps = interval(costs_of(nets["none"]) - costs_of(nets[network]))[1] > 0.0
    helping = "helps" if helps else "does not help beyond chance"
    return (
        f"A network on {network} {helping} in cross-validation. On the judged tosses it changes the error by "
        f"{100 * position[0]:+.1f} % and {angle[0]:+.1f}°, {clear} more than chance would.",
    )
