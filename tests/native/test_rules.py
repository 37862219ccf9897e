"""Every primitive's rule against `jax.jit`, on one world and in lanes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import native
from tests.native.support import BATCHES, check

A = np.array([0.3, -1.2, 2.5, 0.0, -0.7, 1.0])
B = np.array([1.5, 0.4, -2.0, 3.0, 0.25, -1.0])
POSITIVE = np.abs(A) + 0.1
INSIDE = A / 3.0
WHOLE = np.array([3, -4, 7, 0, 12, -1])
OTHER = np.array([2, 3, -5, 4, 0, 6])
TRUE = np.array([True, False, True, True, False, False])

FLOAT_1 = [
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsinh", "arctan", "exp", "exp2", "expm1", "abs",
    "negative", "sign", "floor", "ceil", "round", "square", "isfinite", "isnan", "rint", "trunc", "cbrt",
]  # fmt: skip
FLOAT_POSITIVE = ["log", "log1p", "sqrt", "reciprocal", "log2", "log10"]
FLOAT_2 = [
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "less", "less_equal",
    "greater", "greater_equal", "equal", "not_equal", "fmod", "remainder", "hypot", "copysign",
]  # fmt: skip
INT_2 = [
    "add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum", "bitwise_and",
    "bitwise_or", "bitwise_xor", "less", "greater_equal", "equal", "left_shift", "right_shift",
]  # fmt: skip


@pytest.mark.parametrize("name", FLOAT_1)
def test_functions_of_one_number(name):
    check(getattr(jnp, name), A)


@pytest.mark.parametrize("name", FLOAT_POSITIVE)
def test_functions_of_a_positive_number(name):
    check(getattr(jnp, name), POSITIVE, spread=0.1)


@pytest.mark.parametrize("fn", [jnp.arcsin, jnp.arccos, jnp.arctanh, jax.lax.erf, jax.lax.erfc])
def test_functions_of_a_number_below_one(fn):
    check(fn, INSIDE, spread=0.1)


@pytest.mark.parametrize(
    "fn", [jnp.arccosh, jax.lax.lgamma, jax.lax.rsqrt, jax.lax.logistic, lambda x: x**3.7]
)
def test_functions_of_a_number_above_one(fn):
    check(fn, POSITIVE + 1.0, spread=0.1)


@pytest.mark.parametrize("name", FLOAT_2)
def test_functions_of_two_numbers(name):
    check(getattr(jnp, name), A, B)


@pytest.mark.parametrize("name", INT_2)
def test_functions_of_two_integers(name):
    check(getattr(jnp, name), WHOLE, np.abs(OTHER) if "shift" in name else OTHER)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint8", "uint64"])
def test_narrow_integers_wrap(dtype):
    def fn(x, y):
        x, y = x.astype(dtype), y.astype(dtype)
        return [(x * y + y).astype(int), (x - y) > y, x >> jnp.abs(y) % 8, ~x, x // (y | 1)]

    check(fn, WHOLE * 1000, OTHER * 77)


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 2, 5, 0.5, 2.5])
def test_powers(power):
    check(lambda x: x**power, POSITIVE, spread=0.1)


def test_truths():
    check(
        lambda a, b: [a & b, a | b, a ^ b, ~a, a == b, a < b, jnp.where(a, b, ~b)], TRUE, TRUE[::-1]
    )


def test_choices():
    check(lambda c, x, y: jnp.where(c, x, y), TRUE, A, B)
    check(lambda k, x, y: jax.lax.select_n(k, x, y, x + y), np.array([0, 1, 2, 1, 0, 2]), A, B)
    check(lambda x: jnp.clip(x, -0.5, 0.5), A)


def test_conversions():
    check(
        lambda x: [x.astype(int), (10 * x).astype("int32"), x.astype(bool), x.astype("float32")], A
    )
    check(lambda k: [k.astype(float), k.astype(bool), k.astype("float32") * 0.1], WHOLE)
    check(lambda c: [c.astype(int), c.astype(float)], TRUE)
    check(lambda x: jax.lax.bitcast_convert_type(x, "int64"), A)


def test_float32_inside_is_rounded_as_such():
    fn = lambda x: (x.astype("float32") * jnp.float32(0.1) + jnp.float32(1.0)).astype(float)
    check(fn, A, tolerance=1.2e-7)  # XLA may fuse the two operations


@pytest.mark.parametrize("worlds", BATCHES)
def test_batches_of_every_size(worlds):
    check(lambda x, y: jnp.tanh(x @ y) + jnp.exp(-jnp.abs(x)), A, B, batches=(worlds,))


M = np.arange(24.0).reshape(2, 3, 4) / 7.0


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.transpose(2, 0, 1) + 1.0,
        lambda x: x.reshape(6, 4)[::-1, ::2],
        lambda x: jnp.concatenate([x, 2.0 * x], axis=1),
        lambda x: jnp.pad(x, ((1, 0), (0, 2), (1, 1)), constant_values=3.0),
        lambda x: jax.lax.pad(x, 1.0, ((1, 1, 2), (0, -1, 0), (-1, 2, 1))),
        lambda x: jnp.stack([x, x * x], axis=2),
        lambda x: [y * 2 for y in jnp.split(x, 2, axis=2)],
        lambda x: x[:, None, 1] * jnp.arange(3.0)[None, :, None],
        lambda x: jnp.tile(x[0, 0], 3),
        lambda x: jnp.roll(x, 2, axis=2),
        lambda x: jnp.squeeze(x[:1], 0),
        lambda x: [x.sum(), x.sum(0), x.sum((1, 2)), x.prod(2), x.max(1), x.min(), x.mean()],
        lambda x: [jnp.all(x > 1.0, 1), jnp.any(x > 3.0, 0), jnp.argmax(x, 2), jnp.argmin(x, 0)],
        lambda x: [jnp.cumsum(x, 1), jnp.cumprod(x, 2), jax.lax.cummax(x, 2, reverse=True)],
        lambda x: [jnp.sort(-x, 1), jnp.argsort(x[::-1], 0)],
        lambda x: jnp.einsum("ijk,ilk->ijl", x, x + 1.0),
        lambda x: jnp.tensordot(x, x, ((1, 2), (1, 2))),
        lambda x: jax.vmap(lambda a: a.T @ a)(x),
    ],
)
def test_shapes_and_reductions(fn):
    check(fn, M)


@settings(max_examples=12, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 4)] * 3),
    axis=st.integers(0, 2),
    seed=st.integers(0, 1000),
)
def test_reductions_of_any_shape(shape, axis, seed):
    x = np.random.default_rng(seed).normal(size=shape)
    check(lambda x: [x.sum(axis), x.max(axis), jnp.moveaxis(x, axis, 0) * 2.0], x, batches=(3,))


@settings(max_examples=12, deadline=None)
@given(n=st.integers(1, 7), m=st.integers(1, 3), start=st.integers(-9, 9), seed=st.integers(0, 99))
def test_slices_at_an_index(n, m, start, seed):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    size = min(m, n)

    def fn(x, k):
        part = jax.lax.dynamic_slice(x, (k, 1), (size, 2))
        return (
            part,
            jax.lax.dynamic_update_slice(x, 2.0 * part, (k - 1, 0)),
            x[k % n],
            x.at[k].add(1.0),
        )

    check(fn, x, np.int64(start), batches=(9,))


@pytest.mark.parametrize("count", [8, 600], ids=["written out", "in a loop"])
@settings(max_examples=6, deadline=None)
@given(
    rows=st.lists(st.integers(-5, 12), min_size=1, max_size=5),
    mode=st.sampled_from(["clip", "fill", "promise_in_bounds"]),
)
def test_gather_and_scatter_at_indices(count, rows, mode):
    x = np.arange(2.0 * count).reshape(count, 2)
    k = np.array(rows) % count if mode == "promise_in_bounds" else np.array(rows)

    def fn(x, k):
        out = [x.at[k].get(mode=mode), x.at[k, 0].add(2.0, mode=mode), x.at[k].max(3.0, mode=mode)]
        return [*out, x.at[k[0]].set(-1.0, mode=mode), x.at[:, k[0] % 2].multiply(2.0)]

    check(fn, x, k, batches=(9,))


def test_fixed_indices_cost_nothing():
    f = native.compile(lambda x: x[np.array([2, 0, 1])][::-1].reshape(3, 1), A)
    assert f.stats.operations == 0


S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b: jnp.linalg.cholesky(a @ a.T + jnp.eye(3)),
        lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a @ a.T), True), b),
        lambda a, b: jnp.linalg.solve(a, b),
        lambda a, b: jnp.linalg.inv(a),
        lambda a, b: jnp.linalg.det(a),
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, trans=1, unit_diagonal=True),
        lambda a, b: jax.grad(lambda a: jnp.sum(jnp.linalg.solve(a, b) ** 2))(a),
    ],
)
def test_linear_algebra(fn):
    check(fn, S, np.array([[1.0, 2.0], [0.0, -1.0], [0.5, 3.0]]), tolerance=1e-11)


def test_pivoting_differs_between_worlds():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(40, 4, 4)), rng.normal(size=(40, 4))
    f = native.compile(jnp.linalg.solve, a[0], b[0])
    np.testing.assert_allclose(f.map(a, b), np.linalg.solve(a, b[..., None])[..., 0], rtol=1e-9)


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    f = native.compile(jnp.linalg.cholesky, S)
    assert np.isnan(f(-S)).any()
    found = np.isnan(f.map(np.stack([S, -S, S, S]))).any((1, 2))
    np.testing.assert_array_equal(found, [False, True, False, False])
