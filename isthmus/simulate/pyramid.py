"""Rollouts whose impulses come from Lemke's algorithm with a friction pyramid: a reference, slow and without gradients.

A step is that of `order="plain"`: points that touch the ground, or would meet it within the step, act at its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.contact.impulse import contact_jacobian
from isthmus.contact.lemke import pyramid_impulses
from isthmus.contact.penalty import contact_rows
from isthmus.dynamics.crba import mass_matrix
from isthmus.entry import check_arguments
from isthmus.errors import BadModel
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import Control, State, StateLike, check_state
from isthmus.motion.motion import Motion
from isthmus.motion.spans import joints_of
from isthmus.networks.signals import NO_SIGNALS
from isthmus.simulate.accelerate import accelerate
from isthmus.simulate.engine import compiled
from isthmus.spatial.products import mv


@check_arguments
def pyramid_rollout(
    model: Model, state: StateLike, dt: float, steps: int, *, sides: int = 8
) -> Motion:
    """The motion of a model with impulse contacts in steps of `dt` [s], friction in a pyramid of `sides` sides.

    No motor acts, and softness is taken as zero. The motion has `steps + 1` rows.
    """
    if "impulse" not in model.contact_kinds:
        raise BadModel(f"{model.name!r} has no contacts by impulses: see ist.with_contact.")
    here = check_state(model, state)
    q, v = np.asarray(here.q, float), np.asarray(here.v, float)
    assemble = compiled(_assembled, (model, q, v), "pyramid", None, (q,) * 5)
    move = compiled(coordinates.plus, (model, q, v), "pyramid plus", None, q)
    rows = [(q, v)]
    for _ in range(steps):
        v = _after(model, v, assemble(model, q, v), dt, sides)
        q = np.asarray(move(model, q, dt * v))
        rows.append((q, v))
    qs, vs = (np.stack(column) for column in zip(*rows, strict=True))
    return Motion(dt * np.arange(steps + 1), qs, vs, {}, joints_of(model))


def _assembled(model: Model, q: Any, v: Any) -> tuple:
    """Inertia, acceleration, and of each contact: Jacobian, velocity along normal and tangents, depth."""
    acting, a = accelerate(model, State(q, v), Control(), NO_SIGNALS)
    rows, touching = contact_rows(model, "impulse"), acting.touch
    assert touching is not None
    J = contact_jacobian(model, acting.kinematics, touching, rows)
    velocity = mv(touching.axes[rows], touching.velocity[rows])
    return mass_matrix(model, q), a, J, velocity, touching.depth[rows]


def _after(model: Model, v: np.ndarray, parts: tuple, dt: float, sides: int) -> np.ndarray:
    """The velocity at the end of a step."""
    H, a, J, velocity, depth = (np.asarray(x) for x in parts)
    free = v + dt * a
    met = velocity + dt * J @ a
    on = (depth >= 0.0) | (dt * met[:, 0] < depth)
    if not on.any():
        return free
    rows = contact_rows(model, "impulse")[on]
    pick = lambda x: np.asarray(x)[rows]
    J, c = J[on].reshape(-1, J.shape[-1]), met[on]
    bounces = c[:, 0] < -pick(model.contact_restitution_speed)
    lift = pick(model.contact_erp) * np.maximum(depth[on], 0.0) / dt
    c[:, 0] += np.where(bounces, pick(model.contact_restitution) * c[:, 0], 0.0) - lift
    yielding = np.linalg.solve(H, J.T)
    p = pyramid_impulses(J @ yielding, c, pick(model.contact_friction), sides)
    return free + yielding @ p.reshape(-1)
