"""A saved fit as a normal distribution of its numbers, so that models can be drawn from it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.errors import BadFile, BadOption
from isthmus.identify.answer.abstract_fit import AbstractFit
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.parameters import Parameters, is_foreign, parameters
from isthmus.losses.windows import whole_number
from isthmus.posteriors.posterior import Posterior
from isthmus.posteriors.stacking import Stack

OF_DATA = ("start/", "offset/", "delay/", "network/")
"""Families of free numbers that are no numbers of the mechanism."""
TRIES = 50
"""How often draws outside the bounds are drawn again."""


def posterior_of(fit: AbstractFit, count: int, seed: int = 0) -> Posterior:
    """`count` samples of the normal distribution that the estimates and covariance of a fit say, within its bounds."""
    whole_number("seed", seed, 0)
    told = fit.settings.get("free", ())
    if not isinstance(told, list | tuple) or not all(isinstance(one, dict) for one in told):
        raise BadFile("the fit is damaged: its settings do not list what was free. Fit again.")
    free = [_free(table) for table in told]
    of_model = [f for f in free if not f.name.startswith(OF_DATA) and f.name != "dt"]
    if own := [f.name for f in of_model if is_foreign(f.name)]:
        raise BadOption(
            f"the fit has {own[0]!r}, which a function of yours, make=, made a model of: draw models from "
            "ist.posterior(problem), which knows it."
        )
    if not of_model:
        raise BadOption(
            "the fit changed no number of the mechanism, so that there is nothing to draw."
        )
    found = parameters(fit.model, None, of_model, lambda model: {})
    if missing := [name for name in found.names if name not in fit.estimates]:
        raise BadFile(
            f"the fit is damaged: {missing[0]!r} was free and has no estimate. Fit again."
        )
    places = [list(fit.estimates).index(name) for name in found.names]
    C = np.nan_to_num(fit.covariance[np.ix_(places, places)], posinf=0.0, neginf=0.0)
    errors = np.array([fit.estimates[name].error for name in found.names])
    unknown = [n for n, e in zip(found.names, errors, strict=True) if not np.isfinite(e)]
    notes = (
        f"{', '.join(unknown)}: no error is known, so that all models have one value.",
    ) * bool(unknown)
    Z = _drawn(found, C, count, seed)
    values = np.array([found.values(z) for z in Z])
    mode = np.array([fit.estimates[name].value for name in found.names])
    return Posterior(
        samples=values, points=Z, names=found.names, units=found.units, modes=mode[None], weights=np.ones(1),
        khat=np.nan, effective=float(count), model=fit.model, stack=Stack.of(found, Z), notes=notes,
        settings=dict(fit.settings),
    )  # fmt: skip


def _drawn(found: Parameters, C: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Points within the bounds, of a normal whose reported numbers have the covariance `C`."""
    z, slope = found.start, found.reported(found.start)[1]
    back = np.linalg.pinv(slope)
    values, vectors = np.linalg.eigh(back @ C @ back.T)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng, Z = np.random.default_rng(seed), np.tile(z, (count, 1))
    left = np.arange(count)
    for _ in range(TRIES):
        new = z + rng.standard_normal((len(left), len(z))) @ root.T
        inside = np.all((new >= found.low) & (new <= found.high), axis=1)
        Z[left[inside]] = new[inside]
        left = left[~inside]
    Z[left] = np.clip(z + rng.standard_normal((len(left), len(z))) @ root.T, found.low, found.high)
    return Z


def _free(table: dict[str, Any]) -> Free:
    """A free number as the fit had it, which starts at the model's value now."""
    known = {f.name for f in dataclasses.fields(Free)}
    given: dict[str, Any] = {key: _tuple(value) for key, value in table.items() if key in known}
    given |= {"start": None, "prior": None}
    return Free(**given)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
