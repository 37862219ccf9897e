"""Code that needs a large stack runs on one of its own: in lanes, for one world, and under XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus.native import compile
from isthmus.native.targets.llvm import stack
from isthmus.native.targets.llvm.target import TARGET

X = np.linspace(0.1, 0.9, 12).reshape(4, 3)


def swing(x):
    return jnp.sum(jnp.sin(x) * jnp.roll(x, 1)), jnp.cumsum(x)


@pytest.fixture
def on_own_stack(monkeypatch):
    """Every function counts as large; the texts that were compiled."""
    monkeypatch.setattr(stack, "LARGE", 0)
    monkeypatch.setenv("ISTHMUS_CACHE", "off")
    texts = []
    build = type(TARGET).build
    keep = lambda self, text, *rest: texts.append(text) or build(self, text, *rest)
    monkeypatch.setattr(type(TARGET), "build", keep)
    return texts


def test_large_code_gives_the_same_on_a_stack_of_its_own(on_own_stack):
    native = compile(swing, X[0])
    expected = jax.vmap(swing)(X)
    for found in (native.map(X), jax.jit(jax.vmap(native.as_jax()))(X)):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_allclose(native(X[1])[0], expected[0][1], rtol=1e-6)
    assert on_own_stack
    assert all("@pthread_create" in text for text in on_own_stack)


def test_a_stack_holds_all_values_of_all_lanes_and_small_code_needs_none():
    text = "  %v = fadd double %a, %b\n" * 40_000
    assert stack.stack_for(text, lanes=8, width=64) >= 40_000 * 8 * 8
    assert stack.stack_for(text, lanes=1, width=64) == 0
    assert stack.stack_for(text, lanes=8, width=32) == 0
