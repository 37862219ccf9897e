"""Loops and branches stay what they are, agree with XLA, and keep worlds apart."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from tests.native.support import BATCHES, assert_close, assert_same_bits, check, stacked, xla

X = np.array([0.3, -0.8, 1.1])


def swing(length, reverse=False):
    def fn(x, u):
        def step(c, u):
            q, v = c
            v = v - 0.05 * jnp.sin(q) + 0.01 * u
            return (q + 0.05 * v, v), (q * v, u + q)

        return jax.lax.scan(step, (x, 0.1 * x), u, length=length, reverse=reverse)

    return fn


@pytest.mark.parametrize("length", [1, 2, 5, 40])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(length, reverse):
    check(swing(length, reverse), X, np.linspace(-1.0, 1.0, 3 * length).reshape(length, 3))


@pytest.mark.parametrize("worlds", BATCHES)
def test_scan_in_batches(worlds):
    check(swing(30), X, np.ones((30, 3)), batches=(worlds,))


def loss(fn):
    return lambda *args: sum(jnp.sum(y**2) for y in jax.tree.leaves(fn(*args)))


def test_gradients_through_a_scan():
    fn, u = swing(60), np.linspace(-1.0, 1.0, 180).reshape(60, 3)
    check(jax.grad(loss(fn), (0, 1)), X, u, tolerance=1e-11)
    check(jax.jacfwd(lambda x: fn(x, u)[0]), X, tolerance=1e-11)
    check(jax.hessian(lambda x: loss(fn)(x, u)), X, tolerance=1e-10)
    check(lambda x, t: jax.jvp(lambda x: fn(x, u), (x,), (t,)), X, X[::-1].copy(), tolerance=1e-11)


def test_reverse_mode_does_not_unroll():
    sizes = [
        native.compile(
            jax.grad(lambda x, n=n: loss(swing(n))(x, jnp.zeros((n, 3)))), X
        ).stats.operations
        for n in (50, 500)
    ]
    assert sizes[0] == sizes[1] < 200


@pytest.mark.parametrize("policy", [None, jax.checkpoint_policies.everything_saveable])
def test_checkpoint(policy):
    inner = jax.checkpoint(lambda x: swing(20)(x, jnp.ones((20, 3)))[0][0], policy=policy)
    fn = lambda x: jnp.sum(jax.lax.scan(lambda c, _: (inner(c), None), x, None, length=30)[0] ** 2)
    check(jax.grad(fn), X, tolerance=1e-9)


def test_while_loops_end_for_each_world_by_itself():
    def fn(x):
        going = lambda c: (jnp.sum(c[0] ** 2) > 0.01) & (c[1] < 200)
        return jax.lax.while_loop(going, lambda c: (c[0] * 0.9, c[1] + 1), (x, 0))

    f = check(fn, X, batches=BATCHES)
    assert len(set(f.map(np.random.default_rng(0).normal(size=(20, 3)) * 9)[1].tolist())) > 5


def test_fori_loops_with_moving_bounds():
    fn = lambda n, x: jax.lax.fori_loop(0, n, lambda k, c: c.at[k % 3].add(1.0 / (k + 1)), x)
    f = native.compile(fn, np.int64(3), X)
    n = np.arange(12)
    batch = f.map(n, np.tile(X, (12, 1)))
    assert_close(batch, stacked([xla(fn, k, X) for k in n]))
    assert_same_bits(batch, stacked([f(k, X) for k in n]))


def test_a_while_loop_inside_a_branch_inside_a_scan():
    def fn(x):
        halve = lambda y: jax.lax.while_loop(
            lambda y: jnp.max(jnp.abs(y)) > 0.2, lambda y: y * 0.5, y
        )
        heavy = lambda y: (
            jnp.sin(jnp.cos(jnp.tanh(y) + 1.0) * 2.0) + jnp.exp(-(y**2)) * jnp.sqrt(1 + y * y)
        )
        step = lambda c, _: (jax.lax.cond(c[0] > 0.0, halve, heavy, c) - 0.05, c[0])
        return jax.lax.scan(step, x, None, length=40)

    check(fn, X, batches=(1, 9, 64))


def test_branches_and_switches():
    fn = lambda k, x: jax.lax.switch(k, [jnp.sin, jnp.cos, lambda x: x * 2.0], x)
    for k in (-1, 0, 1, 2, 7):
        check(fn, np.int64(k), X)
    both = lambda x: jax.lax.cond(jnp.sum(x) > 0.5, lambda x: jnp.log(x * x + 1.0), lambda x: -x, x)
    check(both, X, batches=BATCHES)
    check(jax.grad(lambda x: jnp.sum(both(x))), X, batches=(9,))


def test_arrays_too_large_for_values_are_changed_in_place():
    def fn(x):
        def body(k, c):
            path, y = c
            y = jnp.cos(y) * 0.9
            return path.at[k].set(y), y + path[k - 1] * 0.1

        return jax.lax.fori_loop(1, 700, body, (jnp.zeros((700, 3)).at[0].set(x), x))

    f = check(fn, X, batches=(9,))
    assert f.stats.operations < 200
    check(jax.grad(lambda x: jnp.sum(fn(x)[0] ** 2)), X, batches=(3,), tolerance=1e-10)


def test_work_on_whole_trajectories():
    def fn(x, target):
        _, (path, _) = swing(900)(x, target)
        error = (path - target)[::2]
        return {
            "mean": jnp.mean(error**2, axis=0),
            "largest": jnp.max(jnp.abs(error)),
            "last": path[-1],
            "product": jnp.einsum("ti,tj->ij", path, error[:, :2].repeat(2, axis=0)),
            "head": jnp.concatenate([path[:3], target[:2]]),
            "moved": jnp.pad(path, ((1, 0), (0, 0)))[:-1] * 2.0,
            "turned": path.T[1, ::-1],
        }

    target = np.linspace(0.0, 1.0, 2700).reshape(900, 3)
    check(fn, X, target, batches=(3,))
    check(jax.grad(lambda x: jnp.sum(fn(x, target)["mean"])), X, batches=(3,), tolerance=1e-11)


def test_derivative_rules_of_the_user_are_kept():
    @jax.custom_jvp
    def soft(x):
        return jnp.where(x > 0, x, 0.0)

    soft.defjvp(lambda p, t: (soft(*p), jax.nn.sigmoid(p[0]) * t[0]))

    @jax.custom_vjp
    def odd(x):
        return x**3

    odd.defvjp(lambda x: (odd(x), x), lambda x, g: (7.0 * x * g,))
    check(jax.grad(lambda x: jnp.sum(jax.jit(soft)(x) + odd(x))), X)
    check(lambda x: odd(soft(x)), X)


def test_a_carry_that_never_moves_costs_nothing():
    def fn(x):
        step = lambda c, _: ((c[0] * c[1], c[1], c[2] * c[0], c[3] + c[2]), None)
        return jax.lax.scan(step, (x, jnp.float64(1.0), jnp.float64(0.0), x), None, length=100)[0]

    f = native.compile(fn, 0.5)
    assert f.stats.operations == 0
    assert_close(f(0.3), xla(fn, 0.3))


def test_empty_loops_and_arrays():
    check(swing(0), X, np.zeros((0, 3)))
    check(lambda x: [jnp.sum(x[:0]), x[:0] * 2.0], X)
