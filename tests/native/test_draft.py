"""Code that is compiled in haste gives the same bits as code that is optimised."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist
from isthmus.dynamics import forward_dynamics
from isthmus.library import pendulum
from isthmus.native.runtime import call
from isthmus.native.targets.llvm.machine_code import VARIABLE
from tests.native.support import assert_same_bits


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


def test_code_is_the_same_without_optimisation(monkeypatch):
    """What the tests run by default is what users have: a gradient through the dynamics, alone and in lanes."""
    model = pendulum(3)
    start, at_rest = np.linspace(-1.0, 1.0, 3), jnp.zeros(3)
    rate = lambda q: jnp.sum(forward_dynamics(model, q, at_rest, at_rest) ** 2)
    found = []
    for setting in ("0", ""):
        monkeypatch.setenv(VARIABLE, setting)
        f = ist.native.compile(jax.value_and_grad(rate), start)
        found.append((f(start), f.map(np.stack([start, 0.3 * start, -start]))))
    assert_same_bits(*found)
