"""`fit`: a problem and a search -> estimates with standard errors, warnings, held-out errors."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.blas import on_one_thread
from isthmus.blueprint.inputs import live_inputs
from isthmus.entry import check_arguments
from isthmus.errors import BadFree, BadOption, BadStart, FitWarning, warn_renamed
from isthmus.identify import preflight
from isthmus.identify.answer import files
from isthmus.identify.answer.abstract_fit import AbstractFit, Estimate
from isthmus.identify.answer.alignment import shifts
from isthmus.identify.answer.curvature import bend_of_fit
from isthmus.identify.answer.divergence import divergence
from isthmus.identify.answer.edges import edges
from isthmus.identify.answer.local_minimum import lower_minimum
from isthmus.identify.answer.missing import Missing, missing
from isthmus.identify.answer.motion_hint import MotionHint, motion_hint, poorly_known
from isthmus.identify.answer.quality import (
    Errors,
    errors_of,
    poor_fit,
    scale_of_torques,
    sign_of_commands,
)
from isthmus.identify.answer.reasons import warnings_of
from isthmus.identify.answer.sensitivity import sensitivity, unknown
from isthmus.identify.answer.table import as_text, noise_warning, noise_was_given
from isthmus.identify.answer.too_long import useless_derivatives
from isthmus.identify.compare import (
    WithoutNetworks,
    compared,
    search_without_networks,
    without_records,
)
from isthmus.identify.cross import try_penalties
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.parameters.parameters import Parameters
from isthmus.identify.problem import CROSS, Problem
from isthmus.identify.search.horizon import LengtheningHorizon
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.names import as_search
from isthmus.identify.search.progress import progress, wanted
from isthmus.identify.search.realisable_start import realisable_start
from isthmus.identify.search.search import AbstractSearch, Listener, Outcome, Status
from isthmus.interrupts import postponed
from isthmus.model.model import Model
from isthmus.phases import counted, phase
from isthmus.shown import Shown, behind

MAX_PARAMETERS_FOR_ERRORS = 100
"""Above this many parameters, and for weights of networks alone, standard errors are computed only if the Gauss-Newton
matrix already exists."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fit(AbstractFit, Shown):
    """What a fit found. Prints as a table; `save` and `Fit.load` keep it."""

    problem: Problem | None = None
    """What was fitted; None after loading."""

    def missing(self) -> tuple[Missing, ...]:
        """Torques that the fitted model still lacks, and which signals they follow; print each."""
        if self.problem is None:
            raise BadOption(
                "a fit that was loaded has no motions; fit again to see what is missing."
            )
        return missing(self.problem.logs, self.problem.scheme, self.model)

    def discover(self, candidates: Sequence[str] | str | None = None, most: int = 3) -> Any:
        """The places where the fitted model still lacks something: `ist.discover` from where the fit ended."""
        if self.problem is None:
            raise BadOption("a fit that was loaded has no motions; fit again to discover anything.")
        parameters = self.problem.parameters
        start = self.x[: parameters.size] * parameters.scale
        return behind("discovery.discover").discover(self.problem, candidates, most, start=start)

    def plot(self) -> Any:
        """A matplotlib figure of what was measured and what the fit predicts, held-out runs first."""
        return behind("figures.prediction").plot_fit(self)

    @check_arguments
    def report(self, path: str | os.PathLike[str] = "report.html", **options: Any) -> Path:
        """Writes the page of the fit and returns its path: `ist.export_report(fit, path, **options)`."""
        return behind("report.write").export_report(self, path, **options)

    @property
    def inputs(self) -> dict[str, tuple[str, ...]]:
        """What each network reads with weights that are not zero, by the network's name; empty: it has no effect."""
        names = lambda wired: tuple(number.name for number in live_inputs(self.model, wired))
        return {wired.name: names(wired) for wired in self.model.networks}

    @check_arguments
    def __getitem__(self, name: str) -> Estimate:
        """One estimate by name."""
        return self.estimates[name]

    def __str__(self) -> str:
        return as_text(self)

    @check_arguments
    def save(self, folder: str | Path) -> Path:
        """Writes `fit.json`, `fit.npz` and `model.safetensors` into a folder."""
        return files.save(self, Path(folder))

    @staticmethod
    @check_arguments
    def load(
        folder: str | Path,
        *,
        networks: Mapping[str, Any] | None = None,
        like: Model | None = None,
    ) -> Fit:
        """Reads what `save` wrote. `networks`: classes of your own that networks are made of, by name.

        `like`: a model of the same structure, for a fit with networks that isthmus 0.1 saved.
        """
        return Fit(**files.load(Path(folder), like, networks))


