"""Programs of float32: chosen by the examples, twice the lanes, float32 in and out, the same laws."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.native.passes.functions.formats import FORMATS
from tests.native.support import assert_same_bits, leaves

pytestmark = pytest.mark.loose
ONE = np.float32(0.5)
EPS = float(np.finfo(np.float32).eps)
EDGES = [0.0, 1.0, 0.5, np.inf, np.nan, 1e-45, 1e-40, 1e-10, 1e10, 3e38, 89.4, 103.9]
EDGES = np.array(EDGES + [-x for x in EDGES], np.float32)


def swing(x, y):
    def body(c, _):
        return jnp.sin(c) * y["a"] + 0.1, c.sum()

    c, s = jax.lax.scan(body, x, None, length=30)
    return {"c": c, "s": s[::5]}, jnp.tanh(x @ c)


STATE = np.array([0.3, -0.2, 0.7], np.float32)
GAIN = {"a": np.float32(0.9)}


@pytest.fixture(scope="module")
def compiled():
    return native.compile(swing, STATE, GAIN)


@pytest.mark.parametrize(
    ("examples", "dtype"),
    [
        ((np.ones(3, np.float32), np.float32(1.0)), np.float32),
        ((jnp.ones(3, jnp.float32), 1.0), np.float32),
        ((np.ones(3, np.float32), np.ones(3)), np.float64),
        ((np.ones(3, np.float32), np.float64(1.0)), np.float64),
        ((1.0, 2.0), np.float64),
        ((1, np.arange(3)), np.float64),
    ],
)
def test_float32_is_chosen_where_all_arrays_of_floats_are_float32(examples, dtype):
    f = native.compile(lambda x, y: 0.5 * x + y, *examples)
    assert f(*examples).dtype == dtype
    assert f.stats.lanes == native.compile(jnp.sin, 0.5).stats.lanes * (8 // dtype().itemsize)


def test_it_agrees_with_xla_and_batches_give_the_same_bits(compiled):
    wanted = jax.jit(swing)(STATE, GAIN)
    found = compiled(STATE, GAIN)
    for x, y in zip(leaves(found), leaves(wanted), strict=True):
        assert x.dtype == y.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=0, atol=20 * EPS)
    rng = np.random.default_rng(0)
    for worlds in (3, 16, 33):
        states = rng.normal(size=(worlds, 3)).astype(np.float32)
        gains = {"a": rng.uniform(0.5, 1.0, worlds).astype(np.float32)}
        many = compiled.map(states, gains)
        alone = [compiled(x, {"a": a}) for x, a in zip(states, gains["a"], strict=True)]
        assert_same_bits(many, jax.tree.map(lambda *x: np.stack(x), *alone))


def test_arguments_of_other_types_are_converted_on_their_way(compiled):
    many = compiled.map(np.tile(STATE, (20, 1)), {"a": np.full(20, 0.9, np.float32)})
    wide = compiled.map(np.tile(STATE.astype(np.float64), (20, 1)), {"a": np.full(20, 0.9)})
    assert_same_bits(many, wide)


def test_integers_have_32_bits_and_wrap():
    fn = lambda x, n, flag: [
        x * n,
        n * n * n,
        (n << 3) ^ (n >> 1),
        jnp.where(flag, n, -n),
        jnp.astype(x * 1e10, jnp.int32),
        jnp.cumsum(jnp.arange(5) * n),
        n.astype(jnp.int8),
    ]
    args = np.float32(1.5), np.int32(123_457), np.array(True)
    f = native.compile(fn, *args)
    with jax.enable_x64(False):
        wanted = jax.jit(fn)(*args)
    assert_same_bits(f(*args), [np.asarray(y) for y in wanted])
    n = np.arange(-9, 9, dtype=np.int64) * 98_765_431
    x, flags = np.linspace(-2, 2, 18).astype(np.float32), n > 0
    many = f.map(x, n, flags)
    alone = [f(*row) for row in zip(x, n.astype(np.int32), flags, strict=True)]
    assert_same_bits(many, [np.stack(column) for column in zip(*alone, strict=True)])


def test_memory_indices_loops_and_branches_work():
    table = np.linspace(0.0, 1.0, 5000).astype(np.float32)

    def fn(x, k):
        near = jnp.asarray(table)[k] + jnp.take(x, k % 4)
        x = x.at[k % 4].add(near)
        x = jax.lax.while_loop(lambda c: c[0] < 4.0, lambda c: 1.5 * c + 0.3, jnp.abs(x) + 0.1)
        big = jax.lax.fori_loop(0, 2000, lambda i, c: c.at[i].set(x[0] + i), jnp.zeros(2000))
        return jax.lax.cond(k > 2000, lambda y: y + big[k % 7], lambda y: -y, x), big[::400]

    x = np.array([0.1, 0.2, -0.3, 0.4], np.float32)
    f = native.compile(fn, x, np.int32(3))
    for k in (3, 2500):
        with jax.enable_x64(False):
            wanted = jax.jit(fn)(x, np.int32(k))
        for got, want in zip(f(x, np.int32(k)), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=4 * EPS)
    ks = np.arange(0, 4000, 200, dtype=np.int32)
    many = f.map(np.tile(x, (20, 1)), ks)
    assert_same_bits(many, [np.stack(c) for c in zip(*(f(x, k) for k in ks), strict=True)])


def test_dense_products_in_memory_agree_with_float64():
    rng = np.random.default_rng(6)
    table = rng.normal(size=(70, 90))  # float64 by itself; float32 in the program
    fn = lambda x, y: (jnp.tanh(table @ x) @ y, (x * x).sum(0))
    x, y = rng.normal(size=(90, 80)).astype(np.float32), rng.normal(size=80).astype(np.float32)
    f = native.compile(fn, x, y)
    exact = np.tanh(table @ x.astype(np.float64)) @ y, (x.astype(np.float64) ** 2).sum(0)
    for found, wanted in zip(f(x, y), exact, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())
    many = f.map(np.stack([x] * 17), np.stack([y] * 17))
    assert_same_bits([part[16] for part in many], f(x, y))


@pytest.mark.parametrize("x64", [False, True])
def test_inside_jax_it_is_differentiated_and_batched_in_float32(compiled, x64):
    with jax.enable_x64(x64):
        inside = compiled.as_jax()
        total = lambda h: lambda x, a: h(x, {"a": a})[1] + h(x, {"a": a})[0]["s"].sum()
        states = jnp.asarray(np.random.default_rng(1).normal(size=(20, 3)), jnp.float32)
        gain = jnp.float32(0.9)
        for way in (
            lambda h: jax.jit(h),
            lambda h: jax.jit(jax.grad(h, (0, 1))),
            lambda h: jax.jit(jax.hessian(h)),
        ):
            found, wanted = (way(total(h))(states[0], gain) for h in (inside, swing))
            for x, y in zip(leaves(found), leaves(wanted), strict=True):
                assert x.dtype == np.float32
                np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4)
        slopes = jax.jit(jax.vmap(jax.grad(total(inside)), (0, None)))(states, gain)
        wanted = jax.jit(jax.vmap(jax.grad(total(swing)), (0, None)))(states, gain)
        assert slopes.dtype == np.float32
        np.testing.assert_allclose(slopes, wanted, rtol=2e-4, atol=2e-4)


def test_products_are_fused_with_sums():
    x = np.float32(1.0) + np.float32(2.0**-13)
    found = native.compile(lambda x, y: x * x + y, ONE, ONE)(x, np.float32(-1.0))
    assert found == np.float32(np.float64(x) * np.float64(x) - 1.0)


def samples(name: str) -> np.ndarray:
    """Arguments over the whole domain of a function."""
    rng = np.random.default_rng(2)
    unit = rng.uniform(-1.0, 1.0, 8000)
    signed = 10.0 ** rng.uniform(-37, 38, 8000) * np.sign(unit)
    if name in ("sin", "cos", "tan"):
        return np.concatenate([10 * unit, 1e5 * unit, np.arange(-999, 999) * (np.pi / 2), signed])
    if name in ("arcsin", "arccos", "arctanh"):
        return np.concatenate([unit, 1e-3 * unit])
    if name in ("exp", "expm1", "sinh", "cosh", "exp2", "tanh"):
        return np.concatenate([88 * unit, unit, 1e-3 * unit])
    if name == "arccosh":
        return 1 + np.abs(np.concatenate([unit, signed]))
    if name == "log1p":
        return np.concatenate([0.99 * unit, np.abs(signed)])
    return np.abs(signed) if name == "log" else np.concatenate([signed, 3 * unit])


@pytest.mark.parametrize(
    "name",
    "sin cos tan arcsin arccos arctan exp exp2 expm1 log log1p sinh cosh tanh arcsinh arccosh arctanh cbrt".split(),
)
def test_functions_are_within_two_ulp_of_float32(name):
    x = samples(name).astype(np.float32)
    f = native.compile(getattr(jnp, name), ONE)
    found = f.map(x)
    wanted = getattr(np, name)(x.astype(np.float64))
    ulp = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(found - wanted) / ulp) <= 2.0
    assert_same_bits(found[:20], np.array([f(v) for v in x[:20]]))
    edges = f.map(EDGES)
    with np.errstate(all="ignore"):
        right = getattr(np, name)(EDGES.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(edges, right, rtol=2 * EPS, atol=3e-45)
    number = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(edges)[number], np.signbit(right)[number])


def test_powers_and_atan2_are_within_two_ulp_of_float32():
    rng = np.random.default_rng(3)
    x = np.concatenate([10.0 ** rng.uniform(-38, 38, 4000), rng.uniform(-9, 9, 4000)])
    y = np.concatenate([rng.uniform(-1, 1, 4000), rng.integers(-30, 30, 4000)])
    x, y = x.astype(np.float32), y.astype(np.float32)
    for fn, exact in ((jax.lax.pow, np.power), (jnp.arctan2, np.arctan2)):
        with np.errstate(all="ignore"):
            wanted = exact(x.astype(np.float64), y.astype(np.float64))
            ulp = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
        off = np.abs(native.compile(fn, ONE, ONE).map(x, y) - wanted)[np.isfinite(ulp)]
        assert np.max(off / ulp[np.isfinite(ulp)]) <= 2.0
        p, q = (a.ravel() for a in np.meshgrid(EDGES, EDGES))
        with np.errstate(all="ignore"):
            right = exact(p.astype(np.float64), q.astype(np.float64)).astype(np.float32)
        np.testing.assert_allclose(
            native.compile(fn, ONE, ONE).map(p, q), right, rtol=2 * EPS, atol=3e-45
        )


def test_angles_may_be_huge():
    x = np.array([3e5, -7e9, 1.1e22, 3e38, 2 * FORMATS[32].huge], np.float32)
    found = native.compile(lambda x: [jnp.sin(x), jnp.cos(x), jnp.tan(x)], ONE).map(x)
    wanted = [f(x.astype(np.float64)).astype(np.float32) for f in (np.sin, np.cos, np.tan)]
    assert_same_bits(found, wanted)
