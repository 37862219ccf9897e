"""Root mean square differences between simulation and measurement, signal by signal, before and after a fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.losses.residuals import Channel

Errors = dict[str, tuple[float, float]]
"""Root mean square of the differences of each signal [its unit]: before, after."""
POOR = 0.5
"""A fit whose error is more than this times that of predicting that nothing moves is called poor."""
SAME_SHAPE, OTHER_UNIT = 0.7, 5.0
"""Correlation and factor from which on torques differ by their unit or sign, rather than by what the model lacks."""
OTHER_SIGN = 0.3
"""Loss before a fit, with commands of the other sign, over that of the fit, below which the sign is the fault."""
Differences = dict[str, np.ndarray]
"""Simulated less measured of each signal [its unit], (windows, rows, width); NaN where nothing is compared."""


def errors_of(
    evaluation: Evaluation, sigma: Mapping[str, np.ndarray], before: np.ndarray, after: np.ndarray
) -> Errors:
    """Of each channel at two points."""
    found = differences_at(evaluation, sigma, np.stack([before, after]))
    first, second = ({name: rms(x) for name, x in d.items()} for d in found)
    return {name: (first[name], second[name]) for name in first}


def differences_at(
    evaluation: Evaluation, sigma: Mapping[str, np.ndarray], points: np.ndarray
) -> list[Differences]:
    """What a simulation differs by at each of several points (points, n)."""
    r, _ = evaluation.residuals(points)
    r = np.where(np.isnan(r), np.inf, r)  # a simulation that broke down
    used = evaluation.windows.weight > 0
    return [
        {
            c.text: np.where(used[..., block], x[..., block] * sigma[c.text], np.nan)
            for c, block in blocks(evaluation)
        }
        for x in r
    ]


def still(evaluation: Evaluation) -> Differences:
    """What "nothing moves" differs by: every row as the first of its window; of torques, no torque at all."""
    target, used = evaluation.windows.target, evaluation.windows.weight > 0
    found, place = {}, 0
    for c, block in blocks(evaluation):
        measured = target[..., place : place + c.size]
        first = np.zeros_like(measured[:, 0]) if evaluation.plan.torque else measured[:, 0]
        with jax.enable_x64(True):
            d = jax.jit(_minus(c))(first, measured)
        found[c.text] = np.where(used[..., block], np.asarray(d), np.nan)
        place += c.size
    return found


def poor_fit(evaluation: Evaluation, errors: Errors, where: str) -> str:
    """A sentence on the first signal that is predicted hardly better than by nothing at all; empty: none is."""
    for name, resting in still(evaluation).items():
        after, least = errors[name][1], rms(resting)
        if after > POOR * least:
            return (
                f"a poor fit: the error of {name} in {where} motion is {after / least:.2g} times that of predicting "
                f"{nothing(evaluation.plan.torque)}."
            )
    return ""


def scale_of_torques(evaluation: Evaluation, sigma: Mapping[str, np.ndarray], x: np.ndarray) -> str:
    """A sentence if torques were measured in another unit, or with the other sign, than predicted; else empty."""
    (found,) = differences_at(evaluation, sigma, x[None])
    for name, resting in still(evaluation).items():
        known = np.isfinite(found[name]) & np.isfinite(resting)
        measured, predicted = -resting[known], (found[name] - resting)[known]
        size = float(np.sqrt(np.sum(measured**2) * np.sum(predicted**2)))
        alike = float(measured @ predicted) / size if size > 0.0 else 0.0
        factor = alike * float(np.linalg.norm(measured) / max(np.linalg.norm(predicted), 1e-300))
        if alike < -SAME_SHAPE:
            return f"{name} in the log has the other sign than the motion needs."
        if alike > SAME_SHAPE and not 1.0 / OTHER_UNIT < factor < OTHER_UNIT:
            return f"{name} in the log is {factor:.2g} times what the motion needs: is it in another unit?"
    return ""


def sign_of_commands(evaluation: Evaluation, first: np.ndarray, x: np.ndarray) -> str:
    """A sentence if commands of the other sign explain the motion far better, even before a fit; else empty.

    `first`, `x`: the points at which the search began and ended.
    """
    control = evaluation.windows.control
    if control.torque is None or not np.any(control.torque):
        return ""
    model, torque = evaluation.plan.parameters.template, np.asarray(control.torque)
    driven = {name: rows for name, rows in model.rows("dof").items() if torque[..., rows].any()}
    trials = {"of all joints": [row for rows in driven.values() for row in rows]}
    trials |= {f"of {name!r}": list(rows) for name, rows in driven.items()}
    costs = {}
    for name, rows in trials.items():
        sign = np.ones(torque.shape[-1])
        sign[rows] = -1.0
        other = evaluation.changed(control=dataclasses.replace(control, torque=sign * torque))
        costs[name] = np.nan_to_num(float(other.cost(first[None])[0]), nan=np.inf)
    name = min(costs, key=lambda name: costs[name])
    if not costs[name] < OTHER_SIGN * float(evaluation.cost(x[None])[0]):
        return ""
    return f"the commands {name} seem to have the other sign in the log: the motion agrees far better with that."


def nothing(torque: bool) -> str:
    """What a fit is compared with, of torques or of motion."""
    return "no torque at all" if torque else "that nothing moves"


def _minus(c: Channel) -> Callable[..., Any]:
    """`(windows, size), (windows, rows, size) -> differences`."""
    return jax.vmap(jax.vmap(c.minus, in_axes=(None, 0)))


def blocks(evaluation: Evaluation) -> list[tuple[Channel, slice]]:
    """Each channel with its columns of the residuals."""
    ends = np.cumsum([c.width for c in evaluation.plan.channels])
    pairs = zip(evaluation.plan.channels, ends, strict=True)
    return [(c, slice(end - c.width, end)) for c, end in pairs]


def rms(differences: np.ndarray) -> float:
    """Root mean square of what is compared; 0 where nothing is."""
    compared = ~np.isnan(differences)
    squares = np.square(np.where(compared, differences, 0.0))
    return float(np.sqrt(np.sum(squares) / max(int(compared.sum()), 1)))
