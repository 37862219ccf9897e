"""Random numbers of JAX's keys by NumPy are those of JAX."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from isthmus import draws


@pytest.mark.parametrize(("wide", "rounding"), [(True, 1e-13), (False, 1e-4)])
def test_numbers_are_those_of_jax(wide, rounding):
    with jax.enable_x64(wide):
        for seed in (0, 7, 2**31):
            key = jax.random.fold_in(jax.random.key(seed), 3)
            drawn, wanted = draws.uniform(key, 9, -1.0, 2.0), jax.random.uniform(key, (9,))
            np.testing.assert_allclose(drawn, 3.0 * wanted - 1.0, atol=0.01 * rounding)
            drawn, wanted = draws.normal(key, (4, 3)), jax.random.normal(key, (4, 3))
            assert drawn.dtype == wanted.dtype
            np.testing.assert_allclose(drawn, wanted, rtol=rounding, atol=rounding)


def test_no_numbers_are_no_fault():
    assert draws.normal(jax.random.key(0), (0, 3)).shape == (0, 3)
