"""What tests of native code share: comparison with XLA, for one world and for batches."""

from __future__ import annotations

import jax
import numpy as np

from isthmus import native

BATCHES = (1, 7, 8, 9, 1000)


def leaves(tree):
    return [np.asarray(x) for x in jax.tree.leaves(tree)]


def xla(fn, *args):
    """The answer of `jax.jit`, in float64."""
    with jax.enable_x64(True):
        jitted = fn if hasattr(fn, "lower") else jax.jit(fn)
        return jax.tree.map(np.asarray, jitted(*args))


def assert_close(found, wanted, tolerance=1e-12, together=False):
    """Within `tolerance` of the largest finite entry (of all arrays `together`); the rest exactly."""
    largest = lambda y: np.max(np.abs(y[np.isfinite(y)]), initial=1e-300)
    overall = max((largest(y) for y in leaves(wanted) if y.dtype.kind == "f"), default=1.0)
    for x, y in zip(leaves(found), leaves(wanted), strict=True):
        assert x.shape == y.shape
        if y.dtype.kind != "f":
            np.testing.assert_array_equal(x, y)
            continue
        finite = np.isfinite(y)
        np.testing.assert_array_equal(x[~finite], y[~finite])
        scale = overall if together else largest(y)
        np.testing.assert_allclose(x[finite], y[finite], rtol=0, atol=tolerance * scale)


def assert_same_bits(found, wanted):
    for x, y in zip(leaves(found), leaves(wanted), strict=True):
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        assert x.tobytes() == y.tobytes()


def stacked(rows):
    """A list of trees as one tree with a leading axis."""
    return jax.tree.map(lambda *x: np.stack(x), *rows)


def check(fn, *args, tolerance=1e-12, batches=(9,), rng=None, spread=1.0):
    """`fn` compiled agrees with XLA on `args`; batches of varied arguments give one world's bits."""
    f = native.compile(fn, *args)
    jitted = jax.jit(fn)
    assert_close(f(*args), xla(jitted, *args), tolerance)
    rng = rng or np.random.default_rng(0)
    for worlds in batches:
        batch = jax.tree.map(lambda x, n=worlds: vary(np.asarray(x), n, rng, spread), args)
        world = lambda k, batch=batch: jax.tree.map(lambda x: x[k], batch)
        many = f.map(*batch)
        assert_same_bits(many, stacked([f(*world(k)) for k in range(worlds)]))
        assert_close(
            jax.tree.map(lambda y: y[-1], many), xla(jitted, *world(worlds - 1)), tolerance
        )
    return f


def vary(x, worlds, rng, spread):
    """`worlds` arrays around `x`; integers and truths are shuffled among themselves."""
    if x.dtype.kind == "f":
        return x + spread * 0.1 * rng.normal(size=(worlds, *x.shape)) * (1.0 + np.abs(x))
    if x.size == 1:
        return np.broadcast_to(x, (worlds, *x.shape)).copy()
    return np.stack([rng.permutation(x.ravel()).reshape(x.shape) for _ in range(worlds)])
