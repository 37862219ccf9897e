"""A C-like language is a record: C99, and a sketch of CUDA that must need nothing else."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus.native import Native
from isthmus.native.targets.c.dialect import Dialect
from isthmus.native.targets.c.expressions import PRODUCT
from isthmus.native.targets.c.target import TARGET, Text

COMPILER = shutil.which("g++")
RNG = np.random.default_rng(0)
CUDA = Text(
    Dialect(
        "CUDA",
        includes=("<stdint.h>",),
        helper="static __device__",
        table="static __constant__ const",
        result='extern "C" __global__ void',
        parameters=("int64_t worlds",),
        opening=(
            "const int64_t w = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;",
            "if (w >= worlds)",
            "    return;",
        ),
        index=lambda k: "w" if k.text == "0" else f"{k.within(PRODUCT)} * worlds + w",
    )
)


def swing(q, v):
    """Scalars, a loop, scratch (by the gradient), a helper."""
    step = lambda s, _: ((s[0] + 0.01 * s[1], s[1] - 0.1 * jnp.maximum(jnp.sin(s[0]), v)), None)
    return jax.lax.scan(step, (q, v), None, length=50)[0][0]


def pruned(fn, *examples):
    return Native(fn, examples).plan.pruned


def test_cuda_text_is_that_of_one_thread_for_each_world():
    text = CUDA.text(pruned(jax.grad(swing), 0.3, 0.1))
    head, body = text.split("{\n    const int64_t w")
    assert "static __device__ double ist_max(double x, double y)" in head
    assert re.search(r'extern "C" __global__ void core\(\s*const double \*in0,\s', head)
    assert re.search(r"double \*out0,\s+double \*w0,.*int64_t worlds\)", head, re.DOTALL)
    assert "in0[w]" in body
    assert "out0[w] = " in body
    assert re.search(r"w0\[i\d+ \* worlds \+ w\] = ", body)
    assert "work->" not in text


HOST = """#include <math.h>
#define __global__
#define __device__
#define __constant__
static struct { long x; } blockIdx, blockDim, threadIdx;
#include "core.cu"
extern "C" void all(const double *q, const double *v, double *out, double *w0, double *w1, int64_t worlds)
{
    for (threadIdx.x = 0; threadIdx.x < worlds + 3; ++threadIdx.x)
        core(q, v, out, w0, w1, worlds);
}
"""
"""Runs a kernel's threads in turn, on the processor."""


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is here")
def test_threads_compute_what_lanes_compute(tmp_path):
    assert COMPILER is not None
    f = Native(jax.grad(swing), (0.3, 0.1))
    (tmp_path / "core.cu").write_text(CUDA.text(f.plan.pruned))
    (tmp_path / "host.cpp").write_text(HOST)
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", "host.so", "host.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    q, v = RNG.normal(size=(2, 21))
    out, w0, w1 = np.zeros(21), np.zeros((50, 21)), np.zeros((50, 21))
    arrays = [ctypes.c_void_p(x.ctypes.data) for x in (q, v, out, w0, w1)]
    ctypes.CDLL(str(tmp_path / "host.so")).all(*arrays, ctypes.c_int64(21))
    np.testing.assert_allclose(out, f.map(q, v), rtol=1e-12)


def test_constant_arrays_are_shared_by_all_worlds():
    table = np.linspace(0.0, 1.0, 5000) ** 2
    text = CUDA.text(pruned(lambda k: jnp.asarray(table)[k], 7))
    assert "static __constant__ const double k0[5000]" in text
    assert re.search(r"k0\[[^]]*\]", text.split("threadIdx")[1])
    assert not re.search(r"k0\[[^]]*worlds", text)


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_products_have_their_dialect_of_indices_and_their_order(number):
    a, x = np.ones((90, 70), number), np.ones(70, number)
    program = pruned(lambda a, x: a @ x, a, x)
    assert "in0[(70 * i1 + i2) * worlds + w] * in1[i2 * worlds + w]" in CUDA.text(program)
    plain = TARGET.text(program)
    assert "t1[i2 % 8] += in0[70 * i1 + i2] * in1[i2];" in plain
    assert "((t1[0] + t1[4]) + (t1[2] + t1[6])) + ((t1[1] + t1[5]) + (t1[3] + t1[7]))" in plain


def test_equal_programs_differ_in_dialect_only():
    program = pruned(swing, 0.3, 0.1)
    one, many = TARGET.text(program), CUDA.text(program)
    formulas = lambda text: re.findall(r"t\d+ = t\d+ .*;", text)
    assert formulas(one) == formulas(many)
    assert "void core(const double in0[1], const double in1[1], double out0[1])" in one
