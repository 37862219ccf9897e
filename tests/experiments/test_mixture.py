"""The study of the learned mixture in its small version."""

from __future__ import annotations

import numpy as np

from isthmus.experiments.run import Settings, reproduce


def test_the_quick_study_writes_kernels_and_the_posterior_beside_them(tmp_path):
    result = reproduce("mixture", Settings(quick=True), tmp_path)
    assert [row[0] for row in result.tables[0].rows] == ["0", "55"]
    assert 0.0 < result.numbers["posterior"][0] < 0.02
    assert all(np.isfinite(own).all() for own in result.numbers["errors"].values())
    assert (tmp_path / "means.png").is_file()
