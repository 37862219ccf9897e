"""A torque-driven double pendulum, three designs: identified on all runs but one, judged on that one, each in turn.

The lab's own models (rigid links, reflected rotor inertia, viscous and dry friction) stand beside. Rollouts are driven
by the measured torque, start every 0.25 s, and are judged by the error of both joints over the whole horizon. Motion
tells the first moment and the inertia of each link, not its mass, and the first rotor only with the first link:
masses and that rotor stay fixed. Encoders are set to zero before each run wherever friction lets the arm hang: two
numbers for each run, which a run that is judged tells in its first two seconds.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.read import read_motion
from isthmus.errors import BadOption
from isthmus.experiments.acrobot_figures import draw_errors, draw_misses
from isthmus.experiments.acrobot_fits import (
    CALIBRATED,
    Run,
    identified,
    learned,
    own_zero,
    run_of,
    zeros_of,
)
from isthmus.experiments.acrobot_model import LABS, LEAD, ROW, Lab, made
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.fit import Fit
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.phases import in_turn
from isthmus.simulate.many import rollout_many

HORIZONS = {"0.5 s": 250, "1 s": 500}
STRIDE = 125
"""Rows between starts: 0.25 s."""
METHODS = {
    "lab": "lab's model, here",
    "lab_zeros": "lab's model, zeros from 2 s",
    "blind": "parameters, zeros not known",
    "parameters": "parameters, zeros from 2 s",
    "network": "network with memory, zeros from 2 s",
}
MISSES = {
    "plain": "nine numbers",
    "lag": "and the torque's delay",
    "zeros": "and each run's zeros",
    "both": "both",
    "network": "both, and a network",
}

Squares = tuple[np.ndarray, ...]
"""For each horizon, the mean squared error (starts,) of both joints [rad²]."""


@dataclasses.dataclass(frozen=True)
class Part:
    """What was found for one design."""

    squares: dict[str, list[Squares]]
    """Method -> run -> horizon."""
    whole: Fit
    """All runs together."""
    zeros: np.ndarray
    """Of the encoders, (runs, 2) [rad]."""
    misses: dict[str, float]
    """Root mean square over windows of 0.5 s of all runs [rad], by what is in the model."""


def study(settings: Settings) -> Result:
    """The design that the file's name says; for a folder, all designs in it."""
    if settings.data is None:
        raise BadOption("the acrobot study needs its recordings: say --data FILE or FOLDER.")
    parts: dict[str, Part] = {}
    for design, path in files(Path(settings.data)).items():
        found = read_motion(str(path), dataset="dfki_double_pendulum")
        runs = [run_of(m) for m in (found if isinstance(found, list) else [found])]
        check(path, runs)
        settings.say(f"{design}: {len(runs)} runs")
        parts[design] = one(LABS[design], runs, settings)
    tables = (errors_table(parts), misses_table(parts), numbers_table(parts))
    figures = {
        "runs": draw_errors({d: by_run(p) for d, p in parts.items()}, METHODS),
        "misses": draw_misses({d: p.misses for d, p in parts.items()}, MISSES),
    }
    return Result(tables, plain_numbers(parts), figures, notes(parts))


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


def check(path: Path, runs: list[Run]) -> None:
    """Refuses data with too few or too short runs."""
    if len(runs) < 2:
        raise BadOption(f"{str(path)!r} has one run; one is kept for judging.")
    least = CALIBRATED + STRIDE + max(HORIZONS.values())
    if short := [k for k, run in enumerate(runs) if len(run.q) <= least]:
        raise BadOption(
            f"run {short[0]} of {str(path)!r} lasts {ROW * len(runs[short[0]].q):.1f} s; 2 s for the zeros and a "
            f"prediction of 1 s need more than {ROW * least:.2f} s. Leave it out."
        )


def one(lab: Lab, runs: list[Run], settings: Settings) -> Part:
    """A design: every run judged by models that have not seen it, then all runs together."""
    theirs = made(lab, lab.numbers())
    squares: dict[str, list[Squares]] = {name: [] for name in METHODS}
    for k in in_turn(range(len(runs)), "run"):
        rest = [r for j, r in enumerate(runs) if j != k]
        found = identified(lab, rest, settings)
        net = learned(found, rest, settings).model
        run, zero = runs[k], own_zero(found.model, runs[k], settings)
        judged = {
            "lab": judge(theirs, run, smooth=False),
            "lab_zeros": judge(theirs, run, own_zero(theirs, run, settings)),
            "blind": judge(found.model, run),
            "parameters": judge(found.model, run, zero),
            "network": judge(net, run, zero),
        }
        for name, errors in judged.items():
            squares[name].append(errors)
        seen = lambda name, judged=judged: " / ".join(
            f"{np.sqrt(x.mean()):.3f}" for x in judged[name]
        )
        settings.say(
            f"  without run {k}: parameters {seen('parameters')}, network {seen('network')} rad"
        )
    whole = identified(lab, runs, settings)
    return Part(squares, whole, zeros_of(whole, len(runs)), misses(lab, runs, whole, settings))


