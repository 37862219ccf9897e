"""Play: a dead zone of springs and PD controllers, beside MuJoCo's springs with a dead band and closed forms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics.actuators import motor_torque
from isthmus.dynamics.passive import passive_torque, spring_energy
from isthmus.dynamics.smooth import dead_zone, through_dead_zone
from isthmus.errors import BadModel

STIFFNESS, PLAY, REST = 30.0, 0.4, 0.1
X = np.concatenate([np.linspace(-1.0, 1.0, 81), PLAY * np.array([0.0, 0.45, 0.5, 0.55, -0.5])])


def slide(**numbers) -> ist.Model:
    """A mass of 2 kg that slides along x without gravity."""
    robot = ist.Builder(gravity=(0.0, 0.0, 0.0)).add_link("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    robot.add_joint_prismatic("slide", None, "mass", axis=(1.0, 0.0, 0.0), **numbers)
    return robot.model()


MODEL = slide(stiffness=STIFFNESS, rest=REST, play=PLAY)


def test_the_spring_is_that_of_mujoco_with_a_dead_band_away_from_its_corners():
    mujoco = pytest.importorskip("mujoco")
    low, high = REST - 0.5 * PLAY, REST + 0.5 * PLAY
    other = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody><body><joint name="slide" type="slide" axis="1 0 0"/>
        <geom size="0.1"/></body></worldbody><tendon><fixed stiffness="{STIFFNESS}" springlength="{low} {high}">
        <joint joint="slide" coef="1"/></fixed></tendon></mujoco>""")
    data = mujoco.MjData(other)
    ours = jax.jit(jax.vmap(lambda q: passive_torque(MODEL, q, jnp.zeros(1))))(X[:, None])
    for q, force in zip(X, np.asarray(ours)[:, 0], strict=True):
        data.qpos[:] = q
        mujoco.mj_forward(other, data)
        corner = abs(abs(q - REST) - 0.5 * PLAY) < 0.1 * 0.5 * PLAY
        most = 0.25 * 0.1 * 0.5 * PLAY * STIFFNESS if corner else 0.0
        assert abs(force - data.qfrc_passive[0]) <= most + 1e-10, q


def test_the_force_is_the_slope_of_its_potential():
    energy = jax.jit(jax.vmap(jax.grad(lambda q: spring_energy(MODEL, q))))(X[:, None])
    force = jax.jit(jax.vmap(lambda q: passive_torque(MODEL, q, jnp.zeros(1))))(X[:, None])
    np.testing.assert_allclose(-energy, force, rtol=1e-9, atol=1e-9)


def test_a_mass_between_two_springs_swings_with_the_period_of_the_textbook():
    speed = 3.0
    period = 2.0 * np.pi * np.sqrt(2.0 / STIFFNESS) + 2.0 * PLAY / speed
    dt = period / 2000
    motion = ist.rollout(
        MODEL, ist.State([REST], [speed]), None, dt, 2000, integrator="rk4", engine="native"
    )
    assert float(motion.q[-1, 0]) == pytest.approx(REST, abs=2e-3)
    assert float(motion.v[-1, 0]) == pytest.approx(speed, rel=1e-3)


def test_a_controller_feels_no_error_within_the_play_of_its_gear():
    model = slide(play=PLAY).set("joint/kp", 50.0).set("joint/gear", 2.0)
    torque = jax.jit(jax.vmap(lambda u: motor_torque(model, u, jnp.array([0.3]), jnp.zeros(1))))
    error = X - 2.0 * 0.3
    want = 2.0 * 50.0 * np.asarray(dead_zone(error, np.full_like(error, PLAY)))
    np.testing.assert_allclose(torque(X[:, None])[:, 0], want, rtol=1e-12, atol=1e-12)
    assert not want[np.abs(error) < 0.9 * PLAY].any()


def test_what_a_dead_zone_leaves_tells_where_it_was_left():
    y = np.array([-0.5, -0.01, 1e-4, 0.3])
    half = np.full_like(y, 0.2)
    np.testing.assert_allclose(dead_zone(through_dead_zone(y, half), half), y, rtol=1e-9)
    slope = jax.vmap(jax.grad(lambda y: through_dead_zone(y, jnp.array(0.2))))(
        jnp.array([0.0, 0.3])
    )
    assert np.isfinite(slope).all()


def test_from_no_play_on_the_derivative_is_that_of_a_little():
    force = lambda play: passive_torque(
        MODEL.set("joint/play", play), jnp.array([0.7]), jnp.zeros(1)
    )[0]
    slope = jax.jit(jax.grad(force))(0.0)
    assert float(slope) == pytest.approx(0.5 * STIFFNESS)


def test_play_of_a_ball_joint_has_no_meaning():
    ball = ist.Builder().add_link("body", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model = ball.add_joint_spherical("ball", None, "body").model()
    with pytest.raises(BadModel, match=r"'ball'.*quaternion"):
        model.set("joint/play", 0.1)
