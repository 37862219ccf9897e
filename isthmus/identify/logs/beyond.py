"""Logs that go beyond what a model allows: ends of travel, and the largest torques of motors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from isthmus.errors import DataWarning
from isthmus.identify.logs.log import Log
from isthmus.model.model import Model

DEEP = 2.0
"""Depth in a stop that counts, in widths over which it sets in: its push is twice the motor's largest torque."""
OFTEN = 0.01
"""Share of rows above which a warning is given."""
MARGIN = 1e-3
"""Share by which commands may exceed the largest torque: a log of a saturated motor is rounded."""


def warn_beyond_stops(model: Model, logs: Sequence[Log]) -> None:
    """Warns of logs that go beyond the ends of travel of a joint, where the model pushes back with great force."""
    told, first = [], ""
    if np.ndim(model.joint_lower) != 1:
        return
    for name, k, column in limited_joints(model):
        low, high = float(model.joint_lower[k]), float(model.joint_upper[k])
        q = np.concatenate([log.q[:, column] for log in logs if log.measured[0]] or [np.zeros(0)])
        beyond = np.nan_to_num(np.maximum(low - q, q - high), nan=-np.inf)
        share = np.mean(beyond > DEEP * float(model.joint_limit_width[k])) if len(q) else 0.0
        if share > OFTEN:
            first = first or name
            told.append(
                f"{name!r} in {100 * share:.2g} % of the rows, by up to {np.max(beyond):.2g} ({low:.3g} to {high:.3g})"
            )
    if told:
        warnings.warn(
            f"joints are beyond their ends of travel, where the model pushes back: {'; '.join(told)}. Are sign and "
            "zero of their positions those of the model? Otherwise correct joint/lower and joint/upper, leave these "
            f"rows out, or, where real stops give way, free joint/{first}/limit_stiffness and "
            f"joint/{first}/limit_damping.",
            DataWarning,
            stacklevel=6,
        )


def warn_beyond_effort(model: Model, logs: Sequence[Log]) -> None:
    """Warns of commands that the model's motors do not follow, since their largest torque is smaller."""
    told = []
    if np.ndim(model.joint_effort) != 1:
        return
    for name, rows in model.rows("dof").items():
        for k in (row for row in rows if row in model.saturated):
            if k in model.position_controlled or not np.isfinite(model.joint_effort[k]):
                continue
            most, factor = float(model.joint_effort[k]), float(model.joint_gear[k])
            factor *= float(model.joint_motor_constant[k]) if model.current_driven else 1.0
            given = [log.control.torque for log in logs if log.control.torque is not None]
            asked = np.abs(factor * np.concatenate([x[:, k] for x in given] or [np.zeros(0)]))
            share = np.mean(asked > (1.0 + MARGIN) * most) if len(asked) else 0.0
            if share > OFTEN:
                told.append(
                    f"{name!r} in {100 * share:.2g} % of the rows, up to {asked.max():.3g} (at most {most:.3g})"
                )
    if told:
        warnings.warn(
            f"commands are larger than the largest torque (effort) of the model's motors, which give no more: "
            f"{'; '.join(told)}. Is their unit that of the model? If the real motors gave that much, correct the "
            "effort in the robot's file, or by model.set('joint/effort', …).",
            DataWarning,
            stacklevel=5,
        )


def limited_joints(model: Model) -> Iterator[tuple[str, int, int]]:
    """Each degree of freedom with ends of travel: name of its joint, row in `v`, column in `q`."""
    spans = zip(model.joint_names, model.layout.q_own, model.layout.v_own, strict=True)
    for name, (begin, _), (first, end) in spans:
        yield from ((name, k, begin + k - first) for k in range(first, end) if k in model.limited)
