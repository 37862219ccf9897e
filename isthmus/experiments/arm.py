"""A real arm of seven joints: inertias, friction, offsets and a tilted base from measured torques.

Two runs of a KUKA LWR4+ (FloBaRoID) repeat one trajectory, so that one run judged by the other shows the noise, not
what a model is worth elsewhere. Methods are therefore judged by blocks of time that both runs left out, and by speed:
the fast half of all rows from the slow half, and the reverse. Whatever a method chooses (terms, weights of priors), it
chooses inside the rows that it is fitted to.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.read import read_motion
from isthmus.errors import BadOption, DescriptionWarning, FitWarning
from isthmus.experiments.arm_figures import draw_errors, draw_torques
from isthmus.experiments.arm_network import network_fit, network_torque
from isthmus.experiments.arm_peers import Figaroh, Peer, figaroh, peer
from isthmus.experiments.run import Result, Settings, Table
from isthmus.files.load import load
from isthmus.identify.fit import Fit
from isthmus.identify.torque.data import (
    BLOCKS,
    Rows,
    described_bristles,
    parts_of,
    predicted_torque,
)
from isthmus.identify.torque.layout import bristle_name, cogging_names
from isthmus.identify.torque.regressor import OF_JOINT, parameter_names, parameter_vector
from isthmus.identify.torque.result import TorqueFit
from isthmus.identify.torque.start import fit_rows, torque_rows
from isthmus.model.model import Model
from isthmus.motion.files import dof_names

URDF = "models/kuka_lwr4/kuka_lwr4.urdf"
"""Where the description is looked for, beside the recordings."""
LOWPASS = 2.0
"""Cut-off of the filter that the recorded torques have been through [Hz]: their spectrum ends there."""
RATE = 20.0
"""Rows a second that are used, in units of that cut-off."""
FLOOR = 1.3
"""From run to run, an error below this times the difference of the runs is noise."""
METHODS = {
    "urdf": "URDF as it is",
    "least_squares": "Pinocchio + least squares",
    "ridge": "ridge around the URDF",
    "figaroh": "FIGAROH, base parameters",
    "usual": "isthmus, damping and friction",
    "chosen": "isthmus, terms chosen",
    "filtered": "isthmus, terms chosen, filtered",
    "network": "isthmus, terms chosen, networks on what remains",
}
SPLITS = {
    "blocks": "blocks of time",
    "fast": "slow → fast",
    "slow": "fast → slow",
    "runs": "run → run",
}
Predict = Callable[[list[Rows]], list[np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Arm:
    """The description, the runs, and what peers need."""

    model: Model
    urdf: str
    runs: list[Rows]
    lowpass: float
    peer: Peer | None
    """Pinocchio's regressors of the runs; None where it is not installed."""
    figaroh: Figaroh | None
    """FIGAROH's, likewise."""


@dataclasses.dataclass(frozen=True)
class Found:
    """All that was fitted to some rows."""

    predict: dict[str, Predict]
    fits: dict[str, TorqueFit]
    peers: dict[str, np.ndarray]
    """Parameters of Pinocchio's or FIGAROH's regressor, by method."""
    network: Fit
    """The chosen terms with networks, if these help."""


