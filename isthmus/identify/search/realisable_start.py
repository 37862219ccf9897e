"""A start for inertias of whole bodies: the least of the quadratic model over all bodies that can exist.

Log-Cholesky numbers `z` bend: a Gauss-Newton step in them is good only nearby, and crawls along the edge of what is
possible. Torques that a measured motion needs are linear in the pseudo-inertias `J` of the links instead, and in
friction, damping and offsets, so that one Gauss-Newton matrix, taken over from `z` to `J`, is the whole loss: a convex
problem, which `torque/interior_point.py` solves. Priors on log-Cholesky numbers are only approximated there; the search
that follows has them as they are, and the loss in its short form (`linear_loss.py`).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.search.bodies import factor, moved_by, numbers, slopes
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.linear_loss import LinearLoss
from isthmus.identify.torque.interior_point import BASIS, least

BARRIER = 1e-3
"""Least weight of the distance from the start, in units of the noise's variance: it keeps bodies from being flat. A
prior on log-Cholesky numbers of the precision `p` counts about as much, near the start, as a weight of `p/4`."""
POLISH = 200
"""Steps of the search with the prior of log-Cholesky numbers; each takes a millisecond or two."""
VANISHING = 1e-14
"""Eigenvalue of the Gauss-Newton matrix, relative to the largest, that rounding may have made."""


def realisable_start(
    evaluation: Evaluation, start: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """The start of a search by inverse dynamics; `start` itself where no body is free, or where it is better."""
    plan = evaluation.plan
    bodies = plan.parameters.bodies()
    linear = plan.torque and plan.huber is None and not plan.parameters.is_weight().any()
    if not bodies or not linear:
        return start
    with np.errstate(all="ignore"):  # what breaks down is not taken
        found = _least(evaluation, start, bodies)
        better = LevenbergMarquardt(steps=POLISH).search(LinearLoss(evaluation, start), found[None])
        points = np.stack([start, found, better.x[0]])
        cost = evaluation.cost(points)
    return points[int(np.argmin(np.where(np.isfinite(cost), cost, np.inf)))]


def _least(
    evaluation: Evaluation, start: Float[np.ndarray, " n"], bodies: list[np.ndarray]
) -> Float[np.ndarray, " n"]:
    """The least of the quadratic model around `start`, in the coordinates of the search."""
    low, high = evaluation.low, evaluation.high
    scale = evaluation.plan.parameters.scale
    inside = np.concatenate(bodies)
    others = np.setdiff1d(np.arange(len(start)), inside)
    positive, free = others[low[others] == 0.0], others[low[others] != 0.0]
    order = np.concatenate([inside, positive, free])
    roots = [factor(start[body] * scale[body]) for body in bodies]
    M = np.eye(len(start))
    for k, (body, U) in enumerate(zip(bodies, roots, strict=True)):
        own = slice(10 * k, 10 * k + 10)
        M[own, own] = np.linalg.solve(slopes(U) * scale[body][None], moved_by(U))
    normal = evaluation.normal(start[None])
    H = normal.matrix.reduced(len(start))[0][np.ix_(order, order)].copy()
    precision = evaluation.prior.precision[inside]
    H[range(len(inside)), range(len(inside))] -= precision
    one = np.tile(np.einsum("kaa->k", BASIS), len(bodies))
    u = np.concatenate([one, start[positive], start[free]])
    A, b, left = _as_squares(M.T @ H @ M, M.T @ normal.gradient[0][order], u, normal.cost[0])
    known = float(np.mean(precision / scale[inside] ** 2)) / 4.0
    weight = max(BARRIER * 2.0 * left / max(evaluation.data, 1), known, 1e-12 * normal.cost[0])
    u = least(A, b, (len(bodies), len(positive), len(free)), weight).scaled()
    found = start.copy()
    for k, (body, U) in enumerate(zip(bodies, roots, strict=True)):
        Z = np.einsum("k,kab->ab", u[10 * k : 10 * k + 10], BASIS)
        found[body] = numbers(U @ Z @ U.T) / scale[body]
    found[order[len(inside) :]] = u[len(inside) :]
    return np.clip(found, low, high)


def _as_squares(
    H: np.ndarray, g: np.ndarray, u: np.ndarray, cost: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """`A`, `b` and `c` of the quadratic model `½|A x − b|² + c`, whose slope at `u` is `g` and whose value `cost`."""
    values, vectors = np.linalg.eigh(H)
    kept = values > VANISHING * values[-1]
    root, V = np.sqrt(values[kept]), vectors[:, kept].T
    pull = V @ g / root
    return root[:, None] * V, root * (V @ u) - pull, max(cost - 0.5 * float(pull @ pull), 0.0)
