"""Figures hold up with numbers of any kind."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus.report import charts


@pytest.mark.parametrize("error", [0.1, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("bounds", [(0.0, 2.0), (0.0, np.inf), (np.nan, np.nan), (-np.inf, np.inf)])
def test_every_estimate_has_a_bar(error, bounds):
    _, bar = charts.error_bar(1.0, 1.5, error, *bounds, "kg").split("</title>")
    assert 'class="value' in bar
    assert "nan" not in bar
    assert "inf" not in bar


def test_a_bar_of_nothing_known_is_only_its_rail():
    bar = charts.error_bar(np.nan, np.nan, np.nan, np.nan, np.nan, "")
    assert "rail" in bar
    assert "circle" not in bar


def test_unknown_correlations_are_drawn_as_such():
    drawn = charts.heat_map(np.array([[1.0, np.nan], [np.nan, 1.0]]), ["a", "b"])
    assert drawn.count('class="unknown"') == 2
    assert drawn.count('class="plus"') == 2


def test_islands_get_curves_and_names_of_their_own():
    histories = [np.array([100.0, 10.0, 1.0]), np.array([50.0, 20.0, 5.0])]
    drawn = charts.convergence(histories, ["island 1", "island 2"], "loss")
    assert drawn.count("curve series") == 4
    assert "island 2" in drawn


def test_a_loss_that_is_zero_or_infinite_is_drawn_where_it_is_neither():
    drawn = charts.convergence([np.array([np.inf, 10.0, 1.0, 0.0])], ["loss"], "loss")
    assert "curve predicted" in drawn
    assert "nan" not in drawn
    assert charts.convergence([np.array([np.nan, np.nan])], ["loss"], "loss")


def test_the_mean_of_a_cloud_follows_what_is_there():
    x = np.linspace(-1, 1, 2400)
    centre, mean, error = charts.binned(x, np.sign(x) + 0.1 * np.sin(997 * x))
    np.testing.assert_allclose(mean, np.sign(centre), atol=0.05)
    assert np.all(error < 0.05)


def test_rows_and_columns_of_the_map_have_names_which_are_never_long():
    names = ["link/upper/mass", f"joint/{'long_' * 20}/damping"]
    drawn = charts.heat_map(np.eye(2), names)
    assert drawn.count("</title>link/upper/mass<") == 2
    assert charts.shortened(names[1]) == "joint/long…_long_long_/damping"
    assert len(charts.shortened(names[1])) <= 30
