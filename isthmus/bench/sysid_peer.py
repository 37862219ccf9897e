"""System identification by `mujoco.sysid`: MuJoCo's rollouts, finite differences, Gauss-Newton steps in a box."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.describe.mujoco_log import collected_warnings

Write = Callable[[Any, np.ndarray], None]
"""Puts numbers into an `MjSpec`."""


@dataclasses.dataclass(frozen=True)
class Log:
    """What was measured, for either side."""

    dt: float
    q: Float[np.ndarray, "rows nq"]
    """Positions; the first row is where the simulation starts, at rest."""
    torque: Float[np.ndarray, "rows nu"] | None = None
    """What acted from each row to the next; None: no actuators."""


def sysid(
    text: str, logs: list[Log], write: Write, low: np.ndarray, high: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """`start -> estimate`, on one thread, with the toolbox's own settings. `text`: MJCF, with named joints."""
    mujoco: Any = import_module("mujoco")
    toolbox: Any = import_module("mujoco.sysid")
    spec = mujoco.MjSpec.from_string(text)
    model = spec.compile()
    joints = [model.joint(k).name for k in range(model.njnt)]
    kind = toolbox.SignalType.MjStateQPos
    series = [_series(toolbox, model, log, joints, kind) for log in logs]
    runs = toolbox.ModelSequences(
        "log", spec, [f"run{k}" for k in range(len(logs))],
        [toolbox.create_initial_state(model, log.q[0], np.zeros(model.nv)) for log in logs],
        [control for control, _ in series], [measured for _, measured in series],
        allow_missing_sensors=True,
    )  # fmt: skip
    residual = toolbox.build_residual_fn(models_sequences=[runs], n_threads=1)

    def search(start: np.ndarray) -> np.ndarray:
        parameter = toolbox.Parameter(
            "free", start, low, high, modifier=lambda spec, p: write(spec, p.value)
        )
        free = toolbox.ParameterDict({"free": parameter})
        with collected_warnings(mujoco):  # of motions that blow up on the way
            _, found = toolbox.optimize(free, residual, verbose=False, output=io.StringIO())
        return np.asarray(found.x)

    return search


def _series(toolbox: Any, model: Any, log: Log, joints: list[str], kind: Any) -> tuple[Any, Any]:
    """Commands and measurements as the toolbox keeps them."""
    times = log.dt * np.arange(len(log.q))
    torque = np.zeros((len(log.q), model.nu)) if log.torque is None else log.torque
    control = toolbox.TimeSeries(times, torque)
    mapping = {f"{name}_qpos": (kind, np.array([k])) for k, name in enumerate(joints)}
    return control, toolbox.TimeSeries(times, log.q, mapping)
