"""Thirty numbers of an arm with seven joints, for `sysid`: where finite differences pay for each of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

import isthmus as ist
from isthmus.bench.rows import Row
from isthmus.bench.sysid import NOISE, Case, rows_of
from isthmus.bench.sysid_peer import Log
from isthmus.dynamics import inverse_dynamics
from isthmus.export.mjcf import to_mjcf
from isthmus.model.model import Model

DT, STEPS, RUNS = 0.01, 100, 4
MIDDLE = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.0])
"""Where the motions start [rad]."""
FREE = {
    "joint/*/damping": (0.5, 0.1, 2.0),
    "joint/*/armature": (0.1, 0.02, 0.5),
    "joint/*/stiffness": (1.0, 0.2, 5.0),
    **{f"link/link_{i}/mass": (None, 0.5, 2.0) for i in range(2, 8)},
    "link/link_6/com": (None, -0.1, 0.1),
}
"""Name -> truth and bounds; None: as in the library, masses between these factors."""
EXPLAINED = 1.1
"""A fit is right whose cost is at most this many times that of the truth."""


def arm(quick: bool) -> list[Row]:
    """Damping, armature and stiffness of seven joints, six masses and a centre of mass."""
    return rows_of(arm_case(2 if quick else 100))


def truth() -> Model:
    """The arm without stops and without bounds on its torques, which engines treat differently."""
    model = ist.library.arm(payload=0.5)
    for name in ("damping", "armature", "stiffness"):
        model = model.set(f"joint/{name}", FREE[f"joint/*/{name}"][0])
    return model.set("joint/lower", -np.inf).set("joint/upper", np.inf).set("joint/effort", np.inf)


def arm_case(starts: int) -> Case:
    """Four motions of one second from rest; starts within 40 % of the way from the truth to the bounds."""
    draw, model = np.random.default_rng(0), truth()
    logs = [moved(model, draw) for _ in range(RUNS)]
    free = [_free(model, name) for name in FREE]
    problem = ist.Problem(
        model, [_motion(log) for log in logs], free=free, loss=ist.WholeRun(), noise=NOISE
    )
    p = problem.parameters
    scale, low, high, best = p.scale, p.low * p.scale, p.high * p.scale, p.start * p.scale
    away = 0.4 * draw.uniform(-1.0, 1.0, (starts, p.size))
    points = best + np.where(away > 0.0, away * (high - best), away * (best - low))
    least = EXPLAINED * problem.evaluation.cost(p.start[None])[0]
    return Case(
        f"arm, {p.size} numbers", problem, arm_text(model), logs, write_arm, points, low, high,
        right=lambda found: int(np.sum(problem.evaluation.cost(found / scale) < least)),
    )  # fmt: skip


def moved(model: Model, draw: np.random.Generator) -> Log:
    """Torques that would swing every joint in two frequencies, and what came of them, with noise."""
    t = DT * np.arange(STEPS + 1)[:, None]
    w, size = draw.uniform(2.0, 6.0, (2, 7)), draw.uniform(-1.2, 1.2, (2, 7))
    swing = lambda f: sum(size[k] / w[k] * f(w[k], t) for k in range(2))
    q = MIDDLE + swing(lambda w, t: 1.0 - np.cos(w * t))
    v, a = swing(lambda w, t: w * np.sin(w * t)), swing(lambda w, t: w * w * np.cos(w * t))
    with jax.enable_x64(True):
        torque = np.asarray(jax.jit(jax.vmap(partial(inverse_dynamics, model)))(q, v, a))
    found = ist.rollout(model, ist.State(q[0], np.zeros(7)), torque[:-1], DT)
    measured = np.asarray(found.q) + NOISE * draw.standard_normal(q.shape)
    measured[0] = q[0]
    return Log(DT, measured, torque)


def _motion(log: Log) -> ist.Motion:
    assert log.torque is not None
    times = log.dt * np.arange(len(log.q))
    return ist.Motion(times, log.q, np.zeros_like(log.q), {"joint/control": log.torque})


def _free(model: Model, name: str) -> ist.Free:
    value, low, high = FREE[name]
    if value is None and name.endswith("mass"):
        mass = float(np.asarray(model.get(name)).item())
        return ist.Free(name, low=low * mass, high=high * mass)
    return ist.Free(name, low=low, high=high)


def arm_text(model: Model) -> str:
    """MJCF with a motor at every joint and the time step of the logs."""
    text, _ = to_mjcf(model)
    motors = "".join(f'<motor joint="joint_{i}"/>' for i in range(1, 8))
    option = f'<option timestep="{DT}"><flag contact="disable"/></option>'
    return text.replace("</mujoco>", f"{option}<actuator>{motors}</actuator></mujoco>")


def write_arm(spec: Any, x: Float[np.ndarray, " n"]) -> None:
    """Thirty numbers, in the order of `FREE`, into the specification."""
    for i in range(7):
        joint = spec.joint(f"joint_{i + 1}")
        joint.damping, joint.stiffness = [x[i], 0.0, 0.0], [x[14 + i], 0.0, 0.0]
        joint.armature = x[7 + i]
    for i in range(2, 8):
        spec.body(f"link_{i}").mass = x[19 + i]
    spec.body("link_6").ipos = x[27:]
