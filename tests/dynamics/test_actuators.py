"""Motors: gear, PD control, saturation, delay."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics.actuators import motor_torque
from isthmus.dynamics.smooth import SOFTNESS, saturate
from isthmus.errors import BadOption


def wheel(**joint: float) -> ist.Builder:
    """One link of unit inertia on a vertical axle."""
    robot = ist.Builder("wheel")
    robot.add_link("rim", mass=1.0, inertia=(1.0, 1.0, 1.0))
    return robot.add_joint_revolute("axle", None, "rim", **joint)


def test_saturation_changes_nothing_below_and_holds_above():
    x, bound = np.linspace(-3.0, 3.0, 601), np.full(601, 2.0)
    y = np.asarray(jax.jit(saturate)(x, bound))
    below, above = np.abs(x) <= 2.0 * (1 - SOFTNESS), np.abs(x) >= 2.0 * (1 + SOFTNESS)
    np.testing.assert_array_equal(y[below], x[below])
    np.testing.assert_allclose(np.abs(y[above]), 2.0, rtol=1e-14)
    slopes = np.asarray(jax.jit(jax.vmap(jax.grad(saturate)))(x, bound))
    assert np.all(np.diff(slopes[301:]) <= 1e-12)  # bends one way only, without a jump
    assert np.max(np.abs(np.diff(slopes))) < 0.03


def test_a_gear_multiplies_the_command():
    model = wheel().add_actuator_torque("axle", gear=6.0).model()
    np.testing.assert_allclose(motor_torque(model, jnp.ones(1), jnp.zeros(1), jnp.zeros(1)), [6.0])


def test_a_pd_controller_holds_its_target_against_gravity_but_for_the_droop():
    robot = ist.Builder("arm")
    robot.add_link("bar", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.01, 0.1, 0.1))
    robot.add_joint_revolute("hinge", None, "bar", axis=(0.0, -1.0, 0.0))
    model = robot.add_actuator_pd("hinge", kp=400.0, kd=40.0).model()
    target = jnp.full((4000, 1), 0.3)
    end = ist.rollout(model, ist.State.neutral(model), target, dt=2e-3).state(-1)
    droop = 9.81 * 0.5 * np.cos(end.q[0]) / 400.0
    np.testing.assert_allclose(end.q, [0.3 - droop], atol=1e-6)


def test_an_effort_limit_bounds_the_motor_and_is_a_leaf_like_any_other():
    model = wheel(effort=2.0).add_actuator_pd("axle", kp=100.0).model()
    motor = jax.jit(lambda m: motor_torque(m, jnp.ones(1), jnp.zeros(1), jnp.zeros(1))[0])
    slope = jax.jit(jax.grad(motor))
    assert motor(model) == 2.0
    assert slope(model).joint_effort[0] == 1.0
    assert motor(model.set("joint/axle/effort", 7.0)) == 7.0
    assert motor(model.set("joint/axle/effort", 0.0)) == 0.0
    free = wheel().add_actuator_pd("axle", kp=100.0).model()
    assert motor(free) == 100.0
    assert np.isfinite(slope(free).joint_effort).all()


@pytest.mark.parametrize("steps", [0.0, 1.0, 2.0, 2.5])
def test_a_delay_shifts_the_command_by_steps_and_parts_of_steps(steps: float):
    model = wheel().add_actuator_torque("axle", delay=1.0).model()
    model = model.set("joint/axle/delay", steps * 0.01)
    command = np.zeros((8, 1))
    command[1] = 1.0
    motion = ist.rollout(
        model, ist.State.neutral(model), command, 0.01, record=["joint/motor_torque"]
    )
    arrived = np.asarray(motion.signals["joint/motor_torque"])[:8, 0]
    want = np.interp(np.arange(8) - steps, np.arange(8), command[:, 0], left=0.0)
    np.testing.assert_allclose(arrived, want, atol=1e-12)


def test_a_delay_longer_than_what_is_kept_is_refused():
    model = wheel().add_actuator_torque("axle", delay=1.0).model()
    with pytest.raises(BadOption, match="delay of 100 steps"):
        ist.rollout(model, ist.State.neutral(model), None, dt=0.01, steps=3)
