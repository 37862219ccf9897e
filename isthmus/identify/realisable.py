"""The realisable parameters nearest to given ones among those that explain measured torques.

A link's ten numbers are those of a body exactly when its pseudo-inertia `J` (second, first and zeroth moments of mass)
is positive definite. The distance from the present `J₀` is the divergence `tr(J₀⁻¹ J) − log det(J₀⁻¹ J) − 4` (Lee,
Wensing and Park 2020), for a number of a joint that must be positive `x/s − log(x/s) − 1`. With the squares of the
residuals this is convex and has one minimum, inside of what is possible, which Newton's method finds while the
weight of the distance shrinks to what was asked for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from isthmus.errors import BadModel

STEPS = 40
"""Of Newton's method at each weight; few are needed."""
DECREMENT = 1e-10
"""Where it stops: half the squared length of its step in its own metric, in units of the weight."""
FLAT = 1e-3
"""Least eigenvalue of a link's second moment about its centre of mass, as a share of the largest, that is measured
from: flat and thin bodies may gain a little thickness."""

_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]
_BASIS = np.zeros((10, 4, 4))
for _k, (_i, _j) in enumerate(_PAIRS):
    _BASIS[_k, _i, _j] = _BASIS[_k, _j, _i] = 1.0 if _i == _j else np.sqrt(0.5)


