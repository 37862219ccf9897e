"""Calling compiled functions: structure, batches, threads, memory, errors."""

from __future__ import annotations

import gc
import math
import resource
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.errors import BadOption, BadShape, FallbackWarning, IsthmusError, NotTranslatable
from isthmus.native.ir.listing import listing
from tests.native.mechanism import final_loss, forward_dynamics, path, path_loss, rollout
from tests.native.support import assert_close, assert_same_bits, xla

THETA = np.array([1.0, 1.2, 1.0, 0.8])


@pytest.fixture(scope="module")
def gradient():
    return native.compile(jax.value_and_grad(final_loss(100)), THETA)


def worlds(n, seed=0):
    return THETA * (1.0 + 0.2 * np.random.default_rng(seed).random((n, 4)))


def test_trees_in_and_out():
    fn = lambda a, b: {"sum": a["x"] + b[0], "rest": (b[1] > 0, [a["n"] + 1])}
    args = ({"x": np.ones(2), "n": 3}, (np.array([2.0, 3.0]), -1.0))
    assert_close(native.compile(fn, *args)(*args), xla(fn, *args))


def test_out_is_written_into():
    f = native.compile(lambda x: {"y": 2.0 * x, "big": x > 1.0}, np.zeros(3))
    out = {"y": np.zeros(3), "big": np.zeros(3, bool)}
    assert f(np.arange(3.0), out=out) is out
    np.testing.assert_array_equal(out["y"], [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(out["big"], [False, False, True])
    with pytest.raises(BadShape, match=r"shape \(2,\) for \(3,\)"):
        f(np.arange(3.0), out={"y": np.zeros(2), "big": np.zeros(3, bool)})


def test_static_arguments_fold_away():
    fn = lambda m, steps, x: rollout(m["mass"], m["length"], x, x, steps)[0]
    model = {"mass": np.ones(2), "length": np.array([1.0, 0.5])}
    x = np.array([0.1, 0.2])
    free = native.compile(fn, model, 20, x, static=1)
    baked = native.compile(fn, model, 20, x, static=(0, 1))
    assert baked.stats.operations < free.stats.operations
    assert_close(baked(x), free(model, x))
    with pytest.raises(BadOption, match=r"static names the arguments \[5\]"):
        native.compile(fn, model, 20, x, static=5)


def test_wrong_structure_and_shape_are_refused():
    f = native.compile(lambda x, y: x + y["a"], np.ones(3), {"a": np.ones(3)})
    with pytest.raises(BadShape, match="structure"):
        f(np.ones(3), {"b": np.ones(3)})
    with pytest.raises(BadShape, match=r"leaf 1 has shape \(2,\), but \(3,\) was compiled"):
        f(np.ones(3), {"a": np.ones(2)})
    with pytest.raises(BadShape, match=r"leading axes differ.* have \(4, 3\), \(5, 3\)"):
        f.map(np.ones((4, 3)), {"a": np.ones((5, 3))})
    with pytest.raises(TypeError):
        native.compile(lambda k: k + 1, 3)(1.5)


def test_any_precision_of_arguments_is_taken():
    f = native.compile(lambda x, k: x * k.astype(float), np.ones(2), np.arange(2))
    for x in (np.float32([0.5, 0.1]), jnp.array([0.5, 0.1]), np.array([1.0, 2.0])[::-1]):
        batch = np.stack([np.asarray(x)] * 3)
        assert_same_bits(f.map(batch, np.int32([[1, 2]] * 3))[2], f(x, np.int32([1, 2])))


def test_same_bits_whatever_the_threads(gradient):
    batch = worlds(203)
    one = gradient.map(batch, threads=1)
    for threads in (2, 3, 7, None):
        assert_same_bits(gradient.map(batch, threads=threads), one)
    value, slope = gradient(batch[202])
    assert one[0][202] == value
    assert (one[1][202] == slope).all()


def test_a_world_does_not_depend_on_its_neighbours(gradient):
    batch = worlds(24)
    clean = gradient.map(batch)
    sick = batch.copy()
    sick[5], sick[17, 2], sick[11, 0] = math.nan, math.inf, 1e200
    found = gradient.map(sick)
    healthy = [k for k in range(24) if k not in (5, 11, 17)]
    assert np.isnan(found[0][[5, 17]]).all()
    assert_same_bits(
        jax.tree.map(lambda x: x[healthy], found), jax.tree.map(lambda x: x[healthy], clean)
    )


def test_calls_from_many_threads(gradient):
    batch = worlds(8)
    wanted = gradient.map(batch)
    found = [None] * 8

    def run(k):
        for _ in range(20):
            found[k] = gradient(batch[k])

    crew = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for t in crew:
        t.start()
    for t in crew:
        t.join()
    assert_same_bits(np.array([v for v, _ in found]), wanted[0])


def test_ten_thousand_calls_leak_nothing():
    f = native.compile(lambda x, y: {"a": jnp.sin(x) @ y, "b": x}, np.ones(50), np.ones(50))
    x = np.ones((9, 50))
    for _ in range(300):
        f(x[0], x[1]), f.map(x, x)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10_000):
        f(x[0], x[1])
    for _ in range(1000):
        f.map(x, x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB


def test_compiled_functions_give_their_memory_back():
    import weakref

    f = native.compile(lambda x: x * 2.0, 1.0)
    f(1.0), f.map(np.ones(9))
    loaded = weakref.ref(f.code(1).loaded)
    del f
    gc.collect()
    assert loaded() is None


def test_a_gradient_of_100_000_steps_with_checkpoints_needs_little_memory():
    inner = jax.checkpoint(lambda c: jax.lax.scan(step, c, None, length=400)[0])

    def step(c, _):
        q, v = c
        v = v + 1e-4 * forward_dynamics(jnp.ones(2), jnp.ones(2), q, v, -0.5 * v)
        return (q + 1e-4 * v, v), None

    def fn(q):
        (q, _), _ = jax.lax.scan(lambda c, _: (inner(c), None), (q, 0.0 * q), None, length=250)
        return jnp.sum(q**2)

    f = native.compile(jax.value_and_grad(fn), np.array([0.3, -0.2]))
    assert (
        f.stats.bytes < 250_000
    )  # 400 steps of residuals and 250 states; all of them would be 20 MB
    _value, slope = f(np.array([0.3, -0.2]))
    nudge = np.array([1e-5, 0.0])
    lower, upper = f(np.array([0.3, -0.2]) - nudge)[0], f(np.array([0.3, -0.2]) + nudge)[0]
    np.testing.assert_allclose(slope[0], (upper - lower) / 2e-5, rtol=1e-5)


def test_problem_c_gives_the_published_value():
    loss = path_loss(native.compile(path, np.ones(2))(np.array([3.0, 4.0])))
    value, slope = native.compile(jax.value_and_grad(loss), np.ones(2))(np.array([2.0, 3.0]))
    np.testing.assert_allclose(value, 1.92317939449159, rtol=1e-10)
    np.testing.assert_allclose(slope, [-1.25855338195, -2.54612092566], rtol=1e-8)


def test_rollouts_agree_with_xla_as_well_as_xla_with_itself():
    g = jax.jit(jax.value_and_grad(final_loss(300)))
    found = native.compile(g, THETA)(THETA)
    wanted = xla(g, THETA)
    moved = [xla(g, np.nextafter(THETA, side * np.inf)) for side in (1, -1)]
    for k, (x, y) in enumerate(zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)):
        jitter = max(np.max(np.abs(jax.tree.leaves(m)[k] - y)) for m in moved)
        assert np.max(np.abs(x - y)) <= 100 * jitter


def test_what_cannot_be_translated_is_named_with_its_line():
    def fn(x):
        return jnp.fft.fft(x).real

    with pytest.raises(
        NotTranslatable, match=r"'fft', used at .*test_call\.py:\d+.*IST501"
    ) as error:
        native.compile(fn, np.ones(8))
    assert isinstance(error.value, IsthmusError)
    with pytest.warns(FallbackWarning, match="'fft'.*Running under XLA"):
        f = native.compile(fn, np.arange(8.0), fallback="xla")
    np.testing.assert_allclose(f(np.arange(8.0)), np.fft.fft(np.arange(8.0)).real)
    assert f.map(np.ones((3, 8))).shape == (3, 8)
    assert f.stats.engine == "xla"
    with pytest.raises(BadOption, match="'gpu'"):
        native.compile(fn, np.ones(8), fallback="gpu")


def test_statistics_say_what_was_pruned(gradient):
    stats = gradient.stats
    assert stats.operations < stats.operations_before / 5
    assert stats.flops > 50 * stats.operations
    assert stats.bytes > 0
    assert stats.lanes in (2, 4, 8, 16)
    assert stats.trace_seconds > 0
    assert stats.compile_seconds > 0
    assert "before pruning" in str(stats)
    assert "operations" in repr(gradient)


def test_equal_functions_give_equal_code():
    once, again = (native.compile(jax.grad(final_loss(50)), THETA) for _ in range(2))
    texts = [f.source("llvm", lanes=lanes) for f in (once, again) for lanes in (1, 8)]
    assert texts[0] == texts[2]
    assert texts[1] == texts[3]


def test_importing_changes_no_setting():
    script = """
import jax
before = dict(jax.config.values)
import isthmus.native
assert dict(jax.config.values) == before
import jax.numpy as jnp
f = isthmus.native.compile(lambda x: x + 1.0, 1.0)
assert f(1.0).dtype == 'float64' and jnp.ones(2).dtype == 'float32'
assert dict(jax.config.values) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_program_can_be_read():
    loop = lambda x: jax.lax.fori_loop(0, 90, lambda _, y: y * x + 1.0, x)
    text = listing(native.compile(loop, 1.0).program)
    assert "loop" in text
    assert "fma" in text or "mul" in text
