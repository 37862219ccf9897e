"""The landscape study: one start for each run, both searches, in its small version."""

import numpy as np

from isthmus.experiments import landscape
from isthmus.experiments.run import Settings, reproduce


def test_basin_hopping_is_right_from_every_start(tmp_path):
    heard = []
    result = reproduce("landscape", Settings(quick=True, say=heard.append), tmp_path)
    assert result.numbers["50 steps, basin hopping"]["right"] == 1.0
    assert np.shape(result.numbers["50 steps, basin hopping"]["x"]) == (20, 2)
    assert "100% right" in heard[-1]
    assert {p.name for p in tmp_path.iterdir()} == {
        "tables.txt",
        "numbers.json",
        "landscape_50.png",
    }


def test_errors_are_those_of_the_worse_length():
    found = landscape.errors(np.array([[3.0, 4.0], [3.3, 4.2]]))
    np.testing.assert_allclose(found, [0.0, 0.1], atol=1e-12)
