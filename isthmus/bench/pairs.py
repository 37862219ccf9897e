"""The narrow phase of pairs of shapes in native lanes, beside MuJoCo's: seconds for one pair.

Shapes in random poses, half of them a millimetre deep along the line between their centres, half apart by as much. Both
give points of contact. Times are CPU seconds of one thread.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import jax.numpy as jnp
import numpy as np

from isthmus.bench.machine import hint, is_here
from isthmus.bench.native_cases import compiled
from isthmus.bench.rows import Row
from isthmus.bench.timing import race
from isthmus.contact.pairs.narrow import KINDS, touching
from isthmus.contact.pairs.solids import Solid
from isthmus.describe.meshes import hull
from isthmus.spatial import rotations

SIZES = {
    "sphere": (0.1, 0.0, 0.0),
    "capsule": (0.06, 0.15, 0.0),
    "box": (0.1, 0.07, 0.04),
    "cylinder": (0.08, 0.12, 0.0),
    "points": (0.0, 0.0, 0.0),
}
HULL = hull(np.random.default_rng(0).normal(size=(14, 3)) * 0.08)
QUICK = (("sphere", "sphere"), ("capsule", "box"), ("box", "box"))


def narrow(quick: bool) -> list[Row]:
    """A row for each pair of kinds."""
    every = [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i:]]
    return [_row(a, b, quick) for a, b in (QUICK if quick else every)]


def _row(first: str, second: str, quick: bool) -> Row:
    count = 2000  # many, so that the call from Python costs little of a pair
    turns, others, places = _poses(first, second, count)
    points = 1 if first == "sphere" else 2 if first == "capsule" else 4

    def found(turn: Any, other: Any, place: Any) -> tuple[Any, ...]:
        m = touching(_solid(first, turn, jnp.zeros(3)), _solid(second, other, place), points)
        return m.depth, m.axes[0], m.points

    lanes, _, took = compiled(found, turns[0], others[0], places[0])
    runs: list[Any] = [lambda: lanes.map(turns, others, places, threads=1)]
    if is_here("MuJoCo"):
        runs.append(_mujoco(first, second, turns, others, places))
    ours, *theirs = (t / count for t in race(*runs, repeats=3 if quick else 9))
    name = f"narrow phase, {first} and {second}, a pair"
    return Row(name, ours, "MuJoCo", theirs[0] if theirs else None, compile=took, missing=hint("MuJoCo"))  # fmt: skip


def _solid(kind: str, turn: Any, place: Any) -> Solid:
    corners = jnp.asarray(HULL if kind == "points" else np.zeros((0, 3)))
    return Solid(kind, jnp.array(SIZES[kind]), rotations.matrix(turn), place, corners)


def _poses(first: str, second: str, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    unit = lambda x: x / np.linalg.norm(x, axis=1)[:, None]
    turns, others = (unit(rng.normal(size=(count, 4))) for _ in range(2))
    towards = unit(rng.normal(size=(count, 3)))
    reach = _reach(first, turns, towards) + _reach(second, others, -towards)
    return turns, others, towards * (reach + rng.choice([-1e-3, 1e-3], count))[:, None]


def _reach(kind: str, turns: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """How far shapes extend in directions of the world [m]."""
    w, v = turns[:, :1], -turns[:, 1:]  # the inverse turn
    d = towards + 2.0 * w * np.cross(v, towards) + 2.0 * np.cross(v, np.cross(v, towards))
    a, b, _ = SIZES[kind]
    across = np.linalg.norm(d[:, :2], axis=1)
    return {
        "sphere": a * np.ones(len(d)), "capsule": a + b * np.abs(d[:, 2]),
        "box": np.abs(d) @ SIZES["box"], "cylinder": a * across + b * np.abs(d[:, 2]),
        "points": np.max(d @ HULL.T, axis=1),
    }[kind]  # fmt: skip


def _mujoco(
    first: str, second: str, turns: np.ndarray, others: np.ndarray, places: np.ndarray
) -> Any:
    """MuJoCo's collision of all these pairs, which are listed in its model."""
    mujoco: Any = import_module("mujoco")
    words = lambda x: " ".join(map(repr, np.asarray(x).tolist()))
    mesh = f'<asset><mesh name="hull" vertex="{words(HULL.ravel())}"/></asset>'
    shape = lambda kind: (
        'type="mesh" mesh="hull"'
        if kind == "points"
        else f'type="{kind}" size="{words(SIZES[kind])}"'
    )
    bodies, pairs = [], []
    for i, (turn, other, place) in enumerate(zip(turns, others, places, strict=True)):
        for name, kind, q, p in (("a", first, turn, np.zeros(3)), ("b", second, other, place)):
            bodies.append(
                f'<body pos="{words(p)}" quat="{words(q)}"><freejoint/><geom name="{name}{i}" {shape(kind)} '
                'contype="0" conaffinity="0"/></body>'
            )
        pairs.append(f'<pair geom1="a{i}" geom2="b{i}" margin="0.01"/>')
    made = mujoco.MjModel.from_xml_string(
        f'<mujoco><size memory="1G"/>{mesh}<worldbody>{"".join(bodies)}</worldbody>'
        f"<contact>{''.join(pairs)}</contact></mujoco>"
    )
    data = mujoco.MjData(made)
    mujoco.mj_kinematics(made, data)
    return lambda: mujoco.mj_collision(made, data)
