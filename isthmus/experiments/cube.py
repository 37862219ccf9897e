"""TDS, section V, figure 1 (left): springs and a learned friction force imitate a throw of a world of impulses.

The world solves a linear complementarity problem with a friction pyramid (Anitescu and Potra) in every step. The model
has Hunt and Crossley's springs, which at first are so weak that the cube falls through the floor, and a network that
scales `contact/friction_force` from the velocity, the normal force and the depth of each corner. Basin hopping fits
both to one throw; three other throws are judged too, and so is the fitted analytic friction alone.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.experiments.cube_figures import draw_throws
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Result, Settings, Table
from isthmus.experiments.tosses_data import rotations
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.identify.search.basin_hopping import BasinHopping
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.library.cube import cube
from isthmus.losses.windows import WholeRun
from isthmus.model.contacts import Contact, with_contact
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.motion.motion import Motion
from isthmus.networks.recipes import MLP
from isthmus.phases import in_turn
from isthmus.simulate.pyramid import pyramid_rollout
from isthmus.simulate.rollout import rollout

STEP, PARTS = 0.01, 4
"""Of the world [s]; steps of the springs in each."""
FRICTION, ROUNDING = 0.5, 0.25
"""Of the world; the corners are spheres of this radius [m]."""
LOW, HIGH = 10.0, 2e4
"""Bounds of the stiffness [N/m^1.5]."""
NOISE = np.array([0.1, 0.1, 0.1, 0.05, 0.05, 0.05])
"""Errors that weigh the same: positions [m], rotations [rad]."""
READS = ("contact/velocity", "contact/normal_force", "contact/depth")
PRIOR = 0.3
"""Standard deviation of weights."""


@dataclasses.dataclass(frozen=True)
class Throw:
    """How the cube leaves the hand."""

    turn: tuple[float, float, float]
    """Roll, pitch, yaw [rad]."""
    height: float
    velocity: tuple[float, float, float]

    def state(self) -> State:
        """At the beginning."""
        turn = Rotation.from_euler("xyz", self.turn).as_quat()[[3, 0, 1, 2]]
        q = np.concatenate([[0.0, 0.0, self.height], turn])
        return State(q, np.concatenate([self.velocity, np.zeros(3)]))


THROWS = {
    "fitted": Throw((0.8, 1.1, 0.9), 1.2, (0.7, 5.0, 0.0)),
    "unseen 1": Throw((0.2, 0.5, 1.4), 1.1, (1.5, 4.0, 0.0)),
    "unseen 2": Throw((1.2, -0.4, 0.3), 1.3, (-1.0, 4.5, 0.5)),
    "unseen 3": Throw((-0.6, 0.9, 2.0), 1.2, (0.0, 5.5, -0.5)),
}


def study(settings: Settings) -> Result:
    """Both models fitted to one throw, and all throws judged."""
    steps = 40 if settings.quick else 300
    truths = {name: thrown(throw, steps) for name, throw in THROWS.items()}
    models = {"before": springs()}
    for name in in_turn(("analytic friction", "network"), "fit"):
        models[name] = fitted(models["before"], truths["fitted"], name == "network", settings)
    made = {
        name: {throw: imitated(model, truth) for throw, truth in truths.items()}
        for name, model in models.items()
    }
    off = {
        name: {throw: errors(q, truths[throw]) for throw, q in of.items()}
        for name, of in made.items()
    }
    numbers = {"errors": off, "springs": {name: numbers_of(m) for name, m in models.items()}}
    return Result(
        (errors_table(off), springs_table(models)), numbers, {"throws": draw_throws(truths, made)}
    )


def thrown(throw: Throw, steps: int) -> Motion:
    """A throw in the world of impulses."""
    world = with_contact(cube(1.0, 1.0), Contact("impulse", friction=FRICTION, radius=ROUNDING))
    return pyramid_rollout(world, throw.state(), STEP, steps)


def springs() -> Model:
    """The same cube on springs through which it falls."""
    contact = Contact(
        "penalty",
        friction=0.3,
        radius=ROUNDING,
        stiffness=2.0 * LOW,
        damping=0.1,
        friction_speed=0.1,
    )
    return with_contact(cube(1.0, 1.0), contact)


def fitted(model: Model, truth: Motion, network: bool, settings: Settings) -> Model:
    """Springs and friction, with a network for friction or without, by basin hopping."""
    free = [
        Free("contact/*/stiffness", low=LOW, high=HIGH, shared=True),
        Free("contact/*/damping", low=0.05, high=30.0, shared=True),
        Free("contact/*/friction", low=0.05, high=1.5, shared=True),
        Free("contact/*/friction_speed", low=0.01, high=0.5, shared=True),
    ]
    if network:
        wire = Wire("contact/friction_force", READS, MLP(2, 1), mode="scale", rows="each")
        model = Blueprint([wire]).attach(model, key=settings.seed, data=expected(truth))
        free.append(Free("network/*", prior=PRIOR))
    problem = Problem(
        model, truth, free=free, loss=WholeRun(), wrap=False, substeps=PARTS,
        signals=("joint/position",), noise={"joint/position": NOISE},
    )  # fmt: skip
    steps, islands, rounds = (
        (2, 2, 1) if settings.quick else (30, 8, int(settings.option("rounds", 10)))
    )
    local = LevenbergMarquardt(steps=steps)
    return quiet_fit(
        problem, BasinHopping(local, islands, rounds=rounds, seed=settings.seed, step=0.2)
    ).model


def expected(truth: Motion) -> Motion:
    """The throw on firm springs, whose range sets the scales of the network."""
    firm = (
        springs()
        .set("contact/stiffness", np.full(8, 0.5 * HIGH))
        .set("contact/damping", np.full(8, 5.0))
    )
    return rollout(
        firm, truth.state(0), None, STEP, steps=len(truth) - 1, record=READS, substeps=PARTS
    )


def imitated(model: Model, truth: Motion) -> np.ndarray:
    """Positions and quaternions of the model's throw, (rows, 7)."""
    steps = len(truth) - 1
    return np.asarray(rollout(model, truth.state(0), None, STEP, steps=steps, substeps=PARTS).q)


def errors(q: np.ndarray, truth: Motion) -> tuple[float, float]:
    """Mean distance as a share of the way of the cube's middle, and mean angle [degrees]."""
    true = np.asarray(truth.q)
    way = np.sum(np.linalg.norm(np.diff(true[:, :3], axis=0), axis=1))
    far = np.mean(np.linalg.norm(q[:, :3] - true[:, :3], axis=1))
    angle = (rotations(true[:, 3:]).inv() * rotations(q[:, 3:])).magnitude()
    return float(far / way), float(np.degrees(np.mean(angle)))


def errors_table(off: dict[str, dict[str, tuple[float, float]]]) -> Table:
    """One row for each model."""
    show = lambda pair: f"{pair[0]:.1%} / {pair[1]:.1f}°"
    rows = tuple((name, *(show(pair) for pair in of.values())) for name, of in off.items())
    title = "a thrown cube: mean position error as a share of its way / mean rotation error"
    return Table(title, ("model", *THROWS), rows)


def numbers_of(model: Model) -> dict[str, float]:
    """The numbers of the springs."""
    names = ("stiffness", "damping", "friction", "friction_speed")
    return {name: float(getattr(model, f"contact_{name}")[0]) for name in names}


def springs_table(models: dict[str, Model]) -> Table:
    """What was found."""
    rows: Any = [
        (name, *(f"{x:.4g}" for x in numbers_of(m).values())) for name, m in models.items()
    ]
    return Table("springs found", ("model", *numbers_of(models["before"])), tuple(rows))
