"""Boxes that stand on each other, by impulses, beside MuJoCo: CPU seconds of one thread for one step of one world."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import numpy as np

import isthmus as ist
from isthmus.bench.machine import hint, is_here
from isthmus.bench.native_cases import compiled
from isthmus.bench.rows import Row
from isthmus.bench.timing import race
from isthmus.model.model import Model

HALF, MASS, DT, STEPS = 0.05, 1.0, 1e-3, 100


def stack(count: int) -> tuple[Model, ist.State]:
    """So many boxes on each other and on the ground, each free, at rest."""
    robot = ist.Builder("stack")
    side = MASS * (2.0 * HALF) ** 2 / 6.0
    names = [f"box_{k}" for k in range(count)]
    for name in names:
        robot.add_link(name, mass=MASS, inertia=(side, side, side))
        robot.add_joint_free(f"{name}_joint", None, name)
        robot.add_shape_box(name, (HALF, HALF, HALF), name=name)
    pairs = list(itertools.pairwise(names))
    touching = ist.Contact(shapes=names[0])
    model = ist.with_contact(robot.model(), touching, ground=ist.Ground(), pairs=pairs)
    q = np.array(ist.State.neutral(model).q).reshape(count, 7)
    q[:, 2] = HALF * (1.0 + 2.0 * np.arange(count))
    return model, ist.State(q.reshape(-1), np.zeros(model.dof))


def standing(quick: bool) -> list[Row]:
    """Two and five boxes."""
    return [_row(count, quick) for count in (2, 5)]


def _row(count: int, quick: bool) -> Row:
    model, start = stack(count)

    def after(q: Any, v: Any) -> Any:
        motion = ist.rollout(model, ist.State(q, v), None, DT, steps=STEPS)
        return motion.q[-1], motion.v[-1]

    _, alone, took = compiled(after, start.q, start.v)
    one = np.asarray(start.q)[None], np.asarray(start.v)[None]
    runs: list[Any] = [lambda: alone.map(*one, threads=1)]
    if is_here("MuJoCo"):
        runs.append(_mujoco(count))
    ours, *theirs = (t / STEPS for t in race(*runs, repeats=5 if quick else 15))
    his = theirs[0] if theirs else None
    work = f"{count} boxes on each other, step, alone"
    return Row(work, ours, "MuJoCo", his, compile=took, missing=hint("MuJoCo"))


def _mujoco(count: int) -> Any:
    """MuJoCo's steps of the same boxes."""
    mujoco: Any = import_module("mujoco")
    size = " ".join([str(HALF)] * 3)
    boxes = "".join(
        f'<body pos="0 0 {HALF * (1 + 2 * k)}"><freejoint/><geom type="box" size="{size}" mass="{MASS}"/></body>'
        for k in range(count)
    )
    ground = '<geom type="plane" size="5 5 1"/>'
    made = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}"/><worldbody>{ground}{boxes}</worldbody></mujoco>'
    )
    data = mujoco.MjData(made)
    return lambda: mujoco.mj_step(made, data, STEPS)
