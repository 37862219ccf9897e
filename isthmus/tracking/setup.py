"""What users say of noise, drift and free numbers -> the constants of the filter, checked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from isthmus.entry import described
from isthmus.errors import BadFree, BadOption, FitWarning, did_you_mean
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.parameters import Parameters, parameters
from isthmus.losses.residuals import Channel, channel
from isthmus.model.model import Model
from isthmus.simulate.integrate import Integrator
from isthmus.tracking.step import Setup

POSITION, VELOCITY = "joint/position", "joint/velocity"
AVERAGED = 20
"""Samples that innovations are averaged over, about."""
VELOCITY_DRIFT = 0.02
"""[rad/s/√s, m/s/√s] What a model leaves out moves velocities by so much, unless `drift` says otherwise."""
REFUSED = {
    "start/": "the tracker estimates the state anyway",
    "delay/": "a tracker sees one row at a time",
    "dt": "the step of a tracker is fixed",
}
"""Names that a fit can free and a tracker cannot, and why."""


def setup_of(
    model: Model,
    free: Sequence[Free],
    noise: Any,
    drift: Any,
    dt: float,
    alarm: float,
    scheme: Integrator,
) -> Setup:
    """The constants of a filter."""
    if not alarm > 0.0:
        raise BadOption(
            f"alarm must be a positive number of standard deviations, or inf for none, not {alarm!r}."
        )
    given = noise if isinstance(noise, Mapping) else {POSITION: noise}
    if not given:
        raise BadOption("noise must name what is measured, such as {'joint/position': 1e-3}.")
    channels = tuple(channel(model, text) for text in given)
    found = _parameters(model, free, channels)
    sigma = np.concatenate([_sigma(c, given[c.text]) for c in channels])
    walk = _walk(found, drift, dt)
    spread = np.concatenate([_spread(group) for group in found.groups])
    share, level = 2.0 / (AVERAGED + 1), level_of(alarm, len(sigma))
    return Setup(found, channels, scheme, float(dt), sigma, walk, spread, level, share)


def level_of(alarm: float, count: int) -> float:
    """The level at which any of `count` normal numbers exceeds it as rarely as one exceeds `alarm` (Bonferroni)."""
    return float(-ndtri(ndtr(-alarm) / count))


def usual_drift(model: Model, free: Sequence[Free], noise: Any) -> dict[str, Any]:
    """A hundredth of the size of each free number, for those who know none [unit/√s]."""
    given = noise if isinstance(noise, Mapping) else {POSITION: noise}
    found = _parameters(model, free, [channel(model, text) for text in given])
    return {group.free.name: 0.01 * _spread(group) for group in found.groups if group.direct} | {
        group.free.name: 0.01 * float(_spread(group).mean())
        for group in found.groups
        if not group.direct
    }


def _parameters(model: Model, free: Sequence[Free], channels: Sequence[Channel]) -> Parameters:
    if not free:
        raise BadFree("free must name what to follow, such as 'link/payload/mass'.")
    for one in free:
        for beginning, why in REFUSED.items():
            if one.name == beginning or (
                beginning.endswith("/") and one.name.startswith(beginning)
            ):
                raise BadFree(f"{one.name!r} cannot be tracked: {why}; leave it out.")
        if one.each_run:
            raise BadFree(f"{one.name!r} cannot differ from run to run in a tracker.")
    return parameters(model, None, free, lambda _: {c.text: c.labels for c in channels})


def _sigma(c: Channel, given: Any) -> np.ndarray:
    """The standard deviation of each number of a channel."""
    try:
        sigma = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadOption(f"noise of {c.text!r} must be a number, not {described(given)}.") from None
    if sigma.shape not in ((), (c.width,)) or not np.all((sigma > 0.0) & (sigma < np.inf)):
        raise BadOption(
            f"noise of {c.text!r} must be positive and finite, one number or {c.width}, not {given!r}."
        )
    return np.broadcast_to(sigma, (c.width,)).astype(np.float64)


def _spread(group: Any) -> np.ndarray:
    """How far each number may be off at the beginning: its prior, or its own size."""
    prior = np.broadcast_to(group.free.spread(), group.start.shape)
    return np.where(np.isfinite(prior), prior, group.scale())


def _walk(found: Parameters, drift: Any, dt: float) -> np.ndarray:
    """The variance that each error gains in a step: of positions none, of velocities and numbers by their drift."""
    dof = found.template.dof
    named = dict(drift) if isinstance(drift, Mapping) else dict.fromkeys(_names(found), drift)
    speed = _rate(VELOCITY, named.pop(VELOCITY, VELOCITY_DRIFT), dof)
    known = [*_names(found), *found.names, VELOCITY]
    if unknown := [name for name in named if name not in known]:
        raise BadOption(
            f"drift has {unknown[0]!r}, which is not free.{did_you_mean(str(unknown[0]), known)}"
        )
    rates = []
    for group in found.groups:
        name, count = group.free.name, len(group.start)
        rate = _rate(name, named.get(name, 0.0), count)
        if group.direct:
            own = [named.get(label) for label in group.labels]
            rate = np.array([
                r if x is None else _rate(label, x, 1)[0]
                for r, x, label in zip(rate, own, group.labels, strict=True)
            ])  # fmt: skip
        if not rate.all():
            still = group.labels[int(np.argmin(rate))] if group.direct else name
            warnings.warn(
                f"the drift of {still!r} is 0: the longer its estimate has been right, the less it follows a change; "
                f"give drift={{{still!r}: ...}}, its usual change within a second.",
                FitWarning,
                stacklevel=5,
            )
        rates.append(rate)
    return np.concatenate([np.zeros(dof), speed, *rates]) ** 2 * dt


def _names(found: Parameters) -> list[str]:
    return list(dict.fromkeys(group.free.name for group in found.groups))


def _rate(name: str, given: Any, count: int) -> np.ndarray:
    """The drift of some numbers, in their units per √s."""
    try:
        rate = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadOption(f"drift of {name!r} must be a number, not {described(given)}.") from None
    if rate.shape not in ((), (count,)) or not np.all((rate >= 0.0) & (rate < np.inf)):
        raise BadOption(
            f"drift of {name!r} must be from 0 and finite, one number or {count}, not {given!r}."
        )
    return np.broadcast_to(rate, (count,)).astype(np.float64)
