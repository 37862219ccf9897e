"""Residuals at a point, row by row, with their derivatives by what is free and by what is held.

The held numbers are candidates for what the model lacks: inertias, armature, springs, damping and friction of the model
that are not free, an offset of each compared component, and its first and second difference in time, which stand for a
delay and for flexible joints.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from isthmus.identify.evaluate.batch import WindowBatch
from isthmus.identify.evaluate.compiled import Compiled
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.evaluate.inputs import inputs_of
from isthmus.identify.evaluate.jacobians import Jacobians
from isthmus.identify.parameters.leaves import leaf_names
from isthmus.losses.penalties import huber
from isthmus.model.leaves import LeafSpec
from isthmus.model.model import leaf_fields

MEMORY = 512 * 2**20
"""Bytes of columns up to which what is held is looked at, and correlation in time."""
OF_LINKS = ("link_mass", "link_com", "link_inertia")
OF_JOINTS = ("joint_armature", "joint_stiffness", "joint_damping", "joint_friction")


@dataclasses.dataclass(frozen=True)
class Columns:
    """Weighted residuals with columns of their derivatives; all rows of a run follow each other in time."""

    r: Float[np.ndarray, "rows width"]
    free: Float[np.ndarray, "p rows width"]
    """By `z`."""
    held: Float[np.ndarray, "m rows width"]
    names: tuple[str, ...]
    """Of the held numbers."""
    run: Int[np.ndarray, " rows"]
    """Number of the run that a row belongs to."""


def fits_in_memory(evaluation: Evaluation, count: int) -> bool:
    """Whether so many columns may be held at a time."""
    return 8 * count * evaluation.windows.weight.size <= MEMORY


def columns_of(evaluation: Evaluation, x: Float[np.ndarray, " n"]) -> Columns:
    """The columns at the point `x`; windows whose starts are free are projected on what these cannot change."""
    batch = general(evaluation)
    p = evaluation.plan.parameters.size
    entries, names = candidates(batch, x[:p])
    U, free = batch.of_window(x[None]), batch.directions(x[None])
    unit = np.zeros((1, len(entries), free.shape[2]))
    unit[0, range(len(entries)), entries] = 1.0
    directions = np.concatenate([free, unit], axis=1)
    if not fits_in_memory(evaluation, directions.shape[1]):
        directions, names = free, []
    (pieces,) = Jacobians(batch).pieces(U, directions)
    r = np.concatenate([piece for piece, _ in pieces])
    D = np.concatenate([columns for _, columns in pieces])
    shape = evaluation.windows.weight.shape
    extra, more = of_signals(evaluation, r.reshape(shape)) if names else (np.zeros((0, *shape)), [])
    heavy = np.sqrt(huber(r, evaluation.plan.huber)[1]) if evaluation.plan.huber else None
    if heavy is not None:
        r, D = r * heavy, D * heavy[:, None]
    r, D = without_starts(r, D, p, batch.own)
    r, D = r.reshape(shape), D.reshape(len(D), D.shape[1], *shape[1:])
    D = np.concatenate([np.swapaxes(D, 0, 1), extra])
    order, run = in_time(evaluation)
    r, D = r.reshape(-1, shape[2])[order], D.reshape(len(D), -1, shape[2])[:, order]
    return Columns(r, D[:p], D[p:], (*names, *more), run)


def general(evaluation: Evaluation) -> WindowBatch:
    """The windows with code whose inputs are all numbers of the model, whatever is free."""
    plan = evaluation.plan
    if plan.inputs is not None:
        return evaluation.batch
    plan = dataclasses.replace(plan, inputs=inputs_of(plan.parameters))
    made = Compiled(plan, evaluation.compiled.example, hasty=True)
    return WindowBatch(plan, evaluation.windows, made)


def candidates(batch: WindowBatch, z: Float[np.ndarray, " p"]) -> tuple[list[int], list[str]]:
    """Entries of `θ` that are held and have an effect in some motion, and their names."""
    inputs = batch.plan.inputs
    assert inputs is not None
    model, specs = inputs.template, dict(leaf_fields())
    mass = np.asarray(model.link_mass)
    A = batch.compiled.inputs(z[None])[1][0]
    free = np.any(A != 0.0, axis=1)
    entries, names = [], []
    for (key, shape), end in zip(inputs.parts, inputs.ends.tolist(), strict=True):
        if key[0] != "leaf" or key[1] not in (*OF_LINKS, *OF_JOINTS):
            continue
        spec: LeafSpec = specs[key[1]]
        size = int(np.prod(shape))
        there = np.ones(size, dtype=bool)
        if key[1] in OF_LINKS:
            there = np.repeat(mass > 0.0, size // len(mass))
        labels = leaf_names(model, spec, None)
        for k in np.flatnonzero(there & ~free[end - size : end]):
            entries.append(end - size + int(k))
            names.append(labels[k])
    return entries, names


def of_signals(evaluation: Evaluation, r: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Offset, delay and second difference of each component that is compared, and what to call them.

    The differences are those of the simulated signal: those of the measured one would contain the noise in `r`.
    """
    target, weight = evaluation.windows.target, evaluation.windows.weight
    found, names = [], []
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
    return np.concatenate(found), names


def without_starts(r: np.ndarray, D: np.ndarray, p: int, own: int) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (windows, data) and columns (windows, n, data), without what the free starts of windows can explain."""
    if not own:
        return r, D
    starts = np.swapaxes(D[:, p : p + own], 1, 2)
    Q = np.linalg.qr(starts)[0]
    kept = np.concatenate([D[:, :p], D[:, p + own :]], axis=1)
    r = r - np.einsum("wdk,wek,we->wd", Q, Q, r)
    return r, kept - np.einsum("wdk,wek,wne->wnd", Q, Q, kept, optimize=True)


def in_time(evaluation: Evaluation) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are compared, run by run in the order of time; and the run of each."""
    windows = evaluation.windows
    used = np.any(windows.weight > 0.0, axis=2)
    time = windows.time[:, None] + windows.dt[:, None] * np.arange(used.shape[1])[None]
    run = np.broadcast_to(windows.run[:, None], used.shape)
    rows = np.flatnonzero(used)
    order = rows[np.lexsort((time.ravel()[rows], run.ravel()[rows]))]
    return order, np.ascontiguousarray(run).ravel()[order].astype(np.int64)
