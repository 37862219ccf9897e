"""Intervals hold the truth also where the model lacks something, or the estimate is named as doubtful."""

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.answer.model_error import between_windows, correlated, sandwich
from tests.identify import swings
from tests.identify.arms import KINDS, arm_log, tally


def test_estimates_that_are_not_doubtful_hold_the_truth_in_spite_of_model_errors():
    found = tally(range(3), KINDS, rows=400)
    assert found.held >= 0.8 * found.trusted, found
    assert found.trusted >= 0.4 * found.determined, found
    assert found.doubted_arms == 3, found


def test_nothing_is_doubtful_where_the_model_is_right():
    found = tally(range(3), ("nothing",), rows=400)
    assert found.held >= 0.8 * found.trusted, found
    assert found.doubted_arms == 0, found


@pytest.mark.parametrize("loss", [ist.Windows(20), ist.WholeRun()])
def test_simulated_losses_hold_the_truth_in_spite_of_model_errors(loss):
    wrong = swings.tally(range(3), KINDS, loss, rows=241)
    assert wrong.held >= 0.8 * wrong.trusted, wrong
    assert wrong.trusted >= 0.4 * wrong.determined, wrong
    assert wrong.doubted_arms > 0, wrong
    right = swings.tally(range(2), ("nothing",), loss, rows=241)
    assert right.held >= 0.8 * right.trusted, right
    assert right.doubted_arms == 0, right


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("links", [2, 3])
@pytest.mark.parametrize("loss", [ist.Windows(20), ist.WholeRun(), ist.MultipleShooting(20)])
def test_of_sixty_pendulums_intervals_of_90_percent_hold_the_truth_in_80(loss, links):
    wrong = swings.tally(range(60), KINDS, loss, links=links)
    right = swings.tally(range(60), ("nothing",), loss, links=links)
    print(f"\n{loss}, {links} links, with model errors: {wrong}\nwithout: {right}")
    assert wrong.held >= 0.8 * wrong.trusted, wrong
    assert wrong.trusted >= 0.5 * wrong.determined, wrong
    assert right.held >= 0.8 * right.trusted, right
    assert right.doubted_arms <= 6, right


@pytest.mark.full
@pytest.mark.slow
def test_of_a_hundred_arms_intervals_of_90_percent_hold_the_truth_in_80():
    wrong, right = tally(range(100), KINDS), tally(range(100), ("nothing",))
    print(f"\nwith model errors: {wrong}\nwithout: {right}")
    assert wrong.held >= 0.8 * wrong.trusted, wrong
    assert wrong.trusted >= 0.5 * wrong.determined, wrong
    assert right.held >= 0.8 * right.trusted, right
    assert right.doubted_arms <= 10, right


def test_errors_of_a_mean_grow_with_the_correlation_in_time():
    """The mean of a series in which each value is 0.8 of the last and noise has three times the usual error."""
    draw, rows, factor = np.random.default_rng(0), 4000, 0.8
    r, x = np.zeros((rows, 2)), draw.standard_normal((rows, 2))
    for k in range(1, rows):
        r[k] = [factor, 0.0] * r[k - 1] + x[k]
    X, run = np.zeros((2, rows, 2)), np.zeros(rows, dtype=np.int64)
    X[0, :, 0] = X[1, :, 1] = 1.0
    error = np.sqrt(np.diag(sandwich(X, r, lambda X, r: correlated(X, r, run), np.zeros(2))) * rows)
    np.testing.assert_allclose(error, [1.0 / (1.0 - factor), 1.0], rtol=0.2)
    moved = correlated(X, r, np.repeat([0, 1], rows // 2))
    assert moved.shape == X.shape


def test_a_doubtful_estimate_is_named_with_its_cause_and_kept_on_disk(tmp_path):
    truth, log = arm_log(0, "friction", 400)
    free = [ist.Free("joint/*/damping")]
    with pytest.warns(ist.errors.FitWarning, match=r"doubtful, as the model lacks .*friction"):
        fit = ist.fit(ist.Problem(truth, log, free=free, loss="torque"))
    name, text = next(iter(fit.doubtful.items()))
    assert text.startswith("if the model had what it lacks, it would move by ")
    assert text.endswith(f"mostly because of {name.replace('damping', 'friction')}")
    assert f"doubtful: {name}" in str(fit)
    again = ist.Fit.load(fit.save(tmp_path / "fit"))
    assert (again.doubtful, again.lacking) == (fit.doubtful, fit.lacking)


def test_windows_that_start_anew_have_the_covariance_that_they_show():
    """Errors that grow through each window by a number that is drawn once for it: a random slope."""
    draw, windows, rows = np.random.default_rng(0), 400, 10
    growth = np.arange(rows) * 1.0
    r, run = draw.standard_normal((windows, 1)) * growth, np.zeros(windows, dtype=np.int64)
    X = np.tile(growth, (1, windows, 1))
    Omega = lambda X, r: between_windows(X, r, run)
    error = np.sqrt(sandwich(X, r, Omega, np.zeros(1))[0, 0] * windows)
    np.testing.assert_allclose(error, 1.0, rtol=0.2)
