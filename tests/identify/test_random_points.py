"""Random points stay inside, and do not depend on who draws them."""

from __future__ import annotations

import numpy as np

from isthmus.identify.search.random_points import Box, draws, first_points

INF = np.inf
BOX = Box(
    np.array([1.0, 0.0, -INF, -INF]),
    np.array([3.0, INF, INF, INF]),
    np.array([2.0, 0.5, -4.0, 7.0]),
    3,
)


def points(count: int = 500) -> np.ndarray:
    return np.stack([BOX.anywhere(draws(0, 0, i)) for i in range(count)])


def test_points_are_even_between_two_bounds_and_around_the_start_without():
    X = points()
    assert np.all(BOX.low <= X)
    assert np.all(BOX.high >= X)
    np.testing.assert_allclose(
        np.quantile(X[:, 0], [0.0, 0.25, 0.5, 0.75, 1.0]), [1, 1.5, 2, 2.5, 3], atol=0.15
    )
    np.testing.assert_allclose([X[:, 2].mean(), X[:, 2].std()], [-4.0, 4.0], rtol=0.1)
    assert np.count_nonzero(X[:, 1] == 0.0) == 0  # mirrored at the bound, not stuck to it


def test_the_starts_of_windows_are_not_drawn():
    assert np.all(points(5)[:, 3] == 0.0)
    assert BOX.near(BOX.start, 0.5, draws(0, 1, 0))[3] == BOX.start[3]


def test_a_step_has_its_length_in_widths():
    moved = np.stack([BOX.near(BOX.start, 0.01, draws(0, 1, i)) for i in range(500)])
    np.testing.assert_allclose(moved[:, :3].std(axis=0), 0.01 * np.array([2.0, 1.0, 4.0]), rtol=0.1)
    assert BOX.apart(moved[0], moved[0]) == 0.0


def test_every_island_of_every_round_has_random_numbers_of_its_own():
    drawn = {draws(s, r, i).random() for s in range(3) for r in range(3) for i in range(3)}
    assert len(drawn) == 27


def test_given_starts_come_first():
    given = np.stack([BOX.start, BOX.start + 0.1])
    X = first_points(BOX, given, 5, 0)
    assert X.shape == (5, 4)
    np.testing.assert_array_equal(X[:2], given)
    assert first_points(BOX, given, 1, 0).shape == (2, 4)
