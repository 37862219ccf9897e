"""Markers beside their axes are found from lengths, and taken off the angles."""

from __future__ import annotations

import numpy as np

from isthmus.experiments.pendulum_markers import Markers, as_they_are, calibrate

OFF = Markers(np.array([1.3e-3, 3.4e-3]), np.array([2.5e-3, 1e-4]), np.array([-3.8e-3, 1.2e-3]))


def test_true_and_filmed_angles_are_each_others_inverse():
    q = np.random.default_rng(0).uniform(-4.0, 4.0, (50, 2))
    back = np.cumsum(OFF.true(q), axis=1)
    np.testing.assert_allclose(OFF.filmed(OFF.true(q)), np.cumsum(q, axis=1), atol=1e-8)
    assert np.max(np.abs(back - np.cumsum(q, axis=1))) > 1e-3
    np.testing.assert_array_equal(as_they_are().true(q)[:, 0], q[:, 0])


def test_lengths_tell_where_the_markers_are():
    a, b = np.random.default_rng(1).uniform(-3.0, 3.0, (2, 4000))
    along = lambda x: np.stack([np.cos(x), np.sin(x)], axis=1)
    across = lambda x: np.stack([-np.sin(x), np.cos(x)], axis=1)
    red = np.zeros((4000, 2))
    green = 590 * (along(a) + OFF.pivot)
    blue = green + 450 * (along(b) + OFF.tip + OFF.elbow[0] * along(a) + OFF.elbow[1] * across(a))
    found = calibrate([np.concatenate([red, green, blue], axis=1)])
    for part in ("pivot", "tip", "elbow"):
        np.testing.assert_allclose(getattr(found, part), getattr(OFF, part), atol=5e-5)
