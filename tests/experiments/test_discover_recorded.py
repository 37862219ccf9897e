"""`isthmus reproduce discover --data`: places named and corrections fitted without the runs that judge them."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus.errors import BadOption
from isthmus.experiments.discover import recordings
from isthmus.experiments.discover_recorded import (
    METHODS,
    Judged,
    Recording,
    errors_table,
    filter_noise,
    groups_of,
    interval,
    places_table,
)
from isthmus.experiments.run import Settings, reproduce


def nothing_to_fit(train, settings):
    raise AssertionError


RUNS = Recording("pendulum", 7, ("1 s",), nothing_to_fit)


def test_every_run_is_left_out_once():
    groups = groups_of(RUNS, Settings())
    assert sorted(run for group in groups for run in group) == list(range(RUNS.runs))
    assert len(groups) == 4


def test_errors_are_compared_run_by_run_whatever_the_order_of_the_groups():
    each = {"physics": 2.0, "refitted": 2.0, "law": 1.0, "network": 4.0}
    parts = [
        {"runs": runs, "named": ["gravity"], "errors": {n: [[k + e] for k in runs] for n, e in each.items()}}
        for runs in ([1, 3], [0, 2])
    ]  # fmt: skip
    judged = Judged.of(RUNS, parts)
    assert judged.errors["physics"][:, 0].tolist() == [2.0, 3.0, 4.0, 5.0]
    assert judged.named == {"gravity": 2}
    assert judged.ratios("law")[0, 0] == pytest.approx(np.log(1.0 / 2.0))
    assert "2 of 2" in str(places_table([judged]))
    assert all(title in str(errors_table(judged)) for title in METHODS.values())


def test_an_interval_covers_the_mean_in_nineteen_of_twenty_cases():
    rng = np.random.default_rng(0)
    ends = [interval(0.1 * rng.standard_normal(8))[1:] for _ in range(2000)]
    assert np.mean([low < 1.0 < high for low, high in ends]) == pytest.approx(0.95, abs=0.015)


def test_noise_behind_a_filter_is_that_of_filtered_noise():
    from scipy.signal import savgol_filter

    x = 1e-3 * np.random.default_rng(0).standard_normal(100_000)
    found = filter_noise(1e-3, 41, 7, 0.002)
    assert np.std(savgol_filter(x, 41, 7)) == pytest.approx(found["joint/position"], rel=0.02)
    slope = savgol_filter(x, 41, 7, deriv=1, delta=0.002)
    assert np.std(slope) == pytest.approx(found["joint/velocity"], rel=0.02)


def test_a_file_that_is_no_known_recording_is_refused(tmp_path):
    with pytest.raises(BadOption, match=r"no file name in .* says a recording"):
        recordings(tmp_path / "arm.npz")


@pytest.mark.full
def test_a_small_study_of_films_writes_its_tables_and_its_figure(shared_data, tmp_path):
    films = str(shared_data / "ibm_double_pendulum.npz")
    result = reproduce("discover", Settings(quick=True, data=films), tmp_path)
    assert result.numbers["recorded"]["filmed pendulum"]["groups"] == 1
    assert (tmp_path / "left_out_runs.png").stat().st_size > 1000
