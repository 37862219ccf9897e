"""Two boxes on a hinge and their table: which numbers are free, and their simulation by isthmus or by MuJoCo."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from isthmus.data.datasets_bodies import ELBOW_STEP
from isthmus.experiments.tosses_body import (
    CONTACT,
    MUJOCO_CONTACT,
    Number,
    Numbers,
    Simulate,
    rolled,
    set_mujoco_box,
)
from isthmus.experiments.tosses_body import mujoco_simulator as simulated_by_mujoco
from isthmus.experiments.tosses_data import GRAVITY
from isthmus.model.builder import Builder
from isthmus.model.contacts import Contact, Ground, with_contact
from isthmus.model.model import Model

MASS, INERTIA, HALF = 0.37, 0.0006167, (0.05, 0.025, 0.025)
"""[kg], [kg·m²], [m]: of each box, as published."""
HINGE, CENTRE = (-0.035, 0.06, 0.0), 0.035
"""[m]: the hinge in the first link, along y; how far the middle of the second box is from it along x."""
LINKS = ("first", "second")
Rollout = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""(q, v, rows) -> q of all tosses."""
KINDS = ("soft", "penalty")
PARTS = {"impulse": 4, "penalty": 16, "mujoco": 8}
"""Steps in a row of the recording, by the kind of contact."""
YIELDING = (7, 8)
"""Coordinates of a simulation that recordings do not have: how far the hinge has yielded along x and z [m]."""
SETTLED = 0.3
"""[s]: a toss comes to rest about where it would be after this time at its first velocity."""

_LINK = {
    "friction": Number(0.16, 0.03, 1e-3, 2.0),
    "com_x": Number(0.0, 0.001), "com_y": Number(0.0, 0.001), "com_z": Number(0.0, 0.001),
    "inertia_x": Number(0.3, 0.2, 0.05, 3.0, log=True), "inertia_y": Number(0.8, 0.1, 0.05, 3.0, log=True),
    "inertia_z": Number(0.75, 0.1, 0.05, 3.0, log=True),
    "half_x": Number(0.05, 0.001), "half_y": Number(0.0235, 0.001), "half_z": Number(0.025, 0.001),
    "middle_x": Number(0.0, 0.001), "middle_y": Number(0.0, 0.001), "middle_z": Number(0.0, 0.001),
}  # fmt: skip
"""Of each link: centre of mass and middle of the box as distances from the published middle [m]; moments of inertia as
factors of the published one. Where the search starts was chosen by earlier searches of tosses to learn from."""
COMMON = {
    **{f"{name}_{link}": number for link in LINKS for name, number in _LINK.items()},
    "mass": Number(1.0, 0.05, 0.3, 3.0), "hinge_x": Number(HINGE[0], 0.001), "hinge_z": Number(HINGE[2], 0.001),
    "hinge_damping": Number(2e-4, 0.35, 1e-7, 0.1, log=True), "hinge_dry": Number(4e-4, 0.35, 1e-6, 0.1, log=True),
    "yield_stiffness": Number(2e4, 0.5, 1e2, 1e6, log=True), "yield_damping": Number(60.0, 0.5, 0.1, 1e4, log=True),
    "height": Number(0.0025, 0.001), "tilt_x": Number(-0.028, 0.005), "tilt_y": Number(-0.03, 0.005),
    "gravity_x": Number(0.33, 0.05), "gravity_y": Number(-0.14, 0.05), "gravity_z": Number(-9.52, 0.05),
}  # fmt: skip
"""Of every simulator. `mass`: that of the second link, divided by the first one's; `hinge_damping` [N·m·s] and
`hinge_dry` [N·m]: viscous and dry friction; `yield_stiffness` [N/m] and `yield_damping` [N·s/m]: how the hinge yields
across its axis. Where the hinge is along its axis cannot be told from where the second link is. Height [m] and tilt
[rad] of the table. Gravity [m/s²] in the frame of the recordings, which is not level and whose clock may be off."""
OWN = {
    **CONTACT,
    "penalty": {
        "stiffness": Number(5e6, 0.7, 1e3, 1e9, log=True), "damping": Number(0.5, 0.5, 1e-3, 100.0, log=True),
        "exponent": Number(1.4, 0.1, 1.0, 2.5), "friction_speed": Number(0.02, 0.7, 1e-3, 1.0, log=True),
    },
    "mujoco": {**CONTACT["mujoco"], "time": Number(0.005, 0.7, 0.0017, 0.2, log=True)},
}  # fmt: skip
"""Of one simulator. Steps of MuJoCo are shorter than for the cube, so its time constant may be, too."""
MUJOCO_DEFAULTS = {
    **dict.fromkeys(COMMON, 0.0), **MUJOCO_CONTACT, "mass": 1.0, "hinge_x": HINGE[0],
    "gravity_z": -GRAVITY, "yield_stiffness": 1e5, "yield_damping": 300.0,
    **{f"friction_{link}": 0.3 for link in LINKS},
    **{f"inertia_{axis}_{link}": 1.0 for axis in "xyz" for link in LINKS},
    **{f"half_{axis}_{link}": half for axis, half in zip("xyz", HALF, strict=True) for link in LINKS},
}  # fmt: skip
"""The published boxes on a hinge that hardly yields, and contacts as MuJoCo has them where nothing is said."""


