"""What a network's answer does to the step: freely, or under a law that no weights can break.

A law is a function `(wired, signals, answer) -> Effect`. It is called once in an evaluation, when the first
signal that the wire acts on is computed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.model.coordinates import plus
from isthmus.networks.wired import Plan, Wired
from isthmus.spatial import rotations
from isthmus.spatial.products import mmt, mtv, mv
from isthmus.types import AnyArray

CONJUGATE = {
    "joint/passive_torque": "joint/velocity",
    "link/external_force": "link/velocity",
    "contact/friction_force": "contact/velocity",
}
"""Force -> the velocity, in the same frame, whose product with it is power."""


@dataclasses.dataclass
class Effect:
    """What a wire adds, for each signal that it acts on; and what an implicit step must know of it."""

    of: dict[str, AnyArray]
    damping: dict[str, AnyArray] = dataclasses.field(default_factory=dict)
    """`D` of a force `−D v`: its diagonal, in the whole shape of the signal; a block (6, 6) for each link; or, where it
    couples rows, the axes of the signal twice: (dof, dof), (links, 6, links, 6)."""
    inertia: AnyArray | None = None
    """Inertia added in joint space, (dof, dof)."""


def free(wired: Wired, signals: Any, y: AnyArray) -> Effect:
    """The network's answer, unchanged."""
    return Effect({wired.plan.target: wired.in_rows(y)})


def dissipative(wired: Wired, signals: Any, y: AnyArray) -> Effect:
    """`−D v` with D ≥ 0: each number's own, or one matrix for what the network sees; power is never positive."""
    plan = wired.plan
    speed = jnp.asarray(signals[CONJUGATE[plan.target]])
    rows = np.array(plan.rows, dtype=np.int32)
    v = speed[rows]
    if plan.coupled and plan.numbers > 1:
        units = v.reshape(-1, plan.numbers)
        L, d = jax.vmap(lambda y: _factors(y, plan.numbers))(y.reshape(len(units), -1))
        force = -mv(L, d * mtv(L, units)).reshape(v.shape)  # exactly zero where Lᵀv is
        D = _in_whole(speed, rows, plan, mmt(L * d[:, None, :], L))
    else:
        strength = wired.in_rows(jnp.maximum(y, 0.0))
        force = -strength * v
        D = jnp.zeros_like(speed).at[rows].set(strength)
    return Effect({plan.target: force}, {plan.target: D})


def _in_whole(speed: AnyArray, rows: np.ndarray, plan: Plan, D: AnyArray) -> AnyArray:
    """Matrices for each unit of a wire, as `Effect.damping` has them."""
    if speed.ndim == 2 and not plan.couples_joints:
        return jnp.zeros((*speed.shape, speed.shape[1]), speed.dtype).at[rows].set(D)
    at = np.arange(speed.size, dtype=np.int32).reshape(speed.shape)[rows].reshape(D.shape[:2])
    whole = jnp.zeros((speed.size, speed.size), speed.dtype)
    return whole.at[at[:, :, None], at[:, None, :]].set(D).reshape(speed.shape * 2)


def conservative(wired: Wired, signals: Any, y: AnyArray) -> Effect:
    """`−∂V/∂q` of the learned potential V, along displacements of the joints: loops do no work."""
    q = jnp.asarray(signals["joint/position"])
    model = signals.model

    def potential(d: AnyArray) -> AnyArray:
        answer, _ = wired.answer({"joint/position": plus(model, q, d)}, None, None)
        return jnp.sum(answer)

    force = -jax.grad(potential)(jnp.zeros(model.dof, q.dtype))
    return Effect({wired.plan.target: force[np.array(wired.plan.rows, dtype=np.int32)]})


def internal(wired: Wired, signals: Any, y: AnyArray) -> Effect:
    """A wrench on one link, in its frame, and its opposite on another: no momentum comes from it."""
    pose = jnp.asarray(signals["link/pose"])
    a, b = wired.plan.links or (0, 0)
    (p_a, R_a), (p_b, R_b) = ((pose[i, :3], rotations.matrix(pose[i, 3:])) for i in (a, b))
    moment, force = R_a @ y[:3], R_a @ y[3:]
    there = moment + jnp.cross(p_a - p_b, force)
    return Effect(
        {wired.plan.target: jnp.stack([y, -jnp.concatenate([R_b.T @ there, R_b.T @ force])])}
    )


def lagrangian(wired: Wired, signals: Any, y: AnyArray) -> Effect:
    """Inertia `A(q) ≥ 0` added in joint space, with its Coriolis terms `Ȧ v − ½ ∂(vᵀA v)/∂q`."""
    q, v = jnp.asarray(signals["joint/position"]), jnp.asarray(signals["joint/velocity"])
    rows = np.array(wired.plan.rows, dtype=np.int32)
    v_rows = v[rows]

    def momentum(q: AnyArray) -> AnyArray:
        answer, _ = wired.answer({"joint/position": q}, None, None)
        answer = answer.reshape(-1)
        if wired.plan.couples_joints:
            return _semidefinite(answer, len(rows)) @ v_rows
        return jnp.maximum(answer, 0.0) * v_rows

    _, changing = jax.jvp(momentum, (q,), (v,))
    energy_slope = jax.grad(lambda q: 0.5 * jnp.dot(v_rows, momentum(q)))(q)
    torque = jnp.zeros_like(v).at[rows].add(-changing) + energy_slope
    if not wired.plan.couples_joints:
        return Effect(
            {"joint/armature": jnp.maximum(y.reshape(-1), 0.0), "joint/passive_torque": torque}
        )
    A = (
        jnp.zeros((len(v), len(v)), v.dtype)
        .at[np.ix_(rows, rows)]
        .set(_semidefinite(y.reshape(-1), len(rows)))
    )
    nothing = jnp.zeros(len(rows), v.dtype)
    return Effect({"joint/armature": nothing, "joint/passive_torque": torque}, inertia=A)


def triangle(n: int) -> int:
    """How many numbers a symmetric matrix of `n` rows has."""
    return n * (n + 1) // 2


def _factors(y: AnyArray, n: int) -> tuple[AnyArray, AnyArray]:
    """`L`, lower triangular with ones on its diagonal, and `max(d, 0)` of `D = L max(d, 0) Lᵀ`."""
    return jnp.eye(n, dtype=y.dtype).at[np.tril_indices(n, -1)].set(y[n:]), jnp.maximum(y[:n], 0.0)


def _semidefinite(y: AnyArray, n: int) -> AnyArray:
    """`L max(d, 0) Lᵀ`: zero where `d` is, yet with a slope there."""
    L, d = _factors(y, n)
    return (L * d[None]) @ L.T


LAWS: dict[str, Callable[[Wired, Any, AnyArray], Effect]] = {
    "free": free,
    "dissipative": dissipative,
    "conservative": conservative,
    "internal": internal,
    "lagrangian": lagrangian,
}
