"""A rollout keeps what acted on it, as a log does."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import (
    Control,
    State,
    compile_model,
    read_motion,
    rollout,
    rollout_many,
)
from tests import trees

MODEL = compile_model(trees.pendulum(1))
MOTOR = compile_model(trees.pendulum(1, effort=5.0))
START = State.neutral(MODEL)
TORQUES = np.sin(np.arange(20.0))[:, None]
KEPT = np.append(TORQUES, TORQUES[-1:], axis=0)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_rollout_keeps_its_controls_row_by_row(engine):
    force = np.ones((20, 1, 6))
    given = Control(torque=TORQUES, force=force, extra={"heat": np.arange(20.0)})
    motion = rollout(MODEL, START, given, 0.01, engine=engine)
    np.testing.assert_array_equal(motion.controls, KEPT)
    np.testing.assert_array_equal(motion.signals["link/external_force"], np.ones((21, 1, 6)))
    np.testing.assert_array_equal(motion.signals["extra/heat"], [*range(20), 19])
    assert len(motion[3:7].signals["joint/control"]) == 4


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("record", [(), ("link/pose",)])
def test_a_control_law_is_kept_as_what_it_said(engine, record):
    law = lambda t, state: -2.0 * state.v + t
    start = State(np.array([0.3]), np.zeros(1))
    motion = rollout(MODEL, start, law, 0.01, steps=5, record=record, engine=engine)
    said = -2.0 * np.asarray(motion.v[:5]) + np.asarray(motion.t[:5, None])
    np.testing.assert_allclose(motion.controls, [*said, said[-1]], rtol=1e-12)
    again = rollout(MODEL, start, np.asarray(motion.controls[:-1]), 0.01, engine=engine)
    np.testing.assert_allclose(again.q, motion.q, rtol=1e-12)
    assert rollout(MODEL, start, law, 0.01, steps=0).controls is None


def test_worlds_side_by_side_keep_what_is_theirs_and_what_they_share():
    states = State(np.zeros((3, 1)), np.zeros((3, 1)))
    shared = rollout_many(MODEL, states, TORQUES, 0.01)
    np.testing.assert_array_equal(shared.controls, np.broadcast_to(KEPT, (3, 21, 1)))
    assert np.asarray(shared.controls).strides[0] == 0, "what is shared is not copied"
    own = rollout_many(MODEL, START, np.stack([TORQUES, 2 * TORQUES]), 0.01)
    np.testing.assert_array_equal(own.controls, [KEPT, 2 * KEPT])


def test_no_command_of_a_motor_is_a_command_of_zero():
    assert rollout(MODEL, START, None, 0.01, steps=2).controls is None
    np.testing.assert_array_equal(
        rollout(MOTOR, START, None, 0.01, steps=2).controls, np.zeros((3, 1))
    )


def test_controls_survive_files_tables_and_other_times(tmp_path):
    motion = rollout(MODEL, START, TORQUES, 0.01)
    for name in ("a.npz", "a.csv"):
        motion.save(tmp_path / name)
        back = read_motion(tmp_path / name, MODEL)
        np.testing.assert_array_equal(back.controls, KEPT)
    np.testing.assert_allclose(motion.resample(t=motion.t[::2]).controls, KEPT[::2], rtol=1e-12)
    assert "joint/control" in str(motion)


def test_gradients_pass_through_a_rollout_as_before():
    last = lambda u: rollout(MODEL, START, u, 0.01).q[-1, 0]
    kept = lambda u: jnp.sum(rollout(MODEL, START, u, 0.01).controls)
    u = jnp.asarray(TORQUES[:3])
    assert np.all(np.asarray(jax.grad(last)(u)) > 0.0)
    np.testing.assert_array_equal(jax.grad(kept)(u), [[1.0], [1.0], [2.0]])
