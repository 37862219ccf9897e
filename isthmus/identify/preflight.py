"""A look at a problem before the search: right derivatives, effects, time alignment, time step, excitation."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from isthmus.errors import BadStart, warn_renamed
from isthmus.identify.answer.alignment import Shift, shifts
from isthmus.identify.answer.divergence import divergence
from isthmus.identify.answer.table import columns
from isthmus.identify.answer.too_long import (
    explodes,
    gradient_error,
    too_sensitive,
)
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.losses.windows import Span
from isthmus.phases import counted, phase
from isthmus.simulate.advice import or_rk4

MAX_PARAMETERS_FOR_EFFECTS = 60
"""Above this many parameters, neither their effects nor shifts in time are computed: both need a full Jacobian."""

ALIGNMENT_SEARCH_STEPS = 10
"""Steps of the search before shifts in time are estimated."""


@dataclasses.dataclass(frozen=True)
class Effect:
    """The effect of one parameter on what is compared."""

    name: str
    start: float
    low: float
    high: float
    effect: float
    """Root mean square change of what is compared, in units of the noise, for a change by its scale."""
    alone: float
    """The share of it that no other parameter can imitate, 0 to 1."""


@dataclasses.dataclass(frozen=True)
class Check:
    """What was found; prints as one screen."""

    windows: int
    data: int
    cost: float
    gradient_error: float
    """Largest relative difference between the compiled gradient and finite differences."""
    effects: tuple[Effect, ...]
    shifts: tuple[Shift, ...]
    step_change: float
    """Largest change of what is compared when the time step is halved, relative to its range."""
    step_noise: float
    """Root mean square of that change, in units of the noise."""
    warnings: tuple[str, ...]
    explodes: bool = False
    """Whether windows are so long that the gradient is of no use."""

    @property
    def ok(self) -> bool:
        """Whether there are no warnings."""
        return not self.warnings

    @property
    def worries(self) -> tuple[str, ...]:
        """The old name of `warnings`."""
        warn_renamed("Check.worries", "Check.warnings")
        return self.warnings

    def __str__(self) -> str:
        size = f"{counted(self.windows, 'window')}, {counted(self.data, 'number')} to compare"
        head = f"{size}, loss {self.cost:.5g} at the start"
        rows = [("free", "start", "low", "high", "effect", "alone")]
        rows += [
            (
                e.name,
                f"{e.start:.4g}",
                f"{e.low:.3g}",
                f"{e.high:.3g}",
                f"{e.effect:.3g}",
                f"{e.alone:.2g}",
            )
            for e in self.effects
        ]
        lines = [head, *(columns(rows) if self.effects else [])]
        lines += [f"gradient: off by {self.gradient_error:.1e} from finite differences"]
        visible = [str(shift) for shift in self.shifts if shift.visible]
        none = ["time alignment: no shift between log and simulation shows"] if self.shifts else []
        lines += visible or none
        lines += [
            f"time step: halving it changes what is compared by {100 * self.step_change:.2g} % of its range"
        ]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


def check(evaluation: Evaluation, spans: Sequence[Span]) -> Check:
    """Looks at a problem at its start; `spans`: where each of its windows comes from."""
    x = evaluation.start
    normal = evaluation.normal(x[None])
    if not np.isfinite(normal.cost[0]):
        raise BadStart(divergence(evaluation, spans, x))
    few = evaluation.plan.parameters.size <= MAX_PARAMETERS_FOR_EFFECTS
    with phase("computing the effect of each parameter"):
        J = differences(evaluation, x) if few else None
        effects = effects_of(evaluation, x, J) if J is not None else ()
    with phase("comparing the gradient with finite differences"):
        wrong = gradient_error(evaluation, x, normal.gradient[0])
    with phase("estimating shifts in time"):
        moved = aligned(evaluation, x) if few else ()
    with phase("halving the time step"):
        changes = step_change(evaluation, x)
    cost = float(normal.cost[0])
    exploding = explodes(evaluation, x)
    found = Check(
        evaluation.count, evaluation.data, cost, wrong, effects, moved, *changes, (), exploding
    )
    return dataclasses.replace(found, warnings=tuple(warnings_of(found, evaluation)))


def aligned(evaluation: Evaluation, x: np.ndarray) -> tuple[Shift, ...]:
    """Time shifts, after a short search: far from the solution other differences look like shifts."""
    near = LevenbergMarquardt(steps=ALIGNMENT_SEARCH_STEPS).search(evaluation, x[None]).x[0]
    return shifts(evaluation, near, differences(evaluation, near))


def differences(evaluation: Evaluation, x: np.ndarray) -> Float[np.ndarray, "data p"]:
    """The Jacobian of all weighted differences by `z`, by central differences of native rollouts."""
    p = evaluation.plan.parameters.size
    h = 1e-5
    if p == 0:  # only the starts of windows are free
        return np.zeros((evaluation.residuals(x[None])[0].size, 0))
    steps = np.zeros((2 * p, len(x)))
    steps[np.arange(p), np.arange(p)], steps[p + np.arange(p), np.arange(p)] = h, -h
    r, _ = evaluation.residuals(x[None] + steps)
    flat = r.reshape(2 * p, -1)
    return ((flat[:p] - flat[p:]) / (2.0 * h)).T


def effects_of(evaluation: Evaluation, x: np.ndarray, J: np.ndarray) -> tuple[Effect, ...]:
    """What each number does, and what only it does."""
    parameters = evaluation.plan.parameters
    size = np.linalg.norm(J, axis=0)
    unit = J / np.where(size > 0, size, 1.0)
    left = np.array([_alone(unit, k) for k in range(J.shape[1])])
    names = (
        moved_names(parameters.names, evaluation.bent)
        if len(parameters.names) == parameters.size
        else tuple(map(str, range(parameters.size)))
    )
    values, scale = x[: parameters.size] * parameters.scale, parameters.scale
    rms = size / np.sqrt(max(evaluation.data, 1))
    rows = zip(
        names, values, parameters.low * scale, parameters.high * scale, rms, left, strict=True
    )
    return tuple(Effect(n, *map(float, numbers)) for n, *numbers in rows)


def moved_names(names: Sequence[str], bent: np.ndarray) -> tuple[str, ...]:
    """What a search moves: `link/NAME/inertial[0]` … for the log-Cholesky numbers of a body, which are not its mass."""
    found, count = [], Counter[str]()
    for name, is_bent in zip(names, bent, strict=False):
        body = f"{name.rsplit('/', 1)[0]}/inertial"
        found.append(f"{body}[{count[body]}]" if is_bent else name)
        count[body] += int(is_bent)
    return tuple(found)


def _alone(unit: np.ndarray, k: int) -> float:
    others = np.delete(unit, k, axis=1)
    if not others.size or not unit[:, k].any():
        return float(unit[:, k].any())
    rest = unit[:, k] - others @ np.linalg.lstsq(others, unit[:, k], rcond=1e-9)[0]
    return float(np.linalg.norm(rest))


def step_change(evaluation: Evaluation, x: np.ndarray) -> tuple[float, float]:
    """How much what is compared changes when every step is made in two: of its range, and of the noise."""
    finer = evaluation.finer().residuals(x[None])[0]
    change = np.abs(finer - evaluation.residuals(x[None])[0])[0]
    weight, target = evaluation.windows.weight, evaluation.windows.target
    reach, place, column = 0.0, 0, 0
    for c in evaluation.plan.channels:
        span = np.ptp(target[..., place : place + c.size], axis=(0, 1)).max()
        w = weight[..., column : column + c.width]
        moved = change[..., column : column + c.width] / np.where(w > 0, w, np.inf)
        reach = max(reach, float(moved.max() / max(span, 1e-12)))
        place, column = place + c.size, column + c.width
    return reach, float(np.sqrt(np.sum(np.square(change)) / max(evaluation.data, 1)))


def warnings_of(found: Check, evaluation: Evaluation) -> list[str]:
    """What should be mended before a search."""
    most = max((e.effect for e in found.effects), default=0.0)
    largest: dict[
        str, float
    ] = {}  # of a network as a whole: inner weights of a new one have no effect yet
    for e in found.effects:
        name = "/".join(e.name.split("/")[:2]) if e.name.startswith("network/") else e.name
        largest[name] = max(e.effect, largest.get(name, 0.0))
    lines = [
        f"{name} has no effect on what is compared."
        for name, effect in largest.items()
        if effect <= 1e-9 * most
    ]
    lines += [
        f"{e.name} is poorly identifiable: other parameters can imitate all but {100 * e.alone:.1g} % of its effect."
        for e in found.effects
        if e.name in largest and e.alone < 0.01 and e.effect > 1e-9 * most
    ]
    if found.explodes:
        lines.append(too_sensitive(evaluation, evaluation.start))
    elif found.gradient_error > 1e-3:
        lines.append(
            "the gradient differs from finite differences: is there a kink (contact, dry friction) near the start?"
        )
    lines += [shift.warning for shift in found.shifts if shift.warning]
    if found.step_change > 0.01 or found.step_noise > 1.0:
        how = f"{100 * found.step_change:.2g} %"
        how += f", {found.step_noise:.2g} times the noise" if found.step_noise > 1.0 else ""
        plan = evaluation.plan
        also = or_rk4(plan.parameters.template, float(np.max(evaluation.windows.dt)), plan.scheme)
        lines.append(
            f"halving the time step changes the motion by {how}, and fitted parameters would compensate for that. Take "
            f"substeps={also} ([time] of a study)."
        )
    return lines
