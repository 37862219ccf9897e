"""The loss of inverse dynamics: torques that the measured motion needs, against measured ones."""

import dataclasses
import re
import warnings

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadLog, BadOption, FitWarning
from isthmus.spatial import inertia

ROBOT = ist.library.pendulum(2).set("joint/friction_speed", 0.3)
TRUTH = (
    ROBOT.set("link/mass", [1.3, 0.6]).set("joint/damping", [0.2, 0.1]).set("joint/friction", 0.15)
)
T = 0.002 * np.arange(1501)
TORQUE = np.stack([2.0 * np.sin(3.0 * T), np.cos(5.0 * T)], axis=1)


@pytest.fixture(scope="module")
def log():
    start = ist.State([0.5, -0.3], [0.0, 0.0])
    motion = ist.rollout(TRUTH, start, TORQUE[:-1], dt=0.002, integrator="rk4")
    return ist.Motion(motion.t, motion.q, motion.v, {"joint/control": TORQUE})


def test_masses_and_friction_come_out_of_measured_torques(log):
    free = [
        ist.Free("link/*/mass", low=0.1, high=5.0),
        ist.Free("joint/*/damping"),
        ist.Free("joint/*/friction"),
    ]
    fit = ist.fit(ist.Problem(ROBOT, log, free=free, loss="torque"))
    np.testing.assert_allclose(fit.model.link_mass, TRUTH.link_mass, rtol=5e-3)
    np.testing.assert_allclose(fit.model.joint_damping, TRUTH.joint_damping, atol=0.01)
    np.testing.assert_allclose(fit.model.joint_friction, TRUTH.joint_friction, atol=0.01)
    assert fit.evaluations < 30


def test_motor_constants_and_offsets_come_out_of_logged_currents(log):
    """A current is compared with a current: what is free does not change the scale of the differences."""
    currents = {"joint/control": (TORQUE + np.array([[0.3, -0.1]])) / np.array([[0.5, 0.25]])}
    logged = dataclasses.replace(log, signals=currents)
    free = [
        ist.Free("joint/*/motor_constant", low=0.05),
        ist.Free("joint/*/torque_offset", low=-1.0, high=1.0),
    ]
    fit = ist.fit(ist.Problem(TRUTH, logged, free=free, loss="torque"))
    np.testing.assert_allclose(fit.model.joint_motor_constant, [0.5, 0.25], rtol=5e-3)
    np.testing.assert_allclose(fit.model.joint_torque_offset, [0.3, -0.1], atol=5e-3)


def test_a_network_learns_friction_from_torques_alone(log):
    known = TRUTH.set("joint/damping", 0.0).set("joint/friction", 0.0)
    wire = ist.Wire("joint/passive_torque", ["joint/velocity"], ist.MLP(4, 1), rows="each")
    hybrid = ist.Blueprint([wire]).attach(known, key=jax.random.key(0), data=log)
    problem = ist.Problem(hybrid, log, free=[ist.Free("network/*")], loss=ist.TorqueLoss())
    fit = ist.fit(problem, ist.LevenbergMarquardt(steps=200, tolerance=1e-4))
    before, after = (
        float(e) for e in (problem.evaluation.cost(problem.evaluation.start[None])[0], fit.loss)
    )
    assert after < 0.05 * before


def test_a_network_has_seen_only_rows_whose_torque_was_measured(log):
    """Elsewhere it was not trained, and fades out."""
    slow = np.abs(log.v) < 0.5
    part = dataclasses.replace(
        log, signals={"joint/motor_torque": np.where(slow[:, :1], TORQUE, np.nan)}
    )
    reads = "joint/velocity[joint_1]"
    wire = ist.Wire("joint/passive_torque[joint_1]", reads, ist.MLP(2, 1))
    hybrid = ist.Blueprint([wire]).attach(TRUTH, key=jax.random.key(0), data=log)
    problem = ist.Problem(hybrid, part, free=["network/*"], loss="torque")
    (network,) = problem.template.networks
    np.testing.assert_allclose(np.abs(network.seen), 0.5, atol=0.05)
    assert np.abs(log.v[:, 0]).max() > 1.0


def test_a_log_without_torques_is_refused(log):
    bare = dataclasses.replace(log, signals={})
    with pytest.raises(BadLog, match="no torques to compare with"):
        ist.fit(ist.Problem(ROBOT, bare, free=[ist.Free("link/*/mass")], loss="torque"))


def test_a_problem_takes_integrators_as_values_and_refuses_what_has_no_effect(log):
    free = [ist.Free("link/*/mass")]
    problem = ist.Problem(ROBOT, log, free=free, integrator=ist.RK4(), dt=0.001)
    assert problem.scheme == ist.RK4(substeps=2)
    with pytest.raises(BadOption, match="explicit=True is an option of 'semi_implicit'"):
        ist.Problem(ROBOT, log, free=free, integrator="rk4", explicit=True)


