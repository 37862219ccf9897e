"""Numbers read as people write them, and thinned curves keep what an eye can see."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus.report.numbers import decades, padded, plain, thinned, ticks, with_error


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.01234567, "0.01235"),
        (-3.2e-7, "−3.2·10⁻⁷"),
        (1e9, "10⁹"),
        (np.nan, "–"),
        (np.inf, "∞"),
        (-np.inf, "−∞"),
    ],
)
def test_numbers_are_short(x, text):
    assert plain(x) == text


@pytest.mark.parametrize(
    ("value", "error", "texts"),
    [
        (1.234567, 0.0021, ("1.2346", "0.0021")),
        (1234.5, 12.0, ("1234", "12")),
        (-0.5, 0.25, ("−0.50", "0.25")),
        (1.0, np.inf, ("1", "")),
        (1.0, np.nan, ("1", "")),
        (3e-12, 1e-13, ("3·10⁻¹²", "10⁻¹³")),
    ],
)
def test_a_value_has_the_digits_that_its_error_allows(value, error, texts):
    assert with_error(value, error) == texts


def test_ticks_are_round_and_inside():
    np.testing.assert_allclose(ticks(-0.31, 1.02, 5), [0.0, 0.5, 1.0])
    np.testing.assert_allclose(ticks(0.9005, 0.966, 3), [0.92, 0.94, 0.96])  # not 0.95 alone
    assert ticks(1.0, 1.0) == [] == ticks(0.0, np.inf)
    np.testing.assert_allclose(decades(0.5, 2e6, 8), 10.0 ** np.arange(7))
    np.testing.assert_allclose(decades(3.0, 30.0), [5.0, 10.0, 20.0])
    assert all(2.999 < x < 3.301 for x in decades(3.0, 3.3))


def test_bounds_ignore_what_is_not_finite():
    assert padded(np.array([np.nan, np.inf])) == (-1.0, 1.0)
    assert padded(np.array([1.0, np.nan, 3.0]), 0.5) == (0.0, 4.0)


def test_a_thinned_curve_keeps_peaks_and_gaps_in_order():
    y = np.sin(np.linspace(0, 60, 100_000))
    y[43_210], y[77_000:80_000] = 9.0, np.nan
    rows = thinned(y, 300)
    assert len(rows) < 1200
    assert np.all(np.diff(rows) > 0)
    assert np.nanmax(y[rows]) == 9.0
    assert np.isnan(y[rows]).any()
    np.testing.assert_array_equal(thinned(y[:500], 300), np.arange(500))