@check_arguments
def fit(
    problem: Problem,
    search: AbstractSearch | type[AbstractSearch] | str | None = None,
    *,
    start: Mapping[str, Any] | np.ndarray | None = None,
    check: bool | None = None,
    verbose: bool | None = None,
    listen: Listener | None = None,
    show: bool | None = None,
) -> Fit:
    """The free numbers of `problem` that make the simulation move as recorded.

    `search`: Levenberg-Marquardt unless given, for whole runs with a lengthening horizon; a name such as "lbfgs" means
    that search with its default options. `start`: numbers by name
    instead of the problem's own, or an array with one start in each row, (starts, numbers), of which the best is
    kept. `check`: look at the problem first and print what `problem.check()` found. `verbose`: phases and progress on
    stderr. Both, if None: on a terminal and in notebooks. `listen`: a function that gets news of every step instead.
    """
    if show is not None:
        warn_renamed("fit(show=)", "fit(verbose=)")
        verbose = show if verbose is None else verbose
    if not problem.free:
        raise BadFree("nothing is free: say free=[ist.Free('link/*/mass'), …].")
    search = default_search(problem) if search is None else as_search(search)
    with on_one_thread(), progress(problem.parameters, False if listen else verbose) as bar:
        if wanted(check):
            print(problem.check())
        starts = starting_points(problem, start)
        first = (
            starts if start is not None else realisable_start(problem.evaluation, starts[0])[None]
        )
        found = _found(problem, search, starts, first, listen or bar)
    for text in found.warnings:
        warnings.warn(text, FitWarning, stacklevel=2)
    return found


def _found(
    problem: Problem,
    search: AbstractSearch,
    starts: np.ndarray,
    first: np.ndarray,
    listen: Listener,
) -> Fit:
    """The result of a search that begins at `first`; of one with networks, beside that without them."""
    plain, tried = None, ()
    if problem.weight_penalty == CROSS:
        plain = search_without_networks(problem, search, starts)
        tried = try_penalties(problem, without_records(search), starts, plain.cost)
        problem, first = problem.with_penalty(tried[0].penalty), tried[0].x[None]
    outcome = search.search(problem.evaluation, first, listen)
    if not np.isfinite(outcome.cost[outcome.best]):
        raise BadStart(divergence(problem.evaluation, problem.windows[1], starts[0]))
    stopped = outcome.status[outcome.best] is Status.INTERRUPTED
    judges = bool(problem.trained and problem.heldout_logs) and not stopped
    if judges and plain is None:
        plain = search_without_networks(problem, search, starts)
    with postponed("computing standard errors"):
        rival = plain if judges and plain is not None and not plain.stopped else None
        found = _judged(problem, search, outcome, starts, rival)
    if tried:
        found.settings["penalties_tried"] = [[t.penalty, t.error] for t in tried]
    return found


def _judged(
    problem: Problem,
    search: AbstractSearch,
    outcome: Outcome,
    starts: np.ndarray,
    plain: WithoutNetworks | None,
) -> Fit:
    """What was found with networks or, if held-out motion says that they do not help, without them."""
    verdict = None if plain is None else compared(problem, outcome.x[outcome.best], plain)
    if plain is not None and verdict is not None and not verdict.kept:
        problem, outcome, starts = plain.problem, plain.outcome, plain.starts
    found = summarise(problem, outcome, starts)
    found.settings["search"] = search.settings(outcome)
    more = (verdict.warning,) if verdict is not None and verdict.warning else ()
    return dataclasses.replace(found, networks=verdict, warnings=(*more, *found.warnings))


def default_search(problem: Problem) -> AbstractSearch:
    """The search of `fit` where none is given; long motions are fitted from their beginning on."""
    inner = LevenbergMarquardt()
    return LengtheningHorizon(inner) if problem.kind.lengthen_horizon else inner


def starting_points(problem: Problem, start: Any) -> np.ndarray:
    """Starts as rows of what a search moves."""
    evaluation = problem.evaluation
    if start is None:
        return evaluation.start[None]
    Z = starting_values(problem.parameters, start)
    return np.concatenate([Z, np.zeros((len(Z), evaluation.size - Z.shape[1]))], axis=1)


def starting_values(parameters: Parameters, start: Any) -> np.ndarray:
    """Starts of the free numbers as rows of `z`; None: the problem's own."""
    if start is None:
        return parameters.start[None]
    if isinstance(start, Mapping):
        Z = parameters.from_values(start)[None]
    else:
        Z = np.atleast_2d(np.asarray(start, dtype=np.float64)) / parameters.scale
    if Z.shape[1] != parameters.size:
        raise BadOption(f"start has {counted(Z.shape[1], 'number')}; free are {parameters.size}.")
    if np.any(parameters.low - 1e-12 > Z) or np.any(parameters.high + 1e-12 < Z):
        raise BadOption("start lies outside the bounds.")
    return Z


