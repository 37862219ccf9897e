"""Large products in native code: beside the most that one core can do, beside NumPy's BLAS, beside XLA.

The most is measured in the same run: 24 chains of fused multiply-adds in the widest vectors. Times of products are
the least of many on the wall. BLAS may use all cores: OPENBLAS_NUM_THREADS=1 holds it to one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus import native
from isthmus.bench.native_cases import WALL, WORK, compiled, same
from isthmus.bench.rows import Row
from isthmus.bench.timing import fastest, race
from isthmus.native.targets.llvm.processor import widest

SIDE = 192
CHAINS, ROUNDS = 24, 20_000


def bare(f: Any, *args: Any, lanes: int = 1) -> Callable[[], None]:
    """A call of the machine code alone: arguments are in place already, results stay there."""
    code = f.code(lanes, final=True)
    flat = [np.repeat(np.ravel(x), lanes) for x in args]
    entries = code.layout.total * lanes + 24
    memory = np.zeros(entries)
    start = -memory.ctypes.data % 64 // 8
    given = np.concatenate(flat)
    memory[start : start + given.size] = given
    first = memory.ctypes.data + 8 * start
    results = first + 8 * lanes * code.layout.inputs
    scratch = results + 8 * lanes * code.layout.outputs
    return lambda keep=memory: code.single(first, results, scratch)


def peak() -> Callable[[], None]:
    """A run of 2·`CHAINS`·`ROUNDS` floating-point operations in each lane, as fast as they go."""
    step = lambda _, x: x * 0.999 + 0.001
    chains = native.compile(lambda x: jax.lax.fori_loop(0, ROUNDS, step, x), np.ones(CHAINS))
    return bare(chains, np.ones(CHAINS), lanes=widest())


def products(quick: bool) -> list[Row]:
    """Matrix by matrix and matrix by vector."""
    rng = np.random.default_rng(0)
    A, B, x = rng.normal(size=(SIDE, SIDE)), rng.normal(size=(SIDE, SIDE)), rng.normal(size=SIDE)
    f, g = native.compile(jnp.matmul, A, B), native.compile(jnp.matmul, A, x)
    same(f(A, B), A @ B, 1e-12)
    same(g(A, x), A @ x, 1e-12)
    square, line = np.empty((SIDE, SIDE)), np.empty(SIDE)
    runs = [
        bare(f, A, B),
        lambda: np.matmul(A, B, out=square),
        bare(g, A, x),
        lambda: np.matmul(A, x, out=line),
        peak(),
    ]
    ours, blas, thin, thin_blas, most = fastest(*runs, repeats=40 if quick else 200)
    speed = 2.0 * CHAINS * ROUNDS * widest() / most
    name = f"product of {SIDE}×{SIDE} matrices"
    return [
        Row(name, ours, "most of a core", 2.0 * SIDE**3 / speed, 0.6),
        Row(name, ours, "NumPy's BLAS", blas, 0.8),
        Row(f"{SIDE}×{SIDE} matrix by a vector", thin, "NumPy's BLAS", thin_blas, 0.8),
    ]


def network(quick: bool) -> list[Row]:
    """A network of wide layers, its gradient by all weights."""
    rng = np.random.default_rng(0)
    sizes = itertools.pairwise((41, SIDE, SIDE, 12))
    layers = [(rng.normal(size=(n, m)) / np.sqrt(m), np.zeros(n)) for m, n in sizes]
    x = rng.normal(size=41)

    def value(layers: Any, x: Any) -> Any:
        for weights, bias in layers:
            x = jax.nn.elu(weights @ x + bias)
        return jnp.sum(x**2)

    fn = jax.grad(value)
    f, _, took = compiled(fn, layers, x)
    with jax.enable_x64(True):
        given = jax.tree.map(jnp.asarray, (layers, x))
        began = WORK()
        peer = jax.jit(fn).lower(*given).compile()
        compiling = WORK() - began
        same(f(layers, x)[1][0], peer(*given)[1][0], 1e-12)
        runs = [lambda: f(layers, x), lambda: jax.block_until_ready(peer(*given))]
        ours, theirs = race(*runs, repeats=9 if quick else 25, clock=WALL)
    name = f"network 41-{SIDE}-{SIDE}-12, gradient by all weights"
    return [
        Row(name, ours, "XLA float64", theirs, 1.0, compile=took, peer_compile=compiling),
    ]


def large(quick: bool) -> list[Row]:
    """All benchmarks of large arrays."""
    return [*products(quick), *network(quick)]
