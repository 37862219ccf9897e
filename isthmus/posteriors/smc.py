"""`SMC`: particles from the prior to the posterior, by powers of the likelihood that rise step by step.

Each step weights the particles by the likelihood's next share, chosen so that half of them stay effective, resamples
them and moves them by Langevin steps in the metric of the Gauss-Newton matrix (Girolami and Calderhead 2011, without
derivatives of the metric), which Metropolis and Hastings accept or refuse. A step of all particles is one call of
native code (Del Moral, Doucet and Jasra 2006).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadFree, BadOption
from isthmus.losses.windows import whole_number
from isthmus.phases import phase
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode
from isthmus.posteriors.importance import systematic
from isthmus.posteriors.method import AbstractMethod, Asked, Draws
from isthmus.posteriors.modes import conditioned, minima, shares_of

KEEP = 0.5
"""Share of the particles that a step leaves effective."""
MOST_LEVELS = 200
"""Powers of the likelihood after which a run is given up."""
ACCEPTED = (0.5, 0.8)
"""Shares of accepted moves between which the length of moves stays as it is."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class SMC(AbstractMethod):
    """Sequential Monte Carlo from the prior or box, for posteriors that are far from normal.

    `moves`: of each particle at every power of the likelihood; `generations`: how often the particles are moved and
    kept at the end, so that there are `particles · generations` samples.
    """

    particles: int = 256
    moves: int = dataclasses.field(default=6, kw_only=True)
    generations: int = dataclasses.field(default=4, kw_only=True)
    seed: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("particles", "moves", "generations"):
            whole_number(name, getattr(self, name))
        whole_number("seed", self.seed, 0)
        if self.particles < 16:
            raise BadOption(f"SMC needs 16 particles at least, not {self.particles}.")

    def run(self, asked: Asked) -> Draws:
        if names := without_prior(asked.density):
            raise BadFree(
                f"SMC begins with the prior, and {', '.join(names)} {'has' if len(names) == 1 else 'have'} neither a "
                "prior nor two bounds: give Free(low=, high=) or Free(prior=), or take ist.Laplace()."
            )
        cloud = Cloud.of(asked, self)
        try:
            while cloud.power < 1.0:
                with phase(f"tempering, power {cloud.power:.2g} of the likelihood"):
                    cloud.temper(self.moves)
                asked.tell(cloud.draws(complete=False))
            while len(cloud.kept) < self.generations:
                with phase(f"generation {len(cloud.kept) + 1} of {self.generations}"):
                    cloud.keep(self.moves)
                asked.tell(cloud.draws(complete=False))
        except KeyboardInterrupt:
            return cloud.draws(complete=False)
        return cloud.draws(complete=True)


def without_prior(density: Density) -> list[str]:
    """Names of free numbers, and of starts of windows, that have neither a prior nor two bounds."""
    parameters, proper = density.plan.parameters, density.coordinates.proper
    p = parameters.size
    names = [
        group.labels[k] if group.direct else group.free.name
        for group in parameters.groups
        for k in range(len(group.start))
    ]
    found = [names[k] for k in np.flatnonzero(~proper[:p])]
    return list(dict.fromkeys([*found, *(["start/*"] if not proper[p:].all() else [])]))


