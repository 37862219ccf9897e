"""A compiled function shown to people: operations by kind and by line."""

from __future__ import annotations

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus import native
from isthmus.errors import BadOption
from isthmus.native.runtime.table import MAX_ROWS, tally


def angle(x):
    return jnp.sin(x)


def swing(q, v):
    def step(state, _):
        q, v = state
        v = v - 0.01 * angle(q)
        return (q + 0.01 * v, v), None

    return jax.lax.scan(step, (q, v), None, length=500)[0]


SWING = native.compile(swing, 0.3, 0.0)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def rows_of(f):
    return tally(f.plan.pruned, f.target.fuses())


def test_every_operation_belongs_to_the_line_that_asked_for_it():
    found = {(op, place.line): n for op, place, n in rows_of(SWING) if op not in ("load", "store")}
    assert (
        found
        == {
            ("sin", line_of(angle, "jnp.sin")): 500,
            ("fma", line_of(swing, "v = v -")): 500,
            ("fma", line_of(swing, "return (q +")): 500,
        }
        or not native.llvm.has_fma()
    )
    places = {(place.file, place.function) for op, place, _ in rows_of(SWING) if op == "sin"}
    assert places == {("test_table.py", "angle")}


def test_a_derivative_counts_for_the_line_that_was_differentiated():
    slope = native.compile(jax.grad(lambda q: swing(q, 0.0)[0]), 0.3)
    assert ("cos", line_of(angle, "jnp.sin"), 500) in {
        (op, p.line, n) for op, p, n in rows_of(slope)
    }


def test_what_the_algebra_does_counts_for_the_physics():
    model = ist.library.pendulum(2)
    f = native.compile(
        lambda q, v: ist.dynamics.forward_dynamics(model, q, v, v), np.ones(2), np.ones(2)
    )
    files = {place.file for _, place, _ in rows_of(f)}
    assert "isthmus/dynamics/aba.py" in files
    assert not [file for file in files if "spatial" in file or "site-packages" in file]


def test_printing_shows_a_table_and_repr_one_line():
    text = str(SWING)
    assert text.splitlines()[0] == "swing"
    assert re.search(
        rf"^test_table.py:{line_of(angle, 'jnp.sin')} +angle +1 +500 +33 %$", text, re.M
    )
    assert re.search(r"^sin +1 +500 +33 %$", text, re.M)
    assert "memory of one world: 2 numbers read, 2 written" in text
    assert "\n" not in repr(SWING)


def test_a_long_table_ends_with_what_is_left():
    lines = "\n".join(f"    x = x * {1.0 + k} + 0.1" for k in range(MAX_ROWS + 3))
    space: dict = {}
    exec(compile(f"def long(x):\n{lines}\n    return x", "long.py", "exec"), space)
    text = str(native.compile(space["long"], 0.5))
    assert re.search(r"^3 more  +3 +3 ", text, re.M) or not native.llvm.has_fma()


def test_the_source_can_be_read():
    assert "define internal void @core" in SWING.source("llvm")
    assert "<8 x double>" in SWING.source("llvm", lanes=8)
    assert "sin(" in SWING.source("c")
    with pytest.raises(BadOption, match="'fortran'"):
        SWING.source("fortran")
