"""C text: compiles without a warning, computes what native code computes, says what it needs, is reproducible."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFile, BadOption, NotTranslatable
from isthmus.native import to_c
from isthmus.native.targets.c.helpers import HELPERS, helper_text
from isthmus.native.targets.c.names import identifier

COMPILER = shutil.which("gcc") or shutil.which("cc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
needs_a_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler is here")


def swing(q, v):
    """A pendulum for 500 steps of 10 ms; where it ends."""

    def step(state, _):
        q, v = state
        v = v - 0.01 * 9.81 * jnp.sin(q)
        return (q + 0.01 * v, v), None

    return jax.lax.scan(step, (q, v), None, length=500)[0]


def compiled_and_run(folder, fn, *examples, opt="-O1", main=None, **options):
    """Writes, compiles and runs the test program (or `main`); returns what it printed, and the code."""
    assert COMPILER is not None
    code = to_c(fn, *examples, path=folder / "made.c", **options)
    if main is not None:
        (folder / "made_main.c").write_text(main)
    program = folder / "made"
    command = [COMPILER, *FLAGS, opt, "-o", program, folder / "made.c", folder / "made_main.c"]
    built = subprocess.run([*command, "-lm"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout, code


# what it computes ----------------------------------------------------------------------------------------


def loops(x, k):
    """Scan, while, and a while inside of it that swaps what it carries."""
    y, rows = jax.lax.scan(lambda c, r: (0.9 * c + r, jnp.tanh(c)), x, jnp.stack([x] * 40))
    done = lambda s: (s[1] < 25) & (jnp.sum(s[0]) < 100.0)
    grown = jax.lax.while_loop(done, lambda s: (s[0] * 1.1 + 0.1, s[1] + 1), (jnp.abs(x), k))
    swap = lambda _, s: (s[1], s[0] + s[1])
    fibonacci = jax.lax.fori_loop(0, 30, swap, (k - k, k - k + 1))
    return {"y": y, "rows": rows, "grown": grown, "fibonacci": fibonacci}


def choices(x, k, flag, table):
    """Branches, moving indices, sorting."""
    c = jax.lax.cond(flag, lambda: jnp.sin(x), lambda: jnp.exp(-x * x))
    s = jax.lax.switch(k % 3, [lambda: x + 1.0, lambda: x * 2.0, lambda: x / 3.0])
    window = jax.lax.dynamic_slice(table, (k,), (3,))
    gathered = table[(k * jnp.arange(5)) % 17]
    written = table.at[k].add(2.0)
    order = (jnp.sort(x), jnp.argsort(-x), jnp.argmax(table))
    logic = (flag ^ (k > 3)) | ~flag, jnp.where(flag, k, -k)
    return c, s, window, gathered, written, order, logic


def integers(k, j):
    """Every operation on integers, divisors of zero and shifts too far included."""
    low = k.astype(jnp.int32) * jnp.int32(2_000_000_000), k.astype(jnp.uint32) - jnp.uint32(99)
    divided = k // j, k % j, jax.lax.div(k, j - j), jax.lax.rem(k, j - j), jax.lax.div(k, j * 0 - 1)
    shifted = k << j, k << (j + 80), jnp.right_shift(-k, j), jnp.right_shift(-k, j + 80)
    logical = jax.lax.shift_right_logical(-k, j), jax.lax.shift_right_logical(-k, j + 80)
    bits = k & j, k | j, k ^ j, ~k, jnp.maximum(k, j), jnp.minimum(k, j)
    wide = k * jnp.int64(3) ** 39 * k, k.astype(jnp.uint64) // jnp.uint64(7) % jnp.uint64(5)
    return low, divided, shifted, logical, bits, wide, k.astype(jnp.uint64) < j.astype(jnp.uint64)


def odd_numbers(x):
    """NaN, infinities, signed zeros, conversions, and functions of libm."""
    odd = jnp.array([jnp.nan, jnp.inf, -jnp.inf, -0.0, 1.5, 2.5, 1e300]) * x
    rounded = jnp.round(odd), jnp.floor(odd), jnp.ceil(odd), jnp.sign(odd), jnp.nextafter(odd, x)
    ends = jnp.maximum(odd, 0.0), jnp.minimum(odd, -0.0), jnp.isnan(odd), odd == odd, odd < 1.0
    whole = odd.astype(jnp.int64), jax.lax.bitcast_convert_type(x, jnp.int64)
    back = jax.lax.bitcast_convert_type(whole[1], jnp.float64), 1.0 / jnp.copysign(0.0, odd)
    some = jnp.linspace(0.1, 0.9, 3) * x
    smooth = jax.nn.sigmoid(90.0 * some), jax.scipy.special.erf(some), some**2.5, jnp.log1p(some)
    turned = jnp.arctan2(some, x), jnp.tan(some), jnp.arcsin(some), jnp.cbrt(some), jnp.expm1(some)
    return rounded, ends, whole, back, smooth, turned, jnp.where(x > 9, odd, jnp.inf)


LARGE = np.linspace(-1.0, 1.0, 4900).reshape(70, 70)
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=40)
CASES = {
    "loops": (loops, NUMBERS[:4], np.int64(3)),
    "choices": (choices, NUMBERS[:6], np.int64(4), np.bool_(True), NUMBERS),
    "integers": (integers, np.int64(-123_456_789), np.int64(5)),
    "odd numbers": (odd_numbers, np.float64(1.0)),
    "a gradient": (jax.grad(lambda q, v: swing(q, v)[0], (0, 1)), 0.3, 0.1),
    "a large product": (lambda a, b: a @ b + 1.0, LARGE, LARGE.T),
}


@needs_a_compiler
@pytest.mark.loose
@pytest.mark.parametrize("case", CASES)
def test_c_agrees_with_native_code_and_compiles_without_a_warning(case, tmp_path):
    fn, *examples = CASES[case]
    said, code = compiled_and_run(tmp_path, fn, *examples, name="made")
    assert "WRONG" not in said
    assert said.count("\n") == code.test.count("wrong += ")


@needs_a_compiler
@pytest.mark.loose
def test_examples_in_float32_give_c_in_float(tmp_path):
    def several(x, k, flag):
        rows = jax.lax.fori_loop(0, 30, lambda i, s: 0.5 * s + jnp.sin(s + x[i % 3]), x)
        whole = (k * 2_000_000_000, k // (k - k), k >> 40, jnp.maximum(k, 3), x.astype(jnp.int32))
        odd = jnp.maximum(jnp.array([jnp.nan, -0.0, 1e-3], x.dtype) * x, 0.0), jax.nn.sigmoid(x)
        return rows, whole, odd, jnp.where(flag, x, -x), jax.lax.bitcast_convert_type(x, jnp.int32)

    examples = (np.float32([0.1, -0.2, 0.3]), np.int32(7), np.bool_(True))
    said, code = compiled_and_run(tmp_path, several, *examples)
    assert "WRONG" not in said
    assert "const float x[3], int32_t k, bool flag" in code.header.replace(",\n    ", ", ")
    assert "sinf(" in code.body
    assert "double" not in code.header + code.body


@needs_a_compiler
def test_terms_of_a_product_are_added_in_the_order_of_the_program(tmp_path):
    """Numbers that cancel show the order: eight sums, joined in pairs."""
    a = RNG.normal(size=(90, 70)) * 10.0 ** RNG.integers(0, 12, size=(90, 70))
    x = RNG.normal(size=70)
    parts = np.zeros((90, 8))
    for k in range(70):
        parts[:, k % 8] += a[:, k] * x[k]
    s = parts.T
    wanted = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
    numbers, factors = (", ".join(map(repr, y.ravel().tolist())) for y in (a, x))
    main = f"""#include <stdio.h>
