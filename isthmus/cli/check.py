"""`isthmus check`: whether the derivatives of a model are right."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

import isthmus as ist
from isthmus.cli.models import Base, Contacts, Height, Packages, Pairs, Repair, load_model
from isthmus.cli.numbers import positive
from isthmus.cli.output import in_background, show, working
from isthmus.errors import BadOption

MAX_STEPS = 100_000
DEPTH = 1e-6
"""How deep [m] free bodies start in the ground, so that they touch it on either side of a small change."""
COLOURS = {"agrees": "green", "no effect": "dim", "kink here": "yellow", "WRONG": "bold red"}


@dataclasses.dataclass(frozen=True)
class Check:
    """Compares forward mode, reverse mode and differences for every number of a model, in float64.

    Exit status 1 if a derivative is wrong.
    """

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """URDF or MJCF file, a saved model, the folder of a fit, or library:NAME."""
    steps: Annotated[int, arg(metavar="N")] = 20
    """Length of the rollout that is differentiated."""
    dt: Annotated[float, arg(metavar="S")] = 1e-3
    """Time step [s]."""
    seed: Annotated[int, arg(metavar="N")] = 0
    """Of the random state and controls."""
    start: Literal["random", "neutral"] = "random"
    """neutral: all joints at their neutral positions, at rest, with no controls. Free bodies start on the ground."""
    base: Base = "fixed"
    """Whether the root link of a URDF is welded to the world or moves freely."""
    ground: Height = None
    """Put a horizontal plane at this height [m], which the model touches."""
    contact: Contacts = ()
    """What touches the ground, and how, as in 'isthmus simulate'."""
    pair: Pairs = ()
    """Shapes that touch each other, as in 'isthmus simulate'."""
    repair: Repair = "none"
    """nearest: replace impossible inertias by the nearest possible ones."""
    packages: Packages = ()
    """Folders in which meshes of a URDF (package://…) are looked for."""

    def run(self) -> int:
        """Prints the table of verdicts."""
        positive(self.dt, "--dt")
        if not 1 <= self.steps <= MAX_STEPS:
            raise BadOption(f"--steps must be from 1 to {MAX_STEPS}, not {self.steps}.")
        if not 0 <= self.seed < 2**63:
            raise BadOption(f"--seed must be a whole number from 0, not {self.seed}.")
        model = load_model(
            self.file, self.base, self.repair, self.ground, self.packages, self.contact, self.pair
        )

        def work() -> Any:
            state, controls = _start(model, self.start, self.seed, self.steps)
            return ist.check_gradients(model, state, controls, self.dt)

        with working(f"checking {model.name}"):
            report = in_background(work)
        show(*map(_coloured, str(report).splitlines()))
        return 0 if report.ok else 1


def _start(model: ist.Model, start: str, seed: int, steps: int) -> tuple[ist.State, ist.Control]:
    """A state, and constant controls that accelerate each joint by about 1 rad/s² or m/s²."""
    import jax
    import numpy as np

    from isthmus import draws, native
    from isthmus.cli.parts import held
    from isthmus.dynamics.crba import mass_matrix
    from isthmus.simulate.standing import on_the_ground

    def standing(state: ist.State) -> ist.State:
        return dataclasses.replace(state, q=on_the_ground(model, np.asarray(state.q), depth=DEPTH))

    if start == "neutral":
        state = standing(ist.State.neutral(model))
        return state, held(model, state, np.zeros((steps, model.dof)))
    key_state, key_control = jax.random.split(jax.random.key(seed))
    state = standing(ist.State.random(model, key_state))
    wanted = draws.normal(key_control, (model.dof,))
    needed = native.compile(lambda m, q, a: mass_matrix(m, q) @ a, model, state.q, wanted)
    torque = np.array(needed(model, state.q, wanted))
    torque[list(model.position_controlled)] = (
        0.1 * wanted[list(model.position_controlled)]
    )  # [rad, m]
    return state, held(model, state, np.tile(torque, (steps, 1)))


def _coloured(line: str) -> object:
    from rich.text import Text

    text = Text(line)
    for word, style in COLOURS.items():
        text.highlight_regex(rf"(?<!\w){word}(?!\w)", style)
    return text
