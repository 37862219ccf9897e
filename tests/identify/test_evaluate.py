"""Cost, gradient and Gauss-Newton matrix agree with each other, with differences, and for every split of the work."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify import evaluate
from isthmus.identify.evaluate import Compiled, Evaluation
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


def test_forward_mode_reverse_mode_and_the_jacobian_give_one_gradient(monkeypatch):
    plain = double_problem().evaluation
    X = plain.start * np.array([[1.1], [0.9]])
    normal = plain.normal(X)
    cost, forward = plain.gradient(X)
    monkeypatch.setattr(evaluate, "FORWARD", 0)
    monkeypatch.setattr(evaluate, "ACCUMULATE", 0)
    other = Evaluation(
        plain.plan,
        plain.windows,
        plain.prior,
        compiled=Compiled(plain.plan, plain.compiled.example),
    )
    _, reverse = other.gradient(X)
    by_jacobian = other.normal(X)
    for found in (forward, reverse, by_jacobian.gradient):
        np.testing.assert_allclose(found, normal.gradient, rtol=1e-9)
    np.testing.assert_allclose(by_jacobian.matrix.reduced(4), normal.matrix.reduced(4), rtol=1e-9)
    np.testing.assert_allclose(cost, normal.cost, rtol=1e-12)


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