def study(settings: Settings) -> Result:
    """Every method on every split, then all rows together."""
    arm = _arm(settings)
    squares: dict[str, dict[str, np.ndarray]] = {}
    shown = {name: np.full_like(arm.runs[0].tau, np.nan) for name in METHODS}
    folds: list[TorqueFit] = []
    networks: list[Fit] = []
    for split in SPLITS:
        parts: dict[str, list[np.ndarray]] = {}
        for k, judged in enumerate(_judged(arm.runs, split, settings.quick)):
            settings.say(f"{SPLITS[split]}, part {k + 1}")
            found = fitted(arm, [~rows for rows in judged], settings)
            networks.append(found.network)
            for name, predict in found.predict.items():
                tau = predict(arm.runs)
                off = [(x - m.tau)[rows] for x, m, rows in zip(tau, arm.runs, judged, strict=True)]
                parts.setdefault(name, []).append(np.concatenate(off))
                if split == "blocks":
                    shown[name][judged[0]] = tau[0][judged[0]]
            if split == "blocks":
                folds.append(found.fits["chosen"])
        if parts:
            squares[split] = {n: _rms(np.concatenate(x)) for n, x in parts.items()}
    settings.say("all rows")
    whole = fitted(arm, [np.ones(len(m.q), dtype=bool) for m in arm.runs], settings)
    best = whole.fits["chosen"]
    tables = (
        _errors_table(arm, squares),
        _joints_table(arm, squares),
        _terms_table(best),
        _base_table(best, folds),
    )
    shown = {name: x for name, x in shown.items() if name in whole.predict}
    figures = {
        "torques": draw_torques(arm.runs[0], shown, best.dofs, METHODS),
        "errors": draw_errors({SPLITS[k]: x for k, x in squares.items()}, best.dofs, METHODS),
    }  # fmt: skip
    numbers = {
        "errors": {split: {n: x.tolist() for n, x in e.items()} for split, e in squares.items()},
        "noise": _repeats(arm.runs).tolist(), "tilt": best.tilt, "prior": best.prior,
        "lowpass": arm.lowpass, "urdf": arm.urdf, "peers": {n: pi.tolist() for n, pi in whole.peers.items()},
        "terms": {term.name: list(term.fitted) for term in best.terms},
    }  # fmt: skip
    models = {"urdf": arm.model} | {name: fit.model for name, fit in whole.fits.items()}
    models["network"] = whole.network.model
    notes = (*_notes(arm, squares, whole), _network_note(networks, whole.network))
    return Result(tables, numbers, figures, notes, models)


def judged(settings: Settings, models: dict[str, Model], numbers: dict[str, Any]) -> Result:
    """Torques of further recordings by the saved models; peers only where Pinocchio and the URDF are there."""
    given, lowpass, urdf = models["urdf"], numbers["lowpass"], numbers["urdf"]
    runs = _rows(given, str(settings.judge), lowpass)
    known = (peer(urdf, runs), figaroh(urdf, runs)) if Path(urdf).is_file() else (None, None)
    arm = Arm(given, urdf, runs, lowpass, *known)
    predict = {name: _by_name(arm, name, models[name]) for name in METHODS if name in models}
    predict |= _by_peers(arm, {name: np.array(pi) for name, pi in numbers["peers"].items()})
    tau = {name: predict[name](runs) for name in METHODS if name in predict}
    measured = np.concatenate([m.tau for m in runs])
    errors = {name: _rms(np.concatenate(x) - measured) for name, x in tau.items()}
    dofs = dof_names(given)
    joints = tuple(f"joint {k + 1}" for k in range(len(dofs)))
    rows = [(METHODS[n], f"{_total(e):.3f}", *(f"{x:.3f}" for x in e)) for n, e in errors.items()]
    title = f"arm: error of the torques of {settings.judge} [N·m], root mean square over rows"
    figures = {
        "torques": draw_torques(runs[0], {n: x[0] for n, x in tau.items()}, dofs, METHODS),
        "errors": draw_errors({"judged": errors}, dofs, METHODS),
    }
    table = Table(title, ("method", "all joints", *joints), tuple(rows))
    return Result((table,), {"errors": {n: e.tolist() for n, e in errors.items()}}, figures)


