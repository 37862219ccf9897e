"""Windows over which a simulation is so sensitive that its derivatives are of no use, and which ones to take.

Over a long window of unstable or chaotic motion, a derivative grows exponentially with the time, while what is compared
stays bounded: it says nothing about the loss at any distance that matters, and every step along it fails.
"""

from __future__ import annotations

import numpy as np

from isthmus.identify.answer.quality import Errors, blocks, poor_fit, still
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.search import Status
from isthmus.phases import counted

NEAR = 1e-4
"""Distance from a minimum, in scaled numbers, within which a wrong gradient does no harm."""
STEP = 1e-6
"""Distance over which a gradient is compared with the loss, in scaled numbers."""
REACH = 1e-3
"""Distance within which no loss of a usable simulation vanishes by the word of its gradient, in scaled numbers."""
ADVISED = 0.03
"""Distance over which the gradient of windows that are advised must be right: a search takes such steps."""
USELESS = 0.5
"""Share by which a gradient must be off to be of no use."""
FAR = 1e-3
"""Error of a prediction, as a share of that of predicting that nothing moves, up to which a simulation is usable."""
FAIR = 0.1
"""Share by which it may be off at `ADVISED`."""
MARGIN = 3
"""What is advised is so many times shorter than windows whose beginnings have right derivatives."""
LEAST_STEPS = 5
"""No windows are advised that are shorter."""


def gradient_error(
    evaluation: Evaluation, x: np.ndarray, gradient: np.ndarray, h: float = STEP, near: float = NEAR
) -> float:
    """The compiled gradient against differences of the cost along three directions, relative.

    Relative to the gradient, or, where that vanishes, to what it would be at a distance of `near`. Infinite where a
    gradient or a cost is not finite.
    """
    if not np.isfinite(gradient).all():
        return np.inf
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(3):
        d = rng.standard_normal(len(x))
        d /= np.linalg.norm(d)
        up, here, down = evaluation.cost(np.stack([x + h * d, x, x - h * d]))
        if not np.isfinite([up, here, down]).all():
            return np.inf
        slope, exact = (up - down) / (2.0 * h), float(gradient @ d)
        size = max(abs(exact), 1e-3 * float(np.linalg.norm(gradient)), 1e-9)
        curved = near * abs(up + down - 2.0 * here) / h**2
        worst = max(worst, abs(slope - exact) / max(size, curved))
    return float(worst)


def useless_derivatives(
    evaluation: Evaluation, starts: np.ndarray, x: np.ndarray, status: Status, errors: Errors
) -> str:
    """A sentence on a search from `starts` that ended at `x` since derivatives are of no use; else empty."""
    if evaluation.plan.torque or status not in (Status.CONVERGED, Status.OUT_OF_STEPS):
        return ""
    unmoved = bool((np.clip(starts, evaluation.low, evaluation.high) == x).all(axis=1).any())
    done = "no step was accepted" if unmoved else "it came to a standstill"
    poor = lambda: bool(poor_fit(evaluation, errors, "fitted"))
    if explodes(evaluation, x):
        return f"the search did not converge: {done}, since {too_sensitive(evaluation, x)}"
    if explodes(evaluation, starts[0]) and poor():
        return f"the search did not converge: {done}, since {too_sensitive(evaluation, starts[0])}"
    if not unmoved:
        return ""
    wrong = gradient_error(evaluation, x, evaluation.normal(x[None]).gradient[0])
    if wrong > USELESS and poor():
        return (
            f"the search did not converge: {done}, since the gradient at the start is off by {wrong:.2g} from finite "
            "differences. Start elsewhere (start=), or take ist.CMAES ([search] of a study), which needs none."
        )
    return ""


def explodes(evaluation: Evaluation, x: np.ndarray) -> bool:
    """Whether the simulation at `x` is so sensitive that its gradient is of no use.

    Such a gradient says that the whole loss vanishes within `REACH`, which is no distance for a search, and that is not
    so. A perfect fit, whose loss is next to nothing, is not meant.
    """
    normal = evaluation.normal(x[None])
    cost, gradient = float(normal.cost[0]), normal.gradient[0]
    if evaluation.plan.torque or REACH * float(np.linalg.norm(gradient)) <= cost:
        return False
    wrong = gradient_error(evaluation, x, gradient, near=0.0)
    return wrong > USELESS and _far_off(evaluation, cost)


def _far_off(evaluation: Evaluation, cost: float) -> bool:
    """Whether a loss is more than a small part of that of predicting that nothing moves."""
    resting, weight = still(evaluation), evaluation.windows.weight
    each = [
        np.nansum(np.square(resting[c.text] * weight[..., own])) for c, own in blocks(evaluation)
    ]
    return not cost <= 0.5 * FAR**2 * float(np.sum(each))


def too_sensitive(evaluation: Evaluation, x: np.ndarray) -> str:
    """A sentence on derivatives at `x` that are of no use, with windows that would be short enough."""
    longest = int(evaluation.windows.steps.max())
    steps = fair_steps(evaluation, x, longest)
    kind, name = "Windows", "windows"
    if evaluation.plan.shooting:
        kind, name = "MultipleShooting", "multiple_shooting"
    advice = "Take shorter windows, or a shorter time step: substeps= ([time] of a study)."
    if steps:
        advice = (
            f"Take shorter windows: loss=ist.{kind}({steps}) "
            f'(kind = "{name}", steps = {steps} under [loss] of a study).'
        )
    return (
        f"the simulation is so sensitive over {counted(longest, 'step')} that its derivatives are of no use. "
        f"{advice}"
    )


def fair_steps(evaluation: Evaluation, x: np.ndarray, longest: int) -> int:
    """The length of windows that are advised; 0: derivatives are right over none.

    Derivatives are right over the first half, quarter … of all windows; of that length, a part is taken, since the
    motion may be more sensitive later on.
    """
    steps = longest // 2
    while steps >= LEAST_STEPS:
        part = evaluation.shortened(steps / longest)
        gradient = part.normal(x[None]).gradient[0]
        if gradient_error(part, x, gradient, ADVISED) < FAIR:
            return max(LEAST_STEPS, steps // MARGIN)
        steps //= 2
    return 0
