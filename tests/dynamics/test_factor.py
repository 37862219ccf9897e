"""The mass matrix, factorised from the leaves: its zeros, its product, and what it solves, with derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics import mass_matrix
from isthmus.dynamics.factor import factored, inverse_times

MODEL = ist.library.quadruped()
BACK, FRONT = slice(15, 18), slice(6, 9)


@pytest.fixture(scope="module")
def inertia():
    q = np.array([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0, *np.linspace(-0.6, 0.7, 12)])
    return ist.native.compile(lambda q: mass_matrix(MODEL, q), q)(q)


@pytest.mark.parametrize("dense", [False, True])
def test_the_product_of_the_factors_is_the_matrix_and_legs_do_not_meet(inertia, dense):
    parts = ist.native.compile(lambda H: factored(MODEL, H, dense), inertia)(inertia)
    L = parts.below + np.diag(1.0 / parts.inverse)
    np.testing.assert_allclose(L.T @ L, inertia, atol=1e-14)
    np.testing.assert_array_equal(L, np.tril(L))
    assert not np.any(L[BACK, FRONT])


def test_solving_with_the_factor_has_the_derivative_of_solving_with_the_matrix(inertia):
    x, dx = np.cos(np.arange(18.0)), np.sin(np.arange(18.0))
    dH = 0.01 * inertia * inertia
    ours = lambda H, x: inverse_times(H, factored(MODEL, jax.lax.stop_gradient(H)), x)
    run = ist.native.compile(lambda H, x: jax.jvp(ours, (H, x), (jnp.asarray(dH), dx)), inertia, x)
    y, dy = run(inertia, x)
    np.testing.assert_allclose(y, np.linalg.solve(inertia, x), rtol=1e-11)
    np.testing.assert_allclose(dy, np.linalg.solve(inertia, dx - dH @ y), rtol=1e-11)
