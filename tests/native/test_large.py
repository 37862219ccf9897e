"""Large arrays stay in memory: products, sums and functions of them are loops, with XLA's numbers."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.native.ir.program import walk
from isthmus.native.passes.liveness import live
from tests.native.support import assert_close, assert_same_bits, check, stacked, xla

RNG = np.random.default_rng(3)
SIZES = (41, 192, 192, 12)
LAYERS = [
    (RNG.normal(size=(b, a)) / np.sqrt(a), RNG.normal(size=b)) for a, b in itertools.pairwise(SIZES)
]
STATE = RNG.normal(size=41)


def network(layers, x):
    for weights, bias in layers[:-1]:
        x = jax.nn.elu(weights @ x + bias)
    weights, bias = layers[-1]
    return weights @ x + bias


def loss(layers, x):
    return jnp.sum(network(layers, x) ** 2)


def statements(f):
    alive = live(f.plan.program)
    return sum(item in alive for _, item in walk(f.plan.program))


def worlds(f, *args, count=5):
    """Several worlds give each one's bits."""
    batch = jax.tree.map(
        lambda x: np.stack([x * x.dtype.type(1 + 0.1 * k) for k in range(count)]), args
    )
    one = lambda k: f(*jax.tree.map(lambda x: x[k], batch))
    assert_same_bits(f.map(*batch), stacked([one(k) for k in range(count)]))


@pytest.mark.parametrize(
    ("fn", "args", "most"),
    [
        (network, (LAYERS, STATE), 300),
        (lambda x: network(LAYERS, x), (STATE,), 300),
        (jax.grad(loss, (0, 1)), (LAYERS, STATE), 500),
        (jax.grad(lambda x: loss(LAYERS, x)), (STATE,), 500),
    ],
    ids=["inputs", "constants", "gradient by weights", "gradient by state"],
)
def test_a_network_of_wide_layers_is_a_few_hundred_statements(fn, args, most):
    f = native.compile(fn, *args)
    assert statements(f) < most
    assert_close(f(*args), xla(fn, *args))
    worlds(f, *args)


def test_a_wide_network_in_single_precision():
    layers, x = jax.tree.map(lambda x: x.astype(np.float32), (LAYERS, STATE))
    f = native.compile(jax.grad(loss), layers, x)
    found = f(layers, x)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(found)} == {"float32"}
    assert_close(found, xla(jax.grad(loss), LAYERS, STATE), tolerance=1e-5)
    worlds(f, layers, x)


def test_a_batch_inside_a_world():
    batch = RNG.normal(size=(32, 41))
    fn = jax.grad(lambda w, x: jnp.mean(jax.vmap(lambda row: loss(w, row))(x)))
    f = native.compile(fn, LAYERS, batch)
    assert statements(f) < 800
    assert_close(f(LAYERS, batch), xla(fn, LAYERS, batch))


def test_a_wide_network_inside_jax():
    f = native.compile(network, LAYERS, STATE).as_jax()
    with jax.enable_x64(True):
        many = np.stack([STATE, 2.0 * STATE, -STATE])
        found = jax.jit(jax.vmap(f, (None, 0)))(LAYERS, many)
        assert_close(found, xla(jax.vmap(network, (None, 0)), LAYERS, many))
        slope = jax.grad(lambda w: jnp.sum(f(w, STATE) ** 2))(LAYERS)
        assert_close(slope, xla(jax.grad(loss), LAYERS, STATE))


A, B, C = RNG.normal(size=(37, 50)), RNG.normal(size=(50, 29)), RNG.normal(size=(29, 50))
CUBE, OTHER = RNG.normal(size=(6, 20, 33)), RNG.normal(size=(6, 33, 17))


