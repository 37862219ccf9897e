"""A textbook ABA with 6×6 spatial matrices, for tests of native code that need a mechanism."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def skew(r):
    x, y, z = r
    zero = jnp.zeros_like(x)
    return jnp.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])


def about_x(q):
    c, s = jnp.cos(q), jnp.sin(q)
    return jnp.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]])


def plucker(E, r):
    return jnp.block([[E, jnp.zeros((3, 3))], [-E @ skew(r), E]])


def spatial_inertia(mass, com, inertia):
    C = skew(com)
    return jnp.block([[inertia + mass * C @ C.T, mass * C], [mass * C.T, mass * jnp.eye(3)]])


def cross_motion(v):
    return jnp.block([[skew(v[:3]), jnp.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


S = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
GRAVITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.81])


def forward_dynamics(masses, lengths, q, v, tau, inertia=0.009, joints=None):
    """A chain of hinges about x; centre of mass at (0, length, 0) of each link, as is the next joint
    unless `joints` says otherwise."""
    n = len(q)
    joints = lengths if joints is None else joints
    X, vs, cs, IA, pA = [], [], [], [], []
    for i in range(n):
        offset = jnp.array([0.0, joints[i - 1], 0.0]) if i else jnp.zeros(3)
        X.append(plucker(about_x(q[i]), offset))
        vi = S * v[i] if i == 0 else X[i] @ vs[i - 1] + S * v[i]
        vs.append(vi)
        cs.append(cross_motion(vi) @ (S * v[i]))
        I = spatial_inertia(masses[i], jnp.array([0.0, lengths[i], 0.0]), inertia * jnp.eye(3))
        IA.append(I)
        pA.append(-cross_motion(vi).T @ (I @ vi))
    U, d, u = [None] * n, [None] * n, [None] * n
    for i in reversed(range(n)):
        U[i] = IA[i] @ S
        d[i] = S @ U[i]
        u[i] = tau[i] - S @ pA[i]
        if i:
            Ia = IA[i] - jnp.outer(U[i], U[i]) / d[i]
            pa = pA[i] + Ia @ cs[i] + U[i] * (u[i] / d[i])
            IA[i - 1] = IA[i - 1] + X[i].T @ Ia @ X[i]
            pA[i - 1] = pA[i - 1] + X[i].T @ pa
    qdd, a = [], GRAVITY
    for i in range(n):
        a = X[i] @ a + cs[i]
        qdd.append((u[i] - U[i] @ a) / d[i])
        a = a + S * qdd[i]
    return jnp.stack(qdd)


def rollout(masses, lengths, q, v, steps, dt=0.01, joints=None):
    """Semi-implicit Euler from (q, v); the positions before each step."""

    def step(state, _):
        q, v = state
        v = v + dt * forward_dynamics(masses, lengths, q, v, jnp.zeros_like(q), joints=joints)
        return (q + dt * v, v), q

    return jax.lax.scan(step, (q, v), None, length=steps)


def final_loss(steps):
    """θ = (lengths, masses) -> a loss on the final state of a pendulum that starts horizontal."""

    def loss(theta):
        n = len(theta) // 2
        (q, v), _ = rollout(theta[n:], theta[:n], jnp.zeros(n), jnp.zeros(n), steps)
        return jnp.sum(q**2) + jnp.sum(v**2)

    return loss


def path(lengths, steps=500):
    """Positions of the pendulum of problem (c): joint 2 at distance l₂ from joint 1."""
    zero = jnp.zeros(2)
    return rollout(jnp.ones(2), lengths, zero, zero, steps, joints=lengths[1:])[1]


def path_loss(target, steps=500):
    """The loss of problem (c): mean squared distance of positions to a recorded path."""

    def loss(lengths):
        return jnp.sum((target - path(lengths, steps)) ** 2) / steps

    return loss
