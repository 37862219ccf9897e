"""`Laplace`: normals around the minima that many starts find, corrected by importance resampling."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.entry import check_arguments
from isthmus.identify.answer.curvature import bend, rises
from isthmus.losses.windows import whole_number
from isthmus.phases import phase
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode
from isthmus.posteriors.importance import Students, Weighted, efficiency, smoothed, systematic
from isthmus.posteriors.method import AbstractMethod, Asked, Draws
from isthmus.posteriors.modes import found_modes, refuse_undetermined, shares
from isthmus.posteriors.negligible import negligible, sentence, without
from isthmus.posteriors.smc import SMC, without_prior

ADAPT = 0.4
"""Pareto shape above which the proposal is fitted to its own draws once."""
BENT = 2.0
"""Factor by which the rise along the axes of a normal may differ from the normal's own."""
MAX_CHECKED = 4
"""Modes whose normals are checked along their axes."""
TRUSTED = 0.5
"""Pareto shape up to which the ratios have a variance. Draws of curved posteriors with shapes of 0.6 to 0.7 missed up
to two thirds of an interval at its far end."""
WORTH = 0.75
"""Effective draws, as a share of those for a normal, below which the proposal misses part of the posterior."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class Laplace(AbstractMethod):
    """Many starts by Levenberg-Marquardt, a normal at each distinct minimum, weighted by evidence.

    `draws` of Student's t with these normals' means and covariances are then resampled by importance, and the Pareto
    shape k̂ of the ratios says whether that can be trusted. Where it is above 0.5, where the draws are worth much less
    than those of a normal, or where the density along the axes of the normals is not theirs, `otherwise` goes on (None:
    nothing does).
    """

    starts: int = 24
    draws: int = dataclasses.field(default=1000, kw_only=True)
    otherwise: SMC | None = dataclasses.field(default_factory=SMC, kw_only=True)
    seed: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        whole_number("starts", self.starts)
        whole_number("draws", self.draws)
        whole_number("seed", self.seed, 0)

    def run(self, asked: Asked) -> Draws:
        density, rng = asked.density, np.random.default_rng([self.seed, 1])
        with phase("searching for modes"):
            modes = list(asked.modes) or found_modes(
                density, self.starts, self.seed, asked.lengthen, asked.state
            )
        refuse_undetermined(density, modes[0])
        with phase("resampling"):
            factor = max(bend(rises(density.cost, m.u, m.H)[1]) for m in modes[:MAX_CHECKED])
            draws = resampled(density, modes, self.draws, rng)
        share = draws.effective / (self.draws * efficiency(density.size))
        if draws.khat > TRUSTED:
            said = f"k̂ is {draws.khat:.2f}, above {TRUSTED}: the posterior is not near its normals"
        elif share < WORTH:
            said = f"the posterior is not near its normals: their draws are worth {share:.0%} of what they should be"
        elif factor > BENT:
            said = f"the posterior is not near its normals: along their axes it changes {factor:.2g} times as fast"
        else:
            return draws
        return self._gone_on(asked, modes, draws, said, rng)

    def _gone_on(
        self, asked: Asked, modes: list[Mode], draws: Draws, said: str, rng: np.random.Generator
    ) -> Draws:
        """What is done where normals are not enough; `said`: why they are not."""
        if asked.density.plan.parameters.is_weight().any():
            U = normal_draws(modes, shares(modes), self.draws, rng)
            note = f"{said}, and these are samples of the normals."
            return dataclasses.replace(draws, U=U, notes=(note,), effective=float(len(U)))
        names = without_prior(asked.density)
        if self.otherwise is None or names:
            more = f"; with two bounds or a prior of {names[0]}, SMC could go on" if names else ""
            return dataclasses.replace(
                draws, notes=(*draws.notes, f"{said}, and these samples are rough{more}.")
            )
        found = self.otherwise.run(dataclasses.replace(asked, modes=modes))
        note = f"{said}; {type(self.otherwise).__name__} went on."
        return dataclasses.replace(found, khat=draws.khat, notes=(note, *found.notes))


def resampled(density: Density, modes: list[Mode], count: int, rng: np.random.Generator) -> Draws:
    """Draws of t distributions around modes, resampled by the ratio of density and proposal.

    Where the ratios have a heavy tail, the distributions are fitted to the weighted draws, and there is a second round;
    k̂ is that of the first, since draws of a proposal cannot speak for what none of them has seen.
    """
    proposal = Students.around(modes, shares(modes))
    found = _round(density, proposal, count, rng)
    khat = found[2].khat
    if khat > ADAPT and (better := proposal.fitted(found[0], found[1], found[2].weight)):
        found = min(found, _round(density, better, count, rng), key=lambda x: x[2].khat)
    U, own, weighted = found
    weight, share, notes = weighted.weight, own @ weighted.weight, ()
    light = negligible(density, U, own, weight)
    if light.any():
        weight = without(light, own, weight)
        left = [mode for mode, is_light in zip(modes, light, strict=True) if is_light]
        modes = [mode for mode, is_light in zip(modes, light, strict=True) if not is_light]
        notes = (sentence(density, modes, left, float(share[light].sum() / share.sum())),)
        share = share[~light]
    kept = systematic(weight, count, rng)
    effective = dataclasses.replace(weighted, weight=weight).effective
    return Draws(U[kept], modes, share / share.sum(), khat, effective, notes)


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
