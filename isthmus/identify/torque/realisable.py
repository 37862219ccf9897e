"""The realisable parameters nearest to given ones among those that explain measured torques.

A link's ten numbers are those of a body exactly when its pseudo-inertia `J` (second, first and zeroth moments of mass)
is positive definite. The distance from the present `J₀` is the divergence `tr(J₀⁻¹ J) − log det(J₀⁻¹ J) − 4` (Lee,
Wensing and Park 2020), for a number of a joint that must be positive `x/s − log(x/s) − 1`. With the squares of the
residuals this is convex and has one minimum, inside of what is possible; `interior_point.py` finds it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.errors import BadModel
from isthmus.identify.torque.interior_point import BASIS, Point, least
from isthmus.spatial.inertia import inertia_of_second, second_moment, six_of, symmetric

FLAT = 1e-3
"""Least eigenvalue of a link's second moment about its centre of mass, as a share of the largest, that is measured
from: flat and thin bodies may gain a little thickness."""
ROUNDING = 16.0 * float(np.finfo(float).eps)
"""What may be lost of a diagonal entry while a matrix of 4×4 is factorised, as a share of it, with room to spare."""
MOST = 40
"""How often what is added to a body may be doubled."""


def pseudo_of(ten: Float[np.ndarray, "10"]) -> Float[np.ndarray, "4 4"]:
    """The pseudo-inertia of a link's ten numbers [kg·m², kg·m, kg]."""
    J = np.empty((4, 4))
    J[:3, :3] = second_moment(symmetric(ten[4:]))
    J[:3, 3] = J[3, :3] = ten[1:4]
    J[3, 3] = ten[0]
    return J


def ten_of_pseudo(J: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "10"]:
    """The way back."""
    return np.array([J[3, 3], *J[:3, 3], *six_of(inertia_of_second(J[:3, :3]))])


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
    sizes = len(prior.links), len(prior.positive), len(prior.free)
    return _rounded(T, least(A @ T, b, sizes, weight), prior)


def scaled_links(
    links: Float[np.ndarray, "links 10"],
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, " n"]]:
    """The matrix from scaled numbers of links to parameters, and the scaled numbers of these links.

    To second order the distance from them is half the square of the change of the scaled numbers.
    """
    prior = Prior(links, np.zeros(0), np.zeros(0))
    return _to_parameters(prior), np.tile(np.einsum("kaa->k", BASIS), len(links))


def _to_parameters(prior: Prior) -> np.ndarray:
    """The matrix from scaled numbers to parameters."""
    scale = np.concatenate([prior.positive, prior.free])
    start = 10 * len(prior.links)
    T = np.zeros((start + len(scale),) * 2)
    for i, ten in enumerate(prior.links):
        L, rows = _root(ten), slice(10 * i, 10 * i + 10)
        T[rows, rows] = np.stack([ten_of_pseudo(L @ B @ L.T) for B in BASIS], axis=1)
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


def _rounded(T: np.ndarray, found: Point, prior: Prior) -> np.ndarray:
    """The parameters of a point; where float64 cannot hold a body that flat, a little of its start is added."""
    x, start = T @ found.scaled(), prior.start()
    sizes = np.einsum("iab,ib->i", found.G**2, found.Lambda)
    for i, size in enumerate(sizes):
        rows = slice(10 * i, 10 * i + 10)
        ten, added = x[rows].copy(), np.finfo(float).eps * size * start[rows]
        for _ in range(MOST):
            if _is_clearly_realisable(x[rows]):
                break
            x[rows], added = ten + added, 2.0 * added
    return x


def _is_clearly_realisable(ten: np.ndarray) -> bool:
    """Whether the numbers are those of a body also on processors that round differently."""
    if not is_realisable(ten):
        return False
    J = pseudo_of(ten)
    left = np.square(np.diag(np.linalg.cholesky(J)))
    return bool(np.all(left > ROUNDING * np.diag(J)))
