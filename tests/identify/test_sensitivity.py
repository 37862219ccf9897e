"""What the data can tell, beyond what the fits show."""

import numpy as np

from isthmus.identify.answer.sensitivity import physical


def test_directions_among_weights_are_not_worth_a_word():
    weights = np.array([False, False, True, True])
    among_weights = np.array([[0.0], [0.0], [0.6], [0.8]])
    assert physical(among_weights, weights).size == 0
    masses = np.array([[0.6], [0.8], [0.0], [0.0]])
    both = np.linalg.qr(np.hstack([masses + among_weights, masses - among_weights]))[0]
    found = physical(both, weights)
    np.testing.assert_allclose(np.abs(found), masses, atol=1e-12)
