"""Contact with the ground in native code: a quadruped that stands, beside MuJoCo and MJX, and a thrown cube.

Times are CPU seconds of one thread for one step of one world, MJX's on the wall.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist
from isthmus.bench.machine import hint, is_here
from isthmus.bench.native_cases import WALL, WORK, compiled
from isthmus.bench.rows import Row
from isthmus.bench.timing import race
from isthmus.export.mjcf import to_mjcf
from isthmus.model.model import Model

DT, STEPS = 1e-3, 100
KP, KD = 100.0, 5.0
"""Gains of the joints [N·m/rad, N·m·s/rad]."""
LEGS = np.tile([0.0, 0.7, -1.4], 4)
"""Angles that the joints hold [rad]."""
MAX_REASON = 120
"""Letters of an error of MJX that are shown."""
TOSS = 1.0 / 148.0
"""Time between the rows of recorded tosses [s]."""


def standing_quadruped(contact: Any = "impulse") -> Model:
    """The quadruped of the library, whose joints hold a position."""
    model = ist.library.quadruped(contact=contact, damping=0.0, friction=0.0)
    gains = lambda value: np.concatenate([np.zeros(6), np.full(12, value)])
    return model.set("joint/kp", gains(KP)).set("joint/kd", gains(KD))


def standing_start(model: Model) -> ist.State:
    """Just above the ground, legs bent, at rest."""
    q = np.array([0.0, 0.0, 0.326, 1.0, 0.0, 0.0, 0.0, *LEGS])
    return ist.State(q, np.zeros(model.dof))


def stood(model: Model, q: Any, v: Any, steps: int = STEPS) -> Any:
    """The motion of so many steps, with the force [N] on each foot."""
    command = np.tile(np.concatenate([np.zeros(6), LEGS]), (steps, 1))
    return ist.rollout(
        model, ist.State(q, v), command, DT, steps=steps, record="contact/normal_force"
    )


def mujoco_quadruped(model: Model) -> Any:
    """MuJoCo's model of the same quadruped: the same gains and friction, only feet touch the ground."""
    mujoco: Any = import_module("mujoco")
    made = mujoco.MjModel.from_xml_string(to_mjcf(model)[0])
    made.opt.timestep, made.opt.cone, made.opt.impratio = DT, 1, 100.0  # feet that stick
    for k in range(made.ngeom):
        touches = made.geom(k).name.endswith(("_foot", "ground"))
        made.geom_contype[k] = made.geom_conaffinity[k] = int(touches)
        made.geom_friction[k, 0] = float(model.contact_friction[0])
    return made


def mujoco_state(made: Any, q: np.ndarray, v: np.ndarray) -> Any:
    """MuJoCo's data at a state of ours, under the command that holds the legs."""
    mujoco: Any = import_module("mujoco")
    data = mujoco.MjData(made)
    data.qpos, data.qvel, data.ctrl = q, v, LEGS
    return data


def quadruped(quick: bool) -> list[Row]:
    """A step of the quadruped with four feet on the ground, and its gradient by the state."""
    model = standing_quadruped()
    start = standing_start(model)
    settled = stood(model, start.q, start.v, 1500)
    q, v = np.asarray(settled.q[-1]), np.asarray(settled.v[-1])

    def after(q: Any, v: Any) -> Any:
        motion = stood(model, q, v)
        return motion.q[-1], motion.v[-1]

    slope = jax.grad(lambda q, v: sum(jnp.sum(x**2) for x in after(q, v)), argnums=(0, 1))
    lanes, alone, took = compiled(after, q, v)
    g_lanes, g_alone, g_took = compiled(slope, q, v)
    worlds = 16
    many = np.tile(q, (worlds, 1)), np.tile(v, (worlds, 1))
    runs = [lambda f=f: f.map(*many, threads=1) for f in (alone, lanes, g_alone, g_lanes)]
    if is_here("MuJoCo"):
        runs.append(_mujoco_run(model, q, v))
    one, wide, g_one, g_wide, *peers = race(*runs, repeats=5 if quick else 15)
    one, wide, g_one, g_wide = (t / worlds / STEPS for t in (one, wide, g_one, g_wide))
    his = peers[0] / STEPS if peers else None
    missing = hint("MuJoCo")
    rows = [
        Row("quadruped on four feet, step, in lanes", wide, "MuJoCo", his, compile=took, missing=missing),
        Row("quadruped on four feet, step, alone", one, "MuJoCo", his, compile=took, missing=missing),
        Row("quadruped on four feet, gradient, in lanes", g_wide, "own step", wide, -4.0, g_took, own=True),
        Row("quadruped on four feet, gradient, alone", g_one, "own step", one, -4.0, g_took, own=True),
    ]  # fmt: skip
    return rows + ([] if quick else _mjx_rows(model, q, v, one, took))


