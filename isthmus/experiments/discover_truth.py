"""The double pendulum of `discover`: what it is in truth, a recording of it, and a model without friction.

The reference integrates friction explicitly, as TDS does: the torque of a step is then a function of the state at its
beginning, which is what a network can learn.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.library.pendulum import pendulum
from isthmus.losses.windows import Windows
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.motion.motion import Motion
from isthmus.networks.recipes import MLP
from isthmus.simulate.rollout import rollout

DT = 1.0 / 500.0
STEPS = 2500
WINDOW = 25
INPUTS = ("q1", "q2", "v1", "v2")
Support = tuple[frozenset[str], frozenset[str]]


@dataclasses.dataclass(frozen=True)
class Truth:
    """Friction of both joints, and the inputs that the torques of both depend on."""

    title: str
    damping: tuple[float, float]
    """[N·m·s/rad]."""
    friction: tuple[float, float]
    """[N·m]."""
    support: Support

    @property
    def model(self) -> Model:
        """The pendulum with this friction."""
        bare = pendulum(2)
        return bare.set("joint/damping", self.damping).set("joint/friction", self.friction)


V1, V2, NONE = frozenset({"v1"}), frozenset({"v2"}), frozenset[str]()
TRUTHS = (
    Truth("damping (0.2, 0)", (0.2, 0.0), (0.0, 0.0), (V1, NONE)),
    Truth("damping (0.2, 0.1)", (0.2, 0.1), (0.0, 0.0), (V1, V2)),
    Truth("damping 0.2, dry 0.3", (0.2, 0.0), (0.0, 0.3), (V1, V2)),
)


def recorded(truth: Truth, noise: float, seed: int, steps: int = STEPS) -> Motion:
    """One swing from a random state; positions [rad] and velocities [rad/s] with noise of this size."""
    rng = np.random.default_rng([seed, 21])
    start = State(rng.uniform(-np.pi / 2, np.pi / 2, 2), rng.uniform(-1.0, 1.0, 2))
    clean = rollout(truth.model, start, None, DT, steps=steps, explicit=True)
    measured = lambda x: np.asarray(x) + noise * rng.normal(size=np.shape(x))
    return Motion(clean.t, measured(clean.q), measured(clean.v))


def hybrid(motion: Motion, seed: int) -> Model:
    """A pendulum without friction, and a network 4-5-5-1 for the torque of each joint that reads the whole state."""
    reads = ["joint/position", "joint/velocity"]
    wires = [
        Wire(f"joint/passive_torque[joint_{k}]", reads, MLP(5, 2), angles="raw", name=f"torque_{k}")
        for k in (1, 2)
    ]
    return Blueprint(wires).attach(pendulum(2), key=seed, data=motion)


def question(
    model: Model, motions: Motion | list[Motion], noise: float, window: int = WINDOW
) -> Problem:
    """Weights from windows of positions and velocities."""
    signals = ["joint/position", "joint/velocity"]
    return Problem(
        model, motions, free=Free("network/*"), loss=Windows(window), signals=signals,
        noise=dict.fromkeys(signals, noise), keep_networks=True,
    )  # fmt: skip


def support_of(inputs: dict[str, tuple[str, ...]]) -> Support:
    """`fit.inputs` in short: what the torque of each joint reads."""
    short = lambda name: ("q" if "position" in name else "v") + name.rstrip("]")[-1]
    one, two = (frozenset(map(short, inputs.get(f"torque_{k}", ()))) for k in (1, 2))
    return one, two
