"""Multiple shooting's arrow matrix: eliminated block by block it gives the dense solution, at linear cost."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.evaluate import arrow_matrix
from isthmus.identify.evaluate.arrow_matrix import Arrow
from isthmus.identify.evaluate.dense_matrix import Dense
from tests.identify.motions import double_problem


def random_arrow(windows: int, p: int = 3, m: int = 2, islands: int = 2) -> Arrow:
    rng = np.random.default_rng(windows)
    J = rng.standard_normal((islands, windows, 8, p + 2 * m))
    J[:, -1, :, p + m :] = 0.0  # the last window has no next one
    return Arrow.gathered(np.swapaxes(J, 2, 3) @ J, p, m, True)


def dense(arrow: Arrow) -> np.ndarray:
    p, windows, m = arrow.sizes
    n = p + windows * m
    columns = [arrow.times(np.tile(e, (len(arrow.A), 1))) for e in np.eye(n)]
    return np.stack(columns, axis=2)


@pytest.mark.parametrize("windows", [1, 2, 7])
def test_elimination_gives_the_dense_solution(windows):
    arrow = random_arrow(windows)
    H = dense(arrow)
    np.testing.assert_allclose(H, np.swapaxes(H, 1, 2), atol=1e-12)
    rng = np.random.default_rng(0)
    right, damping = rng.standard_normal((2, *H.shape[:2]))
    held = rng.random(right.shape) < 0.2
    damping = damping**2 + 0.1
    np.testing.assert_allclose(
        arrow.solve(damping, right, held),
        Dense(H).solve(damping, right, held),
        rtol=1e-8,
        atol=1e-10,
    )
    np.testing.assert_allclose(arrow.diagonal(), np.einsum("ijj->ij", H))


def test_what_is_left_for_the_parameters_is_the_inverse_of_their_part_of_the_inverse():
    arrow = random_arrow(4)
    inverse = np.linalg.inv(dense(arrow))[:, :3, :3]
    np.testing.assert_allclose(np.linalg.inv(arrow.reduced(3)), inverse, rtol=1e-7)


def test_work_and_memory_grow_linearly_with_the_windows(monkeypatch):
    """Counted: blocks that are solved, and numbers that are stored."""
    counted = []
    solve = np.linalg.solve

    def counting(A, b):
        counted.append(int(np.prod(A.shape[:-1])) * A.shape[-1] ** 2 + b.size)
        return solve(A, b)

    monkeypatch.setattr(arrow_matrix.np.linalg, "solve", counting)
    work, memory = [], []
    for windows in (10, 20, 40):
        arrow = random_arrow(windows, islands=1)
        n = 3 + 2 * windows
        counted.clear()
        arrow.solve(np.ones((1, n)), np.ones((1, n)), np.zeros((1, n), dtype=bool))
        work.append(sum(counted))
        memory.append(sum(x.size for x in (arrow.A, arrow.B, arrow.D, arrow.E)))
    for series in (work, memory):
        first, second = np.diff(series)
        assert second == 2 * first


def test_segments_join_into_one_motion_and_the_noise_is_found():
    problem = double_problem(ist.MultipleShooting(20, defect_weight=1e4), rows=121)
    fit = ist.fit(problem)
    gaps = problem.evaluation.residuals(fit.x[None])[1] / 1e4
    assert np.abs(gaps).max() < 1e-4
    assert abs(fit.noise - 1.0) < 0.15
    for name, true in (("link/rod_1/mass", 1.2), ("link/rod_2/mass", 0.7)):
        assert abs(fit[name].value - true) < 4 * fit[name].error
