"""Impulses are differentiated right, in both modes, whether or not the sweeps have converged."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.contact.meeting import meeting_of, yielding
from isthmus.contact.solution import ContactProblem, Method, solution
from isthmus.contact.solve import SOLVED

DOF, CONTACTS = 3, 2
RNG = np.random.default_rng(3)
J = RNG.normal(size=(3 * CONTACTS, DOF))
C = RNG.normal(size=(CONTACTS, 3))
C[:, 0] -= 1.0
WEIGHTS = RNG.normal(size=3 * CONTACTS + DOF)
SIZES = (DOF * DOF, 3 * CONTACTS * DOF, 3 * CONTACTS, CONTACTS)
START = np.concatenate([np.eye(DOF).ravel(), J.ravel(), C.ravel(), [0.3, 0.6]])


def outcome(method, x):
    """Impulses and jump, as one array, and the residual; `x`: half of the inertia, Jacobian, velocities, friction."""
    half, J, c, friction = (part for part in jnp.split(x, np.cumsum(SIZES)[:-1]))
    half = half.reshape(DOF, DOF)
    soft = np.full(3 * CONTACTS, 0.05)
    mass = yielding(ist.library.pendulum(1), half @ half.T, coupled=True)
    meeting = meeting_of(mass, J.reshape(-1, DOF), soft)
    c = c.reshape(CONTACTS, 3)
    active = np.ones(CONTACTS, bool)
    found = solution(
        method, ContactProblem(meeting, c, c, friction, np.zeros(CONTACTS), active, 0.0 * c)
    )
    return jnp.concatenate([found.p.reshape(-1), found.jump]), found.off


@pytest.mark.parametrize(
    ("method", "solved"),
    [(Method("b", 3, 0), False), (Method("b", 500, 0), True), (Method("impact", 60, 4), True)],
    ids=["unconverged", "box", "disc"],
)
def test_impulses_move_as_differences_say(method, solved):
    along = jax.jit(lambda x, d: jax.jvp(lambda x: outcome(method, x), (x,), (d,)))
    slope = jax.jit(jax.grad(lambda x: WEIGHTS @ outcome(method, x)[0]))
    value = lambda x: WEIGHTS @ along(x, np.zeros_like(x))[0][0]
    assert (along(START, START)[0][1] < SOLVED) == solved
    reverse = slope(START)
    for d in np.random.default_rng(0).normal(size=(5, len(START))):
        h = 1e-6
        numeric = (value(START + h * d) - value(START - h * d)) / (2.0 * h)
        np.testing.assert_allclose(reverse @ d, numeric, rtol=1e-6, atol=1e-7)
        forward = WEIGHTS @ along(START, d)[1][0]
        np.testing.assert_allclose(forward, reverse @ d, rtol=1e-9, atol=1e-10)
