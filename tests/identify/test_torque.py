"""Parameters from torques: the truth within its errors, and a robot that could exist."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

import isthmus as ist
from isthmus.dynamics import inverse_dynamics
from isthmus.errors import BadMotion, BadOption, BadShape, FitWarning
from isthmus.identify.torque.choose import FOLDS, CrossValidation, State
from isthmus.identify.torque.data import Rows, _rows, predicted_torque, torque_data, turned
from isthmus.identify.torque.layout import Layout
from isthmus.identify.torque.realisable import is_realisable, scaled_links
from isthmus.identify.torque.regressor import OF_JOINT, parameter_vector
from isthmus.identify.torque.result import TorqueFit
from isthmus.identify.torque.start import start_from_torque, torque_fit, torque_rows
from tests import trees
from tests.oracles.quantities import sample

TRUE = ist.library.arm(payload=0.8, damping=0.3, friction=0.5)
GUESS = ist.library.arm(np.array([3.0, 5.0, 2.0, 2.0, 2.0, 1.0, 1.0]), payload=0.3, radius=0.09)
JOINTS = ("damping", "friction")
ROWS = 512
"""Of a motion."""


def waves(model: ist.Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of sines within ±1 around the middle of the travel."""
    draw = np.random.default_rng(seed)
    w, phase = draw.uniform(0.5, 4.0, (2, model.dof, 4))
    at = np.linspace(0.0, 8.0, ROWS)[:, None, None] * w + phase
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
        Y, known, _ = _rows(TRUE, *x, np.zeros_like(x[0]), JOINTS)
    return *x, np.asarray(Y) @ parameter_vector(TRUE, joints=JOINTS) + np.asarray(known)


def all_realisable(model: ist.Model) -> bool:
    tens = parameter_vector(model).reshape(-1, 10)
    return all(is_realisable(ten) for ten in tens if ten[0] > 0.0)


def test_without_noise_base_parameters_and_friction_are_exact(measured):
    fit = torque_fit(GUESS, *measured, joints=JOINTS)
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
    fit = torque_fit(GUESS, *x, tau + noise * draw.normal(size=tau.shape), joints=JOINTS)
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
    fit = torque_fit(GUESS, q, v, a, tau, joints=JOINTS)
    assert np.isnan(fit.rms[0, 2])
    np.testing.assert_allclose(np.delete(fit.rms[1], 2), 0.0, atol=1e-6)
    assert all_realisable(fit.model)


def test_the_table_shows_combinations_and_joints(measured):
    fit = torque_fit(GUESS, *measured, joints=JOINTS)
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


def driven(model: ist.Model, seed: int = 2, rows: int = ROWS) -> tuple[np.ndarray, ...]:
    """Sums of sines of a pendulum of two links, and its motor torques with some noise."""
    draw = np.random.default_rng(seed)
    w, phase = draw.uniform(0.5, 5.0, (2, 2, 4))
    at = np.linspace(0.0, 12.0, rows)[:, None, None] * w + phase
    q, v, a = (0.4 * f.sum(axis=2) for f in (np.sin(at), w * np.cos(at), -w * w * np.sin(at)))
    with jax.enable_x64(True):
        Y, known, _ = _rows(model, q, v, a, v, OF_JOINT)
    tau = np.asarray(Y) @ parameter_vector(model, joints=OF_JOINT) + np.asarray(known)
    return q, v, a, tau + 0.05 * draw.normal(size=tau.shape)


@pytest.fixture(scope="module")
def kept() -> TorqueFit:
    """A pendulum with friction on both joints, an offset and a spring on one each, on a base that is not level."""
    guess = ist.library.pendulum(2, masses=[1.0, 1.0])
    true = ist.library.pendulum(2, masses=[1.2, 0.9]).set("gravity", [0.3, 0.0, -9.8])
    true = true.set("joint/friction", [0.4, 0.2]).set("joint/torque_offset", [0.5, 0.0])
    return torque_fit(guess, *driven(true.set("joint/stiffness", [0.0, 0.6])))


def test_terms_are_kept_on_the_joints_that_have_them_and_named(kept):
    terms = {term.name: term for term in kept.terms}
    assert terms["friction"].fitted == kept.dofs
    assert terms["stiffness"].fitted == kept.dofs[1:]
    assert terms["offset"].fitted == kept.dofs[:1]
    for name in ("armature", "stiction", "load_friction", "damping"):
        assert terms[name].fitted == (), name
    for name in ("friction", "stiffness", "offset", "tilt"):
        assert terms[name].error[0] < 0.9 * terms[name].error[1], name
    np.testing.assert_allclose(kept.model.joint_friction, [0.4, 0.2], atol=0.03)
    np.testing.assert_allclose(kept.model.joint_torque_offset, [0.5, 0.0], atol=0.03)
    np.testing.assert_allclose(kept.model.joint_stiffness, [0.0, 0.6], atol=0.05)
    np.testing.assert_allclose(kept.judged, 0.05, rtol=0.15)
    assert "error with" in str(kept)


