"""The cube of the tosses and its table: which numbers are free, and their simulation by isthmus or by MuJoCo."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import numpy as np
from scipy.spatial.transform import Rotation

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.data.datasets_bodies import HALF_WIDTH
from isthmus.errors import MissingExtra, StepWarning
from isthmus.experiments.tosses_data import GRAVITY, ROW
from isthmus.library.cube import cube
from isthmus.model.contacts import Contact, Ground, with_contact
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.networks.recipes import MLP
from isthmus.simulate.many import rollout_many

MASS, INERTIA = 0.37, 0.00081
"""[kg], [kg·m²]: as published."""
KINDS = ("impulse", "soft", "penalty")
NETWORKS = {"friction": "contact/friction_force", "restitution": "contact/normal_force"}
"""What a network scales, from the velocity of the corner."""
PARTS = {"impulse": 2, "penalty": 8, "mujoco": 4}
"""Steps in a row of the recording, by the kind of contact; yielding impulses are impulses."""

Simulate = Callable[[dict[str, float], np.ndarray, np.ndarray, int], np.ndarray]
"""(numbers, q, v, rows) -> q of all tosses, (tosses, rows, 7)."""


@dataclasses.dataclass(frozen=True)
class Number:
    """A free number: where its search starts, how far it goes at first, and its bounds."""

    start: float
    scale: float
    """Of a number with `log`, as a factor's logarithm."""
    low: float = -np.inf
    high: float = np.inf
    log: bool = False

    def at(self, z: float) -> float:
        """The number at the coordinate `z` of the search."""
        value = self.start * np.exp(self.scale * z) if self.log else self.start + self.scale * z
        return float(np.clip(value, self.low, self.high))


COMMON = {
    "friction": Number(0.175, 0.03, 1e-3, 2.0),
    "com_x": Number(0.0, 0.001), "com_y": Number(0.0, 0.001), "com_z": Number(0.006, 0.002),
    "half_width": Number(0.0495, 0.001), "inertia": Number(1.2, 0.1, 0.3, 3.0),
    "inertia_z": Number(1.0, 0.1, 0.5, 1.9),
    "height": Number(0.001, 0.001), "tilt_x": Number(0.0, 0.003), "tilt_y": Number(0.0, 0.003),
}  # fmt: skip
"""Of every simulator; `inertia` as a factor of the published one, `inertia_z` of that about z. Where the search starts
was chosen by earlier searches of tosses to learn from."""
PUBLISHED = {
    **dict.fromkeys(COMMON, 0.0), "friction": 0.18, "half_width": HALF_WIDTH, "inertia": 1.0, "inertia_z": 1.0,
}  # fmt: skip
"""The cube as published, on a level table."""
OWN = {
    "impulse": {
        "restitution": Number(0.15, 0.1, 0.0, 0.95),
        "restitution_speed": Number(0.1, 0.5, 1e-3, 3.0, log=True),
    },
    "soft": {
        "restitution": Number(0.15, 0.1, 0.0, 0.95), "softness": Number(1.0, 1.5, 1e-6, 100.0, log=True),
        "erp": Number(0.2, 0.1, 0.0, 1.0),
    },
    "penalty": {
        "stiffness": Number(3e5, 0.7, 1e3, 1e7, log=True), "damping": Number(3.0, 0.5, 1e-3, 100.0, log=True),
        "exponent": Number(1.4, 0.1, 1.0, 2.5), "friction_speed": Number(0.02, 0.7, 1e-3, 1.0, log=True),
    },
    "mujoco": {
        "time": Number(0.01, 0.7, 2.0 * ROW / 4, 0.2, log=True), "ratio": Number(1.0, 0.5, 0.01, 5.0, log=True),
        "least": Number(0.9, 0.1, 0.01, 0.95), "most": Number(0.95, 0.02, 0.5, 0.999),
        "width": Number(0.001, 0.8, 1e-5, 0.1, log=True),
    },
}  # fmt: skip
"""Of one simulator: how its contacts bounce and yield. MuJoCo: `solref` and three of `solimp`."""

MUJOCO_DEFAULTS = {
    **PUBLISHED, "time": 0.02, "ratio": 1.0, "least": 0.9, "most": 0.95, "width": 0.001,
}  # fmt: skip
"""The published cube, and contacts as MuJoCo has them where nothing is said."""


def free_numbers(kind: str) -> dict[str, Number]:
    """All free numbers of a simulator."""
    return {**COMMON, **OWN[kind]}


def centre_of_mass(numbers: dict[str, float]) -> np.ndarray:
    """In the cube's frame [m]."""
    return np.array([numbers[f"com_{axis}"] for axis in "xyz"])


@functools.cache
def _template(kind: str, network: str | None) -> Model:
    """The cube on its table, whose numbers `built` replaces."""
    contact = Contact("penalty" if kind == "penalty" else "impulse")
    model = cube(MASS, 2.0 * HALF_WIDTH).set("gravity", np.array([0.0, 0.0, -GRAVITY]))
    model = with_contact(model, contact, order="plain", newton=0)
    return model if network is None else with_network(model, network)


