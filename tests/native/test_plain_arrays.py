"""Plain array code of some size becomes loops: it compiles at once, and gives what XLA and LAPACK give."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from isthmus import native

RNG = np.random.default_rng(3)
N = 20
SQUARE = RNG.normal(size=(N, N))
POSITIVE = SQUARE @ SQUARE.T + N * np.eye(N)
OTHER = RNG.normal(size=(N, 7))
FEW = 3000
"""Operations of a program that does not grow with its arrays; 1,000 sines written out are some 30,000."""

CASES = {
    "functions": (lambda x: jnp.sin(x) * jnp.exp(-jnp.abs(x)), RNG.normal(size=1000)),
    "powers": (lambda x: jnp.abs(x) ** jnp.sin(x), RNG.normal(size=200)),
    "integers": (lambda a, b: a @ b, RNG.integers(-9, 9, (20, 30)), RNG.integers(-9, 9, (30, 20))),
    "narrow integers": (
        lambda a, b: a @ b,
        RNG.integers(-128, 127, (20, 30), dtype=np.int8),
        RNG.integers(-128, 127, (30, 20), dtype=np.int8),
    ),
    "cholesky": (jnp.linalg.cholesky, POSITIVE),
    "not positive definite": (jnp.linalg.cholesky, POSITIVE - 2 * N * np.eye(N)),
    "several": (jnp.linalg.cholesky, np.stack([POSITIVE, POSITIVE + np.eye(N)])),
    "solve": (jnp.linalg.solve, SQUARE, OTHER),
    "inverse": (jnp.linalg.inv, SQUARE),
    "determinant": (jnp.linalg.det, SQUARE),
    "sign and logarithm": (jnp.linalg.slogdet, SQUARE),
    "tall": (lambda a: lax.linalg.lu(a)[0], RNG.normal(size=(25, 18))),
    "gradient": (jax.grad(lambda a: jnp.sum(jnp.linalg.cholesky(a) ** 2)), POSITIVE),
    "gradient of a solution": (
        jax.grad(lambda a: jnp.sum(jnp.linalg.solve(a, OTHER) ** 2)),
        SQUARE,
    ),
}


@pytest.mark.loose
@pytest.mark.parametrize("name", CASES)
def test_arrays_of_some_size_are_loops(name):
    fn, *given = CASES[name]
    f = native.compile(fn, *given)
    with jax.enable_x64(True):
        wanted = jax.jit(fn)(*given)
    for ours, theirs in zip(jax.tree.leaves(f(*given)), jax.tree.leaves(wanted), strict=True):
        assert ours.dtype == theirs.dtype
        scale = np.nanmax(np.abs(theirs)) if theirs.size else 1.0
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11 * scale)
    assert f.stats.operations < FEW


@pytest.mark.parametrize(
    ("left", "lower", "turn", "unit"), list(itertools.product([True, False], repeat=4))
)
def test_triangles_on_any_side(left, lower, turn, unit):
    a = SQUARE / N + 2 * np.eye(N)
    b = OTHER if left else OTHER.T
    solve = lambda a, b: lax.linalg.triangular_solve(
        a, b, left_side=left, lower=lower, transpose_a=turn, unit_diagonal=unit
    )
    x = native.compile(solve, a, b)(a, b)
    m = np.tril(a) if lower else np.triu(a)
    if unit:
        np.fill_diagonal(m, 1.0)
    m = m.T if turn else m
    np.testing.assert_allclose(m @ x if left else x @ m, b, rtol=1e-9, atol=1e-11)


def test_each_lane_has_pivots_of_its_own():
    many = RNG.normal(size=(11, N, N))
    f = native.compile(jnp.linalg.inv, many[0])
    np.testing.assert_allclose(f.map(many), np.linalg.inv(many), rtol=1e-8, atol=1e-10)


def test_small_matrices_have_the_bits_of_large_ones():
    """The order of sums does not depend on whether they are written out."""
    small, large = POSITIVE[:16, :16], np.eye(17)
    large[:16, :16] = small
    written = native.compile(jnp.linalg.cholesky, small)(small)
    looped = native.compile(jnp.linalg.cholesky, large)(large)
    np.testing.assert_array_equal(written, looped[:16, :16])
