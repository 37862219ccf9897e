"""The torques that a motion needs are those that made it."""

from __future__ import annotations

import jax
import numpy as np

import isthmus as ist
from tests.identify.motions import DT, SINGLE, commands

START = ist.State(np.array([0.7]), np.zeros(1))
MODEL = SINGLE.set("joint/friction", 0.2).set("joint/armature", 0.05)


def moved(model: ist.Model) -> ist.Motion:
    """A motion with the accelerations of each row, which the integrator makes from it."""
    motion = ist.rollout(model, START, commands(41, 1)[:-1], DT, integrator="explicit_euler")
    rate = np.diff(motion.v, axis=0) / DT
    return ist.Motion(motion.t[:-1], motion.q[:-1], motion.v[:-1], {"joint/acceleration": rate})


def test_friction_and_armature_count():
    tau = ist.needed_torque(MODEL, moved(MODEL))
    np.testing.assert_allclose(tau, commands(41, 1)[:-1], atol=1e-9)


def test_networks_with_memory_are_led_from_row_to_row():
    wire = ist.Wire("joint/passive_torque", ["joint/velocity"], ist.GRU(width=2))
    model = ist.Blueprint([wire]).attach(MODEL, key=jax.random.key(0))
    weights = jax.tree.map(lambda x: x + 0.1, model.networks)
    model = jax.tree.map(np.asarray, type(model)(**{**vars(model), "networks": weights}))
    np.testing.assert_allclose(
        ist.needed_torque(model, moved(model)), commands(41, 1)[:-1], atol=1e-9
    )


def test_ends_are_not_known_where_velocities_are_differentiated():
    motion = moved(MODEL)
    tau = ist.needed_torque(MODEL, ist.Motion(motion.t, motion.q, motion.v))
    assert np.isnan(tau[[0, -1]]).all()
    assert np.isfinite(tau[1:-1]).all()