#include "made.h"
static const double a[] = {{{numbers}}}, x[] = {{{factors}}};
static double out[90];
static made_work work;
int main(void)
{{
    made(a, x, out, &work);
    for (int k = 0; k < 90; ++k)
        printf("%.17g\\n", out[k]);
    return 0;
}}
"""
    said, _ = compiled_and_run(tmp_path, lambda a, x: a @ x, a, x, main=main, name="made")
    np.testing.assert_array_equal(np.array(said.split(), float), wanted)


MODEL = ist.library.pendulum(2)


def pendulum_step(q, v, torque):
    after = ist.step(MODEL, ist.State(q, v), torque, 1e-3)
    return {"q_next": after.q, "v_next": after.v}


@needs_a_compiler
def test_the_gradient_of_a_rollout_agrees(tmp_path):
    def last(v, torques):
        start = ist.State(np.array([0.3, -0.2]), v)
        return jnp.sum(ist.rollout(MODEL, start, torques, 1e-3).q[-1])

    said, code = compiled_and_run(tmp_path, jax.grad(last, (0, 1)), np.ones(2), np.ones((50, 2)))
    assert "WRONG" not in said
    assert "_work *work" in code.header  # what the backward pass needs from the forward pass


@needs_a_compiler
def test_results_may_be_written_over_arguments(tmp_path):
    main = """#include <stdio.h>
