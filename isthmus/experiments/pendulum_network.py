"""A network on what the numbers of the filmed pendulum leave over: on a rigid support or a sprung one.

It adds to the passive torque of both joints, from their motion. Windows begin in the state of the filter or, as in
judging, where the model agrees best with 41 frames (`by_model`); a support that is not filmed needs the latter.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.experiments.pendulum_judge import (
    FRAME,
    HALF,
    SPACING,
    Film,
    Found,
    judge,
    predicted,
    rms,
    starts_by_model,
)
from isthmus.experiments.pendulum_model import MOMENT
from isthmus.experiments.quiet import quiet_fit
from isthmus.experiments.run import Settings
from isthmus.identify.parameters.free import Free
from isthmus.identify.problem import Problem
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.losses.windows import Windows
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.networks.recipes import MLP

HINGES = "[joint_*]"
TARGET = f"joint/passive_torque{HINGES}"
READS = tuple(
    name + HINGES for name in ("joint/position", "joint/velocity", "previous/joint/acceleration")
)
"""Inputs of the network: with accelerations it can infer the force on the support."""
AHEAD, STRIDE = 50, 100
"""Frames of a window behind its start; frames from window to window."""
PENALTY, STEPS = 100.0, 500
"""Of the weights; of the search."""


def with_network(
    films: Sequence[Film], known: Found, settings: Settings, *, by_model: bool = False
) -> Found:
    """All films but two train the network, the last two judge it."""
    model = trained(films[:-2], known, settings, by_model=by_model)
    return judge(list(films[-2:]), model, known.markers, known.offset, {})


def trained(films: Sequence[Film], known: Found, settings: Settings, *, by_model: bool) -> Model:
    """The model with a network that was trained on these films."""
    ahead, stride = (25, 400) if settings.quick else (AHEAD, STRIDE)
    if by_model:
        steps = HALF + ahead
        motions = [windows_by_model(film, known, steps, stride) for film in films]
        loss = Windows(steps, steps + 1)
    else:
        motions = [film.motion(100, -100, known.offset) for film in films]
        loss = Windows(ahead, stride)
    net = MLP(2, 1) if settings.quick else MLP(16, 1)
    wire = Wire(TARGET, READS, net, output_scale=MOMENT, fade=False)
    hybrid = Blueprint([wire]).attach(
        known.model, key=jax.random.key(settings.seed), data=motions[:2]
    )
    problem = Problem(
        hybrid, motions, free=[Free("network/*")], loss=loss, noise=5e-3, huber=3.0, weight_penalty=PENALTY,
        integrator="rk4", wrap=False,
    )  # fmt: skip
    return quiet_fit(problem, LBFGS(steps=2 if settings.quick else STEPS)).model


def windows_by_model(film: Film, known: Found, steps: int, stride: int) -> Motion:
    """Windows of `steps` frames one behind the other, each from a start by the model; of a support only the start is
    known."""
    rows = np.arange(100, len(film.q) - 100 - steps, stride)
    places = [(film, int(row)) for row in rows]
    start = starts_by_model(places, known.model, known.markers, known.offset)
    each = rows[:, None] + np.arange(steps + 1)
    dof = known.model.dof
    q, v = (np.full((*each.shape, dof), np.nan) for _ in range(2))
    q[..., -2:], v[..., -2:] = film.q[each] - known.offset, film.v[each]
    q[:, 0], v[:, 0] = start[:, :dof], start[:, dof:]
    return Motion(FRAME * np.arange(each.size), q.reshape(-1, dof), v.reshape(-1, dof))


def compared(
    films: Sequence[Film], rivals: dict[str, Found], settings: Settings
) -> tuple[str, ...]:
    """What networks on top of these models, trained without the four last films, predict of the first two of these."""
    said = []
    for name, known in rivals.items():
        model = trained(films[:-4], known, settings, by_model=True)
        off = predicted(list(films[-4:-2]), model, known.markers, known.offset, SPACING, True)[1]
        said.append(f"on {name} {' / '.join(f'{x:.4f}' for x in rms(off))} rad")
    head = "Trained without the two runs before the last two, a network predicts these with"
    return (f"{head}: {', '.join(said)}.",) if said else ()
