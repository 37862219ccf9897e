"""A search that stopped in a local minimum is told so, and its errors reach the better one."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.answer.local_minimum import lower_minimum
from tests.identify.toys import Rastrigin

SIZE = 2


class Named(Rastrigin):
    """With names for its numbers, as a problem has."""

    plan = SimpleNamespace(
        parameters=SimpleNamespace(
            size=SIZE, names=("a", "b"), groups=(), scale=np.ones(SIZE), low=np.full(SIZE, -5.0),
            high=np.full(SIZE, 5.0), is_weight=lambda: np.zeros(SIZE, dtype=bool), values=lambda z: z,
        )
    )  # fmt: skip


@pytest.mark.parametrize("start", [-3.3, -1.5, 3.8])
def test_a_lower_minimum_is_found_around_a_local_one(start):
    loss = Named()
    local = ist.LevenbergMarquardt().search(loss, np.full((1, SIZE), start))
    x = local.x[0]
    found = lower_minimum(loss, x, np.full(SIZE, 0.3), 0.1, bent=False)
    assert found is not None
    assert loss.cost((x + found.shift)[None])[0] < local.cost[0]
    assert f"a loss of {local.cost[0]:.4g}" in found.sentence


@pytest.mark.parametrize("bent", [False, True])
def test_nothing_is_lower_than_the_lowest_minimum(bent):
    loss = Named()
    x = np.full(SIZE, loss.centre)
    assert lower_minimum(loss, x, np.full(SIZE, 0.3), 0.1, bent=bent) is None


SPRING = ist.library.pendulum(1).set("joint/stiffness", 20.0)


def swings(start):
    """A spring swings for four seconds; a search for its stiffness begins at `start`."""
    motion = ist.rollout(SPRING, ist.State([0.5], [0.0]), None, 0.02, 200)
    noise = 1e-3 * np.random.default_rng(0).standard_normal(motion.q.shape)
    log = ist.Motion(motion.t, np.asarray(motion.q) + noise, motion.v)
    free = ist.Free("joint/*/stiffness", low=1.0, high=100.0, start=start)
    return ist.Problem(SPRING, log, free=free, loss="whole_run", noise=1e-3)


def test_a_fit_says_that_it_stopped_in_a_local_minimum_and_its_error_reaches_the_next():
    with warnings.catch_warnings(action="ignore"):
        fit = ist.fit(swings(40.0), "levenberg_marquardt")
    (said,) = [text for text in fit.warnings if "local minimum" in text]
    better = float(said.split("joint/joint_1/stiffness = ")[1].split(",")[0])
    found = fit["joint/joint_1/stiffness"]
    assert abs(found.value - 20.0) > abs(better - 20.0) > 1.0
    assert abs(found.value - better) < 1.01 * found.error
    assert np.sqrt(fit.covariance[0, 0]) == pytest.approx(found.error)


def test_a_fit_that_found_the_truth_says_nothing():
    """Warnings are errors in tests."""
    fit = ist.fit(swings(20.5), "levenberg_marquardt")
    assert abs(fit["joint/joint_1/stiffness"].value - 20.0) < 0.01


def test_contact_alone_is_no_local_minimum():
    robot = ist.Builder("ball")
    robot.add_link("ball", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    robot.add_joint_prismatic("drop", None, "ball", axis=(0, 0, 1))
    robot.add_shape_sphere("ball", 0.1, name="ball")
    ball = ist.with_contact(
        robot.model(), ist.Contact(restitution=0.7, softness=0.0), ground=ist.Ground()
    )
    motion = ist.rollout(ball, ist.State([1.0], [0.0]), None, 0.02, 60)
    noise = 1e-3 * np.random.default_rng(0).standard_normal(motion.q.shape)
    log = ist.Motion(motion.t, np.asarray(motion.q) + noise, motion.v)
    free = ist.Free("contact/ball/restitution", low=0.0, high=1.0, start=0.5)
    fit = ist.fit(ist.Problem(ball, log, free=free, loss="whole_run", noise=1e-3))
    assert abs(fit["contact/ball/restitution"].value - 0.7) < 0.01