#include "made.h"
int main(void)
{
    double q[2] = {0.3, -0.2}, v[2] = {0.0, 0.0};
    const double torque[2] = {1.0, -1.0};
    for (int k = 0; k < 100; ++k)
        pendulum_step(q, v, torque, q, v);
    printf("%.17g %.17g %.17g %.17g\\n", q[0], q[1], v[0], v[1]);
    return 0;
}
"""
    examples = (np.array([0.3, -0.2]), np.zeros(2), np.array([1.0, -1.0]))
    said, code = compiled_and_run(tmp_path, pendulum_step, *examples, main=main)
    assert "may be written over arguments" in code.header
    torques = np.tile([1.0, -1.0], (100, 1))
    motion = ist.rollout(MODEL, ist.State(examples[0], examples[1]), torques, 1e-3)
    wanted = np.concatenate([motion.q[-1], motion.v[-1]])
    np.testing.assert_allclose(np.array(said.split(), float), wanted, rtol=0, atol=1e-12)


def test_results_that_are_written_while_arguments_are_read_must_not_overlap():
    x = np.ones(5000)  # too many to be held as values
    assert "must not overlap" in to_c(lambda x: x[::-1] + 1.0, x).header
    assert "may be written over" in to_c(lambda x: x[:3] + x[3:6], x).header


@pytest.mark.parametrize("width", [64, 32])
def test_helpers_are_written_for_their_width(width):
    other = {64: r"float|int32|INT32|\b31\b|[a-z]f\(", 32: r"double|int64|INT64|\b63\b"}[width]
    for name in HELPERS:
        text = helper_text(name, width, "static")
        assert text.count("{") == text.count("}")
        assert not re.search(other, text), text


# the text ------------------------------------------------------------------------------------------------


def test_equal_steps_give_equal_c_and_unknown_operations_are_named():
    short = lambda q, v: (q + 0.01 * v, v - 0.01 * jnp.sin(q))
    assert to_c(short, 0.1, 0.2) == to_c(short, 0.1, 0.2)
    with pytest.raises(NotTranslatable, match="'fft'"):
        to_c(jnp.fft.fft, jnp.ones(8))


def test_text_does_not_depend_on_the_order_of_sets():
    code = """
