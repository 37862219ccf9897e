"""Long code is compiled in haste first, and again with care once it has run for long; the bits stay the same."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist
from isthmus.native.runtime import call


def test_a_draft_gives_way_to_careful_code_with_the_same_bits(monkeypatch):
    monkeypatch.setattr(call, "DRAFT", 10)
    monkeypatch.setattr(call, "DRAFT_SECONDS", 1e3)  # however busy the machine is
    slope = jax.value_and_grad(lambda x: jnp.sum(jnp.sin(x) * jnp.exp(-x * x)))
    x = np.linspace(-1.0, 1.0, 9)
    f = ist.native.compile(slope, x)
    many = np.stack([x, 2.0 * x, 3.0 * x])
    first, side_by_side = f(x), f.map(many)
    assert f.code(1).draft
    assert f.code(f.lanes).draft
    monkeypatch.setattr(call, "DRAFT_SECONDS", 0.0)
    again, mapped = f(x), f.map(many)
    assert not f.code(1).draft
    assert not f.code(f.lanes).draft
    jax.tree.map(np.testing.assert_array_equal, (first, side_by_side), (again, mapped))
    jax.tree.map(np.testing.assert_array_equal, f(x), first)
