"""What a fit, which may be loaded, says of the time before it: the model with its start values, and the sensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.identify.answer.abstract_fit import AbstractFit, Estimate
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.groups import Group, Setting
from isthmus.identify.parameters.parameters import is_foreign, parameters
from isthmus.losses.residuals import channel
from isthmus.model.model import Model
from isthmus.spatial import inertia
from isthmus.types import AnyArray

OF_SENSORS = ("offset/", "delay/")


def freed(fit: AbstractFit) -> list[Free]:
    """What was free, without starts of windows."""
    given = [Free(**free) for free in fit.settings.get("free", [])]
    return [free for free in given if not free.name.startswith("start/")]


def sensors(fit: AbstractFit, which: str = "value") -> list[Free]:
    """Offsets, delays and `dt` of a fit, each starting at its estimate (`value`) or its `start`.

    Offsets that differ from run to run have their mean, as for motions that are not fitted.
    """
    found = []
    for free in freed(fit):
        names = [free.name]
        if free.name.startswith("offset/"):
            signal = free.name.partition("/")[2]
            names = [f"offset/{label}" for label in channel(fit.model, signal).labels]
        elif free.name != "dt" and not free.name.startswith(OF_SENSORS):
            continue
        at = np.array([_mean(fit, name, which) for name in names])
        found.append(
            dataclasses.replace(free, start=at if len(at) > 1 else float(at[0]), each_run=False)
        )
    return found


def _mean(fit: AbstractFit, name: str, which: str) -> float:
    own = [e for n, e in fit.estimates.items() if n == name or n.startswith(f"{name} in ")]
    return float(np.mean([getattr(e, which) for e in own]))


def unfitted(fit: AbstractFit) -> Model | None:
    """The model with the start values of all that was free; None where only a function of the user's knows it."""
    free = [f for f in freed(fit) if f.name != "dt" and not f.name.startswith(OF_SENSORS)]
    if any(is_foreign(f.name) for f in free):
        return None
    plain = [dataclasses.replace(f, start=None, low=None, high=None, prior=None) for f in free]
    with jax.enable_x64(True):
        setting, groups = (
            Setting(fit.model),
            parameters(fit.model, None, plain, lambda model: {}).groups,
        )
        if any(label not in fit.estimates for group in groups for label in group.labels):
            return None
        estimates = [[fit.estimates[label] for label in group.labels] for group in groups]
        for group, own in zip(groups, estimates, strict=True):
            if group.free.name.startswith(
                "stretch/"
            ):  # before bodies are set, whose numbers it scales
                setting = group.apply(setting, 1.0 / jnp.array([e.value for e in own]))
        for group, own in zip(groups, estimates, strict=True):
            setting = group.apply(setting, _started(group, own))
        model = setting.settled().model
        return jax.tree.map(lambda x: np.asarray(x, np.float64), model)


def _started(group: Group, own: Sequence[Estimate]) -> AnyArray:
    """Start values in the coordinates of the search."""
    start = jnp.array([e.start for e in own])
    if group.direct:
        return start
    return inertia.to_log_cholesky(start[0], start[1:4], start[4:])
