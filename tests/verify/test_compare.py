"""Derivatives of plain functions: right, wrong, kinked and missing ones are told apart."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus.verify.compare import Row, Verdict, compare, typical
from isthmus.verify.evaluators import BATCH


def only_row(f, x, **options) -> Row:
    (row,) = compare(lambda at: f(at["x"]), {"x": np.asarray(x, float)}, **options)
    return row


@jax.custom_jvp
def wrong_forward(x):
    """Its forward derivative, and the reverse one made from it, are 1% off."""
    return jnp.sin(x)


@wrong_forward.defjvp
def _wrong_forward_jvp(primals, tangents):
    return jnp.sin(primals[0]), 1.01 * jnp.cos(primals[0]) * tangents[0]


@jax.custom_vjp
def wrong_reverse(x):
    """Its reverse derivative is half of what it should be; there is no forward one."""
    return jnp.sin(x)


wrong_reverse.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (0.5 * g * jnp.cos(x),))


def transposed_wrongly(x):
    """Half of `x` in forward mode, a third of it in reverse mode."""
    half, third = (lambda _, b: b / 2.0), (lambda _, b: b / 3.0)
    return jax.lax.custom_linear_solve(lambda y: 2.0 * y, x, half, third)


@pytest.mark.smoke
@pytest.mark.parametrize(
    "f", [jnp.sin, jnp.exp, jnp.tanh, lambda x: x**3, lambda x: 1.0 / (2.0 + x)]
)
def test_a_right_derivative_agrees(f):
    row = only_row(lambda x: jnp.sum(f(x)), [0.3, -0.7, 1.1])
    assert row.verdict is Verdict.AGREES
    assert row.error < 1e-8
    assert row.forward == pytest.approx(row.difference, rel=1e-8)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e6])
def test_neither_large_nor_small_numbers_change_the_verdict(scale):
    assert (
        only_row(lambda x: jnp.sum(jnp.sin(x / scale)), [0.3 * scale, -scale]).verdict
        is Verdict.AGREES
    )
    assert only_row(lambda x: scale * jnp.sum(jnp.sin(x)), [0.3, -1.0]).verdict is Verdict.AGREES


@pytest.mark.parametrize("f", [jnp.abs, jax.nn.relu, lambda x: jnp.abs(x) + x])
def test_a_kink_at_the_very_place_is_no_wrong_derivative(f):
    row = only_row(lambda x: f(x[0]) + x[1], [0.0, 0.5])
    assert row.verdict is Verdict.KINK
    assert row.index == (0,)


def test_a_derivative_between_the_slopes_of_a_kink_agrees_with_central_differences():
    row = only_row(lambda x: jnp.maximum(x[0], 2.0 * x[0]), [0.0])
    assert (row.verdict, row.forward) == (Verdict.AGREES, 1.5)


def test_a_kink_elsewhere_does_not_matter():
    assert only_row(lambda x: jnp.sum(jnp.abs(x)), [0.5, -2.0]).verdict is Verdict.AGREES


def test_a_wrong_custom_jvp_is_wrong():
    row = only_row(lambda x: wrong_forward(x[1]) + 0.0 * x[0], [0.3, 0.3])
    assert row.verdict is Verdict.WRONG
    assert row.index == (1,)
    assert row.error == pytest.approx(0.01, rel=0.05)


def test_a_reverse_mode_that_differs_from_forward_mode_is_wrong():
    row = only_row(lambda x: transposed_wrongly(x[0]) + x[1], [0.7, 0.1])
    assert row.verdict is Verdict.WRONG
    assert row.forward == pytest.approx(1 / 2)
    assert row.reverse == pytest.approx(1 / 3)
    assert row.difference == pytest.approx(1 / 2)


def test_a_wrong_custom_vjp_is_wrong():
    """Such a function has no forward mode: that is left out, and reverse mode compared with differences."""
    row = only_row(lambda x: wrong_reverse(x[0]), [0.7])
    assert row.verdict is Verdict.WRONG
    assert row.forward is None
    assert row.reverse == pytest.approx(0.5 * row.difference)
    right = jax.custom_vjp(jnp.sin)
    right.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
    assert only_row(lambda x: right(x[0]), [0.7]).verdict is Verdict.AGREES


def test_a_derivative_that_is_not_finite_is_wrong():
    assert (
        only_row(lambda x: jnp.where(x[0] > 0.0, jnp.sqrt(x[0]), x[0] ** 2), [0.0]).verdict
        is not Verdict.AGREES
    )
    assert only_row(lambda x: jnp.linalg.norm(x) ** 2, [0.0, 0.0]).verdict is Verdict.WRONG


def test_a_derivative_that_was_cut_off_is_wrong():
    assert only_row(lambda x: jax.lax.stop_gradient(x[0]) ** 2, [0.7]).verdict is Verdict.WRONG


def test_a_constant_has_no_effect():
    rows = compare(lambda at: jnp.sum(at["used"]), {"used": np.ones(2), "unused": np.ones(3)})
    assert {row.name: row.verdict for row in rows} == {
        "used": Verdict.AGREES,
        "unused": Verdict.NO_EFFECT,
    }


def test_numbers_that_are_not_finite_are_left_out():
    x = np.array([0.3, np.inf, -np.inf, 0.7])
    row = only_row(lambda x: jnp.sum(jnp.where(jnp.isfinite(x), jnp.sin(x), 0.0)), x)
    assert row.verdict is Verdict.AGREES
    assert row.index in ((0,), (3,))
    assert (
        compare(lambda at: at["x"][0], {"x": np.array([1.0]), "ends": np.array([np.inf])})[0].name
        == "x"
    )


def test_groups_without_numbers_have_no_row_and_shapes_are_kept():
    at = {"b": np.ones((2, 3)), "a": np.zeros(0), "c": np.array(0.5)}
    rows = compare(lambda at: at["b"][1, 2] ** 2 * jnp.abs(at["c"] - 0.5) + at["b"][0, 0], at)
    assert [row.name for row in rows] == ["b", "c"]
    assert rows[1].verdict is Verdict.KINK
    assert rows[1].index == ()


def test_more_numbers_than_fit_side_by_side_are_all_compared():
    n = 2 * BATCH + 3
    row = only_row(
        lambda x: jnp.sum(jnp.sin(x[:-1])) + wrong_forward(x[-1]), np.linspace(0.1, 1.0, n)
    )
    assert row.verdict is Verdict.WRONG
    assert row.index == (n - 1,)


def test_differences_of_a_narrow_feature_are_taken_again():
    """A function that bends within 1e-5 needs narrower differences than a smooth one."""
    row = only_row(lambda x: jnp.tanh(x[0] / 1e-5), [3e-6])
    assert row.verdict is Verdict.AGREES


def test_typical_size():
    assert typical(np.array([3.0, -3.0, np.inf])) == 3.0
    assert typical(np.zeros(3)) == 1.0
    assert typical(np.array([np.inf])) == 1.0