def left_out(check: CrossValidation, state: State, prior: float) -> float:
    """The score of a state by a fit of every fold on its own, with bounds by taking numbers out one round at a time."""
    data, n, errors = check.data, check.links, []
    scaled = np.eye(data.products.shape[-1])
    scaled[:n, :n], scaled[:n, -1] = check.scaling, -check.scaling @ check.start
    for judged in FOLDS:
        G = np.einsum("kjab,j->ab", data.products[~judged], check.weights**2)
        G = scaled.T @ G @ scaled + np.diag([prior] * n + [0.0] * (len(G) - n))
        fitted = state.fitted.copy()
        while True:
            free = np.concatenate([np.arange(n), n + np.flatnonzero(fitted)])
            x = np.concatenate([np.zeros(n), np.where(fitted, 0.0, state.value), [-1.0]])
            x[n:-1][state.fitted] = 0.0
            x[free] = np.linalg.solve(G[np.ix_(free, free)], -(G @ x)[free])
            bad = fitted & check.terms.positive & (x[n:-1] < 0.0)
            if not bad.any():
                break
            fitted &= ~bad
        y = scaled @ x
        squares = np.einsum("a,kjab,b->j", y, data.products[judged], y)
        errors.append(squares / data.part_counts[judged].sum(axis=0))
    return float(np.mean(np.array(errors) * check.weights**2))


def test_changes_that_are_scored_together_have_the_scores_of_fits_one_by_one():
    guess = ist.library.pendulum(2, masses=[1.0, 1.0], damping=0.1)
    layout = Layout.of(guess, OF_JOINT, False, {})
    rows = Rows(*driven(guess.set("joint/friction", [0.4, 0.2]).set("joint/torque_offset", 0.3)))
    kept, known = np.concatenate([layout.links, layout.terms]), layout.described(guess)
    data = torque_data(guess, [rows], OF_JOINT).columns(kept, known)
    links = scaled_links(known[layout.links].reshape(-1, 10))
    limits = layout.limits(known[layout.terms])
    check = CrossValidation(data, *links, limits, np.array([0.05, 0.07]))
    states = [
        layout.begin(check, words)
        for words in ((), ("offset",), ("friction", "offset"), OF_JOINT[:5])
    ]
    for prior in (1.0, 1e3):
        alone = [left_out(check, state, prior) for state in states]
        np.testing.assert_allclose(check.scores(states, prior), alone, rtol=1e-6)
        errors = check.errors(states, prior) * check.weights**2
        np.testing.assert_allclose(errors.mean(axis=(1, 2)), alone, rtol=1e-6)


def test_a_base_that_is_not_level_turns_gravity_and_keeps_its_size(kept):
    np.testing.assert_allclose(kept.model.gravity[0], 0.3, atol=0.03)
    np.testing.assert_allclose(np.linalg.norm(kept.model.gravity), 9.81, rtol=1e-3)
    np.testing.assert_allclose(kept.tilt, 0.3 / 9.8, atol=0.004)


def test_a_joint_that_cogs_gets_its_periods_and_the_other_one_none():
    guess = ist.library.pendulum(2)
    true = guess.set("joint/joint_1/cogging_cos", 0.4).set("joint/cogging_periods", 4.0)
    fit = torque_fit(guess, *driven(true.set("joint/friction", 0.2)))
    assert {term.name: term.fitted for term in fit.terms}["cogging"] == ("joint_1",)
    assert fit.model.cogging == true.cogging
    np.testing.assert_allclose(fit.model.joint_cogging_periods[0], 4.0)
    np.testing.assert_allclose(fit.model.joint_cogging_cos, [0.4, 0.0], atol=0.03)
    np.testing.assert_allclose(fit.model.joint_cogging_sin, 0.0, atol=0.03)
    np.testing.assert_allclose(fit.judged, 0.05, rtol=0.15)


def test_cogging_is_tried_only_where_a_whole_period_was_seen():
    q = np.linspace(0.0, 1.8, 50)[:, None]
    rows = [Rows(q, q, q, np.where(q < 1.7, q, np.nan))]
    model = ist.library.pendulum(1)
    assert {n for _, n in Layout.of(model, (), False, turned(model, rows)).ripples} == {4, 5, 6}


