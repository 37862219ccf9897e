"""The minima of a posterior's cost: many starts by Levenberg-Marquardt, of which the distinct ones are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from isthmus.errors import BadFree, BadStart
from isthmus.identify.answer.null_space_text import undetermined
from isthmus.identify.answer.sensitivity import VANISHING
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.search import Status
from isthmus.phases import counted
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode, dense

ROUNDS = (8, 12, 80)
"""Steps of the search; after each round, starts that have met go on as one."""
SHARES = (0.1, 0.3, 1.0)
"""Parts of long windows that are fitted one after the other."""
SAME = 3.0
"""Two points are one mode if they are nearer than this, in standard deviations of the better one's normal."""
NEGLIGIBLE = 12.0
"""A mode whose log evidence is so much below the best one's is left out."""
SPREAD = 0.5
"""Standard deviation of starts of numbers without prior or box, in units of their size."""


class SearchStopped(KeyboardInterrupt):
    """Ctrl-C while minima were searched for; `state` is what a later run goes on from."""

    def __init__(self, U: Points) -> None:
        super().__init__()
        self.state = {"starts": U}


def starting_points(density: Density, count: int, seed: int) -> Points:
    """The problem's own start, and points that cover the prior; starts of windows stay as measured."""
    c, start = density.coordinates, density.start
    p = density.plan.parameters.size
    even = qmc.Sobol(p, seed=seed).random_base2(int(np.ceil(np.log2(max(count, 2)))))[:count]
    far = ndtri(np.clip(even, 1e-9, 1.0 - 1e-9))
    U = np.tile(start, (count, 1))
    size = np.where(c.half, 1.0, np.maximum(1.0, np.abs(start)))
    U[:, :p] = np.where(c.proper, far, start + SPREAD * size * far)[:, :p] if p else U[:, :p]
    U[0] = start
    return U


def found_modes(
    density: Density, starts: int, seed: int, lengthen: bool, state: dict[str, np.ndarray]
) -> list[Mode]:
    """The distinct minima of a density, from so many starts, or from where an earlier search was stopped."""
    points = starting_points(density, starts, seed)
    if "starts" in state and state["starts"].shape[1:] == points.shape[1:]:
        points = state["starts"]
    return minima(density, points, lengthen=lengthen)


def minima(density: Density, starts: Points, *, lengthen: bool = False) -> list[Mode]:
    """The distinct minima that a search from `starts` finds, the best first. `lengthen`: windows are long."""
    U = starts
    if lengthen:
        for share in SHARES[:-1]:
            U = _searched(density.shortened(share), U, ROUNDS[0])
        U = np.concatenate([starts[:1], U])
    modes: list[Mode] = []
    for steps in ROUNDS:
        U = _searched(density, U, steps)
        modes = distinct(density, U)
        U = np.stack([mode.u for mode in modes])
    best = max(mode.log_evidence for mode in modes)
    return [mode for mode in modes if mode.log_evidence > best - NEGLIGIBLE]


def _searched(density: Density, U: Points, steps: int) -> Points:
    found = LevenbergMarquardt(steps=steps).search(density, U)
    if Status.INTERRUPTED in found.status:
        raise SearchStopped(found.x)
    return found.x


def distinct(density: Density, U: Points) -> list[Mode]:
    """Points that are not within the normal of a better one, the best first."""
    normal = density.normal(U)
    H = dense(normal.matrix, density.size, len(U))
    good = np.isfinite(normal.cost) & np.isfinite(normal.gradient).all(axis=1)
    if not good.any():
        raise BadStart(
            f"the simulation breaks down at each of {counted(len(U), 'start')}: narrow the bounds, take shorter "
            " windows (loss=ist.Windows(20)), or a shorter time step (Problem(substeps=))."
        )
    modes: list[Mode] = []
    for k in np.argsort(np.where(good, normal.cost, np.inf), kind="stable")[: good.sum()]:
        apart = [mode.distance(U[k : k + 1])[0] > SAME**2 for mode in modes]
        if all(apart):
            modes.append(Mode(U[k], float(normal.cost[k]), conditioned(H[k])))
    return modes


def conditioned(H: np.ndarray) -> np.ndarray:
    """A matrix that has a Cholesky factor: eigenvalues that vanish are raised a little."""
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    floor = 1e-13 * max(values[-1], 1e-300)
    return H if values[0] > floor else (vectors * np.maximum(values, floor)) @ vectors.T


def refuse_undetermined(density: Density, mode: Mode) -> None:
    """Refuses a direction that neither the data nor a prior nor a box determines."""
    c, p = density.coordinates, density.plan.parameters.size
    _, _, H = density.parts(mode.u[None])
    size = np.where(c.proper | c.half, 1.0, np.maximum(np.abs(mode.u), 1.0))
    A = (H[0] + np.diag(c.curvature)) * size[:, None] * size[None]
    values, vectors = np.linalg.eigh(A)
    weak = vectors[:, values <= VANISHING * max(values[-1], 1e-300)]
    weak = weak[:, np.linalg.norm(weak[~c.proper], axis=0) > 0.1]
    if not weak.size:
        return
    z = c.to_x(mode.u[None])[0][0, :p]
    null = weak[:p] / np.maximum(np.linalg.norm(weak[:p], axis=0), 1e-300)
    said = " ".join(map(str, undetermined(density.inner, z, null)))
    said = said or "a combination of the free numbers has no effect on what is compared."
    raise BadFree(
        f"there is no posterior, since the data leave a direction open: {said} "
        "Give each of these a prior or two bounds, or hold one of them."
    )


def shares(modes: Sequence[Mode]) -> np.ndarray:
    """The weight of each mode by its evidence."""
    log = np.array([mode.log_evidence for mode in modes])
    weight = np.exp(log - log.max())
    return weight / weight.sum()


def shares_of(modes: Sequence[Mode], U: Points) -> np.ndarray:
    """The share of the samples that is nearest to each mode."""
    nearest = np.argmin(np.stack([mode.distance(U) for mode in modes]), axis=0)
    return np.bincount(nearest, minlength=len(modes)) / len(U)
