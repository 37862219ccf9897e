"""Parameters from torques: the truth within its errors, and a robot that could exist."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics import inverse_dynamics
from isthmus.errors import BadMotion, BadOption, BadShape
from isthmus.identify.torque.data import PIECE, _rows
from isthmus.identify.torque.realisable import is_realisable
from isthmus.identify.torque.regressor import parameter_vector
from isthmus.identify.torque.start import start_from_torque, torque_fit
from tests import trees
from tests.oracles.quantities import sample

TRUE = ist.library.arm(payload=0.8, damping=0.3, friction=0.5)
GUESS = ist.library.arm(np.array([3.0, 5.0, 2.0, 2.0, 2.0, 1.0, 1.0]), payload=0.3, radius=0.09)
JOINTS = ("damping", "friction")


def waves(model: ist.Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of sines within ±1 around the middle of the travel."""
    draw = np.random.default_rng(seed)
    w, phase = draw.uniform(0.5, 4.0, (2, model.dof, 4))
    at = np.linspace(0.0, 8.0, PIECE)[:, None, None] * w + phase
    size = 0.25
    return (
        0.5 * (model.joint_lower + model.joint_upper) + size * np.sin(at).sum(axis=2),
        size * (w * np.cos(at)).sum(axis=2),
        -size * (w * w * np.sin(at)).sum(axis=2),
    )


@pytest.fixture(scope="module")
def measured() -> tuple[np.ndarray, ...]:
    """A motion of the true arm, and its motor torques."""
    x = waves(TRUE, 0)
    with jax.enable_x64(True):
        Y, known, _ = _rows(TRUE, *x, JOINTS)
    return *x, np.asarray(Y) @ parameter_vector(TRUE, joints=JOINTS) + np.asarray(known)


def all_realisable(model: ist.Model) -> bool:
    tens = parameter_vector(model).reshape(-1, 10)
    return all(is_realisable(ten) for ten in tens if ten[0] > 0.0)


def test_without_noise_base_parameters_and_friction_are_exact(measured):
    fit = torque_fit(GUESS, *measured)
    true = fit.base.of(parameter_vector(TRUE, joints=JOINTS))
    assert len(fit.base) == 43 + 14
    np.testing.assert_allclose(fit.least_squares, true, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fit.value, true, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fit.model.joint_friction, TRUE.joint_friction, rtol=1e-4)
    assert all_realisable(fit.model)


@pytest.mark.parametrize("noise", [0.3, 30.0])
def test_with_noise_the_truth_is_within_the_errors_and_the_robot_could_exist(measured, noise):
    *x, tau = measured
    draw = np.random.default_rng(1)
    fit = torque_fit(GUESS, *x, tau + noise * draw.normal(size=tau.shape))
    true = fit.base.of(parameter_vector(TRUE, joints=JOINTS))
    off = (fit.least_squares - true) / fit.error
    assert np.max(np.abs(off)) < 4.5
    assert 0.7 < np.sqrt(np.mean(off**2)) < 1.4
    assert all_realisable(fit.model)
    assert np.all(fit.rms[2] <= 1.1 * fit.rms[1] + 1e-3)
    if noise < 1.0:
        np.testing.assert_allclose(fit.rms[1], noise, rtol=0.1)
        assert np.all(fit.rms[2] < fit.rms[0])


def test_torques_that_were_not_measured_and_joints_at_their_stops_do_not_count(measured):
    q, v, a, tau = (x.copy() for x in measured)
    tau[:, 2] = tau[:40] = np.nan
    q[:40, 5], tau[:40, 5] = 4.0, 1e6  # its travel ends at 3.7
    a[7, 0] = np.nan
    fit = torque_fit(GUESS, q, v, a, tau)
    assert np.isnan(fit.rms[0, 2])
    np.testing.assert_allclose(np.delete(fit.rms[1], 2), 0.0, atol=1e-6)
    assert all_realisable(fit.model)


def test_the_table_shows_combinations_and_joints(measured):
    fit = torque_fit(GUESS, *measured)
    text = str(fit)
    assert "Izz of 'link_1' and 1 more" in text
    assert "friction of 'joint_7'" in text
    assert "torque off by (rms)" in text
    assert max(map(len, text.splitlines())) < 100


def test_a_floating_base_and_a_ball_joint_are_fitted_too():
    model = ist.compile_model(trees.floating())
    states = [sample(model, seed) for seed in range(60)]
    q, v, a = (np.stack([s[name] for s in states]) for name in ("q", "v", "a"))
    tau = np.asarray(jax.jit(jax.vmap(lambda *x: inverse_dynamics(model, *x)))(q, v, a))
    wrong = dataclasses.replace(
        model, link_mass=1.5 * model.link_mass, link_com=0.5 * model.link_com
    )
    fit = torque_fit(wrong, q, v, a, tau, joints=())
    true = fit.base.of(parameter_vector(model))
    np.testing.assert_allclose(fit.least_squares, true, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fit.model.link_mass.sum(), model.link_mass.sum(), rtol=1e-5)
    assert all_realisable(fit.model)


def test_a_recorded_motion_gives_masses_damping_and_an_offset():
    true = ist.library.pendulum(2, masses=[1.0, 2.0], damping=0.2)
    push = lambda t, state: np.array([9.0, 5.0]) * jax.numpy.sin(np.array([3.0, 7.0]) * t)
    names = ["joint/motor_torque", "joint/acceleration"]
    motion = ist.rollout(
        true,
        ist.State([2.0, 1.0], [0.0, 0.0]),
        push,
        1e-3,
        steps=2000,
        record=names,
        integrator="rk4",
    )
    guess = ist.library.pendulum(2, masses=[1.4, 1.4])
    signals = {"joint/motor_torque": motion.signals["joint/motor_torque"] + np.array([0.5, 0.0])}
    log = dataclasses.replace(motion, signals=signals)
    fit = start_from_torque(guess, [log], joints=["damping", "offset"])
    np.testing.assert_allclose(fit.model.joint_damping, 0.2, atol=0.01)
    np.testing.assert_allclose(fit.offset, [0.5, 0.0], atol=0.03)
    np.testing.assert_array_equal(fit.model.joint_torque_offset, fit.offset)
    true_base = fit.base.of(parameter_vector(true, joints=["damping", "offset"]))
    np.testing.assert_allclose(fit.value[:6], true_base[:6], atol=0.05)
    assert fit.model.joint_friction.tolist() == guess.joint_friction.tolist()


def test_what_cannot_be_fitted_is_said_in_a_sentence():
    model, q = ist.library.pendulum(1), np.zeros((20, 1))
    motion = ist.Motion(t=np.linspace(0.0, 1.0, 20), q=q, v=q)
    with pytest.raises(BadMotion, match="has no signal 'joint/motor_torque'"):
        start_from_torque(model, motion)
    short = ist.Motion(motion.t[:5], q[:5], q[:5], {"joint/motor_torque": q[:5]})
    with pytest.raises(BadMotion, match="5 rows are too few"):
        start_from_torque(model, short)
    with pytest.raises(BadMotion, match="no motions"):
        start_from_torque(model, [])
    with pytest.raises(BadOption, match="prior is 0"):
        torque_fit(model, q, q, q, q, prior=0.0)
    with pytest.raises(BadShape, match=r"q has shape \(20, 2\); this model needs \(20, 1\)"):
        torque_fit(model, np.zeros((20, 2)), q, q, q)
    with pytest.raises(BadMotion, match="no row has"):
        torque_fit(model, q + np.nan, q, q, q)
    with pytest.raises(BadMotion, match="no torque was measured"):
        torque_fit(model, q, q, q, q + np.nan)
