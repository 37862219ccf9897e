"""The noise of signals for which none was given: estimated from the residuals of the best point, and told."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from isthmus.errors import BadOption
from isthmus.identify.answer.quality import blocks
from isthmus.identify.problem import Problem
from isthmus.posteriors.density import Density, Mode

EXACT = 1e-9
"""Share of a signal's own spread below which residuals were computed and not measured."""
UNLIKE = (0.67, 1.5)
"""Ratios of residuals and given noise that are not worth a word."""


def unknown_noise(problem: Problem) -> list[str]:
    """Signals whose noise was not given."""
    given = problem.noise
    if isinstance(given, Mapping):
        return [c.text for c in problem.channels if given.get(c.text) is None]
    return [c.text for c in problem.channels] if given is None else []


def ratios(density: Density, mode: Mode) -> dict[str, float]:
    """Root mean square of the residuals of each signal at a point, in units of the noise that the weights assume."""
    e = density.inner
    r, _ = e.residuals(density.coordinates.to_x(mode.u[None])[0])
    used, share = e.windows.weight > 0, 1.0 - density.size / max(e.data, density.size + 1)
    found = {}
    for c, block in blocks(e):
        own = used[..., block]
        total = np.sum(np.square(np.where(own, r[0][..., block], 0.0)))
        found[c.text] = float(np.sqrt(total / max(own.sum() * share, 1.0)))
    return found


def with_noise(problem: Problem, density: Density, found: Mapping[str, float]) -> Density:
    """The density in which the noise of some signals is `found` times what the weights assume."""
    weight = np.array(density.inner.windows.weight)
    for c, block in blocks(density.inner):
        if c.text not in found:
            continue
        if found[c.text] <= EXACT * max(1.0, _spread(problem, density, block)):
            raise BadOption(
                f"the noise of {c.text!r} cannot be estimated, since the simulation agrees exactly with the log, which "
                "was computed and not measured: give Problem(noise=)."
            )
        weight[..., block] /= found[c.text]
    return density.with_weights(weight)


def _spread(problem: Problem, density: Density, block: slice) -> float:
    """Standard deviation of a signal, in units of its assumed noise."""
    w = density.inner.windows
    used = w.weight[..., block] > 0
    column = w.target[..., block]
    return float(np.std(column[used])) * float(np.max(w.weight[..., block]))


def told(problem: Problem, scale: Mapping[str, float], level: Mapping[str, float]) -> list[str]:
    """Sentences about noise: `scale` of signals whose noise was estimated, `level` of those where it was given."""
    said = []
    for name, factor in scale.items():
        sigma = factor * float(np.mean(problem.sigma[name]))
        said.append(f"the noise of {name} was not given; its residuals say {sigma:.3g}.")
    for name, ratio in level.items():
        if name not in scale and not UNLIKE[0] < ratio < UNLIKE[1]:
            what = "too narrow" if ratio > 1.0 else "too wide"
            said.append(
                f"the residuals of {name} are {ratio:.2g} times the noise that was given: the posterior is {what}, "
                "or the model lacks something."
            )
    return said
