"""`isthmus reproduce discover`: the inputs that a missing friction depends on, and what they are worth."""

from __future__ import annotations

import pytest

from isthmus.experiments import discover
from isthmus.experiments.discover_truth import STEPS, TRUTHS, support_of
from isthmus.experiments.run import Settings, reproduce

LEAST = {"damping (0.2, 0)": 18, "damping (0.2, 0.1)": 14, "damping 0.2, dry 0.3": 18}


@pytest.mark.slow
@pytest.mark.compiles_much("a feed-forward network and two fits")
def test_a_small_study_writes_its_tables_and_figures(tmp_path):
    result = reproduce("discover", Settings(quick=True), tmp_path)
    assert result.numbers["supports"]["damping (0.2, 0)"]["of"] == 1
    assert (tmp_path / "first_layers.png").stat().st_size > 1000
    assert (tmp_path / "errors.png").stat().st_size > 1000


@pytest.mark.full
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.title)
def test_the_inputs_of_friction_are_found_in_most_of_twenty_recordings(truth):
    found = []
    for seed in range(9000, 9020):
        fit, _, cpu = discover.sparsified(truth, 1e-3, seed, STEPS)
        found.append(support_of(fit.inputs) == truth.support)
        print(truth.title, seed, fit.inputs, f"{cpu:.2f} s of CPU")
    print(f"{truth.title}: {sum(found)} of 20")
    assert sum(found) >= LEAST[truth.title]


@pytest.mark.full
def test_the_hybrid_with_discovered_inputs_needs_a_hundred_samples():
    truth = TRUTHS[0]
    fit, _, _ = discover.sparsified(truth, 1e-3, 9000, STEPS)
    errors = discover.compared(truth, discover.prune(fit.model), Settings(seed=9000))
    print(errors)
    assert errors["hybrid"][100] <= 0.01 * errors["feed-forward"][50_000]
