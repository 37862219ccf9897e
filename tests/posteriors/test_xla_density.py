"""The density inside XLA is that of NumPy: values and gradients, whatever a problem's windows and numbers are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.posteriors.density import Density
from isthmus.posteriors.xla_density import Frame, log_density_of

MASS, DAMPING = ist.Free("link/*/mass", 0.2, 3.0), ist.Free("joint/*/damping", 0.0)
STARTS = ist.Free("start/position", prior=(0.0, 0.1))


@pytest.fixture(scope="module")
def swing() -> tuple[ist.Model, ist.Motion]:
    model = ist.library.pendulum(1, damping=0.2)
    torque = 2.0 * np.sin(0.1 * np.arange(60))[:, None]
    return model, ist.rollout(model, ist.State([0.5], [0.0]), torque, 0.02)


@pytest.mark.parametrize(
    ("free", "options"),
    [
        ([MASS, STARTS], {"loss": ist.Windows(20), "substeps": 8}),
        ([MASS, DAMPING], {"loss": ist.MultipleShooting(20)}),
    ],
    ids=["numbers of a large step, free starts", "multiple shooting"],
)
def test_the_density_inside_xla_is_that_of_numpy(swing, free, options):
    model, motion = swing
    density = Density.of(ist.Problem(model, [motion], free=free, noise=0.01, **options).evaluation)
    rng, n = np.random.default_rng(0), density.size
    back, W = np.eye(n) + 0.1 * rng.standard_normal((n, n)), 0.1 * rng.standard_normal((5, n))
    windows = jax.tree.map(jnp.asarray, density.inner.windows)
    frame = Frame(jnp.asarray(density.start), jnp.asarray(back), windows)
    both = jax.vmap(jax.value_and_grad(log_density_of(density)), in_axes=(0, None))
    value, gradient = jax.jit(both)(jnp.asarray(W), frame)
    cost, slope = density.gradient(density.start + W @ back.T)
    np.testing.assert_allclose(value, -cost, rtol=1e-12)
    np.testing.assert_allclose(gradient, -slope @ back, rtol=1e-9, atol=1e-9 * np.abs(slope).max())
