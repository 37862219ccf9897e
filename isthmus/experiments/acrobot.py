"""A torque-driven double pendulum, three designs: identified on all runs but one, judged on that one, each in turn.

The lab's own models (rigid links, reflected rotor inertia, viscous and dry friction) stand beside. Rollouts are driven
by the measured torque, start every 0.25 s, and are judged by the error of both joints over the whole horizon. Motion
tells the first moment and the inertia of each link, not its mass, and the first rotor only with the first link:
masses and that rotor stay fixed. Encoders are set to zero before each run wherever friction lets the arm hang: two
numbers for each run, which a run that is judged tells in its first two seconds.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.read import read_motion
from isthmus.errors import BadOption
from isthmus.experiments.acrobot_figures import draw_errors, draw_misses
from isthmus.experiments.acrobot_fits import (
    CALIBRATED,
    Run,
    chosen_terms,
    identified,
    learned,
    own_zero,
    run_of,
    with_terms,
    zeros_of,
)
from isthmus.experiments.acrobot_judge import (
    HORIZONS,
    STRIDE,
    Squares,
    by_run,
    differences,
    judge,
    pooled,
)
from isthmus.experiments.acrobot_model import LABS, LEAD, ROW, TERMS, Lab, made
from isthmus.experiments.quiet import Values, quiet_fit
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.fit import Fit
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.model.model import Model
from isthmus.phases import in_turn

POSITION = "joint/position"
METHODS = {
    "lab": "lab's model, here",
    "lab_zeros": "lab's model, zeros from 2 s",
    "lab_same": "lab's model, the zeros of ours",
    "blind": "parameters, zeros not known",
    "parameters": "parameters, zeros from 2 s",
    "chosen": "terms chosen, zeros from 2 s",
    "lab_starts": "lab's model, the zeros of ours, starts by the model",
    "starts": "terms chosen, zeros from 2 s, starts by the model",
    "network": "network with memory, zeros from 2 s",
}
PAIRS = {"chosen": "lab_same", "starts": "lab_starts"}
"""Ours -> lab's, treated alike."""
MISSES = {
    "plain": "nine numbers",
    "lag": "and the torque's delay",
    "zeros": "and each run's zeros",
    "both": "both",
    "terms": "both, and the terms chosen",
    "network": "these, and a network",
}


@dataclasses.dataclass(frozen=True)
class Part:
    """What was found for one design."""

    squares: dict[str, list[Squares]]
    """Method -> run -> horizon."""
    whole: Fit
    """All runs together, with the terms chosen."""
    network: Fit | None
    """The same with a network; None: not asked for."""
    zeros: np.ndarray
    """Of the encoders, (runs, 2) [rad]."""
    terms: list[tuple[str, ...]]
    """Terms that were chosen without each run, then with all runs."""
    misses: dict[str, float]
    """Root mean square over windows of 0.5 s of all runs [rad], by what is in the model."""


def study(settings: Settings) -> Result:
    """The design that the file's name says; for a folder, all designs in it."""
    if settings.data is None:
        raise BadOption("the acrobot study needs its recordings: say --data FILE or FOLDER.")
    parts: dict[str, Part] = {}
    for design, path in files(Path(settings.data)).items():
        runs = recorded(path, at_least=2)
        settings.say(f"{design}: {len(runs)} runs")
        parts[design] = one(LABS[design], runs, settings)
    tables = (
        errors_table(parts),
        differences_table(parts),
        misses_table(parts),
        numbers_table(parts),
    )
    figures = {
        "runs": draw_errors({d: by_run(p.squares) for d, p in parts.items()}, METHODS),
        "misses": draw_misses({d: p.misses for d, p in parts.items()}, MISSES),
    }
    models = {d: p.whole.model for d, p in parts.items()}
    models |= {f"{d}_network": p.network.model for d, p in parts.items() if p.network is not None}
    return Result(tables, plain_numbers(parts), figures, notes(parts), models)


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """Further runs by the saved models of their designs, beside the lab's models with the same zeros."""
    squares: dict[str, dict[str, list[Squares]]] = {}
    for design, path in files(Path(str(settings.judge))).items():
        if design not in models:
            raise BadOption(f"{str(path)!r} is of the design {design}, which was not fitted.")
        theirs, ours = made(LABS[design], LABS[design].numbers()), models[design]
        own = squares[design] = {}
        for run in in_turn(recorded(path, at_least=1), "run"):
            zero = own_zero(ours, run, settings)
            found = beside_the_lab(theirs, ours, run, zero, settings)
            if f"{design}_network" in models:
                found["network"] = judge(models[f"{design}_network"], run, zero)
            for name, errors in found.items():
                own.setdefault(name, []).append(errors)
    each = {d: by_run(found) for d, found in squares.items()}
    rows = [
        (d, METHODS[name], *(f"{x:.3f}" for x in pooled(found[name])),
         ", ".join(" / ".join(f"{x:.3f}" for x in run) for run in each[d][name]))
        for d, found in squares.items() for name in found
    ]  # fmt: skip
    title = f"driven double pendulum: open-loop error of both joints on {settings.judge} [rad]"
    table = Table(title, ("design", "model", *HORIZONS, "run by run"), tuple(rows))
    return Result((table,), {"runs": each}, {"runs": draw_errors(each, METHODS)})


