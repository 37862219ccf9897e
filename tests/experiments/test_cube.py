"""The cube study: springs that let the cube fall through the floor learn to imitate a world of impulses."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus.experiments import cube
from isthmus.experiments.run import Settings, reproduce


def test_errors_are_shares_of_the_way_and_degrees():
    truth = cube.thrown(cube.THROWS["fitted"], 20)
    q = np.array(truth.q)
    way = np.sum(np.linalg.norm(np.diff(q[:, :3], axis=0), axis=1))
    q[:, 0] += 0.1
    far, angle = cube.errors(q, truth)
    assert far == pytest.approx(0.1 / way)
    assert angle == pytest.approx(0.0, abs=1e-5)


@pytest.mark.full
@pytest.mark.slow
def test_the_study_ends_closer_than_it_began(tmp_path):
    result = reproduce("cube", Settings(quick=True), tmp_path)
    off = {name: of["fitted"][0] for name, of in result.numbers["errors"].items()}
    assert off["analytic friction"] < off["before"]
    assert off["network"] < off["before"]
    assert (tmp_path / "throws.png").exists()
