"""A quadruped whose joints are held by PD control stands on the ground as it does in MuJoCo."""

import mujoco
import numpy as np
import pytest

import isthmus as ist
from isthmus.bench.contact import (
    DT,
    mujoco_quadruped,
    mujoco_state,
    standing_quadruped,
    standing_start,
    stood,
)

pytestmark = pytest.mark.loose
SECOND = round(1.0 / DT)


@pytest.fixture(scope="module")
def model():
    return standing_quadruped()


@pytest.fixture(scope="module")
def motion(model):
    start = standing_start(model)
    run = ist.native.compile(lambda q, v: stood(model, q, v, 10 * SECOND), start.q, start.v)
    return run(start.q, start.v)


def test_a_quadruped_stands_still_for_ten_seconds(motion):
    assert np.ptp(motion.q[SECOND:, 2]) < 2e-3
    assert np.max(np.abs(motion.v[SECOND:, 6:])) < 0.01


def test_height_and_force_on_each_foot_are_those_of_mujoco(model, motion):
    made = mujoco_quadruped(model)
    start = standing_start(model)
    data = mujoco_state(made, start.q, start.v)
    mujoco.mj_step(made, data, 3 * SECOND)
    forces = np.zeros(4)
    for k, contact in enumerate(data.contact):
        wrench = np.zeros(6)
        mujoco.mj_contactForce(made, data, k, wrench)
        names = [made.geom(g).name for g in contact.geom]
        foot = next(n for n in names if n.endswith("_foot"))
        forces[["FR_foot", "FL_foot", "RR_foot", "RL_foot"].index(foot)] += wrench[0]
    assert abs(motion.q[-1, 2] - data.qpos[2]) < 2e-3
    ours = motion.signals["contact/normal_force"][-1]
    np.testing.assert_allclose(ours, forces, rtol=0.05)
    np.testing.assert_allclose(np.sum(ours), 9.81 * np.sum(model.link_mass), rtol=1e-3)