def recorded(path: Path, *, at_least: int) -> list[Run]:
    """The runs of a file."""
    found = read_motion(str(path), dataset="dfki_double_pendulum")
    runs = [run_of(m) for m in (found if isinstance(found, list) else [found])]
    check(path, runs, at_least)
    return runs


def files(path: Path) -> dict[str, Path]:
    """Design -> file; the design is part of the file's name."""
    found: dict[str, Path] = {}
    for file in sorted(path.glob("*.npz")) if path.is_dir() else [path]:
        named = re.search("|".join(LABS), file.stem)
        if named:
            found[named.group()] = file
    if not found:
        raise BadOption(f"no file name in {str(path)!r} says a design: {', '.join(LABS)}.")
    return found


def check(path: Path, runs: list[Run], at_least: int) -> None:
    """Refuses data with too few or too short runs."""
    if len(runs) < at_least:
        raise BadOption(f"{str(path)!r} has one run; one is kept for judging.")
    least = CALIBRATED + STRIDE + max(HORIZONS.values())
    if short := [k for k, run in enumerate(runs) if len(run.q) <= least]:
        raise BadOption(
            f"run {short[0]} of {str(path)!r} lasts {ROW * len(runs[short[0]].q):.1f} s; 2 s for the zeros and a "
            f"prediction of 1 s need more than {ROW * least:.2f} s. Leave it out."
        )


def one(lab: Lab, runs: list[Run], settings: Settings) -> Part:
    """A design: every run judged by models that have not seen it, then all runs together."""
    squares: dict[str, list[Squares]] = {}
    terms: list[tuple[str, ...]] = []
    for k, (errors, kept) in enumerate(each_unseen(lab, runs, settings)):
        terms.append(kept)
        for name, own in errors.items():
            squares.setdefault(name, []).append(own)
        seen = {
            name: " / ".join(f"{np.sqrt(x.mean()):.3f}" for x in e) for name, e in errors.items()
        }
        said = ", ".join(f"{name} {x}" for name, x in seen.items())
        settings.say(f"  without run {k}: {said} rad; terms: {', '.join(kept) or 'none'}")
    terms.append(chosen_terms(lab, runs, settings))
    both = identified(lab, runs, settings)
    values = with_terms(lab, runs, settings, terms[-1], both)
    whole = quiet_fit(values.problem, LevenbergMarquardt(steps=1), start=values.numbers)
    network = learned(values, runs, settings) if learns(settings) else None
    missed = misses(lab, runs, both, settings) | {"terms": values.error(POSITION)}
    if network is not None:
        missed["network"] = network.errors[POSITION][1]
    zeros = zeros_of(values.numbers, len(runs))
    return Part(squares, whole, network, zeros, terms, missed)


def each_unseen(
    lab: Lab, runs: list[Run], settings: Settings
) -> Iterator[tuple[dict[str, Squares], tuple[str, ...]]]:
    """`unseen` of every run, in `--set workers=N` processes."""
    count = min(int(settings.option("workers", 1)), len(runs))
    alone = dataclasses.replace(
        settings, say=_silent
    )  # what goes to another process must be picklable
    jobs = [(lab, runs, k, alone) for k in range(len(runs))]
    if count <= 1:
        yield from (unseen(*job) for job in in_turn(jobs, "run"))
        return
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(unseen, *job) for job in jobs]
        yield from (job.result() for job in in_turn(waiting, "run"))


