"""The score test does what its formulas say: derivatives of steps, whitening, projections."""

import dataclasses
import warnings

import numpy as np
import pytest

import isthmus as ist
from isthmus.discovery.discover import Search
from isthmus.discovery.linearise import look, slopes, with_door
from isthmus.discovery.score import Columns, cosine, gain, products, regular, residuals
from isthmus.discovery.step_check import _advice
from isthmus.errors import BadOption

ONE = ist.library.pendulum(1)


@pytest.fixture(scope="module")
def search():
    damped = ONE.set("joint/damping", [0.05])
    motion = ist.rollout(damped, ist.State([2.0], [0.0]), None, 0.01, steps=600, integrator="rk4")
    return Search(ist.Problem(ONE, motion, loss=ist.Windows(25), noise=1e-3, integrator="rk4"))


def test_slopes_of_steps_agree_with_differences(search):
    stage = search.stand.stage
    model = with_door(search.stand.model())
    rows, scheme, step = stage.record.rows, stage.scheme, 1e-5
    found = slopes(model, rows, scheme, stage.fields)
    value = lambda **changes: look(model, dataclasses.replace(rows, **changes), scheme, 1).defect
    by_v = (value(v=rows.v + step) - value(v=rows.v - step)) / (2.0 * step)
    np.testing.assert_allclose(found.state[:, :, 1], by_v, atol=1e-8)
    np.testing.assert_allclose(found.defect, value(), atol=1e-14)
    heavy = lambda s: look(
        dataclasses.replace(model, link_mass=model.link_mass + s * step), rows, scheme, 1
    )
    by_mass = (heavy(1.0).defect - heavy(-1.0).defect) / (2.0 * step)
    np.testing.assert_allclose(found.leaves["link_mass"][:, :, 0], by_mass, atol=1e-8)
    after = lambda torque: ist.step(
        ONE, ist.State(rows.q[0], rows.v[0]), np.array([torque]), 0.01, integrator="rk4"
    )
    by_force = (np.asarray(after(step).v) - np.asarray(after(0.0).v)) / step
    np.testing.assert_allclose(found.force[0, 1], by_force, rtol=1e-6)


def test_products_are_those_of_the_inverse_covariance(search):
    stage = search.stand.stage
    columns = Columns({}, search.candidates[:2])
    found = stage.slopes(search.stand.model())
    Z = residuals(stage.record, found, columns, stage.record.window[:1])[0]
    G, Z = Z[:, -2:], Z[:, :-2]
    dense = Z.T @ np.linalg.inv(np.eye(len(Z)) + G @ G.T) @ Z
    one = dataclasses.replace(
        stage.record, window=stage.record.window[:1], block=stage.record.block[:1]
    )
    np.testing.assert_allclose(
        products(one, found, columns, whiten=True).total(), dense, rtol=1e-7, atol=1e-7
    )


def test_a_column_that_contains_another_is_alike():
    X = np.random.default_rng(0).standard_normal((50, 5))
    X[:, 4] = 2.0 * X[:, 1] + X[:, 0]
    one, other = np.array([1]), np.array([4])
    zero, c = np.zeros(5), np.ones(1)
    assert cosine(X.T @ X, np.array([0]), one, c, other, zero) == pytest.approx(1.0)
    assert cosine(X.T @ X, np.array([], int), one, c, np.array([2]), zero) < 0.5


def test_one_window_that_explodes_does_not_decide():
    """On costs themselves, one of 20 blocks would make any change look good; on their logarithms it is one of 20."""
    rng = np.random.default_rng(0)
    without = rng.uniform(0.9, 1.1, (5, 20))
    with_it = without * rng.uniform(1.0, 1.1, (5, 20))
    without[0, 0] = 1e12
    mean, error = gain(without, with_it)
    assert mean < 2.0 * error


def test_a_window_whose_start_says_nothing_more_is_left_out_not_an_error():
    """A direction that grows by 1e9 leaves the others below rounding; one that grows by 100 does not."""
    u = np.array([0.6, 0.8])
    grown = np.array([g * g * np.outer(u, u) for g in (1e2, 1e9)]) + np.eye(2)
    wild = np.full((1, 2, 2), np.inf)
    assert list(regular(np.concatenate([grown, wild]))) == [True, False, False]


def test_a_thinned_record_has_the_rows_of_its_windows(search):
    record = search.stand.stage.record
    few = record.thinned(5)
    assert few.windows == 5
    for k, of in ((0, 0), (4, -1)):
        np.testing.assert_array_equal(few.rows.q[few.window[k]], record.rows.q[record.window[of]])
        np.testing.assert_array_equal(few.weight[few.window[k]], record.weight[record.window[of]])
    assert record.thinned(record.windows) is record


ROBOTS = {
    "impulses": lambda: ist.library.cube(contact="impulse"),
    "springs": lambda: ist.library.cube(contact="penalty"),
    "a pendulum": lambda: ist.library.pendulum(2),
    "little friction": lambda: ist.library.pendulum(2).set("joint/friction", 1e-4),
    "much friction": lambda: ist.library.pendulum(2).set("joint/friction", 5.0),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_rk4_is_advised_where_a_rollout_takes_it_without_a_warning(name):
    """The refusal of a long step offered RK4 where `rollout` then warned that dry friction or springs shake."""
    model = ROBOTS[name]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ist.rollout(model, ist.State.neutral(model), None, 0.01, 1, integrator="rk4")
        except BadOption as refused:
            caught.append(refused)
    assert ("rk4" in _advice(model, ist.SemiImplicit(), 1.0, 0.01)) == (not caught)


def test_many_substeps_are_explained():
    model = ist.library.pendulum(1)
    assert "joints hit their stops" in _advice(model, ist.SemiImplicit(), 1e3, 0.01)
    assert "rk4" not in _advice(model, ist.RK4(), 1.0, 0.01)
