"""Gauss-Newton matrices by the weights of networks are the same through the answers of the networks."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.evaluate.door import ByAnswers
from isthmus.identify.evaluate.jacobians import Jacobians


def problem(**options) -> ist.Problem:
    """Two rods, a network for both torques and one for the first, and a mass that is free, too."""
    model, rng = ist.library.pendulum(2), np.random.default_rng(0)
    motion = ist.Motion(
        0.01 * np.arange(43), rng.uniform(-0.3, 0.3, (43, 2)), rng.uniform(-0.5, 0.5, (43, 2))
    )
    reads = ["joint/position", "joint/velocity"]
    wires = [
        ist.Wire("joint/passive_torque", reads, ist.MLP(4, 1), name="both"),
        ist.Wire(
            "joint/passive_torque[joint_1]", reads, ist.Dissipative(ist.MLP(4, 1)), name="one"
        ),
    ]
    hybrid = ist.Blueprint(wires).attach(model, key=0, data=motion)
    free = ["network/both", "link/rod_2/mass", "network/one"]
    return ist.Problem(hybrid, motion, free=free, loss=ist.Windows(5), huber=0.05, **options)


def test_the_matrix_through_the_answers_of_networks_is_that_of_all_directions():
    evaluation = problem().evaluation
    assert evaluation.compiled.doors is not None
    rng = np.random.default_rng(1)
    X = evaluation.start + 0.3 * rng.normal(size=(2, evaluation.size))
    cost, gradient, H = ByAnswers(evaluation.batch, evaluation.compiled.doors).normal(X)
    other = Jacobians(evaluation.batch).normal(X)
    np.testing.assert_allclose(cost, other[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, other[1], rtol=1e-9, atol=1e-11 * np.abs(gradient).max())
    np.testing.assert_allclose(H, other[2], rtol=1e-9, atol=1e-12 * np.abs(H).max())
    np.testing.assert_allclose(evaluation.normal(X).matrix.H, H[:, 0], rtol=1e-12)


@pytest.mark.parametrize("options", [{"substeps": 2}, {"integrator": "rk4"}])
def test_steps_that_ask_a_network_more_than_once_take_the_other_way(options):
    assert problem(**options).compiled.doors is None
