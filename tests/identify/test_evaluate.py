"""Cost, gradient and Gauss-Newton matrix agree with each other, with differences, and for every split of the work."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.evaluate import jacobians
from isthmus.identify.evaluate.compiled import Compiled
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.evaluate.inputs import inputs_of
from isthmus.identify.preflight import differences
from tests.identify.motions import double_problem


def jacobian(evaluation: Evaluation, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    n = len(x)
    r, gaps = evaluation.residuals(np.concatenate([x + h * np.eye(n), x - h * np.eye(n)]))
    flat = np.concatenate([r.reshape(2 * n, -1), gaps.reshape(2 * n, -1)], axis=1)
    return ((flat[:n] - flat[n:]) / (2 * h)).T


@pytest.mark.parametrize("loss", ["windows", ist.MultipleShooting(20, defect_weight=50.0)])
def test_gradient_and_matrix_are_those_of_the_residuals(loss):
    evaluation = double_problem(loss).evaluation
    x = evaluation.start * 1.1
    normal = evaluation.normal(x[None])
    J = jacobian(evaluation, x)
    r, gaps = evaluation.residuals(x[None])
    flat = np.concatenate([r.ravel(), gaps.ravel()])
    np.testing.assert_allclose(normal.cost[0], 0.5 * flat @ flat, rtol=1e-12)
    np.testing.assert_allclose(
        normal.gradient[0], J.T @ flat, rtol=1e-6, atol=1e-4 * np.abs(J.T @ flat).max()
    )
    s = np.random.default_rng(0).standard_normal(len(x))
    np.testing.assert_allclose(
        normal.matrix.times(s[None])[0], J.T @ (J @ s), rtol=1e-5, atol=1e-5 * np.abs(J).max() ** 2
    )


def general(problem: ist.Problem) -> Evaluation:
    """The loss by code that takes the numbers of the simulation as inputs."""
    plan = dataclasses.replace(problem.plan, inputs=inputs_of(problem.parameters))
    e = problem.evaluation
    return Evaluation(plan, e.windows, e.prior, compiled=Compiled(plan, e.compiled.example))


@pytest.mark.parametrize("loss", ["windows", ist.MultipleShooting(20)])
def test_all_ways_to_a_gradient_and_a_matrix_agree(monkeypatch, loss):
    """Directions written out; in lanes; windows in lanes; gradients of rows in lanes; reverse mode."""
    problem = double_problem(loss)
    plain, other = problem.evaluation, general(problem)
    assert plain.plan.inputs is None
    X = plain.start * np.array([[1.1], [0.9]]) + 1e-3
    normal = plain.normal(X)
    found = {"directions": other.normal(X)}
    monkeypatch.setattr(jacobians, "FILLED", 2.0)
    found["windows"] = other.normal(X)
    monkeypatch.setattr(jacobians, "PULL", 0.0)
    found["rows"] = other.normal(X)
    for way, way_found in found.items():
        np.testing.assert_allclose(way_found.cost, normal.cost, rtol=1e-12, err_msg=way)
        np.testing.assert_allclose(way_found.gradient, normal.gradient, rtol=1e-8, err_msg=way)
        reduced = way_found.matrix.reduced(4), normal.matrix.reduced(4)
        np.testing.assert_allclose(*reduced, rtol=1e-7, err_msg=way)
    for evaluation in (plain, other):
        cost, slope = evaluation.gradient(X)
        np.testing.assert_allclose(cost, normal.cost, rtol=1e-12)
        np.testing.assert_allclose(slope, normal.gradient, rtol=1e-8)


@pytest.mark.parametrize("setting", [{}, {"FILLED": 2.0}, {"PULL": 0.0}, {"MEMORY": 20_000}])
def test_columns_have_the_same_bits_for_any_number_of_points(monkeypatch, setting):
    for name, value in setting.items():
        monkeypatch.setattr(jacobians, name, value)
    evaluation = general(double_problem())
    X = evaluation.start * np.linspace(0.8, 1.2, 9)[:, None]
    together = evaluation.normal(X)
    for k, x in enumerate(X):
        alone = evaluation.normal(x[None])
        np.testing.assert_array_equal(together.gradient[k], alone.gradient[0])
        np.testing.assert_array_equal(together.matrix.reduced(4)[k], alone.matrix.reduced(4)[0])


def test_curved_maps_from_free_numbers_keep_their_derivative():
    free = [ist.Free("link/*/inertial"), ist.Free("stretch/rod_1"), ist.Free("joint/*/damping")]
    problem = dataclasses.replace(double_problem(), free=free)
    evaluation = general(problem)
    x = evaluation.start
    r, J = evaluation.residuals(x[None])[0].ravel(), differences(evaluation, x)
    normal = evaluation.normal(x[None])
    np.testing.assert_allclose(normal.gradient[0], J.T @ r, atol=1e-5 * np.abs(J.T @ r).max())
    np.testing.assert_allclose(normal.matrix.H[0], J.T @ J, atol=1e-6 * np.abs(J.T @ J).max())


def test_freeing_other_numbers_of_bodies_and_joints_needs_no_other_code():
    """The entry on disk has one name for all of them, and none for what moves a frame."""
    names = {}
    choices = ["link/*/mass", "link/*/inertial", "joint/*/damping", "joint/*/origin"]
    for name in choices:
        problem = dataclasses.replace(double_problem(), free=[ist.Free(name)])
        names[name] = general(problem).compiled.residuals.known_as
    same = {names[name] for name in choices[:3]}
    assert len(same) == 1
    assert None not in same
    assert names["joint/*/origin"] not in same


def test_substeps_are_an_argument_of_the_code():
    """Twice the substeps by the same code are those of a problem that asks for them."""
    finer = double_problem().evaluation.finer()
    asked = dataclasses.replace(double_problem(), substeps=2).evaluation
    x = finer.start[None]
    np.testing.assert_allclose(finer.residuals(x)[0], asked.residuals(x)[0], rtol=1e-9, atol=1e-9)


def test_many_points_cost_what_each_costs_alone():
    evaluation = double_problem().evaluation
    X = evaluation.start * np.linspace(0.8, 1.2, 9)[:, None]
    alone = [evaluation.normal(x[None]).cost[0] for x in X]
    np.testing.assert_array_equal(evaluation.normal(X).cost, alone)


def test_a_shorter_horizon_is_the_beginning_of_the_whole():
    evaluation = double_problem().evaluation
    x = evaluation.start[None]
    r, _ = evaluation.residuals(x)
    short = evaluation.shortened(0.5)
    np.testing.assert_allclose(
        short.normal(x).cost[0], 0.5 * np.sum(np.square(r[:, :, :11])), rtol=1e-12
    )


def test_huber_counts_far_points_linearly():
    problem = double_problem()
    robust = dataclasses.replace(problem, huber=1.5)
    x = problem.evaluation.start[None]
    r, _ = problem.evaluation.residuals(x)
    size = np.abs(r)
    expected = np.where(size > 1.5, 1.5 * (size - 0.75), 0.5 * size**2).sum()
    normal = robust.evaluation.normal(x)
    np.testing.assert_allclose(normal.cost[0], expected, rtol=1e-12)
    h, d = 1e-6, np.ones(4) / 2
    up, down = robust.evaluation.cost(np.concatenate([x + h * d, x - h * d]))
    np.testing.assert_allclose(normal.gradient[0] @ d, (up - down) / (2 * h), rtol=1e-5)


def test_a_minibatch_of_all_windows_is_the_whole():
    evaluation = double_problem().evaluation
    x = evaluation.start[None]
    whole, part = evaluation.gradient(x), evaluation.gradient(x, np.arange(evaluation.count))
    np.testing.assert_allclose(part[1], whole[1], rtol=1e-12)