def _of(numbers: Numbers, name: str, link: str) -> np.ndarray:
    return np.array([numbers[f"{name}_{axis}_{link}"] for axis in "xyz"])


def _both(numbers: Numbers, name: str) -> np.ndarray:
    return np.array([_of(numbers, name, link) for link in LINKS])


def published_middles() -> np.ndarray:
    """Of both boxes, in their links [m]."""
    return np.array([[0.0, 0.0, 0.0], [CENTRE, 0.0, 0.0]])


def masses(numbers: Numbers) -> np.ndarray:
    """Of both links [kg]; their sum is the published one, which no toss could tell."""
    return 2.0 * MASS / (1.0 + numbers["mass"]) * np.array([1.0, numbers["mass"]])


@functools.cache
def elbow() -> Model:
    """The boxes as published, over a plane that does not touch them yet; the joint may yield across the hinge."""
    robot = Builder("elbow")
    for link, middle in zip(LINKS, published_middles(), strict=True):
        robot.add_link(link, mass=MASS, com=tuple(middle), inertia=(INERTIA,) * 3)
    robot.add_joint_free("flight", None, LINKS[0])
    robot.add_joint_planar("hinge", *LINKS, position=HINGE, axis=(0, 1, 0))
    for link, middle in zip(LINKS, published_middles(), strict=True):
        robot.add_shape_box(link, HALF, name=link, position=tuple(middle))
    robot.add_shape_plane(name="ground")
    return robot.model()


@functools.cache
def _template(kind: str) -> Model:
    contact = Contact("penalty" if kind == "penalty" else "impulse")
    return with_contact(elbow(), contact, order="plain", sweeps=10, newton=0)


def built(kind: str, numbers: Numbers, network: str | None = None) -> Model:
    """The boxes on their table with these numbers."""
    model = _template(kind)
    plane = Ground(numbers["height"], (numbers["tilt_x"], numbers["tilt_y"])).shape().frame
    count = len(model.contact_kinds)
    own = {f"contact_{name}": np.full(count, numbers[name]) for name in OWN[kind]}
    friction = np.array([numbers[f"friction_{link}"] for link in LINKS])
    inertia = INERTIA * _both(numbers, "inertia")
    of_hinge = lambda across, x: np.array([0.0] * 6 + [across, across, x])
    level = [1.0, 0.0, 0.0, 0.0]
    return dataclasses.replace(
        model, link_mass=masses(numbers), link_com=published_middles() + _both(numbers, "com"),
        link_inertia=np.concatenate([inertia, np.zeros((2, 3))], axis=1),
        joint_origin=np.array([[0.0] * 3, _hinge(numbers)]), gravity=_gravity(numbers),
        joint_damping=of_hinge(numbers["yield_damping"], numbers["hinge_damping"]),
        joint_friction=of_hinge(0.0, numbers["hinge_dry"]),
        joint_stiffness=of_hinge(numbers["yield_stiffness"], 0.0),
        shape_size=np.concatenate([_both(numbers, "half"), np.zeros((1, 3))]),
        shape_origin=np.concatenate([published_middles() + _both(numbers, "middle"), [plane.position]]),
        shape_orientation=np.array([level, level, plane.orientation]),
        contact_friction=friction[np.array(model.contact_shapes)], **own,
    )  # fmt: skip


