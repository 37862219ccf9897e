"""Code restricted to narrower vectors: fewer lanes, the same bits, another name on disk."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import llvmlite.binding as binding
import numpy as np
import pytest

from isthmus import library, native
from isthmus.dynamics import forward_dynamics
from isthmus.errors import BadOption
from isthmus.native.runtime import known
from isthmus.native.runtime.codes import entry_of
from isthmus.native.targets import here
from isthmus.native.targets.llvm import machine_code, processor
from tests.native.support import assert_same_bits

LANES = {"sse2": 2, "avx2": 4, "avx512": 8}
HERE = [
    name for name, (_, needs) in processor.TARGETS.items() if needs <= processor.host().features
]
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(40, 60)), RNG.normal(size=(60, 30))
MODEL = library.pendulum(2)


def functions(x):
    return jnp.sin(x), jnp.exp(x), jnp.log1p(x * x), jnp.tanh(x), jnp.arctan2(x, 1.0 + x), x**2.5


def products(x):
    """Large enough to stay loops over memory."""
    return jnp.tanh(x @ WEIGHTS[0]) @ WEIGHTS[1]


def swing(q):
    """Where a pendulum ends; a loop over time, differentiated below."""
    step = lambda s, _: ((s[0] + 0.01 * s[1], s[1] - 0.0981 * jnp.sin(s[0])), None)
    return jax.lax.scan(step, (q, 0.0 * q), None, length=100)[0][0]


def halvings(x):
    """Lanes that end at different times."""
    return jax.lax.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] / 2, s[1] + s[0] * x), (x, x))


def accelerations(q):
    return forward_dynamics(MODEL, q, 0.3 * q, 1.0 - q)


CASES = {
    "functions": (functions, np.float64(0.7)),
    "functions in float32": (functions, np.float32(0.7)),
    "products": (products, RNG.normal(size=(3, 40))),
    "a gradient": (jax.grad(swing), np.float64(0.7)),
    "a loop of unknown length": (halvings, np.float64(70.0)),
    "accelerations": (accelerations, np.array([0.3, -0.8])),
}


@pytest.fixture
def target(monkeypatch):
    """Restricts code that is made from now on; `""` is no restriction."""
    return lambda name: monkeypatch.setenv(processor.VARIABLE, name)


def results(fn, example):
    """One world, and 11 worlds in lanes."""
    f = native.compile(fn, example)
    worlds = (example + np.linspace(0.0, 0.5, 11).reshape(-1, *[1] * example.ndim)).astype(
        example.dtype
    )
    return f, (f(example), f.map(worlds))


@pytest.mark.skipif(len(HERE) < 2, reason="the processor has one width only")
@pytest.mark.parametrize("case", CASES)
def test_two_four_and_eight_lanes_give_the_same_bits(target, case):
    fn, example = CASES[case]
    target("")
    _, wanted = results(fn, example)
    for name in HERE:
        target(name)
        f, found = results(fn, example)
        assert f.stats.lanes == LANES[name] * 8 // example.dtype.itemsize
        assert_same_bits(found, wanted)


@pytest.mark.parametrize("name", HERE)
def test_restricted_code_keeps_to_its_registers(target, name):
    target(name)
    f = native.compile(functions, 0.7)
    machine = machine_code.target_machine()
    text = machine.emit_assembly(binding.parse_assembly(f.source("llvm", lanes=f.lanes)))
    wide = {"sse2": "ymm", "avx2": "zmm", "avx512": "none"}[name]
    assert wide not in text
    assert {"sse2": "xmm", "avx2": "ymm", "avx512": "zmm"}[name] in text


def test_each_target_has_its_own_code_on_disk(target):
    names, digests = [], []
    for name in ("", *HERE):
        target(name)
        names.append(entry_of(here(), "text", 1))
        digests.append(known.digest("settings", (1.0,)))
    assert len(set(names)) == len(set(digests)) == len(names)


def test_fusing_without_the_instruction_has_another_name(monkeypatch):
    name, before = entry_of(here(), "text", 1), known.digest("settings", (1.0,))
    monkeypatch.setattr(machine_code, "has_fma", lambda: not processor.has_fma())
    assert entry_of(here(), "text", 1) != name
    assert known.digest("settings", (1.0,)) != before


def test_a_target_that_does_not_exist_is_told_those_that_do(target):
    target("avx1024")
    with pytest.raises(
        BadOption, match=r"ISTHMUS_TARGET is 'avx1024'; there are 'sse2', 'avx2', 'avx512'"
    ):
        native.compile(functions, 0.7)


def test_a_target_that_the_processor_lacks_is_told_what_is_missing(target, monkeypatch):
    old = processor.Processor("x86-64", frozenset({"sse2"}), "")
    monkeypatch.setattr(processor, "host", lambda: old)
    monkeypatch.setattr(processor, "_restricted", processor._restricted.__wrapped__)
    target("avx512")
    wanted = r"'avx512', but this processor lacks avx2, avx512bw.*it can do 'sse2'\."
    with pytest.raises(BadOption, match=wanted):
        processor.widest()
    target(" SSE2 ")
    assert processor.widest() == 2
    assert not processor.has_fma()