def misses(lab: Lab, runs: list[Run], whole: Fit, settings: Settings) -> dict[str, float]:
    """What each part of the model takes off the error of short windows, all runs fitted together."""
    fits = {
        "plain": identified(lab, runs, settings, zeros=False, lag=False),
        "lag": identified(lab, runs, settings, zeros=False),
        "zeros": identified(lab, runs, settings, lag=False),
        "both": whole,
        "network": learned(whole, runs, settings),
    }
    return {name: found.errors["joint/position"][1] for name, found in fits.items()}


# the judge --------------------------------------------------------------------------------------------------


def judge(
    model: Model, run: Run, zero: np.ndarray | float = 0.0, *, smooth: bool = True
) -> Squares:
    """Open-loop rollouts from every 0.25 s, from smoothed or from measured states."""
    q, v = (run.q, run.v) if smooth else (run.seen, run.measured_v)
    shortest, longest = HORIZONS.values()
    rows = np.arange(0, len(q) - shortest - 1, STRIDE)
    before = rows[:, None] - 1 - np.arange(model.delay_steps)
    start = State(q[rows] - zero, v[rows], {"commands": run.torque[np.maximum(before, 0)]})
    ahead = np.minimum(rows[:, None] + np.arange(longest + 1), len(q) - 1)
    motion = rollout_many(model, start, Control(torque=run.torque[ahead[:, :-1]]), ROW)
    off = np.asarray(motion.q) + zero - run.seen[ahead]
    whole = lambda steps: off[rows < len(q) - steps - 1, 1 : steps + 1]
    return tuple(np.mean(whole(steps) ** 2, axis=(1, 2)) for steps in HORIZONS.values())


def pooled(squares: list[Squares], first: int = 0) -> list[float]:
    """Root mean square over all starts of all runs from row `first` on, for each horizon [rad]."""
    skipped = -(-first // STRIDE)
    kept = [[x[skipped:] for x in horizon] for horizon in zip(*squares, strict=True)]
    return [float(np.sqrt(np.mean(np.concatenate(x)))) for x in kept]


def by_run(part: Part) -> dict[str, list[list[float]]]:
    """Method -> run -> horizon: root mean square [rad]."""
    return {
        name: [[float(np.sqrt(x.mean())) for x in run] for run in runs]
        for name, runs in part.squares.items()
    }


# tables -----------------------------------------------------------------------------------------------------


def errors_table(parts: dict[str, Part]) -> Table:
    """Beside the lab's models; on the right only starts that come after what zeros were taken from."""
    rows = []
    for design, part in parts.items():
        published = (f"{x:.3f}" for x in LABS[design].peers)
        rows.append((design, "lab's model, as published", *published, "", ""))
        for name, title in METHODS.items():
            errors = pooled(part.squares[name]) + pooled(part.squares[name], CALIBRATED)
            rows.append((design, title, *(f"{x:.3f}" for x in errors)))
    title = (
        "driven double pendulum: open-loop error of both joints over the horizon [rad], "
        "every run predicted by models that have not seen it"
    )
    columns = ("design", "model", *HORIZONS, *(f"{name}, from 2 s on" for name in HORIZONS))
    return Table(title, columns, tuple(rows))


def misses_table(parts: dict[str, Part]) -> Table:
    """Errors of the rigid model as parts are added to it."""
    rows = [
        (title, *(f"{1e3 * part.misses[name]:.1f}" for part in parts.values()))
        for name, title in MISSES.items()
    ]
    return Table(
        "what is missed: error of windows of 0.5 s, all runs fitted [mrad]", ("model", *parts), tuple(rows)
    )  # fmt: skip


def numbers_table(parts: dict[str, Part]) -> Table:
    """What was identified from all runs, in SI units; then by how much torques are late, and the zeros."""
    names = [name for name in next(iter(parts.values())).whole.estimates if "offset" not in name]
    cell = lambda e: f"{e.value:.4g} ± {e.error:.1g}"
    rows = [
        (name, *(cell(part.whole.estimates[name]) for part in parts.values()))
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
        "runs": {d: by_run(p) for d, p in parts.items()},
        "estimates": {d: {n: e.value for n, e in p.whole.estimates.items()} for d, p in parts.items()},
        "zeros": {d: p.zeros.tolist() for d, p in parts.items()},
        "late": {d: late(p) for d, p in parts.items()},
        "misses": {d: p.misses for d, p in parts.items()},
    }  # fmt: skip


def notes(parts: dict[str, Part]) -> tuple[str, ...]:
    """What the residual is, and which run decides the sum."""
    out = []
    for design, part in parts.items():
        share = lambda a, b, m=part.misses: 100.0 * (1.0 - (m[b] / m[a]) ** 2)
        out.append(
            f"{design}: of the squared error that nine numbers leave over 0.5 s, zeros and delay of the sensors take "
            f"{share('plain', 'both'):.0f} %, and a network with memory {share('both', 'network'):.0f} % of the rest."
        )
        total = [float(np.sum(run[-1])) for run in part.squares["parameters"]]
        worst = int(np.argmax(total))
        rest = pooled([s for k, s in enumerate(part.squares["parameters"]) if k != worst])
        lab = pooled([s for k, s in enumerate(part.squares["lab"]) if k != worst])
        out.append(
            f"{design}: run {worst} has {100 * total[worst] / sum(total):.0f} % of the squared error over 1 s; without "
            f"it, parameters {rest[0]:.3f} / {rest[1]:.3f}, the lab's model {lab[0]:.3f} / {lab[1]:.3f} rad."
        )
    return tuple(out)
