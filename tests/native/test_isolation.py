"""Native code and JAX use one function in any order, in 32 and 64 bits, and do not disturb each other."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.errors import IsthmusError
from tests.fuzz.programs import program

pytestmark = [
    pytest.mark.loose,
    pytest.mark.compiles_much("some of the ways run operation by operation"),
]

with jax.enable_x64(False):
    GOAL = jnp.array([0.5, 0.3])
    WEIGHT = {"far": jnp.array([2.0, 1.0]), "near": (jnp.array(0.1),)}


def reach(x):
    goal = WEIGHT["near"][0]
    return jnp.mean((x - GOAL) ** 2 / WEIGHT["far"]) + goal * jnp.linalg.norm(x)


def chain(carry, row):
    carry = jnp.tanh(carry + row * GOAL)
    return carry, jnp.sum(jax.nn.relu(carry))


def scanned(x):
    last, rows = jax.lax.scan(chain, GOAL, x)
    return jnp.sum(rows) + jax.nn.logsumexp(last)


@jax.jit
def inner(x):
    return jax.lax.scan(chain, GOAL, x)[0]


def jitted(x):
    return jnp.sum(inner(x) / GOAL)


def algebra(x):
    A = x.T @ x + jnp.diag(GOAL)
    return (
        jnp.sum(jnp.linalg.solve(A, GOAL)) + jnp.linalg.det(A) + jnp.trace(jnp.linalg.cholesky(A))
    )


def network(x):
    y = jax.nn.softplus(x / GOAL)
    return jnp.mean(jax.nn.softmax(y)[:, 0] + jax.nn.gelu(y)[:, 1]) + jnp.std(jax.nn.silu(y))


def closed():
    """A closure like a user's, made anew."""
    goal = [GOAL, WEIGHT]

    def cost(x):
        state = jax.lax.fori_loop(0, 3, lambda k, s: s + x[k] * goal[1]["far"], goal[0])
        return jnp.sum(state**2)

    return cost


X = np.random.default_rng(0).normal(size=(5, 2))


def by_native(cost, dtype):
    f = native.compile(jax.value_and_grad(cost), X.astype(dtype))
    return f(X.astype(dtype))


def by_jit(cost, dtype):
    return jax.jit(jax.value_and_grad(cost))(jnp.asarray(X.astype(dtype)))


def by_grad(cost, dtype):
    return jax.value_and_grad(cost)(jnp.asarray(X.astype(dtype)))


def by_vmap(cost, dtype):
    batch = jnp.asarray(np.stack([X, X[::-1]]).astype(dtype))
    return jax.tree.map(lambda y: y[0], jax.vmap(jax.value_and_grad(cost))(batch))


WAYS = (by_native, by_jit, by_grad, by_vmap)
PAIRS = list(itertools.permutations(WAYS, 2))
CIRCUIT = (
    by_native, by_jit, by_native, by_grad, by_native, by_vmap, by_jit, by_grad, by_jit, by_vmap,
    by_grad, by_vmap, by_native,
)  # fmt: skip
"""Every way after every other one."""


def test_the_circuit_has_every_pair_of_ways():
    assert set(itertools.pairwise(CIRCUIT)) == set(PAIRS)


@pytest.mark.parametrize(
    "cost", [reach, scanned, jitted, algebra, network], ids=lambda c: c.__name__
)
def test_native_and_jax_use_one_function_in_any_order(cost):
    check_in_turn(cost, CIRCUIT)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_native_and_jax_use_a_new_function_in_any_order(first, second):
    check_in_turn(closed(), (first, second, by_native, first))


def check_in_turn(cost, ways):
    """Each of the ways gives the same in float32 as native code in float64, which stays the same to the bit."""
    value, slope = by_native(cost, np.float64)
    with jax.enable_x64(False):
        for way in ways:
            found = way(cost, np.float32)
            np.testing.assert_allclose(found[0], value, rtol=2e-5)
            np.testing.assert_allclose(found[1], slope, rtol=2e-4, atol=2e-5)
    again = by_native(cost, np.float64)
    np.testing.assert_array_equal(again[0], value)
    np.testing.assert_array_equal(again[1], slope)


@pytest.mark.parametrize("cost", [reach, algebra, network], ids=lambda c: c.__name__)
@pytest.mark.parametrize("way", [by_jit, by_grad, by_vmap])
def test_64_bits_agree_too(cost, way):
    value, slope = by_native(cost, np.float64)
    with jax.enable_x64(True):
        found = way(cost, np.float64)
    np.testing.assert_allclose(found[0], value, rtol=1e-12)
    np.testing.assert_allclose(found[1], slope, rtol=1e-11, atol=1e-12)


def test_shapes_that_differ_from_call_to_call_share_nothing():
    def cost(x):
        return jnp.mean(jnp.sum((x - GOAL) ** 2, axis=1) / jnp.mean(GOAL))

    with jax.enable_x64(False):
        f = native.compile(jax.value_and_grad(cost), np.zeros((5, 2)))
        jax.jit(jax.value_and_grad(cost))(jnp.zeros((6, 2)))
        jax.jit(jax.value_and_grad(cost))(jnp.zeros((5, 2)))
        g = native.compile(jax.value_and_grad(cost), np.zeros((7, 2)))
        assert f(np.zeros((5, 2)))[0] == pytest.approx(g(np.zeros((7, 2)))[0], rel=1e-12)


def test_a_true_mismatch_of_types_keeps_its_message():
    def cost(x):
        return jax.lax.scan(lambda c, r: ((c + r)[None], c), GOAL, x)[0]

    with pytest.raises(TypeError, match="scan body function carry"):
        native.compile(cost, np.zeros((5, 2)))


@pytest.mark.parametrize("seed", range(100, 112))
def test_random_programs_are_used_in_any_order(seed):
    """Native code, jit and vmap of one function, in 32 and 64 bits: each gives what it gives alone."""
    made = program(seed)
    many = [np.stack([x, x]) for x in made.arguments]
    narrow = [x.astype(np.float32) if x.dtype == np.float64 else x for x in made.arguments]

    def by_jit(run, wide):
        with jax.enable_x64(wide):
            return jax.jit(run)(*(made.arguments if wide else narrow))

    def by_vmap(run):
        with jax.enable_x64(True):
            return jax.vmap(run)(*many)

    ways = {
        "native": lambda run: native.compile(run, *made.arguments)(*made.arguments),
        "jit in 64 bits": lambda run: by_jit(run, True),
        "jit in 32 bits": lambda run: by_jit(run, False),
        "vmap": by_vmap,
    }

    def answer(way, run):
        try:
            return [np.asarray(x) for x in jax.tree.leaves(ways[way](run))]
        except (TypeError, ValueError, NotImplementedError, IsthmusError) as refusal:
            return type(refusal)

    alone = {way: answer(way, made.run) for way in ways}
    run = made.run
    order = list(ways) * 2
    np.random.default_rng(seed).shuffle(order)
    for way in order:
        found, wanted = answer(way, run), alone[way]
        assert (found is wanted) or isinstance(wanted, list), way
        for a, b in zip(found, wanted, strict=True) if isinstance(wanted, list) else ():
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b, err_msg=way)
