"""Measured motion and torque -> what is left of them for least squares: one triangle for each degree of freedom.

The rows `[Y | τ]` of a degree of freedom matter only by their products, which a triangular factor keeps. Rows come
in pieces of equal length, so that any motion costs one compilation and little memory.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from isthmus.dynamics.passive import limit_torque, passive_torque
from isthmus.errors import BadMotion, BadShape
from isthmus.identify.torque.regressor import LEAVES, regressor
from isthmus.model.model import Model
from isthmus.types import AnyArray

PIECE = 512
"""Rows at a time."""


@dataclasses.dataclass(frozen=True)
class TorqueData:
    """Triangular factors of `[Y | τ]`, for torques [N·m, N] that remain after springs and known friction."""

    factors: Float[np.ndarray, "dof p1 p1"]
    counts: Float[np.ndarray, " dof"]
    """Rows that were measured."""

    def residual(self, pi: Float[np.ndarray, " p"]) -> Float[np.ndarray, " dof"]:
        """Root mean square of `Y π − τ`; NaN where nothing was measured."""
        total = np.linalg.norm(self.factors @ np.append(pi, -1.0), axis=1)
        with np.errstate(invalid="ignore"):
            return np.where(self.counts > 0.0, total / np.sqrt(self.counts), np.nan)

    def weighted(self, weights: Float[np.ndarray, " dof"]) -> Float[np.ndarray, "rows p1"]:
        """All factors under each other, each times its weight."""
        return np.reshape(weights[:, None, None] * self.factors, (-1, self.factors.shape[-1]))

    def columns(self, kept: np.ndarray, known: Float[np.ndarray, " p"]) -> TorqueData:
        """Only some of the parameters; the others have their `known` values."""
        others = np.setdiff1d(np.arange(len(known)), kept)
        rest = self.factors[:, :, -1] - self.factors[:, :, others] @ known[others]
        return TorqueData(
            np.concatenate([self.factors[:, :, kept], rest[:, :, None]], axis=2), self.counts
        )


def torque_data(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, tau: AnyArray, joints: tuple[str, ...]
) -> TorqueData:
    """The data of rows of positions, velocities, accelerations and motor torques; NaN torques were not measured.

    The force of a stop is not known: the torque of a joint that touches one is not used.
    """
    q, v, a, tau = (np.asarray(x, dtype=np.float64) for x in (q, v, a, tau))
    _check(model, q, v, a, tau)
    whole = np.isfinite(np.concatenate([q, v, a], axis=1)).all(axis=1)
    q, v, a, tau = q[whole], v[whole], a[whole], tau[whole]
    if not len(q):
        raise BadMotion("no row has positions, velocities and accelerations that are all measured.")
    model = eqx.tree_at(lambda m: m.networks, model, ())
    factors, counts = np.zeros((model.dof, 0, 0)), np.zeros(model.dof)
    for start in range(0, len(q), PIECE):
        rows = [_padded(x[start : start + PIECE]) for x in (q, v, a)]
        torques = _padded(tau[start : start + PIECE], np.nan)
        with jax.enable_x64(True):
            Y, known, stopped = (np.asarray(x) for x in _rows(model, *rows, torques, joints))
        torques[stopped] = np.nan
        piece = np.concatenate([Y, (torques - known)[:, :, None]], axis=2)
        piece = np.where(np.isfinite(torques)[:, :, None], piece, 0.0)
        factors = _joined(factors, np.swapaxes(piece, 0, 1))
        counts += np.sum(np.isfinite(torques), axis=0)
    if not counts.any():
        raise BadMotion("no torque was measured while its joint was off its stops.")
    return TorqueData(factors, counts)


@eqx.filter_jit
def _rows(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, tau: AnyArray, joints: tuple[str, ...]
):
    """Regressors; motor torques for all that is not one of their columns; which joints touch a stop."""
    plain = model
    for name in joints:
        plain = eqx.tree_at(
            lambda m, n=name: getattr(m, LEAVES[n]), plain, replace_fn=lambda x: 0.0 * x
        )

    def row(q, v, a, tau):
        known = plain.joint_armature * a - passive_torque(plain, q, v, tau)
        return regressor(model, q, v, a, joints=joints), known, limit_torque(plain, q, v) != 0.0

    return jax.vmap(row)(q, v, a, tau)


def _joined(factors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The factors with further rows; square, filled up with zeros."""
    width = rows.shape[2]
    old = factors if factors.size else np.zeros((len(rows), 0, width))
    R = np.asarray(np.linalg.qr(np.concatenate([old, rows], axis=1), mode="r"))
    return np.pad(R, ((0, 0), (0, width - R.shape[1]), (0, 0)))


def _padded(x: np.ndarray, filling: float | None = None) -> np.ndarray:
    """A piece of full length; the last row again, or `filling`, where there are no more."""
    more = PIECE - len(x)
    if not more:
        return x
    last = (
        np.repeat(x[-1:], more, axis=0) if filling is None else np.full((more, x.shape[1]), filling)
    )
    return np.concatenate([x, last])


def _check(model: Model, *arrays: np.ndarray) -> None:
    words = ("q", "v", "a", "tau")
    sizes = (model.nq, model.dof, model.dof, model.dof)
    for word, x, size in zip(words, arrays, sizes, strict=True):
        if x.ndim != 2 or x.shape != (len(arrays[0]), size):
            raise BadShape(
                f"{word} has shape {x.shape}; this model needs ({len(arrays[0])}, {size})."
            )
