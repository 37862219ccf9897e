"""Residuals at a point, row by row or window by window, with their derivatives by what is free and by what is held.

The held numbers are candidates for what the model lacks: inertias, armature, springs, damping, friction and the
stiffness of stops that are not free, and what the logs may hide (`hidden_errors.py`): offsets, delays, flexible joints.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from isthmus.identify.answer.hidden_errors import of_simulation, of_torques
from isthmus.identify.evaluate.arrow_matrix import Arrow
from isthmus.identify.evaluate.batch import WindowBatch
from isthmus.identify.evaluate.compiled import Compiled
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.evaluate.inputs import STOPS, inputs_of
from isthmus.identify.evaluate.jacobians import Jacobians
from isthmus.identify.parameters.leaves import leaf_names
from isthmus.losses.penalties import huber
from isthmus.model.leaves import LeafSpec
from isthmus.model.model import leaf_fields

MEMORY = 512 * 2**20
"""Bytes of columns up to which what is held is looked at, and correlation in time."""
FEW_WINDOWS = 8
"""Below this many windows, nothing can be learnt from how they differ: their rows are one series in time."""
TOUCHED = 5
"""Windows that must touch a stop: its score is a Student's t of so many degrees of freedom less one, which is beyond
`SIGNIFICANT` by chance in 1.6 % of all cases with five windows, in 6 % with three, and always with one."""
OF_LINKS = ("link_mass", "link_com", "link_inertia")
OF_JOINTS = ("joint_armature", "joint_stiffness", "joint_damping", "joint_friction", STOPS)


@dataclasses.dataclass(frozen=True)
class Columns:
    """Weighted residuals with columns of their derivatives. A row is one of the log or, if `restarts`, a window."""

    r: Float[np.ndarray, "rows width"]
    free: Float[np.ndarray, "p rows width"]
    """By `z`."""
    held: Float[np.ndarray, "m rows width"]
    names: tuple[str, ...]
    """Of the held numbers."""
    run: Int[np.ndarray, " rows"]
    """Number of the run that a row belongs to; those of a run follow each other in time."""
    component: Int[np.ndarray, " width"]
    """Which of the compared components a column of `r` belongs to."""
    restarts: bool
    """Whether a row is a simulation that started anew, whose errors grow with time."""


def fits_in_memory(evaluation: Evaluation, count: int) -> bool:
    """Whether so many columns may be held at a time."""
    return 8 * count * evaluation.windows.weight.size <= MEMORY


def columns_of(evaluation: Evaluation, x: Float[np.ndarray, " n"]) -> Columns:
    """The columns at the point `x`; windows whose starts are free are projected on what these cannot change."""
    batch, plan = general(evaluation), evaluation.plan
    p, own = plan.parameters.size, plan.starts
    entries, names = candidates(batch, x[:p])
    U, free = batch.of_window(x[None]), batch.directions(x[None])
    unit = np.zeros((1, len(entries), free.shape[2]))
    unit[0, range(len(entries)), entries] = 1.0
    directions = np.concatenate([free, unit], axis=1)
    if not fits_in_memory(evaluation, directions.shape[1]):
        directions, names = free, []
    (pieces,) = Jacobians(batch).pieces(U, directions)
    r = np.concatenate([piece for piece, _ in pieces])
    D = np.swapaxes(np.concatenate([columns for _, columns in pieces]), 0, 1)
    D, names = _without_rare_stops(evaluation, D, names)
    if names:
        few = evaluation.count < FEW_WINDOWS
        extra, more = (
            of_torques(evaluation, r) if plan.torque else of_simulation(evaluation, x, few)
        )
        D, names = np.concatenate([D, extra]), [*names, *more]
    if plan.huber:
        heavy = np.sqrt(huber(r, plan.huber)[1])
        r, D = r * heavy, D * heavy
    if own:
        matrix = evaluation.normal(x[None]).matrix
        assert isinstance(matrix, Arrow)
        r, D = without_starts(r, D[p : p + own], np.delete(D, range(p, p + own), axis=0), matrix)
    return _arranged(evaluation, r, D, names)


def _without_rare_stops(
    evaluation: Evaluation, D: Float[np.ndarray, "n windows data"], names: list[str]
) -> tuple[np.ndarray, list[str]]:
    """The same without stops that hardly any window touches: such a column may explain the noise of these windows."""
    first = len(D) - len(names)
    touched = np.count_nonzero(np.any(D[first:] != 0.0, axis=2), axis=1)
    least = TOUCHED if evaluation.count >= FEW_WINDOWS else 1
    rare = [
        n.endswith("/limit_stiffness") and t < least for n, t in zip(names, touched, strict=True)
    ]
    kept = np.concatenate([np.ones(first, dtype=bool), ~np.array(rare, dtype=bool)])
    return D[kept], [name for name, left in zip(names, rare, strict=True) if not left]


def _arranged(evaluation: Evaluation, r: np.ndarray, D: np.ndarray, names: list[str]) -> Columns:
    """Residuals (windows, data) and columns (n, windows, data) as rows that follow each other in time."""
    plan, p = evaluation.plan, evaluation.plan.parameters.size
    rows, width = evaluation.windows.weight.shape[1:]
    component = np.concatenate([np.tile(np.arange(width), rows), width + np.arange(plan.gaps)])
    restarts = not plan.torque and evaluation.count >= FEW_WINDOWS
    if restarts:
        run = np.asarray(evaluation.windows.run, dtype=np.int64)
        return Columns(r, D[:p], D[p:], tuple(names), run, component, restarts)
    order, run = in_time(evaluation)
    each = lambda x: x[..., : rows * width].reshape(*x.shape[:-2], -1, width)
    r, D = each(r)[order], each(D)[:, order]
    return Columns(r, D[:p], D[p:], tuple(names), run, component[:width], restarts)


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
        if key[1] == STOPS:
            there = np.isin(np.arange(size), model.limited)
        labels = leaf_names(model, spec, None)
        for k in np.flatnonzero(there & ~free[end - size : end]):
            entries.append(end - size + int(k))
            names.append(labels[k])
    return entries, names


def without_starts(
    r: Float[np.ndarray, "windows data"],
    S: Float[np.ndarray, "starts windows data"],
    D: Float[np.ndarray, "n windows data"],
    matrix: Arrow,
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and columns without what the free starts of windows can explain.

    `S`: columns by the start of each window, then, for multiple shooting, by that of the next one.
    """
    m = matrix.D.shape[-1]
    X = np.concatenate([r[None], D])
    right = np.einsum("mwd,kwd->wmk", S[:m], X)
    if len(S) > m:
        right[1:] += np.einsum("mwd,kwd->wmk", S[m:], X)[:-1]
    size = np.concatenate([np.zeros(matrix.A.shape[-1]), np.einsum("wmm->wm", matrix.D[0]).ravel()])
    y = matrix.plus_diagonal(1e-12 * size + 1e-300).start_changes(right[None])[0]
    X = X - np.einsum("mwd,wmk->kwd", S[:m], y)
    if len(S) > m:
        X[:, :-1] -= np.einsum("mwd,wmk->kwd", S[m:, :-1], y[1:])
    return X[0], X[1:]


def in_time(evaluation: Evaluation) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are compared, run by run in the order of time; and the run of each."""
    windows = evaluation.windows
    used = np.any(windows.weight > 0.0, axis=2)
    time = windows.time[:, None] + windows.dt[:, None] * np.arange(used.shape[1])[None]
    run = np.broadcast_to(windows.run[:, None], used.shape)
    rows = np.flatnonzero(used)
    order = rows[np.lexsort((time.ravel()[rows], run.ravel()[rows]))]
    return order, np.ascontiguousarray(run).ravel()[order].astype(np.int64)
