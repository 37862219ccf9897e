"""Modes that have next to nothing of a posterior, but most of its standard deviation: they are left out, and named.

A share of a thousandth at sixty deviations triples the standard deviation, and moves the mean, of a number that is
nearly certain to be near the heavy mode. Intervals do not notice such a share; moments say nothing useful with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from isthmus.phases import counted
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode

NEGLIGIBLE_SHARE = 0.01
"""Modes that together have less than this share of the posterior may be left out."""
SPOILS = 1.1
"""They are, where they widen the standard deviation of some number by more than this factor."""


def negligible(
    density: Density,
    U: Points,
    own: Float[np.ndarray, "modes points"],
    weight: Float[np.ndarray, " points"],
) -> Bool[np.ndarray, " modes"]:
    """Which modes to leave out. `own`: share of each mode in each draw; `weight`: of the draws, one in all."""
    shares = own @ weight
    order = np.argsort(shares, kind="stable")
    light = np.zeros(len(shares), dtype=bool)
    light[order[np.cumsum(shares[order]) < NEGLIGIBLE_SHARE * shares.sum()]] = True
    if not light.any() or light.all():
        return np.zeros(len(shares), dtype=bool)
    p = density.plan.parameters.size
    Z = density.coordinates.to_x(U)[0][:, :p]
    wide, narrow = deviation(Z, weight), deviation(Z, without(light, own, weight))
    return light if np.any(wide > SPOILS * narrow) else np.zeros(len(shares), dtype=bool)


def without(
    light: Bool[np.ndarray, " modes"],
    own: Float[np.ndarray, "modes points"],
    weight: Float[np.ndarray, " points"],
) -> Float[np.ndarray, " points"]:
    """Weights of the draws without those of some modes; they sum to one."""
    kept = np.where(own[light].sum(axis=0) > 0.5, 0.0, weight)
    return kept / kept.sum()


def deviation(Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Standard deviations of weighted rows."""
    return np.sqrt(weight @ np.square(Z - weight @ Z))


def sentence(density: Density, kept: Sequence[Mode], left: Sequence[Mode], share: float) -> str:
    """What was left out, its share, and where the first of it lies: by the number that differs most there."""
    parameters = density.plan.parameters
    points = np.stack([kept[0].u, left[0].u])
    Z = density.coordinates.to_x(points)[0][:, : parameters.size]
    here, there = (parameters.values(z) for z in Z)
    k = int(np.argmax(np.abs(there - here) / np.maximum(np.abs(here), 1e-300)))
    have, are = ("has", "is") if len(left) == 1 else ("have together", "are")
    return (
        f"{counted(len(left), 'mode')} that {have} {100.0 * share:.2g} % of the posterior would spoil mean and "
        f"standard deviation, and {are} left out: {parameters.names[k]} = {there[k]:.4g} there, "
        f"{here[k]:.4g} at the heaviest mode."
    )