def summarise(problem: Problem, outcome: Outcome, starts: np.ndarray) -> Fit:
    """The best point of an outcome, with its errors and warnings."""
    evaluation, parameters = problem.evaluation, problem.parameters
    predicted = problem.heldout_evaluation
    x, p = outcome.x[outcome.best], parameters.size
    first = parameters.reported(starts[0, :p])[0]
    worth = p <= MAX_PARAMETERS_FOR_ERRORS and not np.all(parameters.is_weight())
    computed = p > 0 and (evaluation.matrix_at_hand or worth)
    with phase("standard errors"):
        known = (sensitivity if computed else unknown)(evaluation, x)
    errors, heldout = errors_of(evaluation, problem.sigma, starts[0], x), None
    if predicted is not None:
        heldout = errors_of(predicted, problem.sigma, starts[0, :p], x[:p])
        alike = problem.kind.for_heldout() is problem.kind and not problem.plan.start_rows
        if alike and not problem.trained:
            known = known.widened(max(heldout[n][1] / max(e[1], 1e-300) for n, e in errors.items()))
    at_edge, status = edges(parameters, x[:p], starts[0, :p]), outcome.status[outcome.best]
    status = Status.AT_EDGE if at_edge and status is Status.CONVERGED else status
    useless = useless_derivatives(evaluation, starts, x, status, errors) if computed else ""
    status = Status.NO_DERIVATIVES if useless else status
    bent = bend_of_fit(evaluation, x, known.noise) if computed else ""
    rough = computed and status is Status.CONVERGED and (bent or parameters.template.contact_kinds)
    at = (evaluation, x, known.errors, known.noise)
    lower = lower_minimum(*at, bent=bool(bent)) if rough else None
    known = known if lower is None else known.reaching(lower.shift)
    pairs = zip(parameters.names, known.values, known.errors, parameters.units, first, strict=True)
    estimates = {n: Estimate(float(v), float(e), u, float(s)) for n, v, e, u, s in pairs}
    told = (
        *([useless] if useless else []),
        *at_edge,
        *([lower.sentence] if lower else []),
        *warnings_of(known, estimates, status),
        *time_shift_warnings(problem, x),
    )
    if hint := hint_of(problem, estimates):
        told = (*told, f"{hint} designs a motion that would determine {hint.aim}.")
    found = Fit(
        model=parameters.model(x[:p]), estimates=estimates, covariance=known.covariance,
        correlations=known.correlations, noise=known.noise,
        errors=errors, heldout=heldout,
        status=status.value, loss=float(outcome.cost[outcome.best]),
        history=outcome.history, evaluations=outcome.evaluations, seconds=outcome.seconds,
        warnings=told,
        undetermined=known.undetermined, lacking=known.lacking, doubtful=known.doubtful | known.contradicted,
        bent=bent,
        settings=settings_of(problem), x=x, problem=problem, islands=outcome.islands,
    )  # fmt: skip
    judged = (
        (evaluation, errors, "fitted")
        if predicted is None or heldout is None
        else (predicted, heldout, "held-out")
    )
    return dataclasses.replace(found, warnings=(*_fit_quality(found, judged, starts[0]), *told))


def _fit_quality(
    found: Fit, judged: tuple[Evaluation, Errors, str], first: np.ndarray
) -> tuple[str, ...]:
    """Whether the fit predicts hardly better than nothing, and whether signs or units of the log explain that."""
    assert found.problem is not None
    problem, texts = found.problem, []
    torque = problem.plan.torque
    if torque or noise_warning(found) or not noise_was_given(found):
        texts.append(poor_fit(*judged))
    if torque and texts[0]:
        texts[0] += f" {scale_of_torques(problem.evaluation, problem.sigma, found.x)}"
    elif not torque:
        texts.append(sign_of_commands(problem.evaluation, first, found.x))
    return tuple(text.strip() for text in texts if text)


def hint_of(problem: Problem, estimates: Mapping[str, Estimate]) -> MotionHint | None:
    """How to have a motion designed that would determine what the logs determine poorly or not at all."""
    names, positions = poorly_known(estimates), [log.q for log in problem.logs]
    certain = all(np.isfinite(estimates[name].error) for name in names)
    bodies = any(free.name.endswith("/inertial") for free in problem.free)
    return motion_hint(problem.template, names, positions, certain=certain, whole_bodies=bodies)


def time_shift_warnings(problem: Problem, x: np.ndarray) -> list[str]:
    """Warnings if the log and the fitted simulation are shifted in time against each other."""
    if problem.parameters.size > preflight.MAX_PARAMETERS_FOR_EFFECTS:
        return []
    found = shifts(problem.evaluation, x, preflight.differences(problem.evaluation, x))
    return [shift.warning for shift in found if shift.warning]


def settings_of(problem: Problem) -> dict[str, Any]:
    """What decided the result, as plain data."""
    plain = lambda x: x.tolist() if isinstance(x, np.ndarray) else x
    return {
        "free": [{k: plain(v) for k, v in dataclasses.asdict(f).items()} for f in problem.free],
        "loss": {"kind": type(problem.kind).__name__, **dataclasses.asdict(problem.kind)},
        "signals": [c.text for c in problem.channels],
        "noise": {name: plain(np.asarray(s)) for name, s in problem.sigma.items()},
        "huber": problem.huber, "wrap": problem.wrap, "weight_penalty": problem.weight_penalty,
        "keep_networks": problem.keep_networks,
        **problem.scheme.options(), "dt": [log.dt for log in problem.logs],
        "runs": len(problem.logs), "heldout_runs": len(problem.heldout_logs),
        "windows": len(problem.windows[1]), "data": problem.evaluation.data,
    }  # fmt: skip
