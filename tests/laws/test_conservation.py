"""What physics keeps: momentum of a floating mechanism, energy, the length of quaternions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import State, compile_model, rollout
from isthmus.dynamics import momentum
from isthmus.model.coordinates import rate
from tests import trees
from tests.compiled import energy, forward_dynamics, inverse_dynamics, mass_matrix

INTEGRATORS = [("semi_implicit", 1), ("explicit_euler", 1), ("rk4", 4)]
"""Every integrator with its order."""

TREE = compile_model(trees.random_tree(21, 6))
FLOATING = compile_model(trees.floating(gravity=(0.0, 0.0, 0.0)))
BALLS = compile_model(trees.pendulum(2, kind="spherical"))
SPRUNG = compile_model(
    trees.pendulum(2, kind="spherical", stiffness=(3.0, 5.0, 8.0), rest=(0.6, 0.3, -0.5, 0.2))
)


@pytest.mark.smoke
def test_forward_dynamics_undoes_inverse_dynamics(key):
    state = State.random(TREE, key)
    a, force = jax.random.normal(key, (TREE.dof,)), jax.random.normal(key, (6, 6))
    tau = inverse_dynamics(TREE, state.q, state.v, a, force=force)
    found = forward_dynamics(TREE, state.q, state.v, tau, force=force)
    np.testing.assert_allclose(found, a, rtol=1e-9, atol=1e-9)


def test_the_mass_matrix_is_the_derivative_of_inverse_dynamics(key):
    state = State.random(TREE, key)
    a = jax.random.normal(key, (TREE.dof,))
    H = jax.jit(jax.jacfwd(lambda a: inverse_dynamics(TREE, state.q, state.v, a)))(a)
    found = mass_matrix(TREE, state.q)
    np.testing.assert_allclose(found, H, rtol=0.0, atol=1e-10 * np.max(np.abs(H)))
    np.testing.assert_allclose(found, found.T, rtol=0.0, atol=1e-12 * np.max(np.abs(H)))
    assert np.min(np.linalg.eigvalsh(found)) > 0.0


@jax.jit
def rate_of_momentum(q, v, tau):
    """`dh/dt` along the motion."""
    a = forward_dynamics(FLOATING, q, v, tau)
    return jax.jvp(lambda q, v: momentum(FLOATING, q, v), (q, v), (rate(FLOATING, q, v), a))[1]


def test_the_momentum_of_a_floating_mechanism_does_not_change(key):
    for k in jax.random.split(key, 5):
        state = State.random(FLOATING, k)
        tau = jnp.concatenate([jnp.zeros(6), jax.random.normal(k, (4,))])  # motors push both ways
        np.testing.assert_allclose(rate_of_momentum(state.q, state.v, tau), 0.0, atol=1e-10)


def test_a_push_from_outside_changes_the_momentum_by_itself(key):
    """Five newtons on the trunk along the world's x: the linear momentum grows by five each second."""
    state = State.random(FLOATING, key)
    tau = jnp.zeros(10).at[0].set(5.0)
    np.testing.assert_allclose(
        rate_of_momentum(state.q, state.v, tau)[3:], [5.0, 0.0, 0.0], atol=1e-10
    )


def drift_at_two_steps(model, start, integrator, seconds, measure) -> tuple[float, float]:
    """Largest change of `measure(q, v)` in so many seconds: taken in 80 steps and in 160."""
    many = jax.jit(jax.vmap(measure))

    def change(steps: int) -> float:  # always 160 steps, so that one compiled rollout serves both
        motion = rollout(model, start, None, seconds / steps, steps=160, integrator=integrator)
        values = np.asarray(many(motion.q, motion.v))[: steps + 1]
        return float(np.max(np.abs(values - values[:1])))

    return change(80), change(160)


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_halving_the_step_shrinks_the_drift_of_momentum_by_the_order(integrator, order, key):
    start = State.random(FLOATING, key, speed=2.0)
    h = lambda q, v: momentum(FLOATING, q, v)
    coarse, fine = drift_at_two_steps(FLOATING, start, integrator, 0.4, h)
    assert np.log2(coarse / fine) > order - 0.3


HINGES = compile_model(trees.pendulum(2))


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
@pytest.mark.parametrize("model", [HINGES, SPRUNG], ids=["hinges", "springs"])
def test_halving_the_step_shrinks_the_drift_of_energy_by_the_order(integrator, order, model, key):
    start = State.random(model, key, speed=2.0)
    E = lambda q, v: energy(model, q, v)
    coarse, fine = drift_at_two_steps(model, start, integrator, 0.4, E)
    assert np.log2(coarse / fine) > order - 0.3


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_halving_the_step_shrinks_the_error_of_the_motion_by_the_order(integrator, order, key):
    start = State.random(BALLS, key, speed=2.0)
    exact = rollout(BALLS, start, None, 0.2 / 640, steps=640, integrator="rk4").q[-1]

    def error(steps: int):
        motion = rollout(BALLS, start, None, 0.2 / steps, steps=640, integrator=integrator)
        return jnp.linalg.norm(motion.q[steps] - exact)

    assert abs(float(jnp.log2(error(80) / error(160))) - order) < 0.25


def test_a_spring_of_a_ball_joint_holds_its_rest_position():
    """Without gravity nothing moves there, and energy is least."""
    model = SPRUNG.set("gravity", 0.0)
    rest = State(model.joint_rest_position / np.linalg.norm([0.6, 0.3, -0.5, 0.2]), np.zeros(6))
    motion = rollout(model, rest, None, 1e-2, steps=20)
    np.testing.assert_allclose(motion.v, 0.0, atol=1e-12)
    np.testing.assert_allclose(energy(model, rest), 0.0, atol=1e-20)


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_quaternions_stay_of_unit_length_over_a_hundred_thousand_steps(integrator, key):
    model = compile_model(trees.random_tree(3, 1, kinds=("free",))).set("gravity", 0.0)
    start = State.random(model, key, speed=3.0)
    last = rollout(model, start, None, 1e-3, steps=100_000, integrator=integrator).q[-1000:, 3:]
    assert float(jnp.max(jnp.abs(jnp.linalg.norm(last, axis=1) - 1.0))) < 1e-12