@pytest.mark.parametrize(
    ("rule", "x", "y"),
    [
        ("ik,kj->ij", A, B),
        ("ik,jk->ij", A, C),
        ("ki,kj->ij", B, A.T.copy()),
        ("ki,jk->ij", B, A),
        ("ik,kj->ji", A, B),
        ("ik,k->i", CUBE[0].repeat(5, 0), OTHER[0, :, 0].copy()),
        ("ki,k->i", CUBE[0].repeat(5, 0), STATE.repeat(3)[:100]),
        ("bik,bkj->bij", CUBE, OTHER),
        ("ibk,kjb->jbi", CUBE.transpose(1, 0, 2).copy(), OTHER.transpose(1, 2, 0).copy()),
        ("abk,akc->bc", CUBE, OTHER),
        ("ik,kj->ij", A, B[:, :3].copy()),
        ("ki,kj->ij", RNG.normal(size=(600, 3)), RNG.normal(size=(600, 4))),
        ("bij,bjk->bik", RNG.normal(size=(300, 3, 3)), RNG.normal(size=(300, 3, 3))),
        ("i,j->ij", RNG.normal(size=70), RNG.normal(size=50)),
    ],
)
def test_products_of_any_axes(rule, x, y):
    fn = lambda x, y: jnp.einsum(rule, x, y)
    f = check(fn, x, y, batches=(3,))
    assert statements(f) < 400
    fixed = lambda x: jnp.einsum(rule, jnp.sin(x), y)  # a lazy operand and a constant one
    check(fixed, x, batches=())


def test_reductions_of_matrices():
    def fn(x):
        y = x * x + 1.0
        return {
            "all": jnp.sum(y),
            "rows": jnp.sum(y, axis=1),
            "columns": jnp.sum(y, axis=0),
            "largest": jnp.max(x, axis=1),
            "smallest": jnp.min(x),
            "norm": x / jnp.linalg.norm(x, axis=1, keepdims=True),
            "soft": jax.nn.softmax(x, axis=-1),
            "mean": jnp.mean(x.reshape(45, 2, 60), axis=(0, 2)),
        }

    x = RNG.normal(size=(90, 60))
    f = check(fn, x, batches=(3,))
    assert statements(f) < 1000


def test_products_in_a_loop_with_memory_of_its_own():
    """Weights, stacked inputs and carried matrices; reverse mode through the loop."""
    w, u = RNG.normal(size=(60, 60)) / 8.0, RNG.normal(size=(9, 60))

    def fn(w, u):
        def step(c, u):
            h, total = c
            h = jnp.tanh(w @ h + u)
            return (h, total + jnp.outer(h, h)), h[:2]

        (h, total), path = jax.lax.scan(step, (jnp.zeros(60), jnp.zeros((60, 60))), u)
        return jnp.sum(total * w) + jnp.sum(h), path

    f = check(fn, w, u, batches=(3,))
    assert statements(f) < 300
    f = check(jax.grad(lambda w, u: fn(w, u)[0], (0, 1)), w, u, batches=(3,), tolerance=1e-11)
    assert statements(f) < 600


def test_a_product_where_only_some_worlds_go():
    w = RNG.normal(size=(60, 60)) / 8.0

    def fn(x):
        halve = lambda c: (0.5 * jnp.tanh(w @ c[0]), c[1] + 1)
        return jax.lax.while_loop(lambda c: jnp.max(jnp.abs(c[0])) > 0.2, halve, (x, 0))

    f = native.compile(fn, STATE.repeat(2)[:60])
    batch = RNG.normal(size=(9, 60)) * np.logspace(-2, 2, 9)[:, None]
    many = f.map(batch)
    assert len(set(many[1].tolist())) > 2
    assert_same_bits(many, stacked([f(x) for x in batch]))
    assert_close(many, stacked([xla(fn, x) for x in batch]))


def test_a_large_product_multiplies_zeros_as_numbers():
    zeros = np.zeros((64, 64))
    zeros[0, 1] = 1.0
    dense = np.ones((64, 64))
    x = RNG.normal(size=64)
    x[0] = np.nan
    assert np.isnan(native.compile(lambda x: dense @ x, x)(x)).all()
    sparse = native.compile(lambda x: zeros @ x, x)(x)  # hardly anything there: written out
    assert not np.isnan(sparse).any()