def _hinge(numbers: Numbers) -> np.ndarray:
    return np.array([numbers["hinge_x"], HINGE[1], numbers["hinge_z"]])


def _gravity(numbers: Numbers) -> np.ndarray:
    return np.array([numbers[f"gravity_{axis}"] for axis in "xyz"])


def over_table(
    simulate: Rollout, tilt: Rotation, q: np.ndarray, v: np.ndarray, rows: int
) -> np.ndarray:
    """`q` of all tosses, (tosses, rows, 8), over a table of this tilt.

    Each recording is shifted until the lowest corner of its last row is at z = 0. Over a tilted table, the height of
    the table therefore differs from toss to toss, by where the toss comes to rest.
    """
    normal = tilt.apply([0.0, 0.0, 1.0])
    rise = (q[:, :2] + SETTLED * v[:, :2]) @ (-normal[:2] / normal[2])
    up = np.zeros((len(q), 8))
    up[:, 2] = rise
    moved = simulate(_with_yielding(q + up, 7), _with_yielding(v, 6), rows)
    return np.delete(moved, YIELDING, axis=2) - up[:, None]


def _with_yielding(x: np.ndarray, before: int) -> np.ndarray:
    """`q` or `v` of all tosses with the two coordinates across the hinge, at rest, after so many others."""
    return np.insert(x, [before] * 2, 0.0, axis=1)


def simulate_elbow(model: Model, q: np.ndarray, v: np.ndarray, rows: int) -> np.ndarray:
    """`q` of all tosses, (tosses, rows, 8)."""
    parts = PARTS[model.contact_kinds[0]]
    tilt = Rotation.from_quat(np.asarray(model.shape_orientation)[2, [1, 2, 3, 0]])
    return over_table(
        lambda q, v, rows: rolled(model, q, v, rows, ELBOW_STEP, parts), tilt, q, v, rows
    )


def isthmus_simulator(kind: str, network: str | None = None) -> Simulate:
    """Rollouts of the boxes with given numbers."""
    return lambda numbers, q, v, rows: simulate_elbow(built(kind, numbers), q, v, rows)


BODY = """<body pos="0.001 0.001 0.001">{joints}
<inertial pos="0.001 0.001 0.001" mass="0.37" diaginertia="0.0006 0.0006 0.0006"/>
<geom type="box" size="0.05 0.025 0.025" pos="0.001 0.001 0.001"/>{inside}</body>"""
HINGED = """<joint type="slide" axis="1 0 0" stiffness="1"/><joint type="slide" axis="0 0 1" stiffness="1"/>
<joint type="hinge" axis="0 1 0"/>"""
MJCF = BODY.format(joints="<freejoint/>", inside=BODY.format(joints=HINGED, inside=""))


def mujoco_simulator() -> Simulate:
    """The same boxes in MuJoCo."""
    level = simulated_by_mujoco(MJCF, ELBOW_STEP, PARTS["mujoco"], _set_mujoco)

    def simulate(numbers: Numbers, q: np.ndarray, v: np.ndarray, rows: int) -> np.ndarray:
        tilt = Rotation.from_rotvec([numbers["tilt_x"], numbers["tilt_y"], 0.0])
        return over_table(functools.partial(level, numbers), tilt, q, v, rows)

    return simulate


def _set_mujoco(body: Any, numbers: Numbers) -> None:
    middles = published_middles()
    body.body_mass[1:], body.opt.gravity[:] = masses(numbers), _gravity(numbers)
    body.body_pos[2] = _hinge(numbers)
    body.jnt_stiffness[1:3] = numbers["yield_stiffness"]
    body.dof_damping[6:8] = numbers["yield_damping"]
    body.dof_damping[8], body.dof_frictionloss[8] = numbers["hinge_damping"], numbers["hinge_dry"]
    for k, link in enumerate(LINKS):
        body.body_ipos[k + 1] = middles[k] + _of(numbers, "com", link)
        body.body_inertia[k + 1] = INERTIA * _of(numbers, "inertia", link)
        body.geom_pos[k + 1] = middles[k] + _of(numbers, "middle", link)
        body.geom_friction[k + 1, 0] = numbers[f"friction_{link}"]
        set_mujoco_box(body, k + 1, _of(numbers, "half", link))
    body.geom_friction[0, 0] = 0.0
