"""What torques can tell is found and said in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.errors import BadShape
from isthmus.identify.torque.base_parameters import base_parameters


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 6), st.floats(-6, 6))
def test_combinations_keep_every_product_whatever_the_scales(seed, rank, more, decades):
    draw = np.random.default_rng(seed)
    W = draw.normal(size=(40, rank)) @ draw.normal(size=(rank, rank + more))
    W = W * 10.0 ** draw.uniform(-abs(decades), 0.0, rank + more)
    order = draw.permutation(rank + more)
    found = base_parameters(W[:, order].reshape(8, 5, -1))
    assert len(found) <= rank
    pi = draw.normal(size=rank + more)
    np.testing.assert_allclose(found.matrix() @ pi, found.of(pi))
    kept = W[:, order][:, list(found.own)] @ found.of(pi)
    scale = np.abs(W[:, order]) @ np.abs(pi)
    assert np.all(np.abs(kept - W[:, order] @ pi) < 1e-5 * scale.max())


def test_as_many_combinations_as_the_rank_and_zeros_are_not_felt():
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(2, 30))
    found = base_parameters(
        np.stack([a, 0 * a, b, a - 2 * b], axis=1), ["m of 'x'", "n", "m of 'y'", "m of 'z'"]
    )
    assert [found.words(k) for k in range(2)] == ["m of 'x' + m of 'z'", "m of 'y' − 2 m of 'z'"]
    assert [found.short(k) for k in range(2)] == ["m of 'x' and 1 more", "m of 'y' and 1 more"]
    assert found.unfelt == ("n",)
    assert "2 combinations of 4 parameters are felt" in str(found)
    assert "not felt at all: n" in str(found)


def test_a_motion_that_tells_nothing_has_no_combinations():
    found = base_parameters(np.zeros((5, 3)))
    assert (len(found), found.unfelt) == (0, ("parameter 0", "parameter 1", "parameter 2"))


def test_names_must_be_as_many_as_columns():
    with pytest.raises(BadShape, match="2 names for 3 columns"):
        base_parameters(np.ones((5, 3)), ["a", "b"])