def pseudo_of(ten: Float[np.ndarray, "10"]) -> Float[np.ndarray, "4 4"]:
    """The pseudo-inertia of a link's ten numbers [kg·m², kg·m, kg]."""
    J, I = np.empty((4, 4)), np.empty((3, 3))
    for value, (i, j) in zip(ten[4:], _SIX, strict=True):
        I[i, j] = I[j, i] = value
    J[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
    J[:3, 3] = J[3, :3] = ten[1:4]
    J[3, 3] = ten[0]
    return J


def ten_of_pseudo(J: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "10"]:
    """The way back."""
    I = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.array([J[3, 3], *J[:3, 3], *(I[i, j] for i, j in _SIX)])


def is_realisable(ten: Float[np.ndarray, "10"]) -> bool:
    """Whether a body of some extent has these numbers."""
    try:
        np.linalg.cholesky(pseudo_of(ten))
    except np.linalg.LinAlgError:
        return False
    return bool(ten[0] > 0.0)


@dataclasses.dataclass(frozen=True)
class Prior:
    """What parameters may be and where they are expected: links, then positive numbers, then any numbers."""

    links: Float[np.ndarray, "links 10"]
    positive: Float[np.ndarray, " p"]
    """Their scale, which is where they start."""
    free: Float[np.ndarray, " f"]
    """Their scale, around zero."""

    def start(self) -> Float[np.ndarray, " parameters"]:
        """The present parameters; thin links a little thicker."""
        tens = [ten_of_pseudo(L @ L.T) for L in map(_root, self.links)]
        return np.concatenate([*tens, self.positive, 0.0 * self.free])


def nearest_realisable(
    A: Float[np.ndarray, "rows parameters"],
    b: Float[np.ndarray, " rows"],
    prior: Prior,
    *,
    weight: float,
) -> Float[np.ndarray, " parameters"]:
    """The parameters `x` that make `½|A x − b|² + weight · distance` least; always realisable.

    Inside, each link is seen from its present pseudo-inertia, `J = L Z Lᵀ` with `Z = 1` at the start, and each number
    in units of its scale: all directions then are alike to Newton's method.
    """
    T = _to_parameters(prior)
    links, positive = len(prior.links), len(prior.positive)
    eye = np.array([B.trace() for B in _BASIS])
    z = np.concatenate([np.tile(eye, links), np.ones(positive), np.zeros(len(prior.free))])
    A, far = A @ T, _Distance(links, positive)
    heavy = max(weight, float(np.max(np.sum(A * A, axis=0), initial=0.0)))
    for decade in range(math.ceil(math.log10(heavy / weight)), -1, -1):
        z = _newton(A, b, z, far, weight * 10.0**decade)
    return T @ z


def _newton(
    A: np.ndarray, b: np.ndarray, z: np.ndarray, far: _Distance, weight: float
) -> np.ndarray:
    """The least `½|A z − b|² + weight · distance`, from the minimum for a larger weight: so no step meets the edge."""
    H = A.T @ A

    def cost(z: np.ndarray) -> float:
        return 0.5 * float(np.sum(np.square(A @ z - b))) + weight * far.value(z)

    for _ in range(STEPS):
        slope, curve = far.derivatives(z)
        slope = A.T @ (A @ z - b) + weight * slope
        step = -_solved(H + weight * curve, slope)
        if not -0.5 * slope @ step > DECREMENT * weight:
            break
        further = _line_search(cost, z, step, slope)
        if further is None:
            break
        z = further
    return z


class _Distance:
    """The sum of all divergences, and its derivatives, in scaled numbers."""

    def __init__(self, links: int, positive: int) -> None:
        self.links, self.positive = links, positive

    def _parts(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        end = 10 * self.links
        Z = np.einsum("ik,kab->iab", z[:end].reshape(-1, 10), _BASIS)
        return Z, z[end : end + self.positive], z[end + self.positive :]

    def value(self, z: np.ndarray) -> float:
        """Infinite where no body exists."""
        Z, x, y = self._parts(z)
        try:
            L = np.linalg.cholesky(Z)
        except np.linalg.LinAlgError:
            return np.inf
        if np.any(x <= 0.0):
            return np.inf
        logs = 2.0 * np.sum(np.log(np.einsum("iaa->ia", L)))
        traces = np.sum(np.einsum("iaa->i", Z))
        return float(traces - logs + np.sum(x - np.log(x)) + 0.5 * y @ y)

    def derivatives(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian."""
        Z, x, y = self._parts(z)
        inverse = np.linalg.inv(Z)
        around = np.einsum("iab,kbc->ikac", inverse, _BASIS)
        slope = np.einsum("kaa->k", _BASIS)[None] - np.einsum("ikaa->ik", around)
        blocks = np.einsum("ikab,ilba->ikl", around, around)
        curve = np.zeros((len(z), len(z)))
        for i, block in enumerate(blocks):
            rows = slice(10 * i, 10 * i + 10)
            curve[rows, rows] = block
        rest = np.arange(10 * self.links, len(z))
        curve[rest, rest] = np.concatenate([x**-2.0, np.ones_like(y)])
        return np.concatenate([slope.ravel(), 1.0 - 1.0 / x, y]), curve


def _to_parameters(prior: Prior) -> np.ndarray:
    """The matrix from scaled numbers to parameters."""
    scale = np.concatenate([prior.positive, prior.free])
    start = 10 * len(prior.links)
    T = np.zeros((start + len(scale),) * 2)
    for i, ten in enumerate(prior.links):
        L, rows = _root(ten), slice(10 * i, 10 * i + 10)
        T[rows, rows] = np.stack([ten_of_pseudo(L @ B @ L.T) for B in _BASIS], axis=1)
    T[start:, start:] = np.diag(scale)
    return T


def _root(ten: np.ndarray) -> np.ndarray:
    """`L` with `L Lᵀ` the pseudo-inertia, its second moments about the centre of mass not too flat."""
    if not ten[0] > 0.0:
        raise BadModel("a link without mass has no realisable neighbours.")
    com = ten[1:4] / ten[0]
    second = pseudo_of(ten)[:3, :3] - ten[0] * np.outer(com, com)
    values, axes = np.linalg.eigh(second)
    least = FLAT * values[-1] if values[-1] > 0.0 else ten[0] * 1e-4
    root = axes * np.sqrt(np.maximum(values, least))
    L = np.zeros((4, 4))
    L[:3, :3], L[:3, 3], L[3, 3] = root, np.sqrt(ten[0]) * com, np.sqrt(ten[0])
    return L


def _solved(curve: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Newton's step, the diagonal scaled to one first."""
    size = 1.0 / np.sqrt(np.diag(curve))
    scaled = curve * size[:, None] * size[None]
    try:
        return size * np.linalg.solve(scaled, size * slope)
    except np.linalg.LinAlgError:
        return size * np.linalg.lstsq(scaled, size * slope, rcond=None)[0]


def _line_search(
    cost: Callable[[np.ndarray], float], z: np.ndarray, step: np.ndarray, slope: np.ndarray
) -> np.ndarray | None:
    """The first of 1, ½, ¼ … of the step that goes down enough and stays possible; None where rounding is all."""
    here, share = cost(z), 1.0
    for _ in range(40):
        if cost(z + share * step) <= here + 1e-4 * share * (slope @ step):
            return z + share * step
        share *= 0.5
    return None
