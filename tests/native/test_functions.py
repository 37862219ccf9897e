"""The vector functions against extended precision: within 2 ulp, and right at the edges of their domains."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.native.ir.program import Program
from isthmus.native.passes.functions import FUNCTIONS
from isthmus.native.passes.lower import lower
from isthmus.native.runtime.codes import Code
from isthmus.native.targets import here
from tests.native.support import assert_same_bits

extended = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="no extended precision here"
)
EDGES = np.array(
    [0.0, 1.0, 0.5, math.inf, math.nan, 5e-324, 1e-310, 1e-20, 1e20, 1.7e308, 710.47, 745.2]
)
EDGES = np.concatenate([EDGES, -EDGES])
RNG = np.random.default_rng(4)
UNIT = np.concatenate([RNG.uniform(-1.0, 1.0, 6000), 1.0 - 10.0 ** RNG.uniform(-15, 0, 2000)])
SIGNED = 10.0 ** RNG.uniform(-300, 300, 6000) * RNG.choice([-1.0, 1.0], 6000)
QUARTERS = np.arange(-1000, 1000) * (math.pi / 2)
SAMPLES = {
    "tan": np.concatenate([UNIT * 10, UNIT * 1e9, QUARTERS, np.nextafter(QUARTERS, 9e9)]),
    "arcsin": UNIT,
    "arccos": UNIT,
    "exp2": np.concatenate([UNIT * 1023, UNIT - 1060, UNIT]),
    "expm1": np.concatenate([UNIT * 709, UNIT * 3, UNIT * 1e-9]),
    "log1p": np.concatenate([UNIT * 0.999, np.abs(SIGNED), UNIT * 1e-9, 10 * np.abs(UNIT)]),
    "sinh": np.concatenate([UNIT * 710, UNIT * 3, UNIT * 1e-9]),
    "cosh": np.concatenate([UNIT * 710, UNIT * 3]),
    "arcsinh": np.concatenate([UNIT * 3, SIGNED]),
    "arccosh": np.concatenate([1 + np.abs(UNIT) * 3, 1 + np.abs(SIGNED)]),
    "arctanh": UNIT[np.abs(UNIT) < 1],
    "cbrt": np.concatenate([UNIT * 9, SIGNED]),
}


def distance(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error in units of the last place of the true value."""
    ulp = np.spacing(np.abs(wanted).astype(np.float64)).astype(np.longdouble)
    return float(np.max(np.abs(found.astype(np.longdouble) - wanted) / ulp))


@extended
@pytest.mark.parametrize("name", SAMPLES)
def test_functions_are_within_two_ulp_and_alike_in_lanes_and_alone(name):
    x = SAMPLES[name]
    f = native.compile(getattr(jnp, name), 0.5)
    assert not [op for op in f.program.ops if op in FUNCTIONS]
    found = f.map(x)
    assert distance(found, getattr(np, name)(x.astype(np.longdouble))) <= 2.0
    assert_same_bits(found[:40], np.array([f(v) for v in x[:40]]))
    edges = f.map(EDGES)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(EDGES)
    np.testing.assert_allclose(edges, wanted, rtol=1e-15, atol=0)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(edges)[number], np.signbit(wanted)[number])


@extended
def test_powers_are_within_two_ulp():
    x = np.concatenate([np.abs(SIGNED), 10.0**UNIT, 1 + 1e-4 * UNIT, 50 * UNIT])
    y = np.concatenate([UNIT[:6000], 120 * UNIT, 1e6 * UNIT, np.arange(8000) % 150 - 75.0])
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    kept = (np.abs(wanted) < 1e308) & (np.abs(wanted) > 1e-320)
    found = native.compile(jax.lax.pow, 0.5, 0.5).map(x, y)
    assert distance(found[kept], wanted[kept]) <= 2.0


def test_powers_have_the_special_cases_of_ieee():
    numbers = np.concatenate([EDGES, [2.0, -2.0, 3.0, -3.0, 0.3, 1e300, 2.0**53, -(2.0**53) - 2.0]])
    x, y = (a.ravel() for a in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        wanted = np.power(x, y)
    found = native.compile(jax.lax.pow, 0.5, 0.5).map(x, y)
    np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=0)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(wanted)[number])


def exact_erfc(x: float) -> Decimal:
    """1 − 2/√π Σ (−1)ⁿ x²ⁿ⁺¹/(n!(2n+1)), in as many digits as its cancellation needs."""
    with localcontext() as context:
        context.prec = 40 + int(1.3 * x * x)
        z = Decimal(x)
        term, total, n = z, z, 0
        while abs(term) > Decimal(10) ** -context.prec:
            n += 1
            term *= -z * z / n
            total += term / (2 * n + 1)
        pi = Decimal(
            "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
        )
        if x * x > 30:  # π to as many digits: Machin's formula
            arctan = lambda k: sum(
                (Decimal((-1) ** j) / ((2 * j + 1) * Decimal(k) ** (2 * j + 1)))
                for j in range(context.prec)
            )
            pi = 16 * arctan(5) - 4 * arctan(239)
        return 1 - 2 * total / pi.sqrt()


def test_erf_and_erfc_are_within_two_ulp():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-5.4, 5.4, 300), rng.uniform(-1, 1, 200) * 1e-3, [9.3, 15.0]])
    found = native.compile(lambda x: [jax.lax.erf(x), jax.lax.erfc(x)], 0.5).map(x)
    truth = [exact_erfc(v) for v in x]
    for values, wanted in zip(found, ([1 - t for t in truth], truth), strict=True):
        off = [
            abs(Decimal(v) - w) / Decimal(np.spacing(abs(float(w))))
            for v, w in zip(values.tolist(), wanted, strict=True)
        ]
        assert max(off) <= 2
    both = native.compile(lambda x: [jax.lax.erf(x), jax.lax.erfc(x)], 0.5).map(EDGES)
    for values, function in zip(both, (math.erf, math.erfc), strict=True):
        np.testing.assert_allclose(values, [function(v) for v in EDGES], rtol=1e-15, atol=0)


@pytest.mark.parametrize("size", [1e10, 1e22, 1e300])
def test_the_tangent_of_huge_angles_is_right(size):
    x = size * np.random.default_rng(0).uniform(-1.0, 1.0, 20)
    np.testing.assert_allclose(native.compile(jnp.tan, 0.5).map(x), np.tan(x), rtol=4e-16)


@extended
def test_the_logarithm_to_base_two_is_exact_for_powers_of_two():
    p = Program()
    x, y = p.buffer("in0", "in", 1, "f"), p.buffer("out0", "out", 1, "f")
    p.store(y, p.integer(0), p.op("log2", p.load(x, p.integer(0))))
    code = Code.of(here(), lower(p), 1)
    given, found = np.zeros(1), np.zeros(1)

    def log2(v: float) -> float:
        given[0] = v
        code.single(given.ctypes.data, found.ctypes.data, 0)
        return found[0]

    assert [log2(2.0**k) for k in (-1074, -1022, -1, 0, 1, 52, 1023)] == [
        -1074,
        -1022,
        -1,
        0,
        1,
        52,
        1023,
    ]
    samples = np.concatenate([np.abs(SIGNED[:500]), 1 + 0.5 * UNIT[:500], 1 + 1e-6 * UNIT[:500]])
    values = np.array([log2(v) for v in samples])
    assert distance(values, np.log2(samples.astype(np.longdouble))) <= 2.0
    assert [log2(0.0), log2(math.inf)] == [-math.inf, math.inf]
    assert math.isnan(log2(-1.0))
