"""Arrays without entries: every rule that may meet one agrees with XLA, for one world and in lanes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native

pytestmark = pytest.mark.loose

S = np.arange(6.0).reshape(3, 2)
L = np.linspace(1.0, 2.0, 3000)
"""Long enough to live in memory."""
K = np.array([0, 1, 1])
lin, lax = jnp.linalg, jax.lax


def rounds(x):
    return jnp.tile(x, (200, 1))


CASES = {
    "cat": (lambda x: jnp.concatenate([x[:0], x]), S),
    "cat long": (lambda x: jnp.concatenate([x[:0], x, x[3000:]])[1:5], L),
    "cat long out": (lambda x: jnp.concatenate([x[:0], x * 2, x[3000:]]), L),
    "cat zero only": (lambda x: jnp.concatenate([x[:0], x[:0]]), L),
    "cat mixed": (
        lambda x, s: jnp.concatenate([s.ravel()[:0], x, s.ravel(), s.ravel()[:0]]) * 2,
        L,
        S,
    ),
    "cat dyn": (
        lambda x, k: lax.dynamic_index_in_dim(
            jnp.concatenate([x[:0], x, x[:0]]), k, keepdims=False
        ),
        L,
        np.array(5),
    ),
    "cat dyn small": (
        lambda x, k: lax.dynamic_index_in_dim(
            jnp.concatenate([x[:0], x, x[:0]]), k, keepdims=False
        ),
        S,
        np.array(1),
    ),
    "zero input": (lambda x, e: jnp.concatenate([x, e]), S, np.zeros((0, 2))),
    "zero input only": (lambda e: e * 2.0, np.zeros((0, 2))),
    "sum": (lambda x: jnp.sum(x[:0], axis=0), S),
    "sum1": (lambda x: jnp.sum(x[:0], axis=1), S),
    "sumlong": (lambda x: jnp.sum(x[:0].reshape(0, 4), axis=0), L),
    "sumlong1": (lambda x: jnp.sum(x[:0].reshape(4, 0), axis=1), L),
    "prod": (lambda x: jnp.prod(x[:0], axis=0), S),
    "max": (lambda x: jnp.max(x[:0], axis=1), S),
    "any": (lambda x: jnp.any(x[:0] > 0, axis=0), S),
    "mean": (lambda x: jnp.mean(x[:, :0], axis=0), S),
    "dot": (lambda x: x[:, :0] @ x[:0], S),
    "dot2": (lambda x: x[:0] @ x.T, S),
    "dotlong": (lambda x: x.reshape(50, 60)[:, :0] @ x.reshape(60, 50)[:0], L),
    "dotlong2": (lambda x: x.reshape(50, 60)[:0] @ x.reshape(60, 50), L),
    "outer0": (lambda x: jnp.outer(x[:0], x), L),
    "scan0": (lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(2), x[:0]), S),
    "scan0long": (lambda x: lax.scan(lambda c, r: (c + r, c * r), 0.0, x[:0]), L),
    "scan carry0": (
        lambda x: lax.scan(
            lambda c, r: ((c[0] + r, c[1] * 2), (c[0], c[1])), (jnp.zeros(2), x[0, :0]), rounds(x)
        ),
        S,
    ),
    "scan xs0": (
        lambda x: lax.scan(
            lambda c, r: (c + r[0] + jnp.sum(r[1]), r[1]),
            jnp.zeros(2),
            (rounds(x), jnp.zeros((600, 0))),
        ),
        S,
    ),
    "scan xs0 long": (
        lambda x: lax.scan(
            lambda c, r: (c + r[0] + jnp.sum(r[1]), r[1]), 0.0, (x, x[:0].reshape(3000, 0))
        ),
        L,
    ),
    "scan unrolled0": (
        lambda x: lax.scan(
            lambda c, r: (c + r[0] + jnp.sum(r[1]), r[1]), jnp.zeros(2), (x, x[:, :0])
        ),
        S,
    ),
    "scan grad": (
        jax.grad(lambda x: jnp.sum(lax.scan(lambda c, r: (c * r, c), x[0], x[:0])[0])),
        S,
    ),
    "while carry0": (
        lambda x: lax.while_loop(
            lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2, c[2] + 1), (0, x[:0], x)
        ),
        S,
    ),
    "cond0": (
        lambda x: lax.cond(
            x[0, 0] > 0,
            lambda: (x[:0] * 2, jnp.tanh(jnp.tile(x, (9, 1)))),
            lambda: (x[:0], jnp.tile(x, (9, 1))),
        ),
        S,
    ),
    "gather": (lambda x: x[jnp.zeros((0,), int)], S),
    "gatherlong": (lambda x: x[jnp.zeros((0,), int)], L),
    "gather0": (lambda x: jnp.take(x[:, :0], jnp.array([0, 2]), axis=0), S),
    "gatherdyn": (lambda x, k: x[:, :0][k], S, K),
    "gatherdyn2": (lambda x, k: x[k[:0]], S, K),
    "scatter": (lambda x: x.at[jnp.zeros((0,), int)].set(1.0), S),
    "scatter add": (lambda x: x.at[jnp.zeros((0,), int)].add(x[:0]), S),
    "scatterlong": (lambda x, k: x.at[k[:0]].add(2.0), L, K[:2]),
    "scatter0": (lambda x, k: x[:, :0].at[k].set(1.0), S, K[:2]),
    "scatterinto0": (lambda x, k: x[:0].at[k].set(1.0, mode="drop"), S, K[:2]),
    "dus": (lambda x, k: lax.dynamic_update_slice(x, x[:0], (k, 0)), S, np.array(1)),
    "dus long": (lambda x, k: lax.dynamic_update_slice(x, x[:0], (k,)), L, np.array(1)),
    "ds": (lambda x, k: lax.dynamic_slice(x, (k, 0), (0, 2)), S, np.array(1)),
    "ds long": (lambda x, k: lax.dynamic_slice(x, (k,), (0,)), L, np.array(1)),
    "ds of 0": (lambda x, k: lax.dynamic_slice(x[:, :0], (k, 0), (1, 0)), S, np.array(1)),
    "pad": (lambda x: jnp.pad(x[:0], ((1, 2), (0, 1)), constant_values=3.0), S),
    "pad long": (lambda x: jnp.pad(x[:0], (1500, 2000)), L),
    "pad lax": (lambda x: lax.pad(x[:0], 1.0, ((2, 1, 0), (0, 0, 1))), S),
    "pad neg": (lambda x: lax.pad(x, 1.0, ((-3, 0, 0), (0, 0, 0))), S),
    "stack": (lambda x: jnp.stack([x[:0], x[:0]]), S),
    "stack long": (lambda x: jnp.stack([x[:0], x[:0]], axis=1), L),
    "split": (lambda x: jnp.split(x, [0, 2, 3]), S),
    "split long": (lambda x: jnp.split(x, [0, 2, 3000]), L),
    "broadcast": (lambda x: jnp.broadcast_to(x[:0][:, None], (0, 4, 2)), S),
    "broadcast long": (lambda x: jnp.broadcast_to(x[:0][:, None], (0, 30000)), L),
    "broadcast0": (lambda x: jnp.broadcast_to(x[0, 0], (300000, 0)), S),
    "reshape": (lambda x: x[:0].reshape(2, 0, 5), S),
    "reshape long": (lambda x: x[:0].reshape(2, 0, 5), L),
    "transpose": (lambda x: x[:0].T, S),
    "rev": (lambda x: x[:0][::-1], S),
    "sort": (lambda x: jnp.sort(x[:0], axis=0), S),
    "sort1": (lambda x: jnp.sort(x[:0], axis=1), S),
    "sort long": (lambda x: jnp.sort(x.reshape(3, 1000)[:0], axis=1), L),
    "argsort": (lambda x: jnp.argsort(x[:, :0], axis=0), S),
    "argmax": (lambda x: jnp.argmax(x[:0], axis=1), S),
    "argmax long": (lambda x: jnp.argmax(x.reshape(3, 1000)[:0], axis=1), L),
    "cumsum": (lambda x: jnp.cumsum(x[:0], axis=0), S),
    "cumsum1": (lambda x: jnp.cumsum(x[:0], axis=1), S),
    "cumsum long": (lambda x: jnp.cumsum(x.reshape(3, 1000)[:0], axis=1), L),
    "cumsum long0": (lambda x: jnp.cumsum(x[:0]), L),
    "topk": (lambda x: lax.top_k(x, 0), S),
    "where": (lambda x: jnp.where(x[:0] > 0, x[:0], 1.0), S),
    "exp long": (lambda x: jnp.exp(x[:0]) * x[3000:], L),
    "iota": (lambda x: jnp.arange(0.0) + x[:0, 0], S),
    "eye": (lambda x: jnp.eye(0) @ x[:0], S),
    "chol": (lambda x: lin.cholesky(x[:0, :0]), S),
    "solve": (lambda x: lin.solve(jnp.eye(2), x.T[:, :0]), S),
    "solve b0": (lambda x: lin.solve(jnp.eye(2)[None][:0], x.T[None][:0]), S),
    "inv": (lambda x: lin.inv(jnp.stack([jnp.eye(2)] * 2)[:0] * x[0, 0]), S),
    "det": (lambda x: lin.det(jnp.stack([jnp.eye(2)] * 2)[:0] * x[0, 0]), S),
    "norm": (lambda x: lin.norm(x[:0]), S),
    "vmap0": (lambda x: jax.vmap(lambda r: jnp.sin(r) @ r)(x[:0]), S),
    "grad cat": (jax.grad(lambda x: jnp.sum(jnp.concatenate([x[:0], x**2, x[3:]]))), S),
    "grad cat long": (jax.grad(lambda x: jnp.sum(jnp.concatenate([x[:0], x**2, x[3000:]]))), L),
    "jac": (jax.jacfwd(lambda x: x[:0]), S),
    "jacr": (jax.jacrev(lambda x: x[:0]), S),
    "tile": (lambda x: jnp.tile(x, (0, 1)), S),
    "repeat": (lambda x: jnp.repeat(x, np.array([0, 2, 0]), axis=0, total_repeat_length=2), S),
    "clip": (lambda x: jnp.clip(x[:0], 0, 1), S),
    "convert": (lambda x: x[:0].astype(int), S),
    "const": (lambda x: x[:0] + np.zeros((0, 2)), S),
    "einsum": (lambda x: jnp.einsum("ij,kj->ik", x[:0], x), S),
    "batched dot": (
        lambda x: jnp.einsum("bij,bjk->bik", jnp.stack([x] * 3)[:0], jnp.stack([x.T] * 3)[:0]),
        S,
    ),
    "sum all": (lambda x: jnp.sum(x[:, :0]), S),
    "loop cat": (
        lambda x: lax.scan(
            lambda c, r: (
                jnp.tanh(jnp.concatenate([c[:0], c + r, r[2:]])),
                jnp.concatenate([c, r[:0]]),
            ),
            jnp.zeros(2),
            rounds(x),
        ),
        S,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_arrays_without_entries_agree_with_xla(name):
    fn, *args = CASES[name]
    with jax.enable_x64(True):
        wanted = [np.asarray(y) for y in jax.tree.leaves(jax.jit(fn)(*args))]
    f = native.compile(fn, *args)
    many = f.map(*(np.stack([x] * 9) for x in args))
    rows = zip(jax.tree.leaves(f(*args)), jax.tree.leaves(many), wanted, strict=True)
    for one, batch, y in rows:
        assert (one.shape, one.dtype) == (y.shape, y.dtype)
        assert batch.shape == (9, *y.shape)
        np.testing.assert_allclose(one, y, rtol=1e-12)
        np.testing.assert_array_equal(batch, np.stack([one] * 9))
