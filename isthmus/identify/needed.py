"""`needed_torque`: the motor torques that a recorded motion needs, by inverse dynamics row by row."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from isthmus.entry import check_arguments
from isthmus.identify.evaluate.window import torque_at
from isthmus.identify.evaluate.windows_from_logs import rates
from isthmus.identify.logs.log import names_of, read
from isthmus.model.model import Model
from isthmus.model.state import Control, State, fresh_memory
from isthmus.motion.motion import Motion
from isthmus.simulate.engine import compiled


@check_arguments
def needed_torque(model: Model, motion: Motion) -> np.ndarray:
    """Torques [N·m, N] that the motors must give for a motion, (rows, dof).

    Everything of the model counts: inertia and armature, gravity, springs, friction and stops, networks, and the
    forces `link/external_force` of the motion. Accelerations are the signal `joint/acceleration` where the motion has
    it, else slopes of the velocities, through as many rows as leave nothing but noise; they are not known in the first
    and last row. These are NaN, and so are rows that were not measured. Motors with a delay need their commands that
    much earlier.
    """
    log = read(model, motion, *names_of([motion], "run"))
    v, a = rates(log)
    time = log.time + log.dt * np.arange(len(log))
    rows = (log.start_q, v, np.nan_to_num(a), log.control, time)
    model = jax.tree.map(lambda x: np.asarray(x, np.float64), model)
    memory = fresh_memory(model)
    shared = (model, np.float64(log.dt))
    take = lambda k: jax.tree.map(lambda x: np.asarray(x)[k], rows)
    run = compiled(_row, (*shared, memory, *take(0)), "needed torque", None, (memory, log.v[0]))
    if memory is None:
        given = [jax.tree.leaves(shared), jax.tree.leaves(rows)]
        same = [True] * len(given[0]) + [False] * len(given[1])
        (tau,) = run.flat_map([*given[0], *given[1]], shared=same)
    else:
        tau = np.empty_like(log.v)
        for k in range(len(log)):
            memory, tau[k] = run(*shared, memory, *take(k))
    return np.where(np.isfinite(a), np.asarray(tau), np.nan)


def _row(
    model: Model, dt: Any, memory: Any, q: Any, v: Any, a: Any, control: Control, time: Any
) -> tuple[Any, Any]:
    return torque_at(model, dt, State(q, v, memory, time), a, control)
