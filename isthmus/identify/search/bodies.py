"""Log-Cholesky numbers of bodies: how the map to pseudo-inertias bends, so that a search can follow it.

Ten numbers are the upper triangular `U` of the pseudo-inertia `J = U Uᵀ`, the logarithms of its diagonal first (Rucker
and Wensing 2022). Losses are about quadratic in `J`, and those of torques exactly so, but not in the ten numbers.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.abstract_evaluation import AbstractEvaluation
from isthmus.identify.torque.interior_point import BASIS

Points = Float[np.ndarray, "islands n"]
_DIAGONAL, (_ROWS, _COLUMNS) = np.arange(4), np.triu_indices(4, 1)


def factor(ten: Float[np.ndarray, "*more 10"]) -> Float[np.ndarray, "*more 4 4"]:
    """The upper triangular `U` of log-Cholesky numbers, whose pseudo-inertia is `U Uᵀ`."""
    U = np.zeros((*ten.shape[:-1], 4, 4))
    U[..., _DIAGONAL, _DIAGONAL] = np.exp(ten[..., :4])
    U[..., _ROWS, _COLUMNS] = ten[..., 4:]
    return U


def numbers(J: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "10"]:
    """The log-Cholesky numbers of a pseudo-inertia."""
    U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    return np.concatenate([np.log(np.diag(U)), U[_ROWS, _COLUMNS]])


def moves(U: Float[np.ndarray, "*more 4 4"]) -> Float[np.ndarray, "*more 10 4 4"]:
    """How `U` changes with each log-Cholesky number."""
    found = np.zeros((*U.shape[:-2], 10, 4, 4))
    found[..., _DIAGONAL, _DIAGONAL, _DIAGONAL] = U[..., _DIAGONAL, _DIAGONAL]
    found[..., np.arange(4, 10), _ROWS, _COLUMNS] = 1.0
    return found


def slopes(U: Float[np.ndarray, "*more 4 4"]) -> Float[np.ndarray, "*more 10 10"]:
    """How `U Uᵀ`, by its coordinates in `BASIS`, changes with each log-Cholesky number."""
    half = moves(U) @ np.swapaxes(U, -1, -2)[..., None, :, :]
    return np.einsum("kab,...jab->...kj", BASIS, half + np.swapaxes(half, -1, -2))


def moved_by(U: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "10 10"]:
    """How `U Z Uᵀ`, by its coordinates in `BASIS`, changes with those of `Z`."""
    return np.einsum("kab,jab->kj", BASIS, U @ BASIS @ U.T)


class Bodies:
    """All bodies of a problem whose whole inertia is free."""

    def __init__(self, evaluation: AbstractEvaluation) -> None:
        parameters = evaluation.plan.parameters
        self.rows = np.array(parameters.bodies(), dtype=np.int64).reshape(-1, 10)
        """The ten entries of `x` of each body."""
        self.scale = parameters.scale[self.rows]
        self.prior = evaluation.prior

    def curvature(self, X: Points, gradient: Points) -> Float[np.ndarray, "islands bodies 10 10"]:
        """What the bending of the map adds to the Gauss-Newton matrix: the part that is positive semidefinite."""
        U = factor(X[:, self.rows] * self.scale)
        slope = (gradient - self.prior.gradient(X))[:, self.rows] / self.scale
        by_J = np.linalg.solve(np.swapaxes(slopes(U), -1, -2), slope[..., None])[..., 0]
        G, M = np.einsum("iwk,kab->iwab", by_J, BASIS), moves(U)
        K = 2.0 * np.einsum("iwjab,iwac,iwkcb->iwjk", M, G, M, optimize=True)
        own = np.einsum("iwaa->iwa", G @ U) * U[..., _DIAGONAL, _DIAGONAL]
        K[..., _DIAGONAL, _DIAGONAL] += 2.0 * own
        values, vectors = np.linalg.eigh(K * self.scale[:, :, None] * self.scale[:, None])
        return (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)

    def bend(self, X: Points, V: Points) -> Points:
        """The change of `x` that would move pseudo-inertias by their second derivative along `V`."""
        U, v = factor(X[:, self.rows] * self.scale), V[:, self.rows] * self.scale
        dU = np.einsum("iwk,iwkab->iwab", v, moves(U))
        ddU = np.zeros_like(U)
        ddU[..., _DIAGONAL, _DIAGONAL] = U[..., _DIAGONAL, _DIAGONAL] * np.square(v[..., :4])
        half = dU @ np.swapaxes(dU, -1, -2) + ddU @ np.swapaxes(U, -1, -2)
        J = np.einsum("kab,iwab->iwk", BASIS, half + np.swapaxes(half, -1, -2))
        found = np.zeros_like(V)
        found[:, self.rows] = np.linalg.solve(slopes(U), J[..., None])[..., 0] / self.scale
        return found
