"""`linearize` gives the values and tangents of `jax.linearize`, for any function."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from isthmus.native.tracing.linearize import linearize

A = np.random.default_rng(0).normal(size=(3, 3))


@jax.custom_jvp
def guarded(x):
    return jnp.sqrt(x)


@guarded.defjvp
def _(primals, tangents):
    return guarded(primals[0]), 7.0 * tangents[0]


FUNCTIONS = {
    "sums and products": lambda x, y: (x + y * x - 2.0 * y) / (1.0 + y**2),
    "quotient of a constant": lambda x, y: 1.0 / (2.0 + x) + y / 3.0,
    "axes of length 1": lambda x, y: (
        x[None] - A,
        A - y[None],
        A + x[:, None],
        x[None] * A / y[None],
    ),
    "matrices": lambda x, y: (jnp.outer(x, y) @ A + A @ jnp.diag(y)).T,
    "functions": lambda x, y: jnp.sin(x) * jnp.exp(y) + jnp.tanh(x) + jnp.arctan2(x, 2.0 + y),
    "pieces": lambda x, y: jnp.concatenate([x[:1], jnp.ones(2), y[::-1], jnp.stack([x, y])[1]]),
    "choices": lambda x, y: jnp.where(x > 0.1, x * y, y) + jnp.maximum(x, y),
    "an index": lambda x, y: x[jnp.argmax(y)] * lax.dynamic_slice(y, (jnp.argmin(x),), (1,)),
    "an update": lambda x, y: x.at[1].set(y[0]).at[2].add(y[1]),
    "a loop": lambda x, y: lax.fori_loop(0, 4, lambda i, c: jnp.sin(c) + y[i % 3], x),
    "a scan": lambda x, y: lax.scan(lambda c, a: (c * a, c + a), x[0], y),
    "a branch": lambda x, y: lax.cond(x[0] > 0, lambda: x * y, lambda: x - y),
    "functions inside": lambda x, y: jax.jit(lambda a: (a * y, a, 3.0))(jax.jit(jnp.cos)(x)),
    "a rule of its own": lambda x, y: guarded(2.0 + x) * y,
    "integers": lambda x, y: {"whole": jnp.round(x).astype(int), "part": x - jnp.round(x)},
    "inputs and constants": lambda x, y: (y, x, jnp.zeros(2), x),
    "norms": lambda x, y: jnp.linalg.norm(x) + jnp.sum(jnp.cross(x, y)) + jnp.cumsum(x)[-1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_tangents_are_those_of_jax(name):
    fn, rng = FUNCTIONS[name], np.random.default_rng(1)
    with jax.enable_x64(True):
        x, y, dx, dy = (jnp.asarray(rng.normal(size=3)) for _ in range(4))
        both = lambda of: jax.jit(lambda *given: _pushed(of, fn, *given))(x, y, dx, dy)
        ours, theirs = both(linearize), both(jax.linearize)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def _pushed(of, fn, x, y, dx, dy):
    """Value, and the tangent of what is no whole number."""
    value, push = of(fn, x, y)
    real = lambda v, t: t if jnp.issubdtype(v.dtype, jnp.inexact) else v
    return value, jax.tree.map(real, value, push(dx, dy))


def test_what_a_function_closes_over_may_be_traced_too():
    def run(x, scale):
        return jax.jvp(
            lambda s: linearize(lambda z: jnp.sin(s * z), x)[1](1.0 + x), (scale,), (1.0,)
        )

    value, slope = run(0.3, 2.0)
    np.testing.assert_allclose(value, 2.0 * np.cos(0.6) * 1.3, rtol=1e-6)
    np.testing.assert_allclose(slope, (np.cos(0.6) - 2.0 * 0.3 * np.sin(0.6)) * 1.3, rtol=1e-6)
