"""The double pendulum that everybody can check: two rods, 1 kg, 1 m, hinged about y, from (0.8, 0.4)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import State, compile_model, rollout
from tests import trees

START = State(np.array([0.8, 0.4]), np.zeros(2))
ONES = jnp.ones(2)


def end(masses, lengths):
    """The state after 500 plain semi-implicit steps of 0.01 s."""
    model = compile_model(trees.rods([*masses], [*lengths]))
    last = rollout(model, START, None, 0.01, steps=500, explicit=True).state(-1)
    return jnp.concatenate([last.q, last.v])


@pytest.mark.smoke
def test_the_reference_double_pendulum_ends_where_it_must_with_the_gradient_it_must():
    loss = lambda masses, lengths: (lambda x: (jnp.sum(jnp.square(x)), x))(end(masses, lengths))
    (value, final), (by_mass, by_length) = jax.jit(
        jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    )(ONES, ONES)
    np.testing.assert_allclose(value, 1.79412, atol=5e-6)
    np.testing.assert_allclose(final, [0.88602, 0.04533, -0.39446, -0.92273], atol=5e-6)
    np.testing.assert_allclose(by_mass, [-10.5435, 10.5435], atol=5e-5)
    np.testing.assert_allclose(by_length, [26.6862, 9.0085], atol=5e-5)


def test_without_friction_and_stops_the_default_scheme_is_the_plain_one():
    model = compile_model(trees.pendulum(2))
    plain, usual = (rollout(model, START, None, 0.01, steps=50, explicit=e) for e in (True, False))
    np.testing.assert_allclose(plain.q, usual.q, rtol=1e-14)
