"""The study of the spherical pendulum in its small version."""

import numpy as np
import pytest

from isthmus.experiments import spherical
from isthmus.experiments.run import Settings, reproduce


@pytest.mark.slow
@pytest.mark.compiles_much("a whole study")
def test_lengths_off_by_half_are_found_within_a_percent(tmp_path):
    result = reproduce("spherical", Settings(quick=True), tmp_path)
    curve = np.array(result.numbers["lengths"]["Levenberg-Marquardt"][0])
    np.testing.assert_allclose(curve[0], 1.5 * spherical.TRUTH)
    np.testing.assert_allclose(curve[-1], spherical.TRUTH, rtol=0.01)
    assert len(result.numbers["lengths"]["Adam"][0]) == 16
    assert {p.name for p in tmp_path.iterdir()} == {"tables.txt", "numbers.json", "lengths.png"}


def test_a_rotation_vector_becomes_a_unit_quaternion():
    np.testing.assert_allclose(spherical.turned(np.zeros(3)), [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(
        spherical.turned(np.array([np.pi, 0.0, 0.0])), [0, 1, 0, 0], atol=1e-15
    )