def _silent(text: str) -> None:
    """Says nothing."""


def unseen(
    lab: Lab, runs: list[Run], k: int, settings: Settings
) -> tuple[dict[str, Squares], tuple[str, ...]]:
    """Errors of all methods on run `k`, all fitted and chosen without it; the terms that were chosen."""
    theirs, run, rest = made(lab, lab.numbers()), runs[k], [*runs[:k], *runs[k + 1 :]]
    found, terms = identified(lab, rest, settings), chosen_terms(lab, rest, settings)
    best = with_terms(lab, rest, settings, terms, found)
    zero = own_zero(best.model, run, settings)
    errors = beside_the_lab(theirs, best.model, run, zero, settings)
    errors["blind"] = judge(found.model, run)
    errors["parameters"] = judge(found.model, run, own_zero(found.model, run, settings))
    if learns(settings):
        errors["network"] = judge(learned(best, rest, settings).model, run, zero)
    return {name: errors[name] for name in METHODS if name in errors}, terms


def beside_the_lab(
    theirs: Model, ours: Model, run: Run, zero: np.ndarray, settings: Settings
) -> dict[str, Squares]:
    """Errors of the lab's model and of ours on a run; `zero`: by ours, from its first two seconds."""
    return {
        "lab": judge(theirs, run, smooth=False),
        "lab_zeros": judge(theirs, run, own_zero(theirs, run, settings)),
        "lab_same": judge(theirs, run, zero),
        "chosen": judge(ours, run, zero),
        "lab_starts": judge(theirs, run, zero, by_model=True),
        "starts": judge(ours, run, zero, by_model=True),
    }


def learns(settings: Settings) -> bool:
    """Whether a network is part of the study: by far its longest part."""
    return str(settings.option("network", "yes")) != "no"


def misses(lab: Lab, runs: list[Run], both: Values, settings: Settings) -> dict[str, float]:
    """What each part of the model takes off the error of short windows, all runs fitted together."""
    part = lambda **kept: identified(lab, runs, settings, **kept)
    fits = {
        "plain": part(zeros=False, lag=False),
        "lag": part(zeros=False),
        "zeros": part(lag=False),
        "both": both,
    }
    return {name: found.error(POSITION) for name, found in fits.items()}


# tables -----------------------------------------------------------------------------------------------------


def errors_table(parts: dict[str, Part]) -> Table:
    """Beside the lab's models; on the right only starts that come after what zeros were taken from."""
    rows = []
    for design, part in parts.items():
        published = (f"{x:.3f}" for x in LABS[design].peers)
        rows.append((design, "lab's model, as published", *published, "", ""))
        for name, squares in part.squares.items():
            errors = pooled(squares) + pooled(squares, CALIBRATED)
            rows.append((design, METHODS[name], *(f"{x:.3f}" for x in errors)))
    title = (
        "driven double pendulum: open-loop error of both joints over the horizon [rad], "
        "every run predicted by models that have not seen it"
    )
    columns = ("design", "model", *HORIZONS, *(f"{name}, from 2 s on" for name in HORIZONS))
    return Table(title, columns, tuple(rows))


def differences_table(parts: dict[str, Part]) -> Table:
    """Ours less the lab's, treated alike, and in how many runs ours is better."""
    rows = []
    for design, part in parts.items():
        each = by_run(part.squares)
        for ours, theirs in PAIRS.items():
            found = differences(part.squares[ours], part.squares[theirs])
            better = np.sum(np.array(each[ours]) < each[theirs], axis=0)
            cells = [
                f"{x:+.3f} ({low:+.3f} … {high:+.3f}), better in {n} of {len(each[ours])}"
                for (x, low, high), n in zip(found, better, strict=True)
            ]
            rows.append((design, METHODS[ours], METHODS[theirs], *cells))
    title = "error of ours less that of the lab's model [rad], and its 95 % interval from drawing runs again"
    return Table(title, ("design", "ours", "lab's", *HORIZONS), tuple(rows))


