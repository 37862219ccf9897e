"""Fits of the acrobot study: numbers and zeros of encoders, the zero of a run alone, a network with memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import jax
import numpy as np
from scipy.signal import savgol_filter

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.errors import BadOption
from isthmus.experiments.acrobot_model import FALLING, LEAD, ROW, STARTS, STICKING, TERMS, Lab, made
from isthmus.experiments.quiet import Values, found_values, quiet_fit
from isthmus.experiments.run import Settings
from isthmus.identify.fit import Fit
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.losses.windows import Windows
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.networks.recipes import GRU
from isthmus.types import AnyArray

SMOOTH = (41, 4)
"""Rows and order of the filter that starts come from: measured velocities are rounded to some 0.1 rad/s."""
LAST, STRIDE, NOISE, HUBER = 250, 60, 0.01, 1.0
"""Rows of a window and between two; beyond so many standard deviations [rad] differences count linearly."""
ZERO = "offset/joint/position"
DOUBT, DELAY = 0.05, 0.01
"""How far an encoder's zero may be off [rad] where friction holds the arm; by how much torques may be late [s]."""
PINNED = 1e-9
"""A prior so narrow that a number stays where it is, in the same program."""
STEEP = {"stiction[0]": 0.12, "stiction[1]": 0.12, "stiction_speed": 0.15, "stiction_exponent": 2.0}
"""Another start of fits with stiction [N·m, N·m, rad/s, 1]."""
GAIN, SPARSE = 0.99, 4
"""A term is kept that lowers the cost at least so much; while terms are chosen, one window in so many is used."""
CALIBRATED = 1000
"""Rows of a run that is judged from which its encoders' zeros are taken: 2 s."""
BOUNDS = {
    "moment": (0.01, 0.5), "inertia": (0.005, 0.3), "damping": (0.0, 0.5),
    "friction": (0.0, 0.5), "armature": (0.0, 0.05), "lag": (0.0, 2 * LEAD * ROW),
}  # fmt: skip
SPEEDS, EXPONENTS = (0.05, 5.0), (0.5, 2.0)
"""Bounds of the speed of stiction [rad/s] and of its exponent, one for both joints."""


@dataclasses.dataclass(frozen=True)
class Run:
    """A recording, every 2 ms."""

    seen: np.ndarray
    """Measured angles (rows, 2) [rad]."""
    measured_v: np.ndarray
    """Measured velocities (rows, 2) [rad/s]."""
    q: np.ndarray
    v: np.ndarray
    """Smoothed angles and their slopes (rows, 2) [rad, rad/s]: where predictions start."""
    torque: np.ndarray
    """Measured torques (rows, 2) [N·m], brought forward by `LEAD` rows."""

    def log(self, zero: np.ndarray | float = 0.0, rows: int | None = None) -> Motion:
        """The first rows as a log, with encoders that read `zero` too much."""
        part = slice(0, rows)
        acting: dict[str, AnyArray] = {"joint/control": self.torque[part]}
        t = ROW * np.arange(len(self.q))
        return Motion(t[part], self.q[part] - zero, self.v[part], acting)


def run_of(motion: Motion) -> Run:
    """Rows every 2 ms of a recording whose rows are almost that far apart."""
    t = np.asarray(motion.t) - np.asarray(motion.t)[0]
    at = np.arange(0.0, t[-1], ROW)
    rows = lambda x, at: np.stack([np.interp(at, t, column) for column in np.asarray(x).T], axis=1)
    seen = rows(motion.q, at)
    q = savgol_filter(seen, *SMOOTH, axis=0)
    v = savgol_filter(seen, *SMOOTH, deriv=1, delta=ROW, axis=0)
    torque = rows(motion.signals["joint/motor_torque"], at + LEAD * ROW)
    return Run(seen, rows(motion.v, at), q, v, torque)


def identified(
    lab: Lab,
    runs: Sequence[Run],
    settings: Settings,
    terms: Sequence[str] = (),
    *,
    zeros: bool = True,
    lag: bool = True,
    sparse: int = 1,
    near: Mapping[str, float] | None = None,
) -> Values:
    """Ten numbers (nine without `lag`), two for each of `terms` and two zeros a run, fitted to windows of 0.5 s.

    They begin at the lab's, or at those of `near`, numbers of a fit with fewer terms.
    """
    return found_values(
        problem_of(lab, runs, settings, terms, zeros=zeros, lag=lag, sparse=sparse), near
    )


def with_terms(
    lab: Lab, runs: Sequence[Run], settings: Settings, terms: Sequence[str], plain: Values
) -> Values:
    """The best of several fits with `terms`: from the numbers without them, and from those of few windows.

    Stiction has several minima: one more fit begins with a stiction that is large and only there near rest.
    """
    if not terms:
        return plain
    few = identified(lab, runs, settings, terms, sparse=SPARSE, near=plain.numbers)
    starts = [plain.numbers, few.numbers]
    if "stiction" in terms:
        starts.append(plain.numbers | STEEP)
    found = [identified(lab, runs, settings, terms, near=start) for start in starts]
    return min(found, key=lambda values: values.loss)