def _mujoco_run(model: Model, q: np.ndarray, v: np.ndarray) -> Any:
    mujoco: Any = import_module("mujoco")
    made = mujoco_quadruped(model)
    data = mujoco_state(made, q, v)
    return lambda: mujoco.mj_step(made, data, STEPS)


def _mjx_rows(model: Model, q: np.ndarray, v: np.ndarray, ours: float, took: float) -> list[Row]:
    """The same steps by MJX, or why it cannot make them."""
    work = "quadruped on four feet, step, alone"
    if not is_here("MJX") or not is_here("MuJoCo"):
        return [Row(work, ours, "MJX", compile=took, missing=hint("MJX"))]
    try:
        time, compiling = _mjx_times(model, q, v)
    except (AttributeError, ImportError, NotImplementedError, TypeError, ValueError) as fault:
        reason = f"{type(fault).__name__}: {fault}".splitlines()[0][:MAX_REASON]
        return [Row(work, ours, "MJX", compile=took, missing=f"MJX cannot run it ({reason})")]
    return [Row(work, ours, "MJX", time / STEPS, compile=took, peer_compile=compiling)]


def _mjx_times(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Seconds of all steps by MJX, and of its compiler; float64."""
    mjx = import_module("mujoco.mjx")
    with jax.enable_x64(True):
        made = mujoco_quadruped(model)
        theirs, data = mjx.put_model(made), mjx.put_data(made, mujoco_state(made, q, v))

        def step(d: Any, _: None) -> tuple[Any, None]:  # MJX widens some integers
            return jax.tree.map(lambda x, y: y.astype(x.dtype), d, mjx.step(theirs, d)), None

        steps = lambda d: jax.lax.scan(step, d, length=STEPS)[0]
        began = WORK()
        run = jax.jit(steps).lower(data).compile()
        compiling = WORK() - began
        (time,) = race(lambda: jax.block_until_ready(run(data)), repeats=3, clock=WALL)
    return time, compiling


def cube(quick: bool) -> list[Row]:
    """Tosses of 120 steps of a cube with eight corners, many in lanes on one core."""
    worlds = 100 if quick else 1000
    rng = np.random.default_rng(0)
    q, v = np.zeros((worlds, 7)), rng.normal(size=(worlds, 6)) * ([1.0] * 3 + [5.0] * 3)
    q[:, 2] = 0.2 + 0.1 * rng.random(worlds)
    q[:, 3:] = rng.normal(size=(worlds, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    rows = []
    for kind, substeps in (("penalty", 4), ("impulse", 1)):
        model = ist.library.cube(contact=kind)

        def toss(q: Any, v: Any, model: Model = model, substeps: int = substeps) -> Any:
            motion = ist.rollout(model, ist.State(q, v), None, TOSS, steps=120, substeps=substeps)
            return motion.q[-1], motion.v[-1]

        lanes, _, took = compiled(toss, q[0], v[0])
        (time,) = race(lambda f=lanes: f.map(q, v, threads=1), repeats=3 if quick else 7)
        parts = f", {substeps} substeps" if substeps > 1 else ""
        rows.append(Row(f"{worlds:,} tosses of a cube, {kind}{parts}", time, compile=took))
    return rows