def principal_inertia(numbers: dict[str, float]) -> np.ndarray:
    """About the axes of the cube through its centre of mass [kg·m²]."""
    return INERTIA * numbers["inertia"] * np.array([1.0, 1.0, numbers["inertia_z"]])


def built(kind: str, numbers: dict[str, float], network: str | None = None) -> Model:
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


def isthmus_simulator(kind: str, network: str | None = None) -> Simulate:
    """Rollouts of the cube with given numbers; with a `network`, its weights are numbers `w0`, `w1` …"""
    return lambda numbers, q, v, rows: rolled(built(kind, numbers, network), q, v, rows)


def rolled(model: Model, q: np.ndarray, v: np.ndarray, rows: int) -> np.ndarray:
    """Positions and quaternions of all tosses, (tosses, rows, 7), side by side in native code."""
    parts = PARTS[model.contact_kinds[0]]
    with warnings.catch_warnings():  # a search tries springs that are too stiff for its steps, too
        warnings.simplefilter("ignore", StepWarning)
        motion = rollout_many(model, State(q, v), None, ROW / parts, steps=parts * (rows - 1))
    return np.asarray(motion.q)[:, ::parts]


def with_network(model: Model, network: str, seed: int = 0) -> Model:
    """A network that scales friction or the normal force of each corner, without effect at first."""
    wire = Wire(NETWORKS[network], ["contact/velocity"], MLP(4, 1), mode="scale", rows="each")
    return Blueprint([wire]).attach(model, key=seed)


def weights_of(kind: str, network: str) -> dict[str, float]:
    """The weights that a network starts from, by the names of `isthmus_simulator`."""
    leaves = jax.tree.leaves(_template(kind, network).networks[0].net)
    flat = np.concatenate([np.ravel(x) for x in leaves])
    return {f"w{k}": float(x) for k, x in enumerate(flat)}


def with_weights(model: Model, numbers: dict[str, float]) -> Model:
    """The model, whose network has these weights."""
    wired = model.networks[0]
    leaves, tree = jax.tree.flatten(wired.net)
    ends = np.cumsum([np.size(x) for x in leaves])
    flat = np.array([numbers[f"w{k}"] for k in range(ends[-1])])
    parts = np.split(flat, ends[:-1])
    shaped = [part.reshape(np.shape(x)) for part, x in zip(parts, leaves, strict=True)]
    net = jax.tree.unflatten(tree, shaped)
    return dataclasses.replace(model, networks=(dataclasses.replace(wired, net=net),))


def mujoco_simulator() -> Simulate:
    """The same cube in MuJoCo, with elliptic friction cones."""
    mujoco = mujoco_library()
    rollout = import_module("mujoco.rollout")
    parts = PARTS["mujoco"]
    body = mujoco.MjModel.from_xml_string(MJCF.format(step=ROW / parts, gravity=GRAVITY))
    data = [mujoco.MjData(body) for _ in range(2)]

    def simulate(numbers: dict[str, float], q: np.ndarray, v: np.ndarray, rows: int) -> np.ndarray:
        _set_mujoco(body, numbers)
        mujoco.mj_setConst(body, data[0])
        start = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
        made, _ = rollout.rollout(body, data, start, nstep=parts * (rows - 1))
        return np.concatenate([q[:, None], made[:, parts - 1 :: parts, 1:8]], axis=1)

    return simulate


MJCF = """<mujoco><option timestep="{step}" gravity="0 0 -{gravity}" cone="elliptic"/><worldbody>
<geom type="plane" size="10 10 1" pos="0 0 0.001" quat="1 0.001 0 0"/>
<body><freejoint/><inertial pos="0.001 0.001 0.001" mass="0.37" diaginertia="0.00081 0.00081 0.00081"/>
<geom type="box" size="0.0524 0.0524 0.0524"/></body></worldbody></mujoco>"""
"""MuJoCo ignores later changes of places that are zero here."""


def _set_mujoco(body: Any, numbers: dict[str, float]) -> None:
    half = numbers["half_width"]
    tilt = Rotation.from_rotvec([numbers["tilt_x"], numbers["tilt_y"], 0.0])
    body.geom_friction[:, 0] = numbers["friction"]
    body.geom_size[1], body.geom_rbound[1], body.geom_aabb[1, 3:] = half, half * 3**0.5, half
    body.geom_pos[0], body.geom_quat[0] = (0, 0, numbers["height"]), tilt.as_quat()[[3, 0, 1, 2]]
    body.body_ipos[1], body.body_inertia[1] = centre_of_mass(numbers), principal_inertia(numbers)
    body.geom_solref[:] = numbers["time"], numbers["ratio"]
    least, most = sorted((numbers["least"], numbers["most"]))
    body.geom_solimp[:] = least, most, numbers["width"], 0.5, 2.0


def mujoco_library() -> Any:
    """MuJoCo, an optional library."""
    try:
        return import_module("mujoco")
    except ModuleNotFoundError as missing:
        raise MissingExtra("mujoco", "mjcf", "the peer of the tosses") from missing
