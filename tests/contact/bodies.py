"""Bodies on a free joint over a plane: a ball, a block, a cube; and rows of a state for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import isthmus as ist
from isthmus.spatial import bodies

G = 9.81
LEVEL = ist.Ground()


def on_ground(
    name: str, mass: float, inertia: Any, add: Any, ground: ist.Ground, contact: Any, **options: Any
):
    """A body with the shape that `add(robot)` gives it."""
    robot = ist.Builder(name)
    robot.add_link(name, mass=mass, inertia=inertia)
    robot.add_joint_free("flight", None, name)
    add(robot)
    return ist.with_contact(robot.model(), contact, ground=ground, **options)


def ball(
    contact: Any,
    *,
    radius: float = 0.1,
    mass: float = 1.0,
    ground: ist.Ground = LEVEL,
    **options: Any,
):
    """A solid ball."""
    add = lambda robot: robot.add_shape_sphere("ball", radius, name="ball")
    return on_ground("ball", mass, bodies.sphere(mass, radius), add, ground, contact, **options)


def block(
    contact: Any,
    *,
    half: Any = (0.1, 0.08, 0.05),
    mass: float = 2.0,
    ground: ist.Ground = LEVEL,
    **options: Any,
):
    """A solid box."""
    add = lambda robot: robot.add_shape_box("block", half, name="block")
    inertia = bodies.box(mass, *(2.0 * h for h in half))
    return on_ground("block", mass, inertia, add, ground, contact, **options)


def at(position: Any, turn: Any = (1.0, 0.0, 0.0, 0.0), v: Any = (0.0,) * 6) -> ist.State:
    """A free body at `position` [m], turned by a quaternion of any length, with velocities linear, then angular."""
    turn = np.asarray(turn, float) / np.linalg.norm(turn)
    return ist.State(np.r_[np.asarray(position, float), turn], np.asarray(v, float))


CHUNK = 50
"""Steps of a compiled rollout; longer motions are several of them, so that each structure compiles once."""
FORCES = ("contact/normal_force", "contact/friction_force", "contact/depth")


def moved(model: Any, start: ist.State, dt: float, steps: int, **options: Any) -> ist.Motion:
    """The motion of `steps` (a multiple of 50) steps, with forces and depths of the contacts; the last row is kept."""
    assert steps % CHUNK == 0
    parts, here = [], start
    for _ in range(steps // CHUNK):
        parts.append(ist.rollout(model, here, None, dt, CHUNK, FORCES, **options))
        here = ist.State(parts[-1].q[-1], parts[-1].v[-1])
    join = lambda pick: np.concatenate([*(pick(p)[:-1] for p in parts), pick(parts[-1])[-1:]])
    q, v = join(lambda p: p.q), join(lambda p: p.v)
    signals = {name: join(lambda p, name=name: p.signals[name]) for name in FORCES}
    return ist.Motion(dt * np.arange(steps + 1), q, v, signals)


def kinetic(model: Any, v: Any) -> np.ndarray:
    """Kinetic energy of a free body [J], of each row; its inertia about its own axes is diagonal."""
    v = np.asarray(v)
    moments = np.asarray(model.link_inertia)[0, :3]
    return 0.5 * float(model.link_mass[0]) * np.sum(v[..., :3] ** 2, -1) + 0.5 * np.sum(
        moments * v[..., 3:] ** 2, -1
    )