def test_measured_accelerations_are_used():
    """Here velocities are not, so that their differences could not be."""
    clean = ist.rollout(
        TRUTH,
        ist.State([0.5, -0.3], [0.0, 0.0]),
        TORQUE[:300],
        0.002,
        record=["joint/acceleration"],
        explicit=True,
    )
    free = [ist.Free("link/*/mass", low=0.1, high=5.0)]
    known = ROBOT.set("joint/damping", TRUTH.joint_damping).set("joint/friction", 0.15)
    rough = dataclasses.replace(clean, v=clean.v + 1e-3 * (-1.0) ** np.arange(301)[:, None])
    fit = ist.fit(ist.Problem(known, rough, free=free, loss="torque"))
    np.testing.assert_allclose(fit.model.link_mass, TRUTH.link_mass, rtol=5e-3)
    short = {**clean.signals, "joint/acceleration": np.zeros((301, 1))}
    with pytest.raises(BadLog, match=r"'joint/acceleration' has shape \(301, 1\)"):
        ist.fit(
            ist.Problem(known, dataclasses.replace(clean, signals=short), free=free, loss="torque")
        )


def test_a_wire_that_inverse_dynamics_does_not_compute_is_refused(log):
    """It would be trained, or held fixed, without any effect."""
    wire = ist.Wire("joint/torque", ["joint/velocity"], ist.Linear())
    hybrid = ist.Blueprint([wire]).attach(ROBOT, key=jax.random.key(0))
    with pytest.raises(BadOption, match="does not see the wire 'torque'"):
        ist.Problem(hybrid, log, free=[ist.Free("network/*")], loss="torque")


def test_whole_inertias_converge_within_thirty_steps_to_less_than_the_truth_leaves(log):
    """The motion in a plane leaves most of their twenty numbers undetermined, and the noise pulls some to the edge."""
    draw, added = np.random.default_rng(0), np.array([0.4, -0.2])
    noise = 0.05 * draw.standard_normal(TORQUE.shape)
    noisy = dataclasses.replace(log, signals={"joint/control": TORQUE + added[None] + noise})
    names = ("link/*/inertial", "joint/*/damping", "joint/*/friction", "offset/joint/control")
    free = [ist.Free(name) for name in names]
    with warnings.catch_warnings(action="ignore", category=FitWarning):  # of what is not determined
        fit = ist.fit(ist.Problem(ROBOT, noisy, free=free, loss="torque"))
    assert any("of the inertias of link/rod_1" in text for text in fit.undetermined)
    assert fit.warnings[-1].endswith("would determine all that torques can show of the inertias.")
    assert fit.status == "converged"
    assert len(fit.history) <= 31
    assert fit.errors["joint/control"][1] <= np.sqrt(np.mean(np.square(noise)))
    found = [fit[f"offset/joint/{name}/control"].value for name in ROBOT.joint_names]
    np.testing.assert_allclose(found, added, atol=0.1)
    for i in range(2):
        ten = (np.asarray(getattr(fit.model, f"link_{x}")[i]) for x in ("mass", "com", "inertia"))
        assert np.all(np.isfinite(inertia.to_log_cholesky(*ten)))


def test_noise_of_velocities_hides_no_inertia(log):
    """Differences of noisy velocities are noise, and a regressor full of noise makes every inertia look small."""
    noise = 0.005 * np.random.default_rng(0).standard_normal(log.v.shape)
    noisy = dataclasses.replace(log, v=np.asarray(log.v) + noise)
    free = [ist.Free("link/*/mass", low=0.1, high=5.0)]
    held = TRUTH.set("link/mass", 1.0)
    fit = ist.fit(ist.Problem(held, noisy, free=free, loss="torque"))
    np.testing.assert_allclose(fit.model.link_mass, TRUTH.link_mass, rtol=0.02)
    off = ist.needed_torque(fit.model, noisy) - TORQUE
    assert np.sqrt(np.nanmean(np.square(off))) < 0.1


def test_rows_without_measured_positions_or_velocities_are_not_compared(log):
    """What was interpolated over a gap of NaN was not measured."""
    broken = dataclasses.replace(log, q=np.array(log.q), v=np.array(log.v))
    broken.q[400:700], broken.v[1000:1200] = np.nan, np.nan
    free = [ist.Free("link/*/mass", low=0.1, high=5.0)]
    fit = ist.fit(ist.Problem(TRUTH.set("link/mass", 1.0), broken, free=free, loss="torque"))
    np.testing.assert_allclose(fit.model.link_mass, TRUTH.link_mass, rtol=5e-3)
    tau = ist.needed_torque(TRUTH, broken)
    assert np.isnan(tau[400:700]).all()
    assert np.isnan(tau[1000:1200]).all()


@pytest.mark.parametrize(
    ("factor", "words"),
    [(-1.0, "has the other sign"), (1000.0, "times what the motion needs: is it in another unit")],
)
def test_torques_of_the_wrong_sign_or_unit_are_told(log, factor, words):
    """No noise needs to be given for that: the error is that of predicting no torque at all."""
    wrong = dataclasses.replace(log, signals={"joint/control": factor * TORQUE})
    free = [ist.Free("joint/*/damping", high=0.3)]
    with pytest.warns(FitWarning) as caught:
        ist.fit(ist.Problem(TRUTH, wrong, free=free, loss="torque"))
    assert re.search(f"poor fit.*{words}", str(caught[0].message))
