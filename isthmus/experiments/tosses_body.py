"""What the studies of tossed bodies share: free numbers, how contacts act, simulation by isthmus or by MuJoCo."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from isthmus.describe.mujoco_log import collected_warnings
from isthmus.errors import MissingExtra, StepWarning
from isthmus.experiments.tosses_data import GRAVITY, Errors, Tosses
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.simulate.many import rollout_many

Numbers = dict[str, float]
Simulate = Callable[[Numbers, np.ndarray, np.ndarray, int], np.ndarray]
"""(numbers, q, v, rows) -> q of all tosses, (tosses, rows, coordinates)."""
Starts = Callable[[Simulate, Numbers], tuple[np.ndarray, np.ndarray]]
"""(simulator, its numbers) -> `q` and `v` at the first row."""


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


CONTACT = {
    "impulse": {
        "restitution": Number(0.15, 0.1, 0.0, 0.95),
        "restitution_speed": Number(0.1, 0.5, 1e-3, 3.0, log=True),
    },
    "soft": {
        "restitution": Number(0.15, 0.1, 0.0, 0.95), "softness": Number(1.0, 1.5, 1e-6, 100.0, log=True),
        "erp": Number(0.2, 0.1, 0.0, 1.0),
    },
    "mujoco": {
        "time": Number(0.01, 0.7, 0.0034, 0.2, log=True), "ratio": Number(1.0, 0.5, 0.01, 5.0, log=True),
        "least": Number(0.9, 0.1, 0.01, 0.95), "most": Number(0.95, 0.02, 0.5, 0.999),
        "width": Number(0.001, 0.8, 1e-5, 0.1, log=True),
    },
}  # fmt: skip
"""Of one simulator: how its contacts bounce and yield; springs start elsewhere for each body. MuJoCo: `solref`, not
shorter than two steps, and three of `solimp`."""
MUJOCO_CONTACT = {"time": 0.02, "ratio": 1.0, "least": 0.9, "most": 0.95, "width": 0.001}
"""Contacts as MuJoCo has them where nothing is said."""


@dataclasses.dataclass(frozen=True)
class Body:
    """What is tossed: its recordings, its simulators, and how far a prediction is off."""

    study: str
    dataset: str
    width: str
    """What position errors are divided by, in words."""
    starts: tuple[str, str]
    """Rows that a prediction starts from, in words: those of `first_frame` and of `flight`."""
    training: int
    """Tosses to learn from; the others are judged."""
    evaluations: int
    """Of each simulator: rollouts of all tosses to learn from."""
    rows: int
    """Rows of a toss that a search sees; judged are all."""
    kinds: tuple[str, ...]
    networks: tuple[str, ...]
    """That may correct contacts; none: none is tried."""
    common: dict[str, Number]
    """Free numbers of every simulator."""
    published: Numbers
    """MuJoCo with its defaults, and the body as published."""
    simulator: Callable[[str, str | None], Simulate]
    """Rollouts with a kind of contact, perhaps with a network, whose weights are numbers `w0`, `w1` …"""
    mujoco: Callable[[], Simulate]
    built: Callable[[str, Numbers, str | None], Model]
    weights_of: Callable[[str, str], Numbers]
    """The weights that a network starts from."""
    first_frame: Callable[[Tosses], tuple[np.ndarray, np.ndarray]]
    """`q` and `v` at the first row as recorded."""
    flight: Callable[[Tosses], Starts]
    """Starts from several rows of free flight."""
    errors: Callable[[np.ndarray, Tosses], Errors]
    rolled: Callable[[Model, np.ndarray, np.ndarray, int], np.ndarray]
    """Rollouts of a model, as those of a simulator."""
    numbers_of: Callable[[Model], Numbers]
    """The numbers of a fitted model that its starts depend on."""
    draw_toss: Callable[[dict[str, np.ndarray]], Any]
    """A figure of a recorded toss, (rows, coordinates), and its predictions."""
    own: dict[str, dict[str, Number]]
    """Free numbers of one simulator: of its contact, and those that start elsewhere than the common ones."""

    def free_numbers(self, kind: str) -> dict[str, Number]:
        """All free numbers of a simulator."""
        return {**self.common, **self.own[kind]}


def rolled(
    model: Model, q: np.ndarray, v: np.ndarray, rows: int, row: float, parts: int
) -> np.ndarray:
    """`q` of all tosses, (tosses, rows, coordinates), side by side in native code.

    `row`: time between rows [s], in which there are so many steps, `parts`.
    """
    with warnings.catch_warnings():  # a search tries springs that are too stiff for its steps, too
        warnings.simplefilter("ignore", StepWarning)
        motion = rollout_many(model, State(q, v), None, row / parts, steps=parts * (rows - 1))
    return np.asarray(motion.q)[:, ::parts]


def mujoco_simulator(
    mjcf: str, row: float, parts: int, set_numbers: Callable[[Any, Numbers], None]
) -> Simulate:
    """A body on a plane, geom 0, in MuJoCo, with elliptic friction cones; `set_numbers` changes its model.

    `row`: time between rows [s], in which there are so many steps, `parts`.
    MuJoCo ignores later changes of places that are zero in the MJCF.
    """
    mujoco = mujoco_library()
    rollout = import_module("mujoco.rollout")
    option = f'<option timestep="{row / parts}" gravity="0 0 -{GRAVITY}" cone="elliptic"/>'
    table = '<geom type="plane" size="10 10 1" pos="0 0 0.001" quat="1 0.001 0 0"/>'
    body = mujoco.MjModel.from_xml_string(
        f"<mujoco>{option}<worldbody>{table}{mjcf}</worldbody></mujoco>"
    )
    data = [mujoco.MjData(body) for _ in range(2)]

    def simulate(numbers: Numbers, q: np.ndarray, v: np.ndarray, rows: int) -> np.ndarray:
        _set_table(body, numbers)
        set_numbers(body, numbers)
        mujoco.mj_setConst(body, data[0])
        start = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
        with collected_warnings(mujoco):  # some numbers of a search make it unstable
            made, _ = rollout.rollout(body, data, start, nstep=parts * (rows - 1))
        return np.concatenate([q[:, None], made[:, parts - 1 :: parts, 1 : 1 + q.shape[1]]], axis=1)

    return simulate


def _set_table(body: Any, numbers: Numbers) -> None:
    tilt = Rotation.from_rotvec([numbers["tilt_x"], numbers["tilt_y"], 0.0])
    body.geom_pos[0], body.geom_quat[0] = (0, 0, numbers["height"]), tilt.as_quat()[[3, 0, 1, 2]]
    body.geom_solref[:] = numbers["time"], numbers["ratio"]
    least, most = sorted((numbers["least"], numbers["most"]))
    body.geom_solimp[:] = least, most, numbers["width"], 0.5, 2.0


def set_mujoco_box(body: Any, geom: int, half: Any) -> None:
    """Gives a box half-widths [m], and the bounds that follow from them."""
    body.geom_size[geom] = body.geom_aabb[geom, 3:] = half
    body.geom_rbound[geom] = np.linalg.norm(body.geom_size[geom])


def mujoco_library() -> Any:
    """MuJoCo, an optional library."""
    try:
        return import_module("mujoco")
    except ModuleNotFoundError as missing:
        raise MissingExtra("mujoco", "mjcf", "the peer of the tosses") from missing
