"""The search for impulses starts from those of the last step, which a state remembers."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.contact import solve
from tests.contact.bodies import at, ball, block
from tests.contact.pairs.test_laws import stack

DT = 1e-3


def lying():
    """A block on the ground."""
    return block("impulse"), at((0.0, 0.0, 0.05))


def stacked():
    """Two boxes on each other."""
    return stack(2, [1.0, 1.0], [0.05, 0.15], side=0.001)


@pytest.mark.filterwarnings("ignore:the impulses")
@pytest.mark.parametrize("body", [lying, pytest.param(stacked, marks=pytest.mark.slow)])
def test_the_same_sweeps_come_nearer_from_the_impulses_of_the_last_step(body, monkeypatch):
    monkeypatch.setattr(solve, "ROUNDS", 1)
    model, state = body()
    few = ist.with_contact(model, sweeps=2, newton=0)
    rolled = lambda start: ist.rollout(few, start, None, DT, steps=61, record="contact/residual")
    known = rolled(state)
    fresh = rolled(ist.State(known.q[60], known.v[60]))
    residuals = [motion.signals["contact/residual"] for motion in (known, fresh)]
    assert residuals[0][60] < 0.1 * residuals[1][0]


@pytest.fixture(scope="module")
def resting():
    """A ball that rolls on the ground, as some steps have left it."""
    model, state = ball("impulse"), at((0.0, 0.0, 0.1), v=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for _ in range(5):
        state = ist.step(model, state, None, DT)
    assert np.abs(state.memory["impulses"]).max() > 0.0
    return model, state


def test_a_step_and_its_derivative_are_those_from_a_state_that_remembers_nothing(resting):
    model, state = resting

    def after(q, v, memory):
        return ist.step(model, ist.State(q, v, memory), None, DT).v

    slopes = ist.native.compile(
        lambda *x: (after(*x), jax.jacfwd(after, argnums=(0, 1))(*x)),
        state.q,
        state.v,
        state.memory,
    )
    fresh = {"impulses": np.zeros((1, 3))}
    known, unknown = (jax.tree.leaves(slopes(state.q, state.v, m)) for m in (state.memory, fresh))
    for x, y in zip(known, unknown, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-9)


@pytest.mark.parametrize("last", [np.full((1, 3), np.nan), np.ones((2, 3)), None])
def test_damaged_and_foreign_memories_count_as_none(resting, last):
    model, state = resting
    memory = None if last is None else {"impulses": last}
    found = ist.step(model, ist.State(state.q, state.v, memory), None, DT)
    np.testing.assert_allclose(found.v, ist.step(model, state, None, DT).v, atol=1e-9)
    assert np.isfinite(found.memory["impulses"]).all()


def test_steps_rollouts_and_many_worlds_remember_alike(resting):
    model, state = resting
    here = state
    for _ in range(10):
        here = ist.step(model, here, None, DT)
    one = ist.rollout(model, state, None, DT, steps=10)
    pair = jax.tree.map(lambda x: np.stack([x, x]), state)
    many = ist.rollout_many(model, pair, None, DT, steps=10)
    for found in (one.v[-1], *many.v[:, -1]):
        np.testing.assert_allclose(found, here.v, atol=1e-12)


def test_the_order_of_problem_b_remembers_nothing():
    model = ball("impulse", order="b")
    assert ist.State.neutral(model).memory is None
    state = ist.step(
        model, ist.State(at((0, 0, 0.1)).q, np.zeros(6), {"impulses": np.ones((1, 3))}), None, DT
    )
    assert state.memory is None