import jax.numpy as jnp, numpy as np
from isthmus.native import to_c
fn = lambda x, k: (jnp.sort(x) @ jnp.cumsum(x), x.at[k].set(2.0), {"b": jnp.sin(x), "a": jnp.cos(x)})
code = to_c(fn, np.ones(9), 3)
print(code, code.test)
"""
    seen = set()
    for seed in ("1", "2"):
        variables = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=variables
        )
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1


def test_numbers_are_exact():
    x = 0.1 + 0.2
    code = to_c(lambda y: y * x + jnp.where(y > 0, jnp.nan, -jnp.inf), 1.0)
    assert repr(x) in code.body
    assert "NAN" in code.body
    assert "-INFINITY" in code.body


def test_arguments_are_called_as_in_python_and_documented():
    def reach(state, work, sin):
        """How far. */"""
        return {"far": state["q"] * sin + state["v"] + work, "q": state["q"][0]}

    state = {"q": np.ones(3), "v": np.ones(3), "idle": np.ones((2, 2))}
    code = to_c(
        reach, state, 2.0, 1.0, notes={"state_q": "positions [rad]"}, names={"far": "reach_"}
    )
    parameters = "const double state_q[3], const double state_v[3], double work_, double sin_"
    assert f"void reach({parameters}, double reach_[3], double *q)" in code.header.replace(
        ",\n    ", ", "
    ).replace("(\n    ", "(")
    assert "positions [rad]" in code.header
    assert "nothing depends on them: state_idle." in code.header
    assert "How far. * /" in code.header


def test_the_shape_of_a_matrix_is_told():
    code = to_c(lambda a: a.T, np.ones((2, 3)))
    assert "const double a[6]  2 x 3, row by row" in code.header
    assert "double out[6]" in code.header


@pytest.mark.parametrize(
    ("text", "name"),
    [("q", "q"), ("left-knee", "left_knee"), ("1st", "x1st"), ("double", "double_"), ("t3", "t3_")],
)
def test_any_text_becomes_an_identifier(text, name):
    assert identifier(text) == name


def test_what_is_baked_in_leaves_the_signature():
    code = to_c(lambda a, x: a @ x, np.array([[0.0, 2.0], [1.0, 0.0]]), np.ones(2), static=0)
    assert "(const double x[2], double out[2])" in code.header
    assert "2.0 * x[1]" in code.body


# files ---------------------------------------------------------------------------------------------------


def test_files_lie_side_by_side(tmp_path):
    code = to_c(swing, 0.1, 0.2, path=tmp_path / "pendulum.c")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "pendulum.c", "pendulum.h", "pendulum_main.c"
    ]  # fmt: skip
    assert (tmp_path / "pendulum.c").read_text(encoding="utf-8") == code.source
    assert '#include "pendulum.h"' in code.source
    assert '#include "pendulum.h"' in code.test
    assert code.name == "swing"
    assert str(tmp_path) not in str(code) + code.test


def test_what_cannot_be_written_is_refused_with_a_reason(tmp_path):
    with pytest.raises(BadFile, match="there is no folder"):
        to_c(swing, 0.1, 0.2, path=tmp_path / "missing" / "step.c")
    with pytest.raises(BadOption, match=r"must end in \.c"):
        to_c(swing, 0.1, 0.2, path=tmp_path / "step.py")
    (tmp_path / "folder.c").mkdir()
    with pytest.raises(BadFile, match="is a folder"):
        to_c(swing, 0.1, 0.2, path=tmp_path / "folder.c")
    for name in ("my step", "2step", "double", "t1"):
        with pytest.raises(BadOption, match="no name of a function"):
            to_c(swing, 0.1, 0.2, name=name)
    with pytest.raises(BadOption, match=r"no argument is called so\. Did you mean 'out0'"):
        to_c(swing, 0.1, 0.2, names={"out00": "q_next"})
    with pytest.raises(BadOption, match="notes has 'w', but"):
        to_c(swing, 0.1, 0.2, notes={"w": "speed"})
    with pytest.raises(BadOption, match="two arguments would be called 'q'"):
        to_c(swing, 0.1, 0.2, names={"v": "q"})
    with pytest.raises(BadOption, match=r"static names the arguments \[2\]"):
        to_c(swing, 0.1, 0.2, static=2)
