"""Levenberg-Marquardt finds what SciPy finds, for one start and for many."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import least_squares

import isthmus as ist
from isthmus.identify.evaluate.dense_matrix import Dense
from isthmus.identify.search.bodies import Bodies, factor
from isthmus.identify.search.levenberg_marquardt import bounded_step
from isthmus.identify.torque.start import start_from_torque
from tests.identify.arms import arm_log
from tests.identify.motions import double_problem


def by_scipy(problem: ist.Problem, start: np.ndarray) -> np.ndarray:
    evaluation = problem.evaluation
    bounds = (evaluation.low, evaluation.high)
    inside = np.clip(start, evaluation.low + 1e-9, evaluation.high - 1e-9)
    return least_squares(
        lambda x: evaluation.residuals(x[None])[0].ravel(),
        inside,
        bounds=bounds,
        jac="3-point",
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    ).x


def test_the_minimum_is_that_of_scipy():
    problem = double_problem()
    found = ist.LevenbergMarquardt().search(problem.evaluation, problem.evaluation.start[None])
    np.testing.assert_allclose(found.x[0], by_scipy(problem, problem.evaluation.start), rtol=1e-6)
    assert found.status[0].name == "CONVERGED"


def test_many_starts_side_by_side_end_where_each_would_alone():
    evaluation = double_problem().evaluation
    starts = evaluation.start * np.array(
        [[0.7, 1.2, 1.0, 0.8], [1.3, 0.9, 1.5, 1.2], [1.0, 1.0, 0.5, 0.5]]
    )
    together = ist.LevenbergMarquardt().search(evaluation, starts)
    alone = [ist.LevenbergMarquardt().search(evaluation, start[None]).x[0] for start in starts]
    np.testing.assert_allclose(together.x, alone, rtol=1e-9)


def test_a_bounded_quadratic_is_solved_exactly():
    rng = np.random.default_rng(1)
    for _ in range(20):
        J, r = rng.standard_normal((12, 5)), rng.standard_normal(12)
        low, high = -0.2 * rng.random(5), 0.2 * rng.random(5)
        H, X = Dense((J.T @ J)[None]), np.zeros((1, 5))
        for _ in range(20):
            g = (J.T @ (J @ X[0] + r))[None]
            X = X + bounded_step(H, g, X, 1e-14 * H.diagonal(), low, high)
        oracle = least_squares(
            lambda x, J=J, r=r: J @ x + r, np.zeros(5), bounds=(low, high), gtol=1e-14
        ).x
        np.testing.assert_allclose(X[0], oracle, atol=1e-6)


def test_the_result_stays_inside_the_bounds_and_says_so():
    problem = double_problem()
    narrow = ist.Problem(
        problem.model, problem.motions, free=[ist.Free("link/*/mass", low=0.9, high=1.1)], loss=ist.Windows(20),
        noise=1e-3,
    )  # fmt: skip
    with pytest.warns(ist.errors.FitWarning, match=r"link/rod_\d/mass is at its bound"):
        fit = ist.fit(narrow)
    assert all(0.9 <= e.value <= 1.1 for e in fit.estimates.values())


def test_options_that_cannot_work_are_refused():
    with pytest.raises(ist.errors.BadOption, match="steps"):
        ist.LevenbergMarquardt(steps=0)


def test_stopping_by_hand_keeps_the_best_so_far():
    evaluation = double_problem().evaluation

    def stop(news):
        if news.step == 2:
            raise KeyboardInterrupt

    found = ist.LevenbergMarquardt().search(evaluation, evaluation.start[None], stop)
    assert found.status[0].name == "INTERRUPTED"
    assert found.cost[0] < evaluation.cost(evaluation.start[None])[0]


def test_a_step_is_the_best_one_that_stays_in_the_box():
    draw = np.random.default_rng(3)
    J = draw.standard_normal((200, 8, 6))
    H, g = J.transpose(0, 2, 1) @ J, 20.0 * draw.standard_normal((200, 6))
    X = draw.uniform(0.0, 1.0, (200, 6)).round(1)
    low, high = np.zeros(6), np.ones(6)
    step = bounded_step(Dense(H), g, X, 0.1 * np.einsum("ijj->ij", H), low, high)
    slope = g + np.einsum("ijk,ik->ij", H, step) + 0.1 * np.einsum("ijj->ij", H) * step
    at_low, at_high = X + step < 1e-12, X + step > 1.0 - 1e-12
    assert np.all((X + step > -1e-12) & (X + step < 1.0 + 1e-12))
    assert np.all(np.abs(slope[~at_low & ~at_high]) < 1e-9)
    assert np.all(slope[at_low] > -1e-9)
    assert np.all(slope[at_high] < 1e-9)


@pytest.fixture(scope="module")
def inertials() -> ist.Problem:
    """All inertias, friction and offsets of an arm, with the prior of a torque fit; what that leaves is the noise."""
    model = ist.library.arm()
    _, log = arm_log(0, "friction", 400)
    linear = start_from_torque(model, log, joints=("damping", "friction", "offset"), prior=3.0)
    names = ("damping", "friction", "torque_offset")
    free = [ist.Free("link/*/inertial", prior=1.0 / np.sqrt(4.0 * linear.prior))]
    free += [ist.Free(f"joint/*/{name}") for name in names]
    noise = {"joint/motor_torque": linear.rms[2]}
    return ist.Problem(model, log, free=free, loss="torque", noise=noise)


def test_all_inertias_of_an_arm_converge_at_or_below_the_torque_fit(inertials):
    with warnings.catch_warnings(action="ignore", category=ist.errors.FitWarning):
        fit = ist.fit(inertials)
    assert fit.x.size == 91
    assert fit.status == "converged"
    assert len(fit.history) <= 31
    r = inertials.evaluation.residuals(fit.x[None])[0][0]
    assert np.sum(np.square(r)) <= inertials.evaluation.data * (1.0 + 1e-6)
    assert np.all(fit.model.link_mass[fit.model.link_mass != 0.0] > 0.0)


def test_from_the_description_inertias_converge_without_a_convex_start(inertials):
    evaluation = inertials.evaluation
    found = ist.LevenbergMarquardt(steps=60).search(evaluation, evaluation.start[None])
    assert found.status[0].name == "CONVERGED"


def test_curvature_and_bend_are_the_second_derivatives_of_pseudo_inertias(inertials):
    evaluation = inertials.evaluation
    bodies, draw = Bodies(evaluation), np.random.default_rng(0)
    x, h = evaluation.start, 1e-4
    v = np.zeros_like(x)
    v[bodies.rows] = draw.standard_normal(bodies.rows.shape)
    J = lambda z: (lambda U: U @ np.swapaxes(U, -1, -2))(factor(z[bodies.rows] * bodies.scale))
    second = (J(x + h * v) - 2.0 * J(x) + J(x - h * v)) / h**2
    w = bodies.bend(x[None], v[None])[0]
    h = 1e-5 / np.abs(w).max()
    first = (J(x + h * w) - J(x - h * w)) / (2.0 * h)
    np.testing.assert_allclose(first, second, atol=1e-5 * np.abs(second).max())
