"""The least of `½|A z − b|² + weight · distance` over positive definite matrices and positive numbers.

The unknowns `z` are symmetric matrices `Z` of 4×4, then positive numbers `x`, then any numbers `y`; the distance is
`tr Z − log det Z`, `x − log x` and `½ y²`. With a force `S` for each `Z` and `s` for each `x`, the minimum is where the
slope of `½|A z − b|² + weight · (tr Z + x + ½ y²)` is `S`, and `Z S = weight · 1`: a point on the central path of a
semidefinite program. Newton's method follows that path (primal and dual together, scaled as by Nesterov and Todd
1997) from wherever it starts; no step leaves what is possible.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float

STEPS = 200
"""Of Newton's method at most; some twenty are needed."""
DECREMENT = 1e-9
"""Newton's decrement where the search ends. Its square, times the weight, is how much lower the cost could be."""
PATIENCE = 12
"""Steps that need not halve the decrement; after more of them, rounding is all that is left."""
AIMS = (0.0, 0.001, 0.01, 0.1, 0.3, 0.6, 1.0)
"""Shares of the present `Z S` that a step may aim at."""
WHOLE = 0.7
"""Share of a step that should fit; otherwise it aims less low."""
EDGE = 0.95
"""Share of the way to the edge of what is possible that a step may go."""

_PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]
BASIS = np.zeros((10, 4, 4))
"""An orthonormal basis of the symmetric matrices: ten numbers are one of them."""
for _k, (_i, _j) in enumerate(_PAIRS):
    BASIS[_k, _i, _j] = BASIS[_k, _j, _i] = 1.0 if _i == _j else np.sqrt(0.5)


@dataclasses.dataclass(frozen=True)
class Point:
    """Matrices, positive numbers and any numbers, with the forces that keep them from the edge.

    For each matrix `Z = G Λ Gᵀ` and `S = G⁻ᵀ Λ G⁻¹` with a diagonal `Λ`, for each positive number `x = g² l` and
    `s = l/g²`. Kept as factors, they are positive definite however far apart their eigenvalues are. A step `d` is in
    local coordinates: `dZ = G D Gᵀ`, `dx = g² d`.
    """

    G: Float[np.ndarray, "matrices 4 4"]
    Lambda: Float[np.ndarray, "matrices 4"]
    g: Float[np.ndarray, " p"]
    l: Float[np.ndarray, " p"]
    y: Float[np.ndarray, " f"]

    @classmethod
    def at(cls, sizes: tuple[int, int, int], size: float, force: float) -> Point:
        """So many matrices, positive and any numbers; `Z = size · 1`, `S = force · 1`, `y = 0`."""
        matrices, positive, free = sizes
        root, narrow = math.sqrt(size * force), (size / force) ** 0.25
        G = np.tile(narrow * np.eye(4), (matrices, 1, 1))
        Lambda, g = np.full((matrices, 4), root), np.full(positive, narrow)
        return cls(G, Lambda, g, np.full(positive, root), np.zeros(free))

    def scaled(self) -> Float[np.ndarray, " n"]:
        """All numbers in a row: ten for each matrix, then `x` and `y`."""
        Z = np.einsum("iac,ic,ibc->iab", self.G, self.Lambda, self.G)
        return _flat(Z, self.g**2 * self.l, self.y)

    def gap(self) -> float:
        """The mean of the eigenvalues of `Z S`; zero where there are none."""
        products = np.concatenate([self.Lambda.ravel(), self.l]) ** 2
        return float(np.sum(products)) / max(1, products.size)

    def seen(self, A: Float[np.ndarray, "rows n"]) -> Float[np.ndarray, "rows n"]:
        """`A` as a matrix for steps in local coordinates."""
        matrices, end = len(self.G), 10 * len(self.G)
        moved = np.einsum("iac,kcd,ibd->ikab", self.G, BASIS, self.G)
        M = np.einsum("lab,ikab->ilk", BASIS, moved)
        blocks = np.matmul(A[:, :end].reshape(len(A), matrices, 10).transpose(1, 0, 2), M)
        left = blocks.transpose(1, 0, 2).reshape(len(A), end)
        return np.hstack([left, A[:, end:] * np.concatenate([self.g**2, np.ones_like(self.y)])])

    def slope(self) -> Float[np.ndarray, " n"]:
        """The gradient of `tr Z + x + ½ y²` in local coordinates."""
        return _flat(np.einsum("ica,icb->iab", self.G, self.G), self.g**2, self.y)

    def inward(self) -> Float[np.ndarray, " n"]:
        """The gradient of `log det Z + log x` in local coordinates."""
        return _flat(_diagonal(1.0 / self.Lambda), 1.0 / self.l, 0.0 * self.y)

    def steps(self, d: Float[np.ndarray, " n"], target: float) -> tuple[np.ndarray, ...]:
        """Local steps of `Z`, `S`, `x`, `s` and `y` towards `Z S = target · 1`."""
        end = 10 * len(self.G)
        D = np.einsum("ik,kab->iab", d[:end].reshape(len(self.G), 10), BASIS)
        dx, dy = d[end : end + len(self.g)], d[end + len(self.g) :]
        dS = _diagonal(target / self.Lambda - self.Lambda) - D
        return D, dS, dx, target / self.l - self.l - dx, dy

    def share(self, d: Float[np.ndarray, " n"], target: float) -> float:
        """The share of a step that stays inside; all of it where the edge is far."""
        dZ, dS, dx, ds, _ = self.steps(d, target)
        root = 1.0 / np.sqrt(self.Lambda)
        around = root[:, :, None] * np.stack([dZ, dS]) * root[:, None]
        least = np.concatenate([np.linalg.eigvalsh(around).ravel(), dx / self.l, ds / self.l])
        return EDGE / max(EDGE, -float(np.min(least, initial=0.0)))

    def moved(self, d: Float[np.ndarray, " n"], target: float, share: float) -> Point:
        """The point after this share of a step."""
        dZ, dS, dx, ds, dy = (share * part for part in self.steps(d, target))
        now = _diagonal(self.Lambda)
        left, right = np.linalg.cholesky(now + dS), np.linalg.cholesky(now + dZ)
        _, Lambda, V = np.linalg.svd(left.transpose(0, 2, 1) @ right)
        G = self.G @ right @ V.transpose(0, 2, 1) / np.sqrt(Lambda)[:, None]
        x, s = self.l + dx, self.l + ds
        return Point(G, Lambda, self.g * (x / s) ** 0.25, np.sqrt(x * s), self.y + dy)


