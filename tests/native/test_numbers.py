"""Accuracy of the vector functions, and IEEE: NaN, infinities, signed zeros."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from tests.native.support import assert_same_bits

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1e308, -1e308]
)


def spread_of(name: str, rng: np.random.Generator) -> np.ndarray:
    """Arguments where the function is hardest, in order of size and sign."""
    many = rng.uniform(-1.0, 1.0, 20_000)
    if name in ("sin", "cos"):
        near = np.arange(-2000, 2000) * (math.pi / 2)
        return np.concatenate([many * 10, many * 1e5, many * 1e9, near, np.nextafter(near, 9e9)])
    if name == "log":
        return np.concatenate(
            [np.exp(many * 700), 1.0 + many * 0.5, 1.0 + many * 1e-6, [5e-324, 1e-310]]
        )
    if name.startswith("exp"):
        return np.concatenate([many * 709, many * 18 - 726, many, many * 1e-3, [709.7, -744.0]])
    return np.concatenate([many * 30, many, many * 1e-3, many * 1e-9, many * 740])


def exact(name: str, x: np.ndarray) -> np.ndarray:
    """The function in extended precision."""
    wide = x.astype(np.longdouble)
    if name == "logistic":
        return np.exp(np.minimum(wide, 0)) / (1 + np.exp(-np.abs(wide)))
    return getattr(np, name)(wide)


def distance(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error in units of the last place of the true value."""
    ulp = np.spacing(np.abs(wanted).astype(np.float64)).astype(np.longdouble)
    return float(np.max(np.abs(found.astype(np.longdouble) - wanted) / ulp))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no extended precision here")
@pytest.mark.parametrize("name", ["sin", "cos", "exp", "expm1", "log", "tanh", "logistic", "sqrt"])
def test_vector_functions_are_within_two_ulp(name):
    x = spread_of(name, np.random.default_rng(1))
    x = np.abs(x) if name == "sqrt" else x
    fn = jax.nn.sigmoid if name == "logistic" else getattr(jnp, name)
    f = native.compile(fn, 0.5)
    found = f.map(x)
    assert distance(found, exact(name, x)) <= 2.0
    assert_same_bits(found[:50], np.array([f(v) for v in x[:50]]))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no extended precision here")
def test_atan2_is_within_two_ulp():
    rng = np.random.default_rng(2)
    y, x = rng.normal(size=(2, 40_000)) * np.exp(rng.uniform(-40, 40, size=(2, 40_000)))
    f = native.compile(jnp.arctan2, 0.5, 0.5)
    assert (
        distance(f.map(y, x), np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))) <= 2.0
    )


@pytest.mark.parametrize(
    "fn",
    [
        np.sin, np.cos, np.tanh, np.exp, np.log, np.sqrt, np.floor, np.abs, np.tan,
        np.arctan, np.log1p, np.expm1, np.negative,
    ],
)  # fmt: skip
def test_special_numbers_go_through_as_ieee_says(fn):
    with np.errstate(all="ignore"):
        wanted = fn(SPECIAL)
    f = native.compile(getattr(jnp, fn.__name__), 0.5)
    found = f.map(SPECIAL)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(
        np.signbit(found)[found == found], np.signbit(wanted)[found == found]
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    assert_same_bits(np.abs(found), np.abs(np.array([f(v) for v in SPECIAL])))


def test_atan2_knows_all_quadrants_zeros_and_infinities():
    y, x = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    found, wanted = native.compile(jnp.arctan2, 0.5, 0.5).map(y, x), np.arctan2(y, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=5e-324)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(wanted)[number])


@pytest.mark.parametrize(
    "fn", [jnp.maximum, jnp.minimum, jnp.add, jnp.subtract, jnp.multiply, jnp.divide]
)
def test_special_pairs_go_through_as_ieee_says(fn):
    y, x = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        wanted = getattr(np, fn.__name__)(y, x)
    np.testing.assert_array_equal(native.compile(fn, 0.5, 0.5).map(y, x), wanted)


@pytest.mark.parametrize("size", [1e10, 1e15, 1e22, 1e300])
def test_angles_may_be_huge(size):
    x = size * np.random.default_rng(0).uniform(-1.0, 1.0, 40)
    x[::3] = 0.3  # a huge neighbour does not change the others
    found = native.compile(lambda x: [jnp.sin(x), jnp.cos(x)], 0.5).map(x)
    np.testing.assert_allclose(found, [np.sin(x), np.cos(x)], rtol=1e-15)
    few = native.compile(lambda x: [jnp.sin(x), jnp.cos(x)], 0.5)(0.3)
    assert found[0][0] == few[0]
    assert found[1][0] == few[1]


def test_nan_is_never_lost_where_the_program_computes():
    fn = lambda x, y: [
        x + y,
        x * y,
        jnp.maximum(x, y),
        jnp.where(x < y, x, y),
        x == x,
        x != x,
        x / x,
    ]
    f = native.compile(fn, 1.0, 1.0)
    plain = [fn(np.float64(x), np.float64(2.0)) for x in (math.nan, 1.0)]
    for x, wanted in zip((math.nan, 1.0), plain, strict=True):
        np.testing.assert_array_equal(np.array(f(x, 2.0), float), np.array(wanted, float))


def test_a_zero_of_the_structure_is_nothing_unless_strict():
    fn = lambda x: jnp.array([[0.0, 1.0], [1.0, 0.0]]) @ jnp.stack([x, 2.0 * x[::-1]])[:, 0]
    x = np.array([math.nan, 1.0])
    assert np.isnan(native.compile(fn, x)(x)).tolist() == [False, True]
    assert np.isnan(native.compile(fn, x, strict=True)(x)).tolist() == [True, True]
    assert (
        native.compile(lambda x: [x * 0.0 + x * 1.0, jnp.negative(-x), x - x], 1.0).stats.operations
        == 0
    )
