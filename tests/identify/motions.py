"""Motions that fits are tested on: small, seeded, made once."""

from __future__ import annotations

import functools

import numpy as np

import isthmus as ist

DT = 0.01
DOUBLE = ist.library.pendulum(2).set("joint/damping", 0.3)
SINGLE = ist.library.pendulum(1).set("joint/damping", 0.3)


def commands(rows: int, dof: int) -> np.ndarray:
    """Torques that move everything."""
    t = DT * np.arange(rows)[:, None]
    return np.sin(3.0 * t + np.arange(dof)) + 0.5 * np.sin(7.3 * t * (1.0 + 0.3 * np.arange(dof)))


def recorded(
    model: ist.Model,
    rows: int,
    *,
    noise: float = 0.0,
    seed: int = 0,
    start: tuple[float, ...] | None = None,
) -> ist.Motion:
    """A driven motion of `model`, its positions measured with `noise` but for the first row."""
    u = commands(rows, model.dof)
    q = np.zeros(model.dof) if start is None else np.array(start)
    clean = ist.rollout(model, ist.State(q, np.zeros(model.dof)), u[:-1], DT)
    error = noise * np.random.default_rng(seed).standard_normal(clean.q.shape)
    error[0] = 0.0
    return ist.Motion(clean.t, clean.q + error, clean.v, {"joint/control": u})


@functools.cache
def double_problem(loss: object = "windows", rows: int = 61, noise: float = 1e-3) -> ist.Problem:
    """Masses and damping of a double pendulum."""
    truth = DOUBLE.set("link/mass", [1.2, 0.7])
    free = [ist.Free("link/*/mass", low=0.3, high=3.0), ist.Free("joint/*/damping", high=1.0)]
    kind = ist.Windows(20) if loss == "windows" else loss
    return ist.Problem(
        DOUBLE, recorded(truth, rows, noise=noise), free=free, loss=kind, noise=noise or 1e-3
    )
