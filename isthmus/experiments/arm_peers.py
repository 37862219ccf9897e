"""What others would do with the torques of an arm: least squares on Pinocchio's regressor, ridge around the URDF, and
FIGAROH's base parameters. Both libraries are optional."""

from __future__ import annotations

import dataclasses
import importlib
import types
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.blas import on_one_thread
from isthmus.identify.torque.data import BLOCKS, Rows

WEIGHTS = tuple(10.0**k for k in range(-6, 7))
"""Of the ridge, relative to the mean product of a column."""
SMALL = 1e-10
"""Singular values below this share of the largest are left out."""
SPEED = 0.01
"""Within which dry friction is smoothed [rad/s]."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """Pinocchio's parameters of the moving links, then viscous and dry friction."""

    start: Float[np.ndarray, " p"]
    """The URDF's."""
    rows: list[Float[np.ndarray, "rows dof p"]]
    """`Y` of each run."""

    def least_squares(self, tau: list[np.ndarray]) -> np.ndarray:
        """The shortest parameters of the least squares; NaN torques do not count."""
        H, g = self._products(tau, 0.0 * self.start)
        return _pseudo(H, g)

    def ridge(self, tau: list[np.ndarray]) -> np.ndarray:
        """Parameters near those of the URDF; the weight predicts blocks of time best that were not fitted."""
        folds = []
        for block in range(BLOCKS):
            inside = [_block(x, block) for x in tau]
            rest = [np.where(here[:, None], np.nan, x) for x, here in zip(tau, inside, strict=True)]
            only = [np.where(here[:, None], x, np.nan) for x, here in zip(tau, inside, strict=True)]
            folds.append((self._products(rest, self.start), only))
        errors = [
            sum(self._squares(self.start + _solved(*products, w), only) for products, only in folds)
            for w in WEIGHTS
        ]
        best = WEIGHTS[int(np.argmin(errors))]
        return self.start + _solved(*self._products(tau, self.start), best)

    def _products(self, tau: list[np.ndarray], around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H, g = np.zeros((len(around), len(around))), np.zeros(len(around))
        with on_one_thread():
            for Y, x in zip(self.rows, tau, strict=True):
                used = np.isfinite(x)
                A = Y[used]
                H, g = H + A.T @ A, g + A.T @ (x[used] - A @ around)
        return H, g

    def _squares(self, pi: np.ndarray, tau: list[np.ndarray]) -> float:
        return sum(float(np.nansum((Y @ pi - x) ** 2)) for Y, x in zip(self.rows, tau, strict=True))


@dataclasses.dataclass(frozen=True)
class Figaroh:
    """FIGAROH's regressor: links, viscous and dry friction, inertias of motors, offsets."""

    rows: list[Float[np.ndarray, "rows dof p"]]
    """`Y` of each run."""

    def fitted(self, tau: list[np.ndarray]) -> np.ndarray:
        """FIGAROH's base parameters by least squares, each joint by its own noise; all others are zero."""
        columns = importlib.import_module("figaroh.tools.regressor")
        base = importlib.import_module("figaroh.tools.qrdecomposition")
        Y, measured = np.concatenate(self.rows), np.concatenate(tau)
        used = np.isfinite(measured)
        names = {str(k): 0.0 for k in range(Y.shape[2])}
        _, kept = columns.get_index_eliminate(Y[used], names)
        kept = np.array([int(k) for k in kept])
        own = kept[list(base.get_baseIndex(Y[used][:, kept], [str(k) for k in kept]))]
        weights, pi = np.ones(Y.shape[1]), np.zeros(Y.shape[2])
        for _ in range(2):
            W = (weights[:, None] * Y[:, :, own])[used]
            pi[own] = np.linalg.lstsq(W, (weights * measured)[used], rcond=None)[0]
            weights = 1.0 / np.sqrt(np.nanmean((Y @ pi - measured) ** 2, axis=0))
        return pi


def peer(urdf: str, runs: list[Rows]) -> Peer | None:
    """The regressors of Pinocchio; None where it is not installed."""
    if (pin := _library("pinocchio")) is None:
        return None
    model = pin.buildModelFromUrdf(urdf)
    data = model.createData()
    start = np.concatenate([body.toDynamicParameters() for body in list(model.inertias)[1:]])
    links = len(start)
    rows = []
    for run in runs:
        Y = np.zeros((len(run.q), model.nv, links + 2 * model.nv))
        for k, (q, v, a) in enumerate(zip(_points(pin, model, run), run.v, run.a, strict=True)):
            Y[k, :, :links] = pin.computeJointTorqueRegressor(model, data, q, v, a)
        each = np.arange(model.nv)
        Y[:, each, links + each], Y[:, each, links + model.nv + each] = (
            run.v,
            np.tanh(run.v / SPEED),
        )
        rows.append(Y)
    friction = np.concatenate([model.damping, model.friction])
    return Peer(np.concatenate([start, friction]), rows)


def figaroh(urdf: str, runs: list[Rows]) -> Figaroh | None:
    """The regressors of FIGAROH; None where it is not installed."""
    pin, tools = _library("pinocchio"), _library("figaroh.tools.regressor")
    if pin is None or tools is None:
        return None
    model = pin.buildModelFromUrdf(urdf)
    config = tools.RegressorConfig(
        has_friction=True, has_actuator_inertia=True, has_joint_offset=True
    )
    build = tools.RegressorBuilder(
        types.SimpleNamespace(model=model, data=model.createData()), config
    )
    moving, rows = {"act_idxv": list(range(model.nv))}, []
    for run in runs:
        W = build.build_basic_regressor(_points(pin, model, run), run.v, run.a, moving)
        rows.append(np.swapaxes(W.reshape(model.nv, len(run.q), -1), 0, 1))
    return Figaroh(rows)


def _library(name: str) -> Any:
    """An optional library, or None."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def _points(pin: Any, model: Any, run: Rows) -> np.ndarray:
    """Positions as Pinocchio wants them: joints without ends have two numbers there."""
    rest = pin.neutral(model)
    return np.array([pin.integrate(model, rest, q) for q in run.q])


def _block(tau: np.ndarray, block: int) -> np.ndarray:
    """Which rows are in a block of those that were measured."""
    used = np.isfinite(tau).any(axis=1)
    return (np.cumsum(used) - used) * BLOCKS // max(int(used.sum()), 1) == block


def _solved(H: np.ndarray, g: np.ndarray, weight: float) -> np.ndarray:
    return np.linalg.solve(H + weight * np.trace(H) / len(H) * np.eye(len(H)), g)


def _pseudo(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    values, axes = np.linalg.eigh(H)
    kept = values > SMALL * values[-1]
    return axes[:, kept] @ ((axes[:, kept].T @ g) / values[kept])