ROWS = RNG.normal(size=(5, 70)).round(1)
"""With equal entries."""
ROWS[2, 3:50:9] = np.nan
ROWS[3, 5], ROWS[3, 60] = np.inf, -np.inf


@pytest.mark.parametrize("shape", [(3, 7), (20, 70), (1500,)])
def test_sorting(shape):
    x = np.resize(ROWS, shape)

    def fn(x):
        whole = (jnp.clip(jnp.nan_to_num(x), -3.0, 3.0) * 7.0).astype(jnp.int32)
        keys = (jnp.floor(x), whole % 5)
        return [
            jnp.sort(x),
            jnp.argsort(x, axis=0),
            jnp.sort(x > 0.3, axis=-1, descending=True),
            jax.lax.sort((*keys, x), num_keys=2),
            jax.lax.top_k(jnp.nan_to_num(x), 3),
            jnp.median(x, axis=-1),
        ]

    f = native.compile(fn, x)
    assert_close(f(x), xla(fn, x))
    worlds(f, x)
    assert shape[0] < 4 or statements(f) < 1500


@pytest.mark.parametrize("shape", [(3, 9), (40, 70)])
def test_running_sums_and_places_of_extremes(shape):
    x = np.resize(ROWS, shape)
    x[:1] = 1.0 + np.abs(np.nan_to_num(x[:1], posinf=1.0, neginf=1.0))

    def fn(x):
        return [
            jnp.cumsum(x, axis=0),
            jax.lax.cumsum(x, axis=1, reverse=True),
            jnp.cumprod(1.0 + 0.01 * x, axis=1),
            jax.lax.cummax(x, axis=1),
            jax.lax.cummin(x, axis=0, reverse=True),
            jax.lax.cumlogsumexp(x, axis=1),
            jnp.argmax(x, axis=1),
            jnp.argmin(x.T, axis=1),
            jnp.cumsum(x > 0, axis=1),
        ]

    f = native.compile(fn, x)
    assert_close(f(x), xla(fn, x))
    worlds(f, x)
    assert shape[0] < 4 or statements(f) < 900


def test_gradients_through_sorting_and_running_sums():
    x = RNG.normal(size=1200)
    weights = np.cos(np.arange(1200))
    fn = lambda x: jnp.sum(weights * jnp.sort(jnp.cumsum(x)))
    f = check(jax.grad(fn), x, batches=(3,))
    assert statements(f) < 500


def test_searching_in_order():
    places = np.sort(RNG.normal(size=200))
    fn = lambda v: (jnp.searchsorted(places, v), jnp.interp(v, places, jnp.cos(places)))
    check(fn, RNG.normal(size=20), batches=(3,))
    x = np.array([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan])

    def order(x):
        pair = jnp.broadcast_arrays(x[:, None], x[None])
        return [jax.lax.lt_to_p.bind(*pair), jax.lax.le_to_p.bind(*pair)]

    check(order, x, batches=())


def test_compiling_says_nothing(capfd, monkeypatch):
    """Also where loops cannot run in vectors."""
    monkeypatch.setenv("ISTHMUS_CACHE", "off")
    fn = lambda x, i: (jax.nn.softmax(x @ x.T), jnp.zeros(2000).at[i].add(1.0))
    x, i = RNG.normal(size=(50, 60)), np.arange(3000) % 77
    native.compile(fn, x, i)(x, i)
    assert capfd.readouterr().err == ""


def test_values_moved_to_fixed_places_cost_nothing():
    x, at = RNG.normal(size=60), np.arange(1500) % 60
    f = check(lambda x: jnp.zeros((80, 60)).at[np.arange(80), at[:80]].set(x[at][:80]), x)
    assert f.stats.flops == f.stats.bytes == 0
