"""Displacements of rows of measured positions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist
from isthmus.model.coordinates import minus, minus_rows


def test_displacements_of_rows_are_those_of_single_positions_and_nan_stays():
    model = ist.library.quadruped()
    q = np.stack([np.asarray(ist.State.random(model, k).q) for k in range(4)])
    one = jax.jit(lambda a, b: minus(model, a, b))
    wanted = [one(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(q[1:], q[:-1], strict=True)]
    np.testing.assert_allclose(minus_rows(model, q[1:], q[:-1]), wanted, atol=1e-12)
    q[3] = np.nan
    found = minus_rows(model, q[1:], q[:-1])
    assert np.isnan(found[2]).all()
    np.testing.assert_allclose(found[:2], wanted[:2], atol=1e-12)
