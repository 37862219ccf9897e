"""A torque-driven double pendulum, three designs: identified on all runs but one, judged on that one, each in turn.

The lab's own models (rigid links, reflected rotor inertia, viscous and dry friction) stand beside. Rollouts are driven
by the measured torque, start every 0.25 s in a measured state, and are judged by the error of both joints over the
whole horizon. Motion tells the first moment and the inertia of each link, not its mass, and the first rotor only with
the first link: masses and that rotor stay fixed.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.read import read_motion
from isthmus.errors import BadOption, FitWarning
from isthmus.experiments.acrobot_figures import draw_errors
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.fit import Fit, fit
from isthmus.identify.free import Free
from isthmus.identify.problem import Problem
from isthmus.losses.windows import Windows
from isthmus.model.builder import Builder
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.simulate.many import rollout_many
from isthmus.simulate.motion import Motion
from isthmus.types import AnyArray

ROW = 0.002
"""Time between rows [s]."""
HORIZONS = {"0.5 s": 250, "1 s": 500}
STRIDE = 125
"""Rows between starts: 0.25 s."""
GEAR, SLOW = 6.0, 0.05
"""Gear ratio; speed [rad/s] below which dry friction is not full."""

LAST, HUBER = 125, 2.0
"""Rows of the windows that decide; beyond so many standard deviations (0.02 rad) differences count linearly."""


@dataclasses.dataclass(frozen=True)
class Lab:
    """A design as the lab identified it, and what its model was found to miss."""

    mass: tuple[float, float]
    """[kg]"""
    inertia: tuple[float, float]
    """About the joint [kg·m²]."""
    centre: tuple[float, float]
    """Of mass, from the joint [m]."""
    length: float
    """Of the first link [m]."""
    rotor: float
    """Inertia before the gear [kg·m²]."""
    dry: tuple[float, float]
    """Of `dry · atan(100 v)` [N·m]."""
    peers: tuple[float, float]
    """Errors over 0.5 s and 1 s of all runs [rad], as published with the recordings."""

    def numbers(self) -> dict[str, Any]:
        """As numbers of `made`."""
        moments = [m * r for m, r in zip(self.mass, self.centre, strict=True)]
        return {
            "moment": moments, "inertia": list(self.inertia), "damping": [0.001, 0.001],
            "friction": [0.5 * np.pi * x for x in self.dry], "armature": GEAR**2 * self.rotor,
        }  # fmt: skip


LABS = {
    "A0": Lab((0.559, 0.604), (0.0535, 0.0239), (0.3, 0.184), 0.3, 7.66e-5, (0.093, 0.078), (0.103, 0.305)),
    "C0": Lab((0.642, 0.564), (0.0267, 0.0539), (0.2, 0.321), 0.2, 9.94e-5, (0.093, 0.078), (0.120, 0.579)),
    "C1": Lab((0.523, 0.626), (0.0319, 0.0509), (0.2, 0.256), 0.2, 6.29e-5, (0.16, 0.12), (0.076, 0.303)),
}  # fmt: skip


def study(settings: Settings) -> Result:
    """The design that the file's name says; for a folder, all designs in it."""
    if settings.data is None:
        raise BadOption("the acrobot study needs its recordings: say --data FILE or FOLDER.")
    parts: dict[str, dict[str, np.ndarray]] = {}
    fits: dict[str, Fit] = {}
    for design, path in files(Path(settings.data)).items():
        runs = read_motion(str(path), dataset="dfki_double_pendulum")
        motions = [even(m) for m in (runs if isinstance(runs, list) else [runs])]
        if len(motions) < 2:
            raise BadOption(f"{str(path)!r} has one run; one is kept for judging.")
        settings.say(f"{design}: {len(motions)} runs")
        parts[design], fits[design] = one(LABS[design], motions, settings)
    totals = {
        design: {name: pooled(e) for name, e in part.items()} for design, part in parts.items()
    }
    numbers = {
        "errors": totals,
        "runs": {d: {n: np.sqrt(e[..., 0] / e[..., 1]).tolist() for n, e in p.items()} for d, p in parts.items()},
        "estimates": {d: {n: e.value for n, e in found.estimates.items()} for d, found in fits.items()},
    }  # fmt: skip
    tables = (errors_table(totals), numbers_table(fits))
    return Result(tables, numbers, {"runs": draw_errors(numbers["runs"])}, notes(parts))


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


def even(motion: Motion) -> Motion:
    """Rows every 2 ms, driven by the torque that was measured."""
    t = np.asarray(motion.t) - np.asarray(motion.t)[0]
    at = np.arange(0.0, t[-1], ROW)
    rows = lambda x: np.stack([np.interp(at, t, column) for column in np.asarray(x).T], axis=1)
    torque: dict[str, AnyArray] = {"joint/control": rows(motion.signals["joint/motor_torque"])}
    return Motion(at, rows(motion.q), rows(motion.v), torque)