def misses_table(parts: dict[str, Part]) -> Table:
    """Errors of the rigid model as parts are added to it."""
    rows = [
        (title, *(f"{1e3 * part.misses[name]:.1f}" for part in parts.values()))
        for name, title in MISSES.items()
        if all(name in part.misses for part in parts.values())
    ]
    return Table(
        "what is missed: error of windows of 0.5 s, all runs fitted [mrad]", ("model", *parts), tuple(rows)
    )  # fmt: skip


def numbers_table(parts: dict[str, Part]) -> Table:
    """What was identified from all runs, in SI units; then by how much torques are late, and the zeros."""
    every = [name for part in parts.values() for name in part.whole.estimates]
    names = [name for name in dict.fromkeys(every) if not name.startswith("offset/")]
    told = lambda e: f"± {e.error:.1g}" if np.isfinite(e.error) else "(at a bound)"
    cell = lambda e: "–" if e is None else f"{e.value:.4g} {told(e)}"
    rows = [
        (name, *(cell(part.whole.estimates.get(name)) for part in parts.values()))
        for name in names
        if name != "lag"
    ]
    rows.append(("torque shown late [ms]", *(f"{1e3 * late(p):.2f}" for p in parts.values())))
    worst = lambda p: f"{np.sqrt(np.mean(p.zeros**2)):.3f}, {np.abs(p.zeros).max():.3f}"
    rows.append(("encoders' zeros: rms, largest [rad]", *(worst(p) for p in parts.values())))
    return Table("numbers in SI units, from all runs", ("number", *parts), tuple(rows))


def late(part: Part) -> float:
    """Delay of the measured torque behind the motion [s]."""
    return LEAD * ROW - part.whole["lag"].value


def plain_numbers(parts: dict[str, Part]) -> dict[str, Any]:
    """The results as plain data for `numbers.json`."""
    return {
        "errors": {d: {n: pooled(s) for n, s in p.squares.items()} for d, p in parts.items()},
        "errors_from_2s": {d: {n: pooled(s, CALIBRATED) for n, s in p.squares.items()} for d, p in parts.items()},
        "runs": {d: by_run(p.squares) for d, p in parts.items()},
        "estimates": {d: {n: e.value for n, e in p.whole.estimates.items()} for d, p in parts.items()},
        "zeros": {d: p.zeros.tolist() for d, p in parts.items()},
        "late": {d: late(p) for d, p in parts.items()},
        "misses": {d: p.misses for d, p in parts.items()},
        "differences": {
            d: {ours: differences(p.squares[ours], p.squares[theirs]) for ours, theirs in PAIRS.items()}
            for d, p in parts.items()
        },
        "terms": {d: [list(chosen) for chosen in p.terms] for d, p in parts.items()},
    }  # fmt: skip


def notes(parts: dict[str, Part]) -> tuple[str, ...]:
    """What the residual is, and which run decides the sum."""
    out = []
    for design, part in parts.items():
        share = lambda a, b, m=part.misses: 100.0 * (1.0 - (m[b] / m[a]) ** 2)
        out.append(
            f"{design}: of the squared error that nine numbers leave over 0.5 s, zeros and delay of the sensors take "
            f"{share('plain', 'both'):.0f} %, and the terms chosen {share('both', 'terms'):.0f} % of the rest."
        )
        kept = {t: sum(t in chosen for chosen in part.terms[:-1]) for t in TERMS}
        said = ", ".join(f"{t} {n} times" for t, n in kept.items())
        out.append(
            f"{design}: chosen inside the training runs, of {len(part.terms) - 1}: {said}; with all runs: "
            f"{', '.join(part.terms[-1]) or 'none'}."
        )
        total = [float(np.sum(run[-1])) for run in part.squares["chosen"]]
        worst = int(np.argmax(total))
        rest = pooled([s for k, s in enumerate(part.squares["chosen"]) if k != worst])
        lab = pooled([s for k, s in enumerate(part.squares["lab_zeros"]) if k != worst])
        out.append(
            f"{design}: run {worst} has {100 * total[worst] / sum(total):.0f} % of the squared error over 1 s; without "
            f"it, the terms chosen give {rest[0]:.3f} / {rest[1]:.3f}, the lab's model with zeros {lab[0]:.3f} / "
            f"{lab[1]:.3f} rad."
        )
    return tuple(out)