def _arm(settings: Settings) -> Arm:
    if settings.data is None:
        raise BadOption("the arm study needs its recordings: say --data FILE.")
    path = Path(str(settings.option("model", Path(settings.data).parent / URDF)))
    if not path.is_file():
        raise BadOption(f"there is no description at {str(path)!r}: say --set model=FILE.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)  # of shapes, which torques do not need
        model = load(path)
    lowpass = float(settings.option("lowpass", LOWPASS))
    runs = _rows(model, settings.data, lowpass)
    urdf = str(path)
    return Arm(model, urdf, runs, lowpass, peer(urdf, runs), figaroh(urdf, runs))


def _rows(model: Model, path: str, lowpass: float) -> list[Rows]:
    """The runs, thinned to `RATE` rows in a period of `lowpass`: torques without faster parts need no more."""
    out = []
    for motion in read_motion(path, dataset="flobaroid_arm"):
        rows = torque_rows(model, motion)
        every = max(1, int(1.0 / (rows.step * RATE * lowpass))) if rows.step else 1
        thin = rows.only(np.arange(0, len(rows.q), every))
        out.append(dataclasses.replace(thin, step=every * rows.step if rows.step else None))
    return out


def _judged(runs: list[Rows], split: str, quick: bool) -> Iterator[list[np.ndarray]]:
    """Which rows of each run are judged, for each part of a split."""
    parts = parts_of(runs)
    if split == "blocks":
        for block in range(2 if quick else BLOCKS):
            yield [part // 2 == block for part in parts]
    elif quick:
        return
    elif split in ("fast", "slow"):
        yield [part % 2 == (split == "fast") for part in parts]
    elif len(runs) > 1:
        for k in range(len(runs)):
            yield [np.full(len(m.q), i == k) for i, m in enumerate(runs)]


# fits -------------------------------------------------------------------------------------------------------


def fitted(arm: Arm, used: list[np.ndarray], settings: Settings) -> Found:
    """Every method, fitted to the used rows of each run."""
    hidden = [
        dataclasses.replace(m, tau=np.where(rows[:, None], m.tau, np.nan))
        for m, rows in zip(arm.runs, used, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # the notes say what matters of them
        fits = {
            "usual": fit_rows(arm.model, hidden, ("damping", "friction")),
            "chosen": fit_rows(arm.model, hidden),
            "filtered": fit_rows(arm.model, hidden, lowpass=arm.lowpass),
        }
    tau, peers = [m.tau for m in hidden], {}
    if arm.peer is not None:
        peers |= {"least_squares": arm.peer.least_squares(tau), "ridge": arm.peer.ridge(tau)}
    if arm.figaroh is not None:
        peers["figaroh"] = arm.figaroh.fitted(tau)
    predict = {"urdf": _by_name(arm, "urdf", arm.model)} | _by_peers(arm, peers)
    predict |= {name: _by_name(arm, name, fit.model) for name, fit in fits.items()}
    network = network_fit(fits["chosen"], hidden, settings)
    predict["network"] = _by_name(arm, "network", network.model)
    return Found(predict, fits, peers, network)


def _by_name(arm: Arm, name: str, model: Model) -> Predict:
    lowpass = arm.lowpass if name == "filtered" else None
    plain = lambda m: predicted_torque(model, m, arm.model, lowpass=lowpass)
    if not model.networks:
        return lambda runs: [plain(m) for m in runs]
    return lambda runs: [plain(m) + network_torque(model, m) for m in runs]


def _by_peers(arm: Arm, peers: dict[str, np.ndarray]) -> dict[str, Predict]:
    """Of those whose library is installed."""
    known = {name: arm.figaroh if name == "figaroh" else arm.peer for name in peers}
    return {
        name: lambda runs, own=own.rows, pi=peers[name]: [Y @ pi for Y in own]
        for name, own in known.items()
        if own is not None
    }


def _repeats(runs: list[Rows]) -> np.ndarray:
    """By how much the torques of the first two runs differ [N·m]: what noise alone makes from run to run."""
    if len(runs) < 2:
        return np.full(runs[0].tau.shape[1], np.nan)
    rows = min(len(m.q) for m in runs[:2])
    return _rms(runs[0].tau[:rows] - runs[1].tau[:rows])


def _rms(off: np.ndarray) -> np.ndarray:
    """Root mean square of each joint; rows without a torque do not count."""
    return np.sqrt(np.nanmean(off**2, axis=0))


# tables -----------------------------------------------------------------------------------------------------


def _total(error: np.ndarray) -> float:
    """Over all joints."""
    return float(np.sqrt(np.mean(error**2)))


def _errors_table(arm: Arm, squares: dict[str, dict[str, np.ndarray]]) -> Table:
    names = list(next(iter(squares.values())))
    rows = [(METHODS[n], *(f"{_total(e[n]):.3f}" for e in squares.values())) for n in names]
    title = (
        "arm: error of torques that were not fitted [N·m], root mean square over rows and joints"
    )
    return Table(title, ("method", *(SPLITS[s] for s in squares)), tuple(rows))


def _joints_table(arm: Arm, squares: dict[str, dict[str, np.ndarray]]) -> Table:
    rows = [
        (SPLITS[split], METHODS[name], *(f"{x:.3f}" for x in error))
        for split, errors in squares.items()
        for name, error in errors.items()
    ]
    noise = tuple(f"{x:.3f}" for x in _repeats(arm.runs))
    rows.append(("run → run", "difference of the runs (noise)", *noise))
    joints = tuple(f"joint {k + 1}" for k in range(len(noise)))
    return Table("by joint [N·m]", ("judged", "method", *joints), tuple(rows))


def _terms_table(fit: TorqueFit) -> Table:
    number = lambda names: ", ".join(
        str(fit.dofs.index(n) + 1) if n in fit.dofs else n for n in names
    )
    rows = [
        (term.name, number(term.fitted) or "none", *(f"{x:.3f}" for x in term.error))
        for term in fit.terms
    ]
    title = "terms that were tried on all rows: joints where they are kept, cross-validated error [N·m] on them"
    return Table(title, ("term", "kept on", "with", "without"), tuple(rows))


def _base_table(fit: TorqueFit, folds: list[TorqueFit]) -> Table:
    """Intervals by leaving out one block of time after the other (jackknife): residuals are not independent."""
    numbers = [_numbers(fold.model) for fold in folds]
    each = np.stack(
        [fit.base.of(np.array([n.get(x, 0.0) for x in fit.base.names])) for n in numbers]
    )
    half = 1.96 * np.sqrt(
        (len(each) - 1) / len(each) * np.sum((each - each.mean(axis=0)) ** 2, axis=0)
    )
    rows = [
        (fit.base.short(k), f"{fit.start[k]:.4g}", f"{fit.value[k]:.4g}", f"± {half[k]:.2g}")
        for k in range(len(fit.base))
    ]
    title = "base parameters (kg, kg·m, kg·m²; joints in N·m): description, found, 95 % interval"
    return Table(title, ("combination", "description", "found", "interval"), tuple(rows))


def _numbers(model: Model) -> dict[str, float]:
    """All numbers of a model that a torque fit may find, by name."""
    names = parameter_names(model, joints=OF_JOINT)
    out = dict(zip(names, parameter_vector(model, joints=OF_JOINT).tolist(), strict=True))
    for k in model.cogging:
        both = cogging_names(dof_names(model)[k], int(np.asarray(model.joint_cogging_periods)[k]))
        sizes = (model.joint_cogging_sin, model.joint_cogging_cos)
        out |= {name: float(np.asarray(x)[k]) for name, x in zip(both, sizes, strict=True)}
    for k, deflection in described_bristles(model):
        dof = dof_names(model)[k]
        out[bristle_name(dof, deflection)] = out.pop(f"friction of {dof!r}")
    return out


def _notes(arm: Arm, squares: dict[str, dict[str, np.ndarray]], whole: Found) -> tuple[str, ...]:
    best = whole.fits["chosen"]
    out = [
        f"The base is tilted by {np.degrees(best.tilt):.2f}° against the description; "
        f"the prior's weight is {best.prior:.3g}.",
        *best.notes,
    ]  # fmt: skip
    if "runs" in squares:
        ratio = squares["runs"]["filtered"] / _repeats(arm.runs)
        said = ", ".join(f"{x:.2f}" for x in ratio)
        out.append(
            f"From run to run, error over the difference of the runs, by joint: {said} (noise up to {FLOOR})."
        )
    if "ridge" not in whole.predict:
        out.append(
            "Pinocchio is not installed: its rows are missing (pip install 'isthmus[bench]')."
        )
    if "figaroh" not in whole.predict:
        out.append("FIGAROH is not installed: its row is missing (pip install figaroh).")
    return tuple(out)


def _network_note(parts: list[Fit], whole: Fit) -> str:
    """How often networks were used, and what the judging block says of those of all rows."""
    kept = sum(bool(fit.model.networks) for fit in parts)
    said = "; ".join(whole.networks.lines()) if whole.networks else ""
    return f"Networks helped in {kept} of {len(parts)} parts, and were left out elsewhere. All rows: {said}."