def least(
    A: Float[np.ndarray, "rows n"],
    b: Float[np.ndarray, " rows"],
    sizes: tuple[int, int, int],
    weight: float,
) -> Point:
    """The point where the cost is least, for so many matrices, positive and any numbers.

    It is the one of the smallest Newton decrement: the length of the step from it in the metric of the Hessian, in
    units of the weight.
    """
    if len(A) > A.shape[1] + 1:  # as many rows as matter
        R = _triangle(np.column_stack([A, b]))
        A, b = R[:, :-1], R[:, -1]
    here = best = _start(A, b, sizes, weight)
    smallest, idle = math.inf, 0
    for _ in range(STEPS):
        R, directions = _directions(A, b, here, weight)
        d, target, share = _aimed(here, directions, weight)
        decrement = float(np.linalg.norm(R @ d)) / math.sqrt(weight)
        if target == weight:
            idle = 0 if decrement < 0.5 * smallest else idle + 1
            if decrement < smallest:
                best, smallest = here, decrement
            if decrement <= DECREMENT or idle > PATIENCE:
                return best
        here = here.moved(d, target, share)
    return best


def _start(A: np.ndarray, b: np.ndarray, sizes: tuple[int, int, int], weight: float) -> Point:
    """As large as the data may want it, with forces as large as the data's pull there."""
    most = float(np.linalg.norm(A))
    size = max(1.0, float(np.linalg.norm(b)) / most if most > 0.0 else 0.0)
    pull = A.T @ (A @ Point.at(sizes, size, 1.0).scaled() - b)
    return Point.at(sizes, size, max(weight, float(np.max(np.abs(pull), initial=0.0))))


def _directions(
    A: np.ndarray, b: np.ndarray, here: Point, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """A root `R` of the local Hessian `RᵀR`, and two columns: the step to a target is `d₀ + target · d₁`.

    There the forces have the Hessian 1, so the step solves a least-squares problem of full rank. QR does not
    square its condition as normal equations would.
    """
    from scipy.linalg import solve_triangular  # slow to import

    n, free = A.shape[1], len(here.y)
    floor = np.concatenate([np.ones(n - free), np.full(free, math.sqrt(weight))])
    data = np.column_stack([here.seen(A), b - A @ here.scaled(), np.zeros_like(b)])
    forces = np.column_stack([np.diag(floor), -weight * here.slope() / floor, here.inward()])
    R = _triangle(np.vstack([data, forces]))[:n]
    return R[:, :n], solve_triangular(R[:, :n], R[:, n:])


def _aimed(here: Point, directions: np.ndarray, weight: float) -> tuple[np.ndarray, float, float]:
    """The step that aims lowest of those that fit, its aim, and the share of it that stays inside."""
    gap, d, target, share = here.gap(), directions[:, 0], weight, 0.0
    for aim in AIMS:
        target = max(weight, aim * gap)
        d = directions[:, 0] + target * directions[:, 1]
        share = here.share(d, target)
        if share > WHOLE:
            break
    return d, target, share


def _triangle(rows: np.ndarray) -> np.ndarray:
    """The upper triangle `R` with `RᵀR = rowsᵀ rows`."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _diagonal(values: np.ndarray) -> np.ndarray:
    return values[:, None] * np.eye(4)


def _flat(Z: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Ten numbers for each symmetric matrix, then `x` and `y`."""
    return np.concatenate([np.einsum("iab,kab->ik", Z, BASIS).ravel(), x, y])
