"""A frame puts data where it belongs, and what is not finite is not drawn."""

from __future__ import annotations

import numpy as np

from isthmus.report.svg import Frame


def test_corners_of_the_data_are_corners_of_the_frame():
    margins = {"left": 20, "right": 10, "top": 5, "bottom": 15}
    frame = Frame((0.0, 2.0), (-1.0, 1.0), width=200, height=100, **margins)
    np.testing.assert_allclose(frame.X([0.0, 2.0]), [20.0, 190.0])
    np.testing.assert_allclose(frame.Y([-1.0, 1.0]), [85.0, 5.0])
    decades = Frame((0.0, 1.0), (1.0, 100.0), height=100, top=0, bottom=0, log_y=True)
    np.testing.assert_allclose(decades.Y([1.0, 10.0, 100.0]), [100.0, 50.0, 0.0])


def test_a_curve_breaks_where_it_is_not_known():
    frame = Frame((0.0, 5.0), (0.0, 1.0))
    path = frame.path(np.arange(6.0), np.array([0, 1, np.nan, 1, np.inf, 1.0]), "predicted")
    assert path.count("M") == 1
    assert "nan" not in path
    assert "inf" not in path
    assert frame.path(np.arange(2.0), np.array([np.nan, 1.0]), "x") == ""
    assert frame.dots(np.arange(2.0), np.array([np.nan, np.nan]), "x") == ""