def test_rows_whose_positions_and_velocities_contradict_each_other_are_left_out():
    q, v, a, tau = driven(ist.library.pendulum(2))
    t = 12.0 / (ROWS - 1) * np.arange(ROWS)
    motion = ist.Motion(t, q, v, {"joint/acceleration": a, "joint/motor_torque": tau})
    assert np.isfinite(torque_rows(ist.library.pendulum(2), motion).tau).all()
    v[100:120, 1] += 0.5
    left_out = np.isnan(torque_rows(ist.library.pendulum(2), motion).tau)
    np.testing.assert_array_equal(np.flatnonzero(left_out.all(axis=1)), np.arange(100, 120))
    assert left_out.sum() == 40


def test_masses_far_from_the_description_are_named():
    heavy = driven(ist.library.pendulum(2, masses=[9.0, 8.0]))
    with pytest.warns(FitWarning, match=r"far from the description: 'rod_1' .* kg \(was 1\)"):
        fit = torque_fit(ist.library.pendulum(2), *heavy, joints=())
    assert fit.notes[0] in str(fit)


def test_torques_that_were_filtered_are_compared_with_filtered_ones():
    """Dry friction changes sign at once; a filter rounds that, and least squares without one finds too little."""
    model = ist.library.pendulum(2).set("joint/friction", 0.5)
    q, v, a, tau = driven(model, rows=4 * ROWS)
    sos = butter(5, 1.5, fs=4 * ROWS / 12.0, output="sos")
    signals = {"joint/motor_torque": sosfiltfilt(sos, tau, axis=0), "joint/acceleration": a}
    motion = ist.Motion(12.0 / (4 * ROWS) * np.arange(len(q)), q, v, signals)
    guess = ist.library.pendulum(2)
    fits = [start_from_torque(guess, motion, joints=["friction"], lowpass=f) for f in (None, 1.5)]
    off = [np.abs(fit.model.joint_friction - 0.5).max() for fit in fits]
    assert off[1] < 0.02 < off[0]
    assert np.all(fits[1].rms[2] < 0.5 * fits[0].rms[2])
    with pytest.raises(BadOption, match="lowpass is 1000"):
        start_from_torque(guess, motion, joints=["friction"], lowpass=1000.0)


@pytest.fixture(scope="module")
def bristled() -> tuple[ist.Model, ist.Motion]:
    """A pendulum whose second joint has bristles, and a motion with the torques that it needs, with some noise."""
    true = ist.library.pendulum(2).set("joint/friction", 0.5).set("joint/friction_speed", 0.02)
    true = true.set("joint/joint_2/bristle_deflection", 0.005)
    rows = 4 * ROWS
    t, draw = 12.0 / rows * np.arange(rows), np.random.default_rng(3)
    w, phase = draw.uniform(0.5, 3.0, (2, 2, 4))
    at = t[:, None, None] * w + phase
    q, v, a = (0.1 * f.sum(axis=2) for f in (np.sin(at), w * np.cos(at), -w * w * np.sin(at)))
    motion = ist.Motion(t, q, v, {"joint/acceleration": a})
    tau = ist.needed_torque(true, motion) + 0.05 * draw.normal(size=q.shape)
    signals = {**motion.signals, "joint/motor_torque": tau}
    return true, dataclasses.replace(motion, signals=signals)


def test_friction_that_builds_up_after_a_reversal_is_found_where_it_is(bristled):
    true, motion = bristled
    guess = ist.library.pendulum(2).set("joint/friction_speed", 0.02)
    fit = start_from_torque(guess, motion)
    terms = {term.name: term for term in fit.terms}
    assert terms["bristles"].fitted == ("joint_2",)
    assert terms["friction"].fitted == ("joint_1",)
    assert terms["bristles"].error[0] < 0.9 * terms["bristles"].error[1]
    assert fit.model.bristling == true.bristling
    np.testing.assert_allclose(fit.model.joint_bristle_deflection, [0.0, 0.005])
    np.testing.assert_allclose(fit.model.joint_friction, 0.5, atol=0.03)
    np.testing.assert_allclose(fit.judged, 0.05, rtol=0.15)
    needed = ist.needed_torque(fit.model, motion)
    rows = torque_rows(guess, motion)
    np.testing.assert_allclose(predicted_torque(fit.model, rows, guess), needed, atol=0.06)


def test_joints_that_have_bristles_keep_their_deflection(bristled):
    true, motion = bristled
    fit = start_from_torque(true.set("joint/friction", 0.2), motion, joints=["friction"])
    np.testing.assert_allclose(fit.model.joint_friction, 0.5, atol=0.03)
    np.testing.assert_array_equal(fit.model.joint_bristle_deflection, true.joint_bristle_deflection)
    assert "friction over 5 mrad of 'joint_2'" in fit.base.names
