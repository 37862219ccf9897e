"""Contacts that do not act change nothing, cost little code, and a sweep is the same in a loop and written out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.contact import few
from isthmus.contact.few import FEW
from isthmus.contact.meeting import meeting_of, yielding
from isthmus.contact.solution import ContactProblem, Method, solution
from isthmus.contact.solve import _one_after_another, _written_out
from isthmus.native import compile

DOF, MANY = 5, 2 * (FEW + 2)
RNG = np.random.default_rng(5)
HALF = np.eye(DOF) + 0.2 * RNG.normal(size=(DOF, DOF))
J = RNG.normal(size=(MANY, 3, DOF))
C = RNG.normal(size=(MANY, 3)) - np.array([1.5, 0.0, 0.0])
FRICTION = RNG.uniform(0.2, 0.8, MANY)
SOME = np.array([0, 3, 6, 10])  # with the first one, whose row fills what is not used


def outcome(method, rows, active, c):
    """Impulses of the contacts `rows`, of which some are `active`, and the jump they make."""
    mass = yielding(ist.library.pendulum(1), HALF @ HALF.T, coupled=True)
    meeting = meeting_of(mass, jnp.asarray(J[rows].reshape(-1, DOF)), np.full(3 * len(rows), 0.05))
    bounce = np.full(len(rows), 0.1)
    problem = ContactProblem(
        meeting, c.at[:, 0].multiply(1.1), c, FRICTION[rows], bounce, active, 0.0 * c
    )
    found = solution(method, problem)
    return found.p, found.jump


@pytest.mark.parametrize(
    "method", [Method("impact", 200, 8), Method("b", 400, 0)], ids=["disc", "box"]
)
def test_contacts_that_do_not_act_change_nothing(method, monkeypatch):
    """Those that act are few, some, or more than these."""
    monkeypatch.setattr(few, "SOME", FEW + 2)
    d, weights = (np.random.default_rng(0).normal(size=x) for x in (C.shape, DOF))
    numbers = np.arange(MANY)

    def of_all(active, c):
        """The impulses, the jump, and how the jump, weighted, changes along `d`."""
        jump, back, p = jax.vjp(
            lambda c: outcome(method, numbers, active, c)[::-1], c, has_aux=True
        )
        return p, jump, jnp.sum(back(jnp.asarray(weights))[0] * d)

    every = compile(of_all, np.ones(MANY, bool), C)
    for rows in (SOME, numbers[1 : FEW + 3]):
        alone = compile(
            lambda c, rows=rows: outcome(method, rows, np.ones(len(rows), bool), c), C[rows]
        )
        p, jump, _ = every(np.isin(numbers, rows), C)
        expected = alone(C[rows])
        assert np.count_nonzero(expected[0]) > 3
        np.testing.assert_allclose(p[rows], expected[0], atol=1e-9)
        np.testing.assert_allclose(np.delete(p, rows, axis=0), 0.0)
        np.testing.assert_allclose(jump, expected[1], atol=1e-9)
    for count in (FEW, FEW + 2, FEW + 4):
        active = numbers < count
        ahead, behind = (every(active, C + h * d)[1] for h in (1e-5, -1e-5))
        slope = every(active, C)[2]
        np.testing.assert_allclose(slope, weights @ (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-6)


def test_a_sweep_in_a_loop_is_that_which_is_written_out():
    rows = J.reshape(-1, DOF)
    G, g = jnp.asarray(np.eye(3 * MANY) - 0.1 * rows @ rows.T), jnp.asarray(-0.1 * C)
    p = jnp.abs(np.random.default_rng(2).normal(size=(MANY, 3)))
    loop, straight = (
        jax.jit(lambda p, sweep=sweep: sweep(G, g, jnp.asarray(FRICTION))(p))(p)
        for sweep in (_one_after_another, _written_out)
    )
    np.testing.assert_allclose(loop, straight, rtol=1e-12, atol=1e-13)


def test_code_hardly_grows_with_the_pairs():
    row = ist.Builder("row")
    for k in range(5):
        row.add_link(f"ball{k}", mass=1.0, inertia=(0.01,) * 3)
        row.add_joint_prismatic(
            f"rail{k}", None, f"ball{k}", axis=(1.0, 0.0, 0.0), position=(k, 0.0, 0.0)
        )
        row.add_shape_sphere(f"ball{k}", 0.1, name=f"ball{k}")
    balls = row.model()

    def operations(count):
        pairs = balls.pairs("*", "*")[:count]
        model = ist.with_contact(balls, ist.Contact(shapes="ball*"), pairs=pairs)
        state = ist.State(np.zeros(5), np.zeros(5))
        return compile(lambda s: ist.step(model, s, None, 1e-3), state).stats.operations

    assert operations(FEW + 2) < 1.1 * operations(FEW + 1)
