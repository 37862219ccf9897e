"""The runs of a fit as motions of a scene: predicted, with contacts, and measured."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from isthmus.model.model import Model
from isthmus.report.gather import Run
from isthmus.scene.along import Contacts, contacts_at, poses_along, velocities_along
from isthmus.scene.packed import MESH, stride
from isthmus.scene.scene import Scene, Take, scene_of

FEWEST = 4
"""Steps of a window; shorter ones follow the measurement by themselves."""
RUNS = 4
"""Runs that can be watched."""


def scene(model: Model, runs: Sequence[Run]) -> Scene:
    """The scene of some runs, held-out ones first; measured poses are drawn with the same model as predicted ones."""
    chosen = sorted(runs, key=lambda run: not run.heldout)[:RUNS]
    return scene_of(model, [_take(model, run, len(chosen)) for run in chosen], most=MESH)


def _take(model: Model, run: Run, takes: int) -> Take:
    every = stride(run.dt, run.rows, len(model.link_names), len(model.contact_kinds), takes)
    rows = np.arange(0, run.rows, every)
    measured = None if run.q is None else poses_along(model, run.q[rows])
    seconds = every * run.dt
    if run.q_predicted is None or not watchable(run):
        return Take(run.name, seconds, None, measured, heldout=run.heldout)
    q = np.full((run.rows, run.q_predicted.shape[1]), np.nan)
    inside = run.at >= 0
    q[run.at[inside]] = run.q_predicted[inside]
    contacts = _contacts(model, run, q, rows)
    return Take(run.name, seconds, poses_along(model, q[rows]), measured, contacts, run.heldout)


def _contacts(model: Model, run: Run, q: np.ndarray, rows: np.ndarray) -> Contacts | None:
    """Contacts of the predicted motion `q` at some rows."""
    if not model.contact_kinds:
        return None
    v = velocities_along(model, q, run.dt)
    acting = jax.tree.map(lambda x: np.asarray(x)[rows], run.control)
    return contacts_at(model, q[rows], v[rows], acting, run.dt)


def watchable(run: Run) -> bool:
    """Whether a prediction of the run can be watched: something was simulated, for more than a few steps on end."""
    steps = [span.steps for span in run.spans]
    return run.q_predicted is not None and bool(steps) and float(np.median(steps)) >= FEWEST


def can_be_drawn(run: Run) -> bool:
    """Whether there is a motion of the mechanism: measured, or predicted for a while."""
    return run.q is not None or watchable(run)
