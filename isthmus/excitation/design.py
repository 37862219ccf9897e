"""`design`: the motion within limits that determines numbers of a robot best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from isthmus.blas import on_one_thread
from isthmus.entry import check_arguments
from isthmus.errors import BadFree, BadOption
from isthmus.excitation.apart import Capsules, capsules_of
from isthmus.excitation.fourier import Series
from isthmus.excitation.information import Information, Programs, of_base, of_free
from isthmus.excitation.limits import Limits, limits_of, start_of
from isthmus.excitation.result import Design
from isthmus.excitation.search import CLEARANCE, Samples, Search, conditions, objective
from isthmus.identify.parameters.free import Free, as_frees
from isthmus.losses.windows import whole_number
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.motion.spans import joints_of
from isthmus.phases import counted, phase
from isthmus.types import Number, Numbers

DT = 0.01
"""Time between the rows of the motion [s]."""
RANDOM = 200
"""Random motions that a design is compared with."""
TRIES = 50
"""Random motions that are tried for a start."""
NOT_FOUND = "no search ended within the limits: this is the best of the random motions; try more starts or wider limits"
UNDETERMINED = 1e-9
"""Share of the largest eigenvalue of the scaled information, of all random motions together, below which a direction
is not determined."""


@check_arguments
def design(
    model: Model,
    free: str | Free | Sequence[str | Free] | None = None,
    seconds: Number = 10.0,
    harmonics: int = 5,
    limits: Mapping[str, Any] | None = None,
    aim: Literal["D", "E"] = "D",
    starts: int = 8,
    *,
    joints: Sequence[str] = (),
    noise: Numbers = 1.0,
    start: Numbers | None = None,
    seed: int = 0,
) -> Design:
    """The motion, from rest to rest in so many seconds, that determines `free` numbers of a robot best.

    Without `free`: the base parameters, from measured torques of this `noise` [N·m, N], with terms of the `joints` as
    in `regressor`. Each joint moves along a Fourier series with so many `harmonics`. `limits` has `position` (a number,
    (low, high), or these by joint) [rad, m], `velocity`, `acceleration` and `torque`, each one number, one for each
    degree of freedom, or by joint. Unless given, they are those of the model; velocities are then the whole travel in a
    second, at most 2 rad/s or m/s, and accelerations four times as much. Bodies that have shapes keep apart. `aim`:
    "D" makes the errors small, "E" the condition. `start` [rad, m]: where the motion begins and ends. The best of
    `starts` searches counts.
    """
    _check(seconds, harmonics, starts)
    whole_number("seed", seed, 0)
    bounds = limits_of(model, limits)
    begin = start_of(model, bounds, start)
    frees = as_frees(free)
    with phase("looking for what can be determined"):
        about = of_free(model, frees) if frees else of_base(model, joints, noise)
        series = Series(model.dof, float(seconds), harmonics)
        capsules, notes = _apart(model, bounds, begin)
        search = Search(series, bounds, Programs(about, capsules), about.prior, begin, aim)
    rng = np.random.default_rng(seed)
    with on_one_thread():
        with phase("random motions"):
            others = _randoms(search, rng)
            _refuse_undetermined(about, others, search)
            others = _sorted(search, others)
        with phase("the best motion"):
            best = _best(search, others, starts)
    if best is None:
        best, notes = others[0], (*notes, NOT_FOUND)
    return _told(about, search, search.coefficients(best), others, notes)


def _check(seconds: Any, harmonics: int, starts: int) -> None:
    if not 0.0 < float(seconds) < np.inf:
        raise BadOption(f"seconds must be a positive number, not {seconds!r}.")
    if harmonics < 2:
        raise BadOption(f"harmonics must be a whole number from 2, not {harmonics!r}.")
    if not 1 <= starts <= RANDOM:
        raise BadOption(f"starts must be a whole number from 1 to {RANDOM}, not {starts!r}.")
    if float(seconds) < 4.0 * DT * harmonics:
        raise BadOption(f"{float(seconds):g} s are too short for {harmonics} harmonics.")


def _apart(
    model: Model, limits: Limits, start: np.ndarray | None
) -> tuple[Capsules, tuple[str, ...]]:
    """Pairs of bodies that must keep apart; those that overlap in the middle of the travel, too, cannot."""
    from isthmus import native  # loads LLVM, which only a search needs

    whole = capsules_of(model)
    if not whole.pairs:
        return whole, ()
    posture = limits.middle if start is None else start
    there = native.compile(lambda q: whole.distances(model, q), posture)(posture)
    touching = there <= CLEARANCE
    kept, dropped = np.flatnonzero(~touching), np.flatnonzero(touching)
    if not len(dropped):
        return whole, ()
    names = "; ".join(" and ".join(whole.pairs[k]) for k in dropped[:4])
    more = f"; {len(dropped) - 4} more" if len(dropped) > 4 else ""
    note = (
        f"not kept apart, since their capsules overlap in the middle of the travel: {names}{more}"
    )
    return whole.picked(kept), (note,)


def _randoms(search: Search, rng: np.random.Generator) -> list[np.ndarray]:
    """Random motions within the limits."""
    found: list[np.ndarray] = []
    for tried in range(RANDOM * TRIES):
        x = search.random(rng)
        found += [] if x is None else [x]
        if len(found) == RANDOM:
            return found
        if tried == TRIES and not found:
            break
    raise BadOption(
        "no motion keeps to the limits: not even standing still about the middle of the travel does, by its torques or "
        "because bodies touch; widen limits=, or give start= where the robot can stand."
    )


def _refuse_undetermined(about: Information, others: list[np.ndarray], search: Search) -> None:
    """Refuses numbers that no motion determines."""
    M = sum(search.information(search.samples(search.coefficients(x))) for x in others[:20])
    size = np.diag(M)
    idle = [name for name, x in zip(about.names, size, strict=True) if x <= 1e-18 * size.max()]
    if idle:
        raise BadFree(
            f"no motion determines {', '.join(idle[:3])}: what is measured does not depend on it; leave it out."
        )
    d = 1.0 / np.sqrt(size)
    eigenvalues, U = np.linalg.eigh(M * d[:, None] * d[None])
    if eigenvalues[0] < UNDETERMINED * eigenvalues[-1]:
        part = np.argsort(-np.abs(U[:, 0]))[: max(2, int(np.sum(np.abs(U[:, 0]) > 0.2)))]
        names = ", ".join(about.names[k] for k in part[:4])
        raise BadFree(
            f"no motion determines {names} apart, only combinations of them: leave one out, or give it a prior."
        )


def _sorted(search: Search, motions: list[np.ndarray]) -> list[np.ndarray]:
    """The most informative motion first."""
    value = lambda x: objective(
        search.information(search.samples(search.coefficients(x))), search.aim
    )[0]
    return sorted(motions, key=value)


def _best(search: Search, others: list[np.ndarray], starts: int) -> np.ndarray | None:
    """The best motion that is found from the first of the others; None where no search ends within the limits."""
    found = [pair for x in others[:starts] if (pair := search.best_from(x.ravel())) is not None]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _told(
    about: Information,
    search: Search,
    c: np.ndarray,
    others: list[np.ndarray],
    notes: tuple[str, ...],
) -> Design:
    series, model = search.series, about.model
    rows = round(series.seconds / DT)
    t = series.seconds / rows * np.arange(rows + 1)
    basis = series.basis(t)
    s = search.samples(c, basis)
    M = search.information(s)
    per_row = [_row_information(search, x) for x in others]
    errors = [_errors(len(t) * each + np.diag(search.prior)) for each in per_row]
    signals: dict[str, Any] = {"joint/acceleration": s.a, "joint/motor_torque": s.torque}
    told = f"designed for {counted(len(about.names), 'number')}, aim {search.aim}"
    motion = Motion(t, s.q, s.v, signals, joints_of(model)).noted(told, name=f"{model.name} design")
    return Design(
        motion, about.names, about.values, _errors(M), np.stack(errors), *conditions(M),
        np.array([conditions(each)[0] for each in per_row]), M, search.aim, search.limits, notes,
    )  # fmt: skip


def _row_information(search: Search, x: np.ndarray) -> np.ndarray:
    """Information of a random motion, for each row."""
    s: Samples = search.samples(search.coefficients(x))
    flat = s.rows.reshape(-1, s.rows.shape[-1])
    return flat.T @ flat / len(s.q)


def _errors(M: np.ndarray) -> np.ndarray:
    return np.sqrt(np.diag(np.linalg.inv(M)))