def problem_of(
    lab: Lab,
    runs: Sequence[Run],
    settings: Settings,
    terms: Sequence[str] = (),
    *,
    zeros: bool = True,
    lag: bool = True,
    sparse: int = 1,
) -> Problem:
    """What `identified` solves."""
    start = lab.numbers() | {term: [STARTS[term]] * 2 for term in terms}
    bounds = BOUNDS | {term: TERMS[term] for term in terms}
    if "stiction" in terms:
        start |= {"stiction_speed": STICKING, "stiction_exponent": FALLING}
        bounds |= {"stiction_speed": SPEEDS, "stiction_exponent": EXPONENTS}
    priors = {"lag": DELAY if lag else PINNED}
    free = [
        Free(n, low=low, high=high, start=start[n], shape=np.shape(start[n]), prior=priors.get(n))
        for n, (low, high) in bounds.items()
    ]
    free.append(Free(ZERO, each_run=True, prior=DOUBT if zeros else PINNED))
    return Problem(
        make=lambda p: made(lab, p), motions=[run.log() for run in runs], free=free,
        noise=NOISE, huber=HUBER, wrap=False, loss=windows(settings, sparse),
    )  # fmt: skip


def chosen_terms(lab: Lab, runs: Sequence[Run], settings: Settings) -> tuple[str, ...]:
    """The terms with which every other run, fitted alone, predicts the rest of the runs best: backward elimination.

    From all terms, the one that matters least is left out as long as that costs little. One run alone chooses none.
    """
    first, rest = runs[0::2], runs[1::2]
    if not rest:
        return ()
    plain = identified(lab, first, settings, sparse=SPARSE).numbers

    def error(terms: tuple[str, ...]) -> float:
        found = identified(lab, first, settings, terms, sparse=SPARSE, near=plain)
        return misfit(found.model, rest, settings)

    kept = tuple(TERMS)
    least = error(kept)
    while kept:
        fewer = {term: tuple(t for t in kept if t != term) for term in kept}
        errors = {term: error(terms) for term, terms in fewer.items()}
        term = min(errors, key=lambda name: errors[name])
        if errors[term] * GAIN > least:
            break
        kept, least = fewer[term], min(errors[term], least)
    return kept


def misfit(model: Model, runs: Sequence[Run], settings: Settings) -> float:
    """The robust cost of windows of 0.5 s of runs that were not fitted, with the zeros that suit the model."""
    problem = Problem(
        model, [run.log() for run in runs], free=[Free(ZERO, each_run=True, prior=DOUBT)], noise=NOISE, huber=HUBER,
        wrap=False, loss=windows(settings, SPARSE),
    )  # fmt: skip
    return found_values(problem).loss


def zeros_of(found: Mapping[str, float], runs: int) -> np.ndarray:
    """The encoders' zeros of each fitted run, (runs, 2) [rad]."""
    name = lambda k, run: f"offset/joint/joint_{k}/position in run {run + 1}"
    return np.array([[found[name(k, run)] for k in (1, 2)] for run in range(runs)])


def own_zero(model: Model, run: Run, settings: Settings) -> np.ndarray:
    """The encoders' zeros (2,) [rad] of a run that was not fitted, from its first two seconds; all else is known."""
    if len(run.q) <= CALIBRATED:
        raise BadOption(
            f"a run of {ROW * len(run.q):.1f} s is too short: its first {ROW * CALIBRATED:g} s are for the zeros, the "
            "rest is predicted."
        )
    problem = Problem(
        model, run.log(rows=CALIBRATED), free=[Free(ZERO, prior=DOUBT)], noise=NOISE, huber=HUBER, wrap=False,
        loss=windows(settings),
    )  # fmt: skip
    found = found_values(problem).numbers
    return np.array([found[f"offset/joint/joint_{k}/position"] for k in (1, 2)])


def learned(known: Values, runs: Sequence[Run], settings: Settings) -> Fit:
    """A unit with memory at each joint adds to the passive torque, from the joint's velocity and its motor's torque."""
    logs = [
        run.log(zero) for run, zero in zip(runs, zeros_of(known.numbers, len(runs)), strict=True)
    ]
    reads = lambda k: [f"joint/joint_{k}/velocity", f"joint/joint_{k}/control"]
    wires = [
        Wire(f"joint/joint_{k}/passive_torque", reads(k), GRU(4), output_scale=0.1, fade=False)
        for k in (1, 2)
    ]
    hybrid = Blueprint(wires).attach(known.model, key=jax.random.key(settings.seed))
    problem = Problem(
        hybrid, logs, free=[Free("network/*"), Free("joint/friction"), Free("joint/damping")], noise=NOISE,
        huber=HUBER, weight_penalty=40.0, wrap=False, loss=windows(settings),
    )  # fmt: skip
    return quiet_fit(problem, LBFGS(steps=2 if settings.quick else 120))


def windows(settings: Settings, sparse: int = 1) -> Windows:
    """What is simulated and compared; of windows, one in `sparse`."""
    return Windows(100 if settings.quick else LAST, STRIDE * sparse)
