"""`posterior`: a problem and a method -> samples of its free numbers."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from isthmus.blas import on_one_thread
from isthmus.entry import check_arguments
from isthmus.errors import BadFree, BadOption, FitWarning
from isthmus.identify.fit import settings_of
from isthmus.identify.problem import CROSS, Problem
from isthmus.phases import phase
from isthmus.posteriors.density import Density, Mode
from isthmus.posteriors.laplace import Laplace
from isthmus.posteriors.method import AbstractMethod, Asked, Draws
from isthmus.posteriors.mixture import Mixture
from isthmus.posteriors.modes import found_modes, minima
from isthmus.posteriors.noise import ratios, told, unknown_noise, with_noise
from isthmus.posteriors.nuts import NUTS
from isthmus.posteriors.posterior import Posterior
from isthmus.posteriors.smc import SMC
from isthmus.posteriors.stacking import Stack

NAMES: dict[str, type[AbstractMethod]] = {
    "laplace": Laplace,
    "smc": SMC,
    "nuts": NUTS,
    "mixture": Mixture,
}
"""Methods by name, with their default options."""
MAX_NUMBERS = 100
"""Most numbers, starts of windows among them, that a posterior may have."""
AT_BOUND = 1.0
"""Distance from its bound, in standard deviations of a number, below which the posterior is cut there."""


@check_arguments
def posterior(
    problem: Problem,
    method: AbstractMethod | str | None = None,
    *,
    resume: Posterior | None = None,
    listen: Callable[[Posterior], Any] | None = None,
) -> Posterior:
    """The distribution of the free numbers of `problem`, given its logs, as samples.

    `method`: `ist.Laplace()` unless given, `ist.SMC()`, `ist.NUTS()`, `ist.Mixture()`, or one of their names. Priors
    are those of `Free`: normal where there is one, uniform between two bounds, else flat. Noise that the problem does
    not give is estimated and told. `resume`: go on where an earlier posterior was stopped. `listen`: gets the samples
    so far. Ctrl-C stops and keeps the finished samples.
    """
    method = as_method(method)
    refuse(problem, method)
    with on_one_thread():
        found = found_posterior(problem, method, resume, listen)
    for text in found.notes:
        warnings.warn(text, FitWarning, stacklevel=2)
    return found


def as_method(given: AbstractMethod | str | None) -> AbstractMethod:
    """A method, from itself or its name."""
    if given is None:
        return Laplace()
    if isinstance(given, AbstractMethod):
        return given
    if given not in NAMES:
        raise BadOption(f"no method is called {given!r}; there are {', '.join(NAMES)}.")
    return NAMES[given]()


def refuse(problem: Problem, method: AbstractMethod) -> None:
    """Refuses problems that have no posterior, or too large a one."""
    parameters = problem.parameters
    if not problem.free:
        raise BadFree("nothing is free: say free=[ist.Free('link/*/mass'), …].")
    if problem.weight_penalty == CROSS:
        raise BadOption(f'weight_penalty="{CROSS}" is for fit; a posterior needs a number.')
    size = problem.evaluation.size
    if parameters.is_weight().any() and (size > MAX_NUMBERS or not isinstance(method, Laplace)):
        raise BadOption(
            f"weights of networks are free: their posterior is Laplace's, of up to {MAX_NUMBERS} numbers, and these "
            f"are {size} with {type(method).__name__}. Hold the networks, or make them smaller."
        )
    if size > MAX_NUMBERS:
        raise BadOption(
            f"{size} numbers are free, those of starts of windows among them; a posterior has up to {MAX_NUMBERS}."
        )


def found_posterior(
    problem: Problem,
    method: AbstractMethod,
    resume: Posterior | None = None,
    listen: Callable[[Posterior], Any] | None = None,
) -> Posterior:
    """The posterior, without its warnings; stopped before there was a sample, the earlier one or an empty one."""
    density = Density.of(problem.evaluation)
    try:
        return _run(problem, density, method, {} if resume is None else resume.state, listen)
    except KeyboardInterrupt as stop:
        if resume is not None:
            return dataclasses.replace(resume, complete=False)
        none = np.zeros((0, density.size))
        draws = Draws(none, (), np.zeros(0), complete=False, state=getattr(stop, "state", {}))
        return _made(problem, density, draws, method, {}, [])


def _run(
    problem: Problem,
    density: Density,
    method: AbstractMethod,
    state: dict[str, np.ndarray],
    listen: Callable[[Posterior], Any] | None,
) -> Posterior:
    """Searches for modes where the method or the noise needs them, and samples."""
    lengthen = problem.kind.lengthen_horizon
    starts, seed = getattr(method, "starts", 8), getattr(method, "seed", 0)
    modes: list[Mode] = []
    if isinstance(method, Laplace) or unknown_noise(problem):
        with phase("searching for modes"):
            modes = found_modes(density, starts, seed, lengthen, state)
    density, modes, noise, notes = _judged(problem, density, modes)
    make = lambda draws: _made(problem, density, draws, method, noise, notes)
    tell = None if listen is None else lambda draws: listen(make(draws)) if len(draws.U) else None
    return make(method.run(Asked(density, modes, lengthen, state, tell)))


def _judged(
    problem: Problem, density: Density, modes: list[Mode]
) -> tuple[Density, list[Mode], dict[str, float], list[str]]:
    """The density with estimated noise where none was given, its modes, the noise of each signal, and what to tell."""
    sigma = {name: float(np.mean(s)) for name, s in problem.sigma.items()}
    if not modes:
        return density, modes, sigma, []
    unknown, scale = unknown_noise(problem), {}
    for _ in range(2 if unknown else 0):
        now = {name: x for name, x in ratios(density, modes[0]).items() if name in unknown}
        density = with_noise(problem, density, now)
        scale = {name: scale.get(name, 1.0) * x for name, x in now.items()}
        modes = minima(density, np.stack([mode.u for mode in modes]))
    notes = told(problem, scale, ratios(density, modes[0]))
    return density, modes, {n: scale.get(n, 1.0) * s for n, s in sigma.items()}, notes


def _made(
    problem: Problem,
    density: Density,
    draws: Draws,
    method: AbstractMethod,
    noise: dict[str, float],
    notes: list[str],
) -> Posterior:
    """The result from samples in unbounded coordinates."""
    parameters, c = problem.parameters, density.coordinates
    p = parameters.size
    order = np.argsort(-np.asarray(draws.weights), kind="stable")
    modes = [draws.modes[k] for k in order]
    middle = draws.U.mean(axis=0) if len(draws.U) else density.start
    centre = np.stack([m.u for m in modes]) if modes else middle[None]
    Z = c.to_x(np.concatenate([centre, draws.U]))[0][:, :p]
    values = np.array([parameters.values(z) for z in Z])
    k = len(centre)
    return Posterior(
        samples=values[k:], points=Z[k:], names=parameters.names, units=parameters.units,
        modes=values[: len(modes)], weights=np.asarray(draws.weights)[order], khat=float(draws.khat),
        effective=draws.effective, model=parameters.model(Z[0]), stack=Stack.of(parameters, Z[k:]), noise=noise,
        notes=(*notes, *_cut(density, modes[:1]), *draws.notes),
        settings={"method": method.settings()} | settings_of(problem),
        complete=draws.complete, state=draws.state,
    )  # fmt: skip


def _cut(density: Density, modes: list[Mode]) -> list[str]:
    """Sentences about numbers whose posterior is cut off by a bound at the best mode."""
    names, c = density.plan.parameters.names, density.coordinates
    p = density.plan.parameters.size
    if not modes or len(names) != p:
        return []
    x = c.to_x(modes[0].u[None])[0][0]
    H = density.inner.normal(x[None]).matrix.reduced(p)[0]
    spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(H)), 0.0))
    scale, found = density.plan.parameters.scale, []
    for k in range(p):
        for bound in (c.low[k], c.high[k]):
            if np.isfinite(bound) and abs(x[k] - bound) < AT_BOUND * spread[k]:
                found.append(
                    f"{names[k]} is at its bound, {bound * scale[k]:g}: its posterior is cut there."
                )
    return found
