"""Levenberg and Marquardt's search for a batch of points, inside a box.

Each point has its own damping `λ`, which plays the part of a trust region (Nielsen's update). Numbers at a bound
that the gradient presses against are held; those that a step would carry over one stop there, those that would
rather leave theirs are let go, and the rest is solved again: a step is the best of its quadratic model in the box.
One call of native code is one iteration of all points.

`λ` multiplies the diagonal of the Gauss-Newton matrix (Marquardt). The log-Cholesky numbers of a body bend, and where
the data say little about one of them its own entry would allow steps far beyond what the quadratic model is good for;
raising `λ` for it would slow down all others. There the mean entry of all such numbers is the least that counts, the
matrix contains the curvature of the map to the pseudo-inertia, and a step follows its bend (geodesic acceleration,
Transtrum and Sethna 2012): without these two, a search for all inertias of an arm crawls along curved valleys.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.evaluate.abstract_evaluation import AbstractEvaluation, Normal
from isthmus.identify.evaluate.matrix import AbstractMatrix
from isthmus.identify.search.bodies import Bodies
from isthmus.identify.search.search import AbstractSearch, Diary, Listener, Outcome, Status, silent

Points = Float[np.ndarray, "islands n"]
STATISTICAL = 30.0
"""How much larger than the tolerance a relative decrease may be that the noise makes meaningless."""
NOISE_SHARE = 1e-3
"""Share of the noise's variance that a decrease must reach to mean something."""
LIGHT = 1e-6
"""Damping below which a step along the numbers of a body is hardly shortened, so that a small one means convergence."""
BEND = 0.75
"""Length of what follows the bend, as a share of the step's own, up to which it is trusted (Transtrum and Sethna)."""
TRIES = 12
"""How often a step may be shortened because the bend is larger."""
ROUNDS = 6
"""How often a step is solved again because it hit a bound or may leave one; after that, none is left any more."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class LevenbergMarquardt(AbstractSearch):
    """Damped Gauss-Newton steps: the search for least squares with up to some hundred numbers."""

    steps: int = 100
    tolerance: float = 1e-9
    """Relative decrease of the cost, and relative length of a step, below which a point has converged. Where steps are
    costly, a decrease by a thousandth of the noise's variance is enough, too, if it is below `STATISTICAL` times this:
    it moves no estimate by more than a few percent of its standard error."""
    damping: float = 1e-2
    """The first `λ`, relative to the diagonal of the Gauss-Newton matrix."""
    reach: float = np.inf
    """Longest step of any number, in units of its scale."""

    def __post_init__(self) -> None:
        if self.steps < 1 or not self.damping > 0 or not self.tolerance >= 0 or not self.reach > 0:
            raise BadOption(
                "LevenbergMarquardt needs steps ≥ 1, and damping, tolerance and reach above zero."
            )

    def search(
        self, evaluation: AbstractEvaluation, starts: Points, listen: Listener = silent
    ) -> Outcome:
        with np.errstate(all="ignore"):  # a trial that breaks down is a number that is not finite
            return self._search(evaluation, starts, listen)

    def _search(self, evaluation: AbstractEvaluation, starts: Points, listen: Listener) -> Outcome:
        state = begin(evaluation, starts, self.damping)
        diary = Diary(evaluation, self.steps, listen)
        diary.write(state.X, state.normal.cost)
        try:
            for _ in range(self.steps):
                going = np.flatnonzero(~state.done)
                if not len(going):
                    break
                advance(evaluation, state, going, self)
                diary.write(state.X, state.normal.cost)
        except KeyboardInterrupt:
            state.status[~state.done] = Status.INTERRUPTED
        return diary.close(state.X, state.normal.cost, list(state.status))


@dataclasses.dataclass
class State:
    """Where the points stand."""

    X: Points
    normal: Normal
    damping: Float[np.ndarray, " islands"]
    growth: Float[np.ndarray, " islands"]
    done: Bool[np.ndarray, " islands"]
    status: np.ndarray


def begin(evaluation: AbstractEvaluation, starts: Points, damping: float) -> State:
    """All points inside the box, with their quadratic models."""
    X = np.clip(np.array(starts, dtype=np.float64), evaluation.low, evaluation.high)
    normal, islands = evaluation.normal(X), len(X)
    status = np.full(islands, Status.OUT_OF_STEPS, dtype=object)
    lost = ~np.isfinite(normal.cost)
    status[lost] = Status.NOT_FINITE
    return State(X, normal, np.full(islands, damping), np.full(islands, 2.0), lost, status)


def advance(
    evaluation: AbstractEvaluation, state: State, going: np.ndarray, options: LevenbergMarquardt
) -> None:
    """One iteration of the points `going`."""
    X, cost = state.X[going], state.normal.cost[going]
    light = (not evaluation.bent.any()) | (state.damping[going] <= LIGHT)
    step, extra, predicted = _step(evaluation, state, going, options.reach)
    new = np.clip(X + step + extra, evaluation.low, evaluation.high)
    at_once = evaluation.normal(new) if evaluation.matrix_is_cheap else None
    new_cost = evaluation.cost(new) if at_once is None else at_once.cost
    gain = np.where(np.isfinite(new_cost), cost - new_cost, -np.inf) / np.maximum(predicted, 1e-300)
    better = gain > 1e-4
    if better.any():
        tried = evaluation.normal(new[better]) if at_once is None else at_once.take(better)
        finite = np.asarray(np.isfinite(tried.gradient).all(axis=1))
        better[better] = finite
        taken = going[better]
        state.X[taken] = new[better]
        state.normal = state.normal.put(taken, tried.take(finite))

    small = np.abs(step).max(axis=1) <= options.tolerance * (1e-3 + np.abs(X).max(axis=1))
    enough = options.tolerance
    if not evaluation.matrix_is_cheap:
        enough = meaningless(options.tolerance, evaluation.data)
    flat = (predicted <= enough * np.maximum(cost, 1e-300)) & (light | ~better)
    slow = better & (cost - new_cost <= enough * cost) & (gain > 0.25) & light
    _damp(state, going, better, gain)
    finished = small | flat | slow
    state.done[going[finished]] = True
    state.status[going[finished]] = Status.CONVERGED


def _step(
    evaluation: AbstractEvaluation, state: State, going: np.ndarray, reach: float
) -> tuple[Points, Points, Float[np.ndarray, " going"]]:
    """The step of each point, what follows the bend of its bodies, and the decrease of the cost that is predicted.

    Where the bend is large for the step, the damping is raised, without an evaluation.
    """
    X, g, plain = state.X[going], state.normal.gradient[going], state.normal.matrix.take(going)
    bodies = Bodies(evaluation) if evaluation.bent.any() else None
    low, high, H = evaluation.low, evaluation.high, plain
    if bodies is not None:
        H = plain.plus_blocks(bodies.rows, bodies.curvature(X, g))
    size = weights(plain, evaluation.bent)
    for _ in range(TRIES):
        D = state.damping[going, None] * size
        step, extra = bounded_step(H, g, X, D, low, high), np.zeros_like(X)
        if bodies is None:
            break
        w = bodies.bend(X, step)
        at_bound = (X + step <= low) | (X + step >= high)
        bend = plain.times(w) - evaluation.prior.precision * w
        extra = -0.5 * H.solve(D, bend, at_bound)
        length = lambda s: np.sqrt(np.sum(size * np.square(s), axis=1))
        far = length(extra) > BEND * length(step)
        if not far.any():
            break
        state.damping[going[far]] *= 4.0
    longest = np.abs(step + extra).max(axis=1, keepdims=True)
    short = np.minimum(1.0, reach / np.maximum(longest, 1e-300))
    step, extra = short * step, short * extra
    predicted = -(np.einsum("ij,ij->i", g, step) + 0.5 * np.einsum("ij,ij->i", step, H.times(step)))
    return step, extra, predicted


def meaningless(tolerance: float, data: int) -> float:
    """The relative decrease of the cost of so much data that changes no estimate by a noticeable part of its error.

    At a minimum the cost is half the number of data times the noise's variance.
    """
    share = 2.0 * NOISE_SHARE / max(data, 1)
    return float(np.clip(share, tolerance, STATISTICAL * tolerance))


def _damp(state: State, going: np.ndarray, better: np.ndarray, gain: np.ndarray) -> None:
    """Less damping the better the quadratic model was; more, and faster, as long as steps fail."""
    safe = np.clip(np.where(better, gain, 0.0), 0.0, 1.0)
    factor = np.where(better, np.maximum(0.1, 1.0 - (2.0 * safe - 1.0) ** 3), state.growth[going])
    state.damping[going] = np.clip(state.damping[going] * factor, 1e-15, 1e15)
    state.growth[going] = np.where(better, 2.0, 2.0 * state.growth[going])


def weights(H: AbstractMatrix, bent: Bool[np.ndarray, " n"]) -> Points:
    """What `λ` multiplies: the diagonal of each matrix, at least its mean where numbers are `bent`."""
    diagonal = H.diagonal()
    least = 1e-12 * np.maximum(diagonal.max(axis=1, keepdims=True), 1e-300)
    if bent.any():
        mean = diagonal[:, bent].mean(axis=1, keepdims=True)
        least = np.where(bent, np.maximum(mean, least), least)
    return np.maximum(diagonal, least)


def bounded_step(
    H: AbstractMatrix, g: Points, X: Points, D: Points, low: np.ndarray, high: np.ndarray
) -> Points:
    """The Gauss-Newton step that stays in the box, damped by the diagonal matrices `D`."""
    least, most = low - X, high - X
    at_low, at_high = (least >= 0.0) & (g >= 0.0), (most <= 0.0) & (g <= 0.0)
    step = H.solve(D, -g, at_low | at_high)
    for k in range(2 * ROUNDS):
        slope = g + H.times(step) + D * step
        stay = k >= ROUNDS  # before that, what would rather leave its bound is let go
        now_low = np.where(at_low, stay | (slope >= 0.0), step < least)
        now_high = np.where(at_high, stay | (slope <= 0.0), step > most)
        if np.array_equal(now_low, at_low) and np.array_equal(now_high, at_high):
            break
        at_low, at_high = now_low, now_high
        fixed = np.where(at_low, least, np.where(at_high, most, 0.0))
        step = fixed + H.solve(D, -g - H.times(fixed) - D * fixed, at_low | at_high)
    return np.clip(step, least, most)
