"""Whole vectors `q` and `v`: `q ⊕ d`, differences, rates, and the coordinates of mimicking joints."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from isthmus.describe.checks import ONE_COORDINATE
from isthmus.model.model import Model
from isthmus.types import AnyArray, Coordinates, Joints


def single(model: Model) -> np.ndarray:
    """Which degrees of freedom are those of revolute and prismatic joints."""
    out = np.zeros(model.dof, dtype=bool)
    for name, rows in model.rows("dof").items():
        out[list(rows)] = model.joint_kinds[model.joint(name)] in ONE_COORDINATE
    return out


def plus(model: Model, q: Coordinates, d: Joints) -> Coordinates:
    """`q ⊕ d`: where a displacement `d = v dt` leads; quaternions stay of unit length."""
    return _by_joint(model, lambda kind, q, d: kind.plus(q, d), q, d, default=lambda: q + d)


def minus(model: Model, a: Coordinates, b: Coordinates) -> Joints:
    """The displacement `d` with `b ⊕ d = a`; the shortest one for rotations."""
    return _by_joint(model, lambda kind, a, b: kind.minus(a, b), a, b, default=lambda: a - b)


def minus_rows(model: Model, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`minus` of rows of measured positions, (rows, nq) -> (rows, dof), without waiting for a compiler; NaN stays."""
    if model.nq == model.dof:
        return a - b
    from scipy.spatial.transform import Rotation  # heavy, and only for quaternions

    known = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    turned = lambda q: Rotation.from_quat(q[known], scalar_first=True)
    out = np.full((len(a), model.dof), np.nan)
    for i, ((start, stop), (first, last)) in enumerate(
        zip(model.layout.q_own, model.layout.v_own, strict=True)
    ):
        turn = slice(stop - 4, stop) if model.kind(i).nq > model.kind(i).nv else slice(stop, stop)
        shift = slice(start, turn.start)
        out[:, first : first + turn.start - start] = a[:, shift] - b[:, shift]
        if turn.start < stop:
            relative = turned(b[:, turn]).inv() * turned(a[:, turn])
            out[known, last - 3 : last] = relative.as_rotvec()
    return out


def torque(model: Model, d: Joints, f: Joints) -> Joints:
    """The torques that do the work of forces `f` on a displacement `d = minus(a, b)` when `a` moves."""
    if model.nq == model.dof:
        return f
    spans = [(i, slice(*span)) for i, span in enumerate(model.layout.v_own) if span[0] < span[1]]
    return jnp.concatenate([model.kind(i).torque(d[rows], f[rows]) for i, rows in spans])


def rate(model: Model, q: Coordinates, v: Joints) -> Coordinates:
    """`dq/dt` as plain numbers."""
    return _by_joint(model, lambda kind, q, v: kind.rate(q, v), q, v, default=lambda: v)


def normalise(model: Model, q: Coordinates) -> Coordinates:
    """`q` with its quaternions at unit length."""
    return _by_joint(model, lambda kind, q, _: kind.normalise(q), q, q, default=lambda: q)


def _by_joint(
    model: Model, f: Callable, a: AnyArray, b: AnyArray, *, default: Callable
) -> AnyArray:
    """`f` for each run of joints; `default` where all coordinates are plain numbers."""
    if model.nq == model.dof:
        return default()
    spans_q, spans_v = model.layout.q_own, model.layout.v_own
    parts = []
    for i, (span_q, span_v) in enumerate(zip(spans_q, spans_v, strict=True)):
        if span_q[0] < span_q[1]:
            span_b = span_q if b.shape[-1] == model.nq else span_v
            parts.append(f(model.kind(i), a[slice(*span_q)], b[slice(*span_b)]))
    return jnp.concatenate(parts)


def expand_q(model: Model, q: Coordinates) -> AnyArray:
    """Positions of all joints, mimicking ones included."""
    if not model.mimics:
        return jnp.asarray(q)
    rows = _mimic_rows(model)
    full = jnp.asarray(q)[np.array(model.layout.q_source)]
    return full.at[rows].set(model.mimic_multiplier * full[rows] + model.mimic_offset)


def expand_v(model: Model, v: Joints) -> AnyArray:
    """Velocities of all joints, mimicking ones included."""
    if not model.mimics:
        return jnp.asarray(v)
    rows = _mimic_rows(model)
    full = jnp.asarray(v)[np.array(model.layout.v_source)]
    return full.at[rows].set(model.mimic_multiplier * full[rows])


def reduce_torque(model: Model, tau: AnyArray) -> Joints:
    """Torques of all joints as torques on the independent ones: same power."""
    if not model.mimics:
        return tau
    rows = _mimic_rows(model)
    tau = jnp.asarray(tau)
    scaled = tau.at[rows].set(model.mimic_multiplier * tau[rows])
    return jnp.zeros(model.dof, tau.dtype).at[np.array(model.layout.v_source)].add(scaled)


def _mimic_rows(model: Model) -> np.ndarray:
    """Expanded row of each mimicking joint: they have one coordinate each."""
    return np.array([model.layout.v[i][0] for i, _ in model.mimics])
