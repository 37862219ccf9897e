"""Columns for what logs may hide: offsets of sensors and commands, delays, flexible joints, wrong starts.

These are errors of the recorded data and not numbers of a model. For torques a column is written down; for simulations
it is the difference of the residuals when the data are changed a little. One more column is the difference that a time
step half as long makes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.model.coordinates import single
from isthmus.types import AnyArray

SMALL = 1e-6
"""Change of the data by which columns are computed, as a share of a radian, a metre or the largest command."""


def is_start(name: str) -> bool:
    """Whether a column is for the start of a window."""
    return name.startswith("start/")


def of_torques(
    evaluation: Evaluation, r: Float[np.ndarray, "windows data"]
) -> tuple[np.ndarray, list[str]]:
    """Columns (m, windows, data) for an offset, a delay and a flexible joint of each torque that is compared; names.

    The differences are those of the simulated signal: those of the measured one would contain the noise in `r`.
    """
    target, weight = evaluation.windows.target, evaluation.windows.weight
    r, found, names = r.reshape(weight.shape), [], []
    place = column = 0
    for c in evaluation.plan.channels:
        for k, label in enumerate(c.labels):
            own = np.zeros((3, *weight.shape))
            own[0, ..., column + k] = weight[..., column + k]
            if c.size == c.width and target.shape[1] > 3:
                w = weight[..., column + k]
                y = target[..., place + k] + r[..., column + k] / np.where(w > 0.0, w, np.inf)
                rate = np.gradient(
                    np.unwrap(y, axis=1) if c.name == "joint/position" else y, axis=1
                )
                own[1, ..., column + k] = rate * w
                own[2, ..., column + k] = np.gradient(rate, axis=1) * w
            found.append(own)
            names += [f"offset/{label}", f"delay/{label}", f"flexibility behind {label}"]
        place, column = place + c.size, column + c.width
    return np.concatenate(found).reshape(-1, len(weight), r[0].size), names


def of_simulation(
    evaluation: Evaluation, x: Float[np.ndarray, " n"], each_start: bool
) -> tuple[Float[np.ndarray, "m windows data"], list[str]]:
    """Columns for an offset of each sensor and command, a late command, a flexible joint, a long step; their names.

    `each_start`: with the start of every single window.
    """
    flat = lambda e: np.concatenate(
        [y[0].reshape(e.count, -1) for y in e.residuals(x[None])], axis=1
    )
    here, found, names = flat(evaluation), [], []
    for name, changes in _changes(evaluation):
        if is_start(name) and not each_start:
            continue
        column = (flat(evaluation.changed(**changes)) - here) / SMALL
        windows = np.arange(len(here)) if is_start(name) else [slice(None)]
        for w in windows:
            own = np.zeros_like(column)
            own[w] = column[w]
            found.append(own)
            names.append(f"{name} of window {w}" if is_start(name) else name)
    if evaluation.plan.splits_steps:  # otherwise it would have to be compiled again
        finer = flat(evaluation.finer()) - here
        if np.isfinite(finer).all() and finer.any():
            found, names = [*found, finer], [*names, "a shorter time step"]
    return np.array(found).reshape(-1, *here.shape), names


def _changes(evaluation: Evaluation) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and changed arrays of the windows, for each error of the data: so large that `SMALL` is its size."""
    w, model = evaluation.windows, evaluation.plan.parameters.template
    control = np.asarray(w.control.torque) if w.control.torque is not None else None
    alone = single(model)
    for name, rows in model.rows("dof").items():
        for j in (row for row in rows if alone[row]):
            i = model.rows("coordinate")[name][0]
            label, unit = f"joint/{name}", SMALL * np.ones(w.target.shape[:2])
            place = {"q": i, "v": j}
            yield f"offset/{label}/position", _sensed(evaluation, place, unit, 0.0 * unit)
            yield f"offset/{label}/velocity", _sensed(evaluation, place, 0.0 * unit, unit)
            yield f"start/{label}/position", {"q": _moved(w.q, i, SMALL)}
            yield f"start/{label}/velocity", {"v": _moved(w.v, j, SMALL)}
            if control is None or not control[..., j].any():
                continue
            torque = control[..., j] / np.abs(control[..., j]).max()
            rate = np.gradient(torque, axis=1)
            act = lambda change, j=j: {
                "control": dataclasses.replace(w.control, torque=_moved(control, j, SMALL * change))
            }
            yield f"offset/{label}/control", act(np.abs(control[..., j]).max())
            yield f"delay/{label}/control", act(-rate * np.abs(control[..., j]).max())
            dt = w.dt[:, None]
            twisted = _sensed(evaluation, place, SMALL * torque, SMALL * rate / dt)
            yield f"flexibility behind {label}/position", twisted


def _sensed(
    evaluation: Evaluation, place: dict[str, int], position: np.ndarray, velocity: np.ndarray
) -> dict[str, Any]:
    """Starts and measured signals of one degree of freedom, changed by (windows, rows)."""
    w, target, column = evaluation.windows, np.array(evaluation.windows.target), 0
    for c in evaluation.plan.channels:
        for word, which, change in (("position", "q", position), ("velocity", "v", velocity)):
            if c.name == f"joint/{word}" and c.rows is not None and place[which] in c.rows:
                target[..., column + c.rows.index(place[which])] += change
        column += c.size
    return {
        "q": _moved(w.q, place["q"], position[:, 0]),
        "v": _moved(w.v, place["v"], velocity[:, 0]),
        "target": target,
    }


def _moved(x: AnyArray, row: int, change: Any) -> np.ndarray:
    """`x` with something added to one entry of its last axis."""
    found = np.array(x, dtype=np.float64)
    found[..., row] += change
    return found
