"""Slopes of what was measured, with noise and without."""

import numpy as np
import pytest

from isthmus.motion.slopes import slopes

T = 0.005 * np.arange(2000)
W = 2.0 * np.pi * np.array([0.3, 1.1])
V = np.sin(W * T[:, None])
A = W * np.cos(W * T[:, None])


def test_without_noise_slopes_are_differences_of_neighbours():
    np.testing.assert_allclose(slopes(T, V), np.gradient(V, T, axis=0, edge_order=2), rtol=1e-12)


@pytest.mark.parametrize("noise", [1e-4, 2e-3, 2e-2])
def test_noise_is_averaged_as_far_as_the_motion_allows(noise):
    measured = V + noise * np.random.default_rng(0).standard_normal(V.shape)
    off = lambda a: np.sqrt(np.mean(np.square(a - A)[1:-1], axis=0))
    assert np.all(off(slopes(T, measured)) < 0.25 * off(np.gradient(measured, T, axis=0)))


def test_columns_with_and_without_noise_do_not_disturb_each_other():
    measured = np.stack([V[:, 0], V[:, 1] + 0.01 * np.random.default_rng(1).normal(size=2000)], 1)
    alone = np.concatenate([slopes(T, measured[:, :1]), slopes(T, measured[:, 1:])], axis=1)
    np.testing.assert_array_equal(slopes(T, measured), alone)


def test_rows_that_were_not_measured_are_passed_over():
    measured = V + 2e-3 * np.random.default_rng(2).standard_normal(V.shape)
    measured[500:503] = np.nan
    found = slopes(T, measured)
    np.testing.assert_allclose(found[490:513], A[490:513], atol=0.3)
    assert not np.isfinite(slopes(T[:2], V[:2])).any()
