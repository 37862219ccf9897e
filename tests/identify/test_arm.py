"""An arm with seven joints: derivatives are right, and the code is one for all that may be free of it."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.preflight import differences

ARM = ist.library.arm()
FRICTION = [ist.Free("joint/*/damping"), ist.Free("joint/*/friction")]
CHOICES = {
    "masses": ([ist.Free("link/*/mass"), *FRICTION], ist.Windows(10), "joint/position"),
    "inertias": ([ist.Free("link/*/inertial"), *FRICTION], ist.Windows(10), "joint/position"),
    "torque": (
        [ist.Free("link/*/inertial"), *FRICTION, ist.Free("offset/joint/control")],
        ist.TorqueLoss(),
        "joint/control",
    ),
}


@pytest.fixture(scope="module")
def log() -> ist.Motion:
    t = np.arange(41)[:, None] * 0.002
    torque = np.sin(20.0 * t + np.arange(7)) * np.array([20.0, 30.0, 10.0, 10.0, 2.0, 1.0, 0.2])
    truth = ARM.set("joint/damping", 0.5).set("joint/friction", 0.1)
    start = ist.State(np.linspace(-0.5, 0.5, 7), np.zeros(7))
    return ist.rollout(truth, start, torque[:-1], 0.002, record=["joint/control"])


def problem(log: ist.Motion, choice: str) -> ist.Problem:
    free, loss, signal = CHOICES[choice]
    model = ARM.set("joint/damping", 0.3).set("joint/friction", 0.05)
    return ist.Problem(model, log, free=free, loss=loss, signals=[signal], noise=1e-3)


@pytest.mark.compiles_much("a problem is set up number by number")
@pytest.mark.parametrize("choice", CHOICES)
def test_the_matrix_is_that_of_differences(log, choice):
    evaluation = problem(log, choice).evaluation
    assert evaluation.plan.inputs is not None
    x = evaluation.start
    r, J = evaluation.residuals(x[None])[0].ravel(), differences(evaluation, x)
    normal = evaluation.normal(x[None])
    size = np.maximum(np.linalg.norm(J, axis=0), 1e-6 * np.linalg.norm(J))
    np.testing.assert_allclose(
        normal.gradient[0] / size, J.T @ r / size, atol=1e-5 * np.linalg.norm(r)
    )
    np.testing.assert_allclose(
        normal.matrix.H[0] / size / size[:, None], J.T @ J / size / size[:, None], atol=1e-5
    )


def test_masses_and_inertias_run_through_the_same_code(log):
    one, other = (problem(log, choice).compiled for choice in ("masses", "inertias"))
    assert one.columns.known_as == other.columns.known_as
    assert one.residuals.known_as == other.residuals.known_as
    assert None not in (one.columns.known_as, one.residuals.known_as)


def test_the_code_has_a_size_of_its_own_and_not_that_of_all_directions(log):
    """Written out, 21 directions would have some 100,000 operations."""
    compiled = problem(log, "masses").compiled
    assert compiled.columns.facts.operations < 4 * compiled.residuals.facts.operations
