"""The cube of the tosses and its table: which numbers are free, and their simulation by isthmus or by MuJoCo."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.data.datasets_bodies import HALF_WIDTH
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
from isthmus.experiments.tosses_data import GRAVITY, ROW
from isthmus.library.cube import cube
from isthmus.model.contacts import Contact, Ground, with_contact
from isthmus.model.model import Model
from isthmus.networks.recipes import MLP

MASS, INERTIA = 0.37, 0.00081
"""[kg], [kg·m²]: as published."""
KINDS = ("impulse", "soft", "penalty")
NETWORKS = {"friction": "contact/friction_force", "restitution": "contact/normal_force"}
"""What a network scales, from the velocity of the corner."""
PARTS = {"impulse": 2, "penalty": 8, "mujoco": 4}
"""Steps in a row of the recording, by the kind of contact; yielding impulses are impulses."""

COMMON = {
    "friction": Number(0.175, 0.03, 1e-3, 2.0),
    "com_x": Number(0.0, 0.0003), "com_y": Number(0.0, 0.0003), "com_z": Number(0.0063, 0.0005),
    "half_width": Number(0.0497, 0.0003), "inertia": Number(1.3, 0.05, 0.3, 3.0),
    "inertia_z": Number(0.97, 0.05, 0.5, 1.9), "height": Number(0.0013, 0.0003),
    "tilt_x": Number(0.0, 0.0005), "tilt_y": Number(0.0, 0.0005),
}  # fmt: skip
"""Of every simulator; `inertia` as a factor of the published one, `inertia_z` of that about z. Where the search starts,
and how far it goes at first, was chosen by earlier searches of tosses to learn from."""
OWN = {
    **CONTACT,
    "penalty": {
        "friction": Number(0.2, 0.03, 1e-3, 2.0), "friction_load": Number(0.002, 0.7, 1e-5, 1.0, log=True),
        "stiffness": Number(2e5, 0.4, 1e3, 1e7, log=True), "damping": Number(3.2, 0.2, 1e-3, 100.0, log=True),
        "exponent": Number(1.42, 0.07, 1.0, 2.5), "friction_speed": Number(0.02, 0.5, 1e-3, 1.0, log=True),
    },
    "mujoco": {
        **CONTACT["mujoco"], "half_width": Number(0.0495, 0.001), "height": Number(0.001, 0.001),
    },
}  # fmt: skip
"""Of one simulator. Springs have a friction that falls with the load: of a corner that hits the table it is 0.15, of a
face that slides 0.22. Contacts of MuJoCo yield more, so that its cube is smaller and its table higher."""
PUBLISHED = {
    **dict.fromkeys(COMMON, 0.0), "friction": 0.18, "half_width": HALF_WIDTH, "inertia": 1.0, "inertia_z": 1.0,
}  # fmt: skip
"""The cube as published, on a level table."""
MUJOCO_DEFAULTS = {**PUBLISHED, **MUJOCO_CONTACT}
"""The published cube, and contacts as MuJoCo has them where nothing is said."""


def centre_of_mass(numbers: Numbers) -> np.ndarray:
    """In the cube's frame [m]."""
    return np.array([numbers[f"com_{axis}"] for axis in "xyz"])


@functools.cache
def _template(kind: str, network: str | None) -> Model:
    """The cube on its table, whose numbers `built` replaces."""
    contact = Contact("penalty" if kind == "penalty" else "impulse")
    model = cube(MASS, 2.0 * HALF_WIDTH).set("gravity", np.array([0.0, 0.0, -GRAVITY]))
    model = with_contact(model, contact, order="plain", newton=0)
    return model if network is None else with_network(model, network)


def principal_inertia(numbers: Numbers) -> np.ndarray:
    """About the axes of the cube through its centre of mass [kg·m²]."""
    return INERTIA * numbers["inertia"] * np.array([1.0, 1.0, numbers["inertia_z"]])


def built(kind: str, numbers: Numbers, network: str | None = None) -> Model:
    """The cube on its table with these numbers; of a network, its weights `w0`, `w1` …"""
    model = _template(kind, network)
    plane = Ground(numbers["height"], (numbers["tilt_x"], numbers["tilt_y"])).shape().frame
    half, count = numbers["half_width"], len(model.contact_kinds)
    own = {f"contact_{name}": np.full(count, numbers[name]) for name in ("friction", *OWN[kind])}
    made = dataclasses.replace(
        model, link_com=centre_of_mass(numbers)[None],
        link_inertia=np.concatenate([principal_inertia(numbers), np.zeros(3)])[None],
        shape_size=np.array([[half] * 3, [0.0] * 3]), shape_origin=np.array([[0.0] * 3, plane.position]),
        shape_orientation=np.array([[1.0, 0.0, 0.0, 0.0], plane.orientation]), **own,
    )  # fmt: skip
    return made if network is None else with_weights(made, numbers)


def simulate_cube(model: Model, q: np.ndarray, v: np.ndarray, rows: int) -> np.ndarray:
    """Positions and quaternions of all tosses, (tosses, rows, 7)."""
    return rolled(model, q, v, rows, ROW, PARTS[model.contact_kinds[0]])


def isthmus_simulator(kind: str, network: str | None = None) -> Simulate:
    """Rollouts of the cube with given numbers; with a `network`, its weights are numbers `w0`, `w1` …"""
    return lambda numbers, q, v, rows: simulate_cube(built(kind, numbers, network), q, v, rows)


def with_network(model: Model, network: str, seed: int = 0) -> Model:
    """A network that scales friction or the normal force of each corner, without effect at first."""
    wire = Wire(NETWORKS[network], ["contact/velocity"], MLP(4, 1), mode="scale", rows="each")
    return Blueprint([wire]).attach(model, key=seed)


def weights_of(kind: str, network: str) -> Numbers:
    """The weights that a network starts from, by the names of `isthmus_simulator`."""
    leaves = jax.tree.leaves(_template(kind, network).networks[0].net)
    flat = np.concatenate([np.ravel(x) for x in leaves])
    return {f"w{k}": float(x) for k, x in enumerate(flat)}


def with_weights(model: Model, numbers: Numbers) -> Model:
    """The model, whose network has these weights."""
    wired = model.networks[0]
    leaves, tree = jax.tree.flatten(wired.net)
    ends = np.cumsum([np.size(x) for x in leaves])
    flat = np.array([numbers[f"w{k}"] for k in range(ends[-1])])
    parts = np.split(flat, ends[:-1])
    shaped = [part.reshape(np.shape(x)) for part, x in zip(parts, leaves, strict=True)]
    net = jax.tree.unflatten(tree, shaped)
    return dataclasses.replace(model, networks=(dataclasses.replace(wired, net=net),))


MJCF = """<body><freejoint/>
<inertial pos="0.001 0.001 0.001" mass="0.37" diaginertia="0.00081 0.00081 0.00081"/>
<geom type="box" size="0.0524 0.0524 0.0524"/></body>"""


def mujoco_simulator() -> Simulate:
    """The same cube in MuJoCo."""
    return simulated_by_mujoco(MJCF, ROW, PARTS["mujoco"], _set_mujoco)


def _set_mujoco(body: Any, numbers: Numbers) -> None:
    body.geom_friction[:, 0] = numbers["friction"]
    set_mujoco_box(body, 1, numbers["half_width"])
    body.body_ipos[1], body.body_inertia[1] = centre_of_mass(numbers), principal_inertia(numbers)