@dataclasses.dataclass(frozen=True)
class Seen:
    """Particles with minus their log likelihood, its gradient and Gauss-Newton matrix."""

    U: Points
    cost: Float[np.ndarray, " particles"]
    gradient: Points
    H: Float[np.ndarray, "particles n n"]

    @staticmethod
    def at(density: Density, U: Points) -> Seen:
        """Evaluates particles; broken simulations have no likelihood."""
        cost, gradient, H = density.parts(U)
        good = np.isfinite(cost) & np.isfinite(gradient).all(axis=1)
        good &= np.isfinite(H).all(axis=(1, 2))
        return Seen(
            U, np.where(good, cost, np.inf), np.where(good[:, None], gradient, 0.0),
            np.where(good[:, None, None], H, 0.0),
        )  # fmt: skip

    def take(self, rows: np.ndarray) -> Seen:
        """Some of the particles."""
        return Seen(self.U[rows], self.cost[rows], self.gradient[rows], self.H[rows])

    def replaced(self, yes: np.ndarray, other: Seen) -> Seen:
        """With those of `other` where `yes`."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in dataclasses.fields(self))
        wide = lambda x: yes.reshape(-1, *[1] * (x.ndim - 1))
        return Seen(*(np.where(wide(old), new, old) for old, new in pairs))


class Cloud:
    """The particles of a run."""

    def __init__(self, density: Density, U: Points, power: float, seed: int) -> None:
        self.density, self.power, self.level = density, power, 0
        self.kept: list[Points] = []
        self.seed, self.length = seed, 1.0
        self.seen = Seen.at(density, U)

    @staticmethod
    def of(asked: Asked, method: SMC) -> Cloud:
        """Particles of the prior, or those that an earlier run left."""
        state = asked.state
        if "particles" in state:
            if state["particles"].shape[1] != asked.density.size:
                raise BadOption("the posterior to resume has another number of free numbers.")
            cloud = Cloud(asked.density, state["particles"], float(state["power"]), method.seed)
            cloud.kept, cloud.level = list(state["kept"]), int(state["level"])
            cloud.length = float(state["length"])
            return cloud
        rng = np.random.default_rng([method.seed, 2])
        U = rng.standard_normal((method.particles, asked.density.size))
        return Cloud(asked.density, U, 0.0, method.seed)

    # steps -----------------------------------------------------------------------------------------------------------

    def temper(self, moves: int) -> None:
        """The next power: weights, resampling, moves."""
        self.level += 1
        rng, cost = np.random.default_rng([self.seed, 3, self.level]), self.seen.cost
        if not np.isfinite(cost).any():
            raise BadOption("every particle of the prior breaks the simulation: narrow the bounds.")
        if self.level > MOST_LEVELS:
            raise BadOption(
                f"SMC did not reach the posterior in {MOST_LEVELS} steps: take more particles, narrower bounds, "
                "or ist.Laplace()."
            )
        step = next_step(cost, 1.0 - self.power)
        weight = np.exp(-step * (cost - cost.min()))
        self.power = 1.0 if step >= 1.0 - self.power else self.power + step
        self.seen = self.seen.take(systematic(weight / weight.sum(), len(cost), rng))
        self.move(moves, rng)

    def keep(self, moves: int) -> None:
        """Moves the particles at the full likelihood and keeps where they are."""
        rng = np.random.default_rng([self.seed, 4, len(self.kept)])
        self.move(moves, rng)
        self.kept.append(self.seen.U)

    def move(self, moves: int, rng: np.random.Generator) -> None:
        """Langevin steps; their length follows the share that is accepted."""
        for _ in range(moves):
            density = self.density.tempered(self.power)
            here = Langevin(density, self.seen, self.length)
            new = Seen.at(density, here.proposed(rng))
            back = Langevin(density, new, self.length)
            log = here.potential - back.potential
            log = log + back.log_step(self.seen.U) - here.log_step(new.U)
            yes = np.log(rng.random(len(log))) < log
            self.seen, share = self.seen.replaced(yes, new), float(yes.mean())
            if not ACCEPTED[0] < share < ACCEPTED[1]:
                factor = 0.8 if share < ACCEPTED[0] else 1.15
                self.length = float(np.clip(factor * self.length, 0.02, 1.6))

    # result ----------------------------------------------------------------------------------------------------------

    def draws(self, *, complete: bool) -> Draws:
        """The samples so far; before the full likelihood is reached there are none."""
        U = self.seen.U
        state: dict[str, Any] = {
            "particles": U, "power": np.array(self.power), "level": np.array(self.level),
            "length": np.array(self.length),
            "kept": np.stack(self.kept) if self.kept else np.zeros((0, *U.shape)),
        }  # fmt: skip
        if not self.kept:
            return Draws(U[:0], (), np.zeros(0), complete=False, state=state)
        effective, last = effective_of(np.stack(self.kept)), U
        U = np.concatenate(self.kept)
        if not complete:
            return Draws(U, (), np.zeros(0), effective=effective, complete=False, state=state)
        modes = modes_among(self.density, last)
        return Draws(U, modes, shares_of(modes, U), effective=effective, state=state)


class Langevin:
    """Proposals `N(u − ½ ε² G⁻¹ ∇, ε² G⁻¹)` of a cloud, with the metric `G` at each particle."""

    def __init__(self, density: Density, seen: Seen, length: float) -> None:
        c, power, self.length, self.U = density.coordinates, density.power, length, seen.U
        with np.errstate(invalid="ignore"):
            self.potential = np.where(
                np.isfinite(seen.cost), power * seen.cost + c.potential(seen.U), np.inf
            )
        G = power * seen.H + np.diag(np.maximum(c.curvature, 1e-9))
        try:
            self.factor = np.linalg.cholesky(G)
        except np.linalg.LinAlgError:
            self.factor = np.linalg.cholesky(np.stack([conditioned(g) for g in G]))
        slope = power * seen.gradient + c.slope(seen.U)
        half = np.linalg.solve(self.factor, slope[..., None])
        back = np.linalg.solve(np.swapaxes(self.factor, 1, 2), half)[..., 0]
        self.mean = seen.U - 0.5 * length**2 * back

    def proposed(self, rng: np.random.Generator) -> Points:
        """A step of each particle."""
        normal = rng.standard_normal(self.U.shape)[..., None]
        return (
            self.mean
            + self.length * np.linalg.solve(np.swapaxes(self.factor, 1, 2), normal)[..., 0]
        )

    def log_step(self, U: Points) -> Float[np.ndarray, " particles"]:
        """Log density of proposing `U`, without a constant."""
        white = np.einsum("kij,ki->kj", self.factor, U - self.mean) / self.length
        size = np.log(np.einsum("kii->ki", self.factor)).sum(axis=1)
        return size - 0.5 * np.square(white).sum(axis=1)


def next_step(cost: Float[np.ndarray, " particles"], most: float) -> float:
    """The largest step of the power, up to `most`, that leaves the share `KEEP` of the particles effective."""
    low = cost - cost.min()

    def effective(step: float) -> float:
        weight = np.exp(-step * low)
        return float(weight.sum() ** 2 / np.square(weight).sum())

    aim = KEEP * len(cost)
    if effective(most) >= aim:
        return most
    a, b = 0.0, most
    for _ in range(60):
        middle = 0.5 * (a + b)
        a, b = (middle, b) if effective(middle) >= aim else (a, middle)
    return max(b, 1e-12)


def effective_of(kept: Float[np.ndarray, "generations particles n"]) -> float:
    """Number of independent samples among generations of particles, by the correlation from one to the next."""
    generations, count, _ = kept.shape
    if generations < 2:
        return float(count)
    x = kept - kept.mean(axis=(0, 1))
    along = (x[1:] * x[:-1]).mean(axis=(0, 1)) / np.maximum(np.square(x).mean(axis=(0, 1)), 1e-300)
    slow = float(np.clip(along.max(), 0.0, 0.999))
    return max(float(count), generations * count * (1.0 - slow) / (1.0 + slow))


def modes_among(density: Density, U: Points) -> list[Mode]:
    """The modes that particles lie around: minima that a search from some of them finds."""
    few = U[np.linspace(0, len(U) - 1, min(24, len(U))).astype(int)]
    return minima(density, few)