def one(lab: Lab, motions: list[Motion], settings: Settings) -> tuple[dict[str, np.ndarray], Fit]:
    """Squares and counts (runs, horizons, 2) of the lab's model and ours; and the fit without the last run."""
    theirs = made(lab, lab.numbers())
    ours, found = [], None
    for k, motion in enumerate(motions):
        found = identified(lab, [m for j, m in enumerate(motions) if j != k], settings)
        ours.append(squares(found.model, motion))
        settings.say(f"  without run {k}: {np.sqrt(ours[-1][:, 0] / ours[-1][:, 1])} rad")
    assert found is not None
    return {
        "lab": np.stack([squares(theirs, m) for m in motions]),
        "parameters": np.stack(ours),
    }, found


# the model --------------------------------------------------------------------------------------------------


def made(lab: Lab, p: Mapping[str, Any]) -> Model:
    """Two links that hang at zero, with rotors behind gears, viscous and dry friction."""
    masses = (2.0 * lab.mass[0], lab.mass[1])  # enough for any moment and inertia to be possible
    rotors = (GEAR**2 * lab.rotor, p["armature"])
    robot = Builder("acrobot")
    for k, link in enumerate(("upper", "lower")):
        com = p["moment"][k] / masses[k]
        turn = p["inertia"][k] - p["moment"][k] * com
        robot.add_link(link, mass=masses[k], com=(0.0, 0.0, -com), inertia=(turn,) * 3)
        robot.add_joint_revolute(
            f"joint_{k + 1}", "upper" if k else None, link, position=(0.0, 0.0, -k * lab.length), axis=(0.0, 1.0, 0.0),
            damping=p["damping"][k], friction=p["friction"][k], friction_speed=SLOW, armature=rotors[k],
        )  # fmt: skip
    return robot.model()


def identified(lab: Lab, motions: Sequence[Motion], settings: Settings) -> Fit:
    """Nine numbers from windows of 0.25 s, beginning at the lab's."""
    bounds = {
        "moment": (0.01, 0.5), "inertia": (0.005, 0.3), "damping": (0.0, 0.5),
        "friction": (0.0, 0.5), "armature": (0.0, 0.05),
    }  # fmt: skip
    start = lab.numbers()
    free = [
        Free(name, low=low, high=high, start=start[name], shape=np.shape(start[name]))
        for name, (low, high) in bounds.items()
    ]
    problem = Problem(
        make=lambda p: made(lab, p), motions=motions, free=free, noise=0.02, huber=HUBER, wrap=False,
        loss=Windows(25 if settings.quick else LAST, 60),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # damping or armature may end at zero
        return fit(problem, show=False)


# the judge --------------------------------------------------------------------------------------------------


def squares(model: Model, motion: Motion) -> np.ndarray:
    """Sum of squared errors of both joints, and how many: (horizons, 2)."""
    q, v, torque = (np.asarray(x) for x in (motion.q, motion.v, motion.signals["joint/control"]))
    out = []
    for steps in HORIZONS.values():
        rows = range(0, len(q) - steps - 1, STRIDE)
        start = State(q=np.stack([q[k] for k in rows]), v=np.stack([v[k] for k in rows]))
        drive = Control(torque=np.stack([torque[k : k + steps] for k in rows]))
        off = np.asarray(rollout_many(model, start, drive, ROW).q)[:, 1:]
        off = off - np.stack([q[k + 1 : k + steps + 1] for k in rows])
        out.append((float(np.sum(off**2)), float(off.size)))
    return np.array(out)


def pooled(e: np.ndarray) -> list[float]:
    """Root mean square over all runs, for each horizon."""
    total = e.sum(axis=0)
    return np.sqrt(total[:, 0] / total[:, 1]).tolist()


# tables -----------------------------------------------------------------------------------------------------


def errors_table(totals: dict[str, dict[str, list[float]]]) -> Table:
    """Beside the lab's models."""
    show = lambda e: tuple(f"{x:.3f}" for x in e)
    rows = []
    for design, errors in totals.items():
        rows.append((design, "lab's model, as published", *show(LABS[design].peers)))
        rows.append((design, "lab's model, here", *show(errors["lab"])))
        rows.append((design, "parameters, run left out", *show(errors["parameters"])))
    title = (
        "driven double pendulum: open-loop error of both joints over the horizon [rad], all runs"
    )
    return Table(title, ("design", "model", *HORIZONS), tuple(rows))


def numbers_table(fits: dict[str, Fit]) -> Table:
    """What was identified without the last run."""
    names = list(next(iter(fits.values())).estimates)
    cell = lambda e: f"{e.value:.4g} ± {e.error:.1g}"
    rows = [(name, *(cell(found.estimates[name]) for found in fits.values())) for name in names]
    return Table("numbers in SI units, fitted without the last run", ("number", *fits), tuple(rows))


def notes(parts: dict[str, dict[str, np.ndarray]]) -> tuple[str, ...]:
    """Which run decides the sum."""
    out = []
    for design, part in parts.items():
        share = part["parameters"][:, 1, 0] / part["parameters"][:, 1, 0].sum()
        worst = int(np.argmax(share))
        rest = pooled(np.delete(part["parameters"], worst, axis=0))
        lab = pooled(np.delete(part["lab"], worst, axis=0))
        out.append(
            f"{design}: run {worst} has {100 * share[worst]:.0f} % of the squared error over 1 s; without it, "
            f"parameters {rest[0]:.3f} / {rest[1]:.3f}, the lab's model {lab[0]:.3f} / {lab[1]:.3f} rad."
        )
    return tuple(out)
