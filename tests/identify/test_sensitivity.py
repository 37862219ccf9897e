"""What the data can tell, beyond what the fits show."""

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import FitWarning
from isthmus.identify.answer.sensitivity import physical
from tests.identify.motions import SINGLE, recorded


def test_directions_among_weights_are_not_worth_a_word():
    weights = np.array([False, False, True, True])
    among_weights = np.array([[0.0], [0.0], [0.6], [0.8]])
    assert physical(among_weights, weights).size == 0
    masses = np.array([[0.6], [0.8], [0.0], [0.0]])
    both = np.linalg.qr(np.hstack([masses + among_weights, masses - among_weights]))[0]
    found = physical(both, weights)
    np.testing.assert_allclose(np.abs(found), masses, atol=1e-12)


def two_pendulums() -> ist.Model:
    """Side by side, so that what one does says nothing about the other."""
    robot = ist.Builder("two")
    for name in ("seen", "unseen"):
        robot.add_link(name, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        robot.add_joint_revolute(f"{name}_joint", parent=None, child=name, axis=(0, 1, 0))
    return robot.model().set("joint/damping", 0.3)


@pytest.mark.parametrize("assumed", [1e-4, 1.0])
def test_a_prior_is_as_wide_as_given_whatever_noise_was_assumed(assumed):
    """The error of a number that nothing was measured of is that of its prior, and the result says so."""
    model = two_pendulums()
    log = recorded(model.set("link/mass", 1.2), 101, noise=1e-3)
    free = [
        ist.Free("link/seen/mass", low=0.1, high=5.0),
        ist.Free("joint/unseen_joint/stiffness", start=3.0, prior=(3.0, 0.25)),
    ]
    signals = ["joint/seen_joint/position"]
    problem = ist.Problem(
        model, log, free=free, loss=ist.Windows(20), signals=signals, noise=assumed
    )
    with pytest.warns(FitWarning, match="stiffness: the data tell hardly anything"):
        fit = ist.fit(problem)
    assert abs(fit["joint/unseen_joint/stiffness"].error - 0.25) < 1e-6
    assert fit["link/seen/mass"].error < 0.05


def test_a_number_near_zero_is_as_well_determined_as_any_other():
    """Unknown is what the data do not see, and not what they see to be small."""
    truth = SINGLE.set("joint/torque_offset", 1e-6)
    log = recorded(truth, 200)
    free = [
        ist.Free("link/*/mass", low=0.1, high=5.0),
        ist.Free("joint/torque_offset", start=1.0, low=-5.0, high=5.0),
    ]
    fit = ist.fit(ist.Problem(SINGLE, log, free=free, loss=ist.Windows(20), noise=1e-3))
    assert abs(fit["joint/joint_1/torque_offset"].value) < 1e-4
    assert fit["joint/joint_1/torque_offset"].error < 1e-3
    assert not fit.undetermined


def test_errors_include_what_a_long_time_step_does():
    """Estimates make up for what the integrator gets wrong; the result says so, and by how much they may be off."""
    double, dt = ist.library.pendulum(2).set("joint/damping", 0.1), 0.02
    truth = double.set("link/mass", [1.2, 0.7])
    u = np.stack([np.sin(0.3 * np.arange(301)), 0.5 * np.cos(0.2 * np.arange(301))], axis=1)
    start = ist.State([0.8, -0.3], [0.0, 0.0])
    clean = ist.rollout(truth, start, u[:-1], dt, integrator="rk4", substeps=4)
    rng = np.random.default_rng(0)
    noisy = [np.asarray(x) + 1e-4 * rng.standard_normal(x.shape) for x in (clean.q, clean.v)]
    log = ist.Motion(clean.t, *noisy, {"joint/control": u})
    free = [ist.Free("link/*/mass", low=0.1, high=5.0), ist.Free("joint/*/damping")]
    with pytest.warns(FitWarning, match="a shorter time step would explain"):
        fit = ist.fit(ist.Problem(double, log, free=free, loss=ist.Windows(10), noise=1e-4))
    off = np.abs(np.asarray(fit.model.link_mass) - [1.2, 0.7])
    errors = np.array([fit[f"link/rod_{k}/mass"].error for k in (1, 2)])
    assert np.all(off < 2.5 * errors)
