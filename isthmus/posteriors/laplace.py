"""`Laplace`: normals around the minima that many starts find, corrected by importance resampling."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.entry import check_arguments
from isthmus.losses.windows import whole_number
from isthmus.phases import phase
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode
from isthmus.posteriors.importance import Students, Weighted, smoothed, systematic
from isthmus.posteriors.method import AbstractMethod, Asked, Draws
from isthmus.posteriors.modes import minima, refuse_undetermined, shares, starting_points
from isthmus.posteriors.smc import SMC, without_prior

ADAPT = 0.4
"""Pareto shape above which the proposal is fitted to its own draws once."""
TRUSTED = 0.7
"""Pareto shape up to which resampled draws are those of the posterior."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class Laplace(AbstractMethod):
    """Many starts by Levenberg-Marquardt, a normal at each distinct minimum, weighted by evidence.

    `draws` of Student's t with these normals' means and covariances are then resampled by importance, and the Pareto
    shape k̂ of the ratios says whether that can be trusted; above 0.7, `otherwise` goes on (None: nothing does).
    """

    starts: int = 24
    draws: int = dataclasses.field(default=1000, kw_only=True)
    otherwise: SMC | None = dataclasses.field(default_factory=SMC, kw_only=True)
    seed: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        whole_number("starts", self.starts)
        whole_number("draws", self.draws)

    def run(self, asked: Asked) -> Draws:
        density, rng = asked.density, np.random.default_rng([self.seed, 1])
        with phase("searching for modes"):
            modes = list(asked.modes) or found_modes(
                density, self.starts, self.seed, asked.lengthen
            )
        refuse_undetermined(density, modes[0])
        with phase("resampling"):
            draws = resampled(density, modes, self.draws, rng)
        if draws.khat <= TRUSTED:
            return draws
        said = f"k̂ is {draws.khat:.2f}, above {TRUSTED}: the posterior is not near its normals"
        if density.plan.parameters.is_weight().any():
            U = normal_draws(modes, shares(modes), self.draws, rng)
            note = f"{said}, and these are samples of the normals."
            return dataclasses.replace(draws, U=U, notes=(note,), effective=float(len(U)))
        if self.otherwise is None or (names := without_prior(density)):
            more = (
                ""
                if self.otherwise is None
                else f"; with two bounds or a prior of {names[0]}, SMC could go on"
            )
            return dataclasses.replace(
                draws, notes=(f"{said}, and these samples are rough{more}.",)
            )
        found = self.otherwise.run(dataclasses.replace(asked, modes=modes))
        note = f"{said}; {type(self.otherwise).__name__} went on."
        return dataclasses.replace(found, khat=draws.khat, notes=(note, *found.notes))


def found_modes(density: Density, starts: int, seed: int, lengthen: bool) -> list[Mode]:
    """The distinct minima of a density, from so many starts."""
    return minima(density, starting_points(density, starts, seed), lengthen=lengthen)


def resampled(density: Density, modes: list[Mode], count: int, rng: np.random.Generator) -> Draws:
    """Draws of t distributions around modes, resampled by the ratio of density and proposal.

    Where the ratios have a heavy tail, the distributions are fitted to the weighted draws, and there is a second round.
    """
    proposal = Students.around(modes, shares(modes))
    found = _round(density, proposal, count, rng)
    if found[2].khat > ADAPT and (better := proposal.fitted(found[0], found[1], found[2].weight)):
        found = min(found, _round(density, better, count, rng), key=lambda x: x[2].khat)
    U, own, weighted = found
    share = own @ weighted.weight
    kept = systematic(weighted.weight, count, rng)
    return Draws(U[kept], modes, share / share.sum(), weighted.khat, weighted.effective)


def _round(
    density: Density, proposal: Students, count: int, rng: np.random.Generator
) -> tuple[Points, np.ndarray, Weighted]:
    """Draws, the share of each mode in each of them, and their weights."""
    U = proposal.draw(count, rng)
    parts = proposal.log_parts(U)
    log_q = np.logaddexp.reduce(parts, axis=0)
    return U, np.exp(parts - log_q), smoothed(-density.cost(U) - log_q)


def normal_draws(
    modes: list[Mode], weight: np.ndarray, count: int, rng: np.random.Generator
) -> Points:
    """Samples of the normals themselves."""
    chosen = systematic(weight, count, rng)
    normal = rng.standard_normal((count, len(modes[0].u)))
    steps = [np.linalg.solve(mode.factor.T, normal.T).T + mode.u for mode in modes]
    return np.stack(steps)[chosen, np.arange(count)]
