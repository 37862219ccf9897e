"""Value and Jacobian from one direction's code equal those of JAX, in both modes and for any structure."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, BadShape, FallbackWarning

X = {"p": np.array([0.3, -0.7, 1.1]), "s": np.float64(0.5)}
Y = np.array([1.0, 2.0, 3.0])


def tangled(x, y):
    turn = jnp.sin(x["p"] * x["s"]) * y
    return {"a": turn, "b": [jnp.sum(turn) ** 2, jnp.outer(turn, x["p"])]}


def same(found, wanted):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), found, wanted
    )


@pytest.mark.parametrize("mode", ["forward", "reverse", None])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_value_and_jacobian_are_those_of_jax(mode, argnums):
    f = ist.native.jacobian(tangled, X, Y, argnums=argnums, mode=mode)
    value, jacobian = f(X, Y)
    same(value, jax.jit(tangled)(X, Y))
    same(jacobian, jax.jit(jax.jacfwd(tangled, argnums))(X, Y))


def test_many_worlds_have_the_bits_of_each_alone():
    f = ist.native.jacobian(tangled, X, Y)
    many = jax.tree.map(lambda x: np.stack([x * (1 + 0.1 * k) for k in range(5)]), (X, Y))
    values, jacobians = f.map(*many)
    for k in range(5):
        alone = f(*jax.tree.map(lambda x, k=k: x[k], many))
        found = jax.tree.map(lambda x, k=k: x[k], (values, jacobians))
        jax.tree.map(np.testing.assert_array_equal, found, alone)


def test_the_code_does_not_grow_with_the_directions():
    cost = lambda x: jnp.cumsum(jnp.sin(x[:3])) * jnp.sum(x)
    few, many = (ist.native.jacobian(cost, np.ones(n), mode="forward") for n in (4, 200))
    assert many.stats.operations <= few.stats.operations + 2 * 200


def test_arguments_may_be_whole_numbers_too():
    times = lambda n, x: x * n.astype(x.dtype)
    value, slope = ist.native.jacobian(times, np.int64(3), Y, argnums=1)(np.int64(3), Y)
    same((value, slope), (3.0 * Y, 3.0 * np.eye(3)))


def test_the_cheaper_mode_is_taken():
    wide = ist.native.jacobian(lambda x: jnp.sum(jnp.sin(x)), np.ones(30))
    tall = ist.native.jacobian(lambda x: jnp.sin(x) * jnp.ones(30), np.float64(1.0))
    assert (wide.mode, tall.mode) == ("reverse", "forward")


def test_what_has_no_jacobian_is_refused():
    with pytest.raises(BadOption, match="argument 2, but there is only 1 argument"):
        ist.native.jacobian(jnp.sin, Y, argnums=2)
    with pytest.raises(BadOption, match="results of floats, but one is of int64"):
        ist.native.jacobian(lambda x: jnp.argmax(x), Y)
    with pytest.raises(BadOption, match="mode is 'sideways'"):
        ist.native.jacobian(jnp.sin, Y, mode="sideways")


def test_what_cannot_be_translated_runs_under_xla_if_asked():
    odd = lambda x: jnp.real(jnp.fft.fft(x))
    with pytest.warns(FallbackWarning):
        f = ist.native.jacobian(odd, Y, fallback="xla")
    same(f(Y), (odd(Y), jax.jacfwd(odd)(Y)))


def test_lanes_that_share_arguments_have_the_bits_of_worlds_alone():
    """Shared arguments are read once for all lanes; rows say which row a block takes."""

    def run(a, table, w):
        loop = lambda k, s: s + jnp.sin(a * s) * table[k] @ w
        return jax.lax.fori_loop(0, table.shape[0], loop, jnp.sum(w)), a * w

    rng = np.random.default_rng(0)
    a, table = rng.normal(size=3), rng.normal(size=(2, 5, 4))
    f = ist.native.compile(run, a[0], table[0], np.zeros(4))
    w = rng.normal(size=(2, f.lanes, 4))
    rows = [np.array([2, 0, 1]), np.array([0, 1, 1]), np.array([1, 0, 1])]
    found = f.flat_blocks([a, table, w], rows)
    for b, (i, j, k) in enumerate(np.transpose(rows)):
        for lane in range(f.lanes):
            alone = f(a[i], table[j], w[k, lane])
            for x, y in zip(found, alone, strict=True):
                np.testing.assert_array_equal(x[b, lane], y)
    with pytest.raises(BadShape, match="argument leaf 2"):
        f.flat_blocks([a, table, w[:, :1]], rows)
