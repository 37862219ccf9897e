"""Compiled functions inside JAX: jit, vmap, grad, grad of grad, scan, in both precisions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.errors import BadShape
from isthmus.native.runtime import jax_call
from tests.native.support import leaves


def swing(x, y):
    def body(c, _):
        return jnp.sin(c) * y["a"] + 0.1, c.sum()

    c, s = jax.lax.scan(body, x, None, length=200)
    return {"c": c, "s": s[::50]}, jnp.tanh(x @ c)


def total(h):
    return lambda x, y: h(x, y)[1] + h(x, y)[0]["s"].sum()


def summed(h):
    return lambda xs, y: jnp.sum(jax.vmap(h, (0, None))(xs, y)[1] ** 2)


def looped(h):
    return lambda x, y: jax.lax.scan(lambda c, _: (h(c, y)[0]["c"], None), x, None, length=5)[
        0
    ].sum()


@pytest.fixture(scope="module")
def compiled():
    return native.compile(swing, np.ones(3), {"a": 0.9})


CASES = {
    "call": lambda h: h,
    "jit": lambda h: jax.jit(h),
    "grad": lambda h: jax.grad(total(h), (0, 1)),
    "jit of grad": lambda h: jax.jit(jax.grad(total(h), (0, 1))),
    "jvp": lambda h: lambda x, y: jax.jvp(h, (x, y), (2 * x, y)),
    "hessian": lambda h: jax.jit(jax.hessian(total(h))),
    "grad of grad": lambda h: jax.grad(lambda x, y: jnp.sum(jax.grad(total(h))(x, y) ** 2), (0, 1)),
    "scan": lambda h: jax.jit(looped(h)),
    "grad of scan": lambda h: jax.jit(jax.grad(looped(h))),
}
BATCHED = {
    "vmap": lambda h: jax.vmap(h, (0, None)),
    "vmap of grad": lambda h: jax.jit(jax.vmap(jax.grad(total(h), (0, 1)), (0, None))),
    "grad of vmap": lambda h: jax.jit(jax.grad(summed(h), (0, 1))),
    "vmap of vmap": lambda h: jax.jit(jax.vmap(jax.vmap(h, (0, None)), (None, {"a": 0}))),
}


def arguments(name):
    x = jnp.linspace(-0.4, 0.9, 27).reshape(9, 3)
    if name in BATCHED:
        return x, {"a": jnp.linspace(0.5, 0.9, 4) if name == "vmap of vmap" else jnp.asarray(0.8)}
    return x[3], {"a": jnp.asarray(0.8)}


@pytest.mark.parametrize("name", [*CASES, *BATCHED])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.smoke
@pytest.mark.compiles_much("transformations outside jax.jit are the point")
def test_transformations(compiled, name, wide):
    with jax.enable_x64(wide):
        args, make = arguments(name), (CASES | BATCHED)[name]
        found, wanted = make(compiled.as_jax())(*args), make(swing)(*args)
        for x, y in zip(leaves(found), leaves(wanted), strict=True):
            assert x.dtype == y.dtype
            scale = max(np.max(np.abs(y)), 1e-12)
            np.testing.assert_allclose(x, y, rtol=0, atol=(1e-12 if wide else 2e-5) * scale)


def test_the_custom_call_is_really_used(compiled):
    assert jax_call.foreign_calls_work(native.Native)
    text = jax.jit(compiled.as_jax()).lower(jnp.ones(3), {"a": jnp.ones(())}).as_text()
    assert "isthmus_native_" in text
    assert "sine" not in text


def test_without_foreign_calls_xla_does_it(compiled, monkeypatch):
    monkeypatch.setattr(jax_call, "foreign_calls_work", lambda make: False)
    h = jax.jit(lambda x, y: compiled.as_jax()(x, y))
    assert "isthmus_native_" not in h.lower(jnp.ones(3), {"a": jnp.ones(())}).as_text()
    np.testing.assert_allclose(
        h(jnp.ones(3), {"a": 0.9})[1], compiled(np.ones(3), {"a": 0.9})[1], rtol=1e-6
    )


def test_whole_numbers_pass_beside_floats():
    fn = lambda k, x: (x[k % 3] * k.astype(float), k + 1, x > 0.0)
    h = native.compile(fn, np.int64(2), np.ones(3)).as_jax()
    x = jnp.array([0.5, -2.0, 3.0])
    for a, b in zip(leaves(jax.jit(h)(4, x)), leaves(fn(jnp.asarray(4), x)), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(jax.grad(lambda x: h(4, x)[0])(x), [0.0, 4.0, 0.0])


def test_static_arguments_stay_baked():
    h = native.compile(lambda m, x: m * x**2, 3.0, 1.0, static=0).as_jax()
    assert jax.jit(jax.grad(h))(2.0) == 12.0


def test_wrong_shapes_are_refused(compiled):
    with pytest.raises(BadShape, match=r"\(2,\) instead of \(3,\)"):
        compiled.as_jax()(jnp.ones(2), {"a": 1.0})
