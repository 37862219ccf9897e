"""`check_gradients` on models: all agrees, what is wrong is named, a long dt is said, no setting changes."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.simulate import integrate
from isthmus.verify.compare import Row, Verdict
from isthmus.verify.gradients import GradientReport, check_gradients

MODEL = ist.library.pendulum(1, damping=0.1)
STATE = ist.State([0.7], [0.4])
TORQUES = np.full((4, 1), 0.3)


@pytest.fixture(scope="module")
def report() -> GradientReport:
    """With JAX as its users have it: 32 bits, which the check does not need and does not change."""
    before = {name: jax.config.values[name] for name in ("jax_enable_x64",)}
    jax.config.update("jax_enable_x64", False)
    try:
        found = check_gradients(MODEL, STATE, TORQUES, 1e-3)
        assert not jax.config.jax_enable_x64
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
    return found


@pytest.mark.smoke
def test_every_derivative_of_a_pendulum_is_right(report):
    assert report.ok
    assert report.wrong == ()
    assert {row.verdict for row in report.rows} == {Verdict.AGREES, Verdict.NO_EFFECT}
    for name in (
        "gravity",
        "link/mass",
        "link/com",
        "joint/damping",
        "joint/gear",
        "state/q",
        "controls",
    ):
        assert report.verdict(name) == "agrees"
    assert report.verdict("shape/size") == "no effect"
    assert max(row.error for row in report.rows) < 1e-8, "that is no float64"


def test_every_leaf_the_state_and_the_controls_have_a_row(report):
    names = [row.name for row in report.rows]
    assert len(set(names)) == len(names)
    assert names[0] == "gravity"
    assert names[-3:] == ["state/q", "state/v", "controls"]
    with pytest.raises(BadOption, match="no row 'link/mas'"):
        report.verdict("link/mas")


def test_the_report_prints_as_a_table(report):
    text = str(report)
    head, *rows = text.splitlines()
    assert head.split() == ["verdict", "forward", "reverse", "differences", "off", "by"]
    assert sum("agrees" in row for row in rows) == sum(
        r.verdict is Verdict.AGREES for r in report.rows
    )
    assert "over 4 steps of 0.001 s: every derivative is right." in text
    assert "short enough" in text
    assert report.fine_enough


def test_what_is_wrong_is_named_with_its_place(report):
    row = Row("link/com", Verdict.WRONG, (1, 2), None, 2.0, 1.0, 1.0)
    bad = dataclasses.replace(report, rows=(*report.rows, row))
    assert not bad.ok
    assert "WRONG for link/com." in str(bad)
    (line,) = [
        line for line in str(bad).splitlines() if line.startswith("link/com") and "WRONG" in line
    ]
    assert line.endswith("at [1, 2]")
    assert "none" in line


def test_a_dt_that_is_too_long_is_said(report):
    long = dataclasses.replace(report, step_change=0.0123)
    assert not long.fine_enough
    assert long.ok
    assert "Halving dt changes the motion by 1.23 %, more than 1 %" in str(long)


def test_a_wrong_derivative_inside_the_step_is_found_and_a_long_dt_with_it(monkeypatch):
    """The position's derivative is cut off, as a careless engine would do it; and dt is far too long."""
    plus = integrate.coordinates.plus
    monkeypatch.setattr(
        integrate.coordinates, "plus", lambda m, q, d: plus(m, jax.lax.stop_gradient(q), d)
    )
    found = check_gradients(MODEL, STATE, None, 0.2, steps=3)
    assert "state/q" in found.wrong
    assert "state/v" in found.wrong
    assert found.verdict("shape/size") == "no effect"
    assert not found.fine_enough
    assert found.steps == 3
