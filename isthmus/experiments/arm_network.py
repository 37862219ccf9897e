"""A network for each joint of an arm on what the chosen terms leave over of its torques.

A block of the fitted rows judges each network before it is used: one that does not help there is left out. The weight
penalty is chosen by cross-validation inside the other rows.
"""

from __future__ import annotations

import jax
import numpy as np

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Settings
from isthmus.identify.fit import Fit
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import CROSS, Problem
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.identify.torque.data import BLOCKS, Rows, parts_of
from isthmus.identify.torque.result import TorqueFit
from isthmus.motion.motion import Motion
from isthmus.networks.recipes import MLP

TORQUE = "joint/motor_torque"
READS = ("joint/position", "joint/velocity")
"""What the network of a joint reads of that joint."""
WIDTH, STEPS = 4, 150
"""Of the one hidden layer; of a search."""
JUDGE = BLOCKS // 2
"""The block of the fitted rows that judges."""


def network_fit(found: TorqueFit, runs: list[Rows], settings: Settings) -> Fit:
    """Networks on top of a torque fit of these rows, or none: `Fit.networks` says what the judging block said."""
    judging = [part // 2 == JUDGE for part in parts_of(runs)]
    trained = [as_motion(m, ~rows) for m, rows in zip(runs, judging, strict=True)]
    judges = [as_motion(m, rows) for m, rows in zip(runs, judging, strict=True)]
    wires = [
        Wire(
            f"joint/passive_torque[{dof}]",
            [f"{name}[{dof}]" for name in READS],
            MLP(WIDTH, 1),
            name=dof,
        )
        for dof in found.dofs
    ]
    key = jax.random.key(settings.seed)
    hybrid = Blueprint(wires).attach(found.model, key=key, data=trained)
    noise = {TORQUE: np.where(found.judged > 0.0, found.judged, 1.0).tolist()}
    problem = Problem(
        hybrid, trained, free=[Free("network/*")], loss="torque", heldout=judges, weight_penalty=CROSS, noise=noise,
    )  # fmt: skip
    return quiet_fit(problem, LBFGS(steps=2 if settings.quick else STEPS))


def as_motion(rows: Rows, used: np.ndarray | None = None) -> Motion:
    """The motion of some rows; torques of the others are NaN, as if they had not been measured."""
    tau = rows.tau if used is None else np.where(used[:, None], rows.tau, np.nan)
    t = (rows.step or 1.0) * np.arange(len(rows.q))
    return Motion(t, rows.q, rows.v, {"joint/acceleration": rows.a, TORQUE: tau})
