"""Along a motion: poses of the links, and where bodies touch and with which force."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from isthmus import native
from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.errors import IsthmusError, IsthmusWarning
from isthmus.model.contacts import stands_still
from isthmus.model.coordinates import minus_rows
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.simulate.many import rollout_many

CONTACT = ("contact/point", "contact/normal", "contact/normal_force", "contact/friction_force")
"""Signals that `contacts_in` reads."""


class Contacts(NamedTuple):
    """Points of bodies that touch something, NaN where they do not."""

    points: np.ndarray
    """(pictures, contacts, 3) in the world [m]."""
    forces: np.ndarray
    """(pictures, contacts, 3) on the body, in the world [N]; of two bodies on the first one that can move."""


def poses_along(model: Model, q: np.ndarray) -> np.ndarray:
    """Position [m] and quaternion of every link at each row of `q`, (rows, links, 7); NaN where `q` is not known."""
    return pose_function(model)(q)


def pose_function(model: Model) -> Callable[[np.ndarray], np.ndarray]:
    """`poses_along` of one model, compiled once."""

    def pose(q: Any) -> Any:
        k = forward_kinematics(model, q)
        return jnp.concatenate([k.position, k.quaternion], axis=1)

    compiled = native.compile(pose, np.zeros(model.nq))

    def along(q: np.ndarray) -> np.ndarray:
        known = np.isfinite(q).all(axis=1)
        found = np.array(compiled.map(np.where(np.reshape(known, (-1, 1)), q, 0.0)))
        found[~known] = np.nan
        return found

    return along


def velocities_along(model: Model, q: np.ndarray, dt: float) -> np.ndarray:
    """Velocities (rows, dof) that led to each row in a time `dt` [s]; those of a first row lead to the next."""
    neutral = np.asarray(State.neutral(model).q)
    known = np.reshape(np.isfinite(q).all(axis=1), (-1, 1))
    sound = np.where(known, q, neutral)
    steps = minus_rows(model, sound[1:], sound[:-1]) / dt
    steps = np.where(known[1:] & known[:-1], steps, np.nan)
    before = np.concatenate([np.full((1, model.dof), np.nan), steps])
    after = np.concatenate([steps, np.full((1, model.dof), np.nan)])
    return np.where(np.isfinite(before), before, after)


def contacts_in(model: Model, signals: Mapping[str, Any]) -> Contacts | None:
    """Contacts in what a rollout recorded, in its rows; None where it did not record `CONTACT`."""
    if not all(name in signals for name in CONTACT):
        return None
    points, normals, push, friction = (np.asarray(signals[n], dtype=np.float64) for n in CONTACT)
    touching = (push > 0)[..., None]
    own = [-1.0 if stands_still(model, shape) else 1.0 for shape in model.contact_shapes]
    forces = np.reshape(own, (-1, 1)) * (push[..., None] * normals + friction)
    return Contacts(np.where(touching, points, np.nan), np.where(touching, forces, np.nan))


def contacts_at(
    model: Model, q: np.ndarray, v: np.ndarray, control: Control, dt: float
) -> Contacts | None:
    """Contacts during a step of `dt` [s] from each row of `q` and `v`; None where a model has none.

    `control`: what acts, with rows as its first axis.
    """
    if not model.contact_kinds:
        return None
    try:
        return contacts_in(model, signals_at(model, q, v, control, dt, CONTACT))
    except IsthmusError:  # what acts cannot be told row by row
        return None


def signals_at(
    model: Model, q: np.ndarray, v: np.ndarray, control: Control, dt: float, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Signals during a step of `dt` [s] from each row of `q` and `v`, as rows; NaN where a row is not known."""
    known = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
    if not len(known):
        return {}
    acting = jax.tree.map(lambda x: np.asarray(x)[known][:, None], control)
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore", IsthmusWarning)  # who simulated it was told
        given = acting if jax.tree.leaves(acting) else None
        found = rollout_many(model, State(q[known], v[known]), given, dt, 1, names).signals
    whole = {}
    for name in names:
        first = np.asarray(found[name], dtype=np.float64)[:, 0]
        whole[name] = np.full((len(q), *first.shape[1:]), np.nan)
        whole[name][known] = first
    return whole
