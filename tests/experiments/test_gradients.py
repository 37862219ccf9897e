"""The study of gradients in its small version: values and gradients are those that TDS computes."""

import pytest

from isthmus.experiments import gradients
from isthmus.experiments.run import Settings, reproduce


@pytest.mark.slow
@pytest.mark.compiles_much("a whole study")
def test_values_and_gradients_of_the_three_problems_are_the_published_ones(tmp_path):
    result = reproduce("gradients", Settings(quick=True), tmp_path)
    assert len(result.numbers) == 3
    for one in result.numbers.values():
        assert one["value is off"] < 1e-12
        assert one["gradient is off"] < 1e-10
    assert {p.name for p in tmp_path.iterdir()} == {"tables.txt", "numbers.json", "gradients.png"}


def test_the_best_published_time_is_that_of_compiled_code():
    assert [gradients.best_of(k) for k in range(3)] == [2.5e-7, 0.110, 8.2e-5]
