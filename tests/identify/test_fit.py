"""`fit` finds what made the motion, says how well it knows it, and what it cannot know."""

from __future__ import annotations

import dataclasses
import warnings

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import FitWarning
from isthmus.identify.answer.abstract_fit import Estimate
from isthmus.identify.answer.sensitivity import Sensitivity
from isthmus.identify.fit import warnings_of
from isthmus.identify.search.search import Status
from tests.identify.motions import DOUBLE, SINGLE, double_problem, recorded


@pytest.fixture(scope="module")
def fit() -> ist.Fit:
    return ist.fit(double_problem("whole_run", rows=101))


def test_the_numbers_that_made_a_motion_are_found_within_their_errors(fit):
    truth = {
        "link/rod_1/mass": 1.2,
        "link/rod_2/mass": 0.7,
        "joint/joint_1/damping": 0.3,
        "joint/joint_2/damping": 0.3,
    }
    for name, value in truth.items():
        assert abs(fit[name].value - value) < 4 * fit[name].error
    assert abs(fit.noise - 1.0) < 0.2
    np.testing.assert_allclose(
        fit.model.link_mass, [fit["link/rod_1/mass"].value, fit["link/rod_2/mass"].value]
    )


def test_errors_are_those_of_repeated_experiments():
    """Standard errors against the spread of fits of motions with other noise."""
    truth = SINGLE.set("link/mass", 1.3)
    free = [ist.Free("link/*/mass", low=0.5, high=2.0), ist.Free("joint/*/damping")]
    fits = []
    problem = ist.Problem(SINGLE, recorded(truth, 81), free=free, loss="whole_run", noise=2e-3)
    for seed in range(30):
        again = dataclasses.replace(problem, motions=recorded(truth, 81, noise=2e-3, seed=seed))
        vars(again)["compiled"] = problem.compiled
        fits.append(ist.fit(again))
    for name in fits[0].estimates:
        spread = np.std([f[name].value for f in fits])
        told = np.mean([f[name].error for f in fits])
        assert 0.7 < spread / told < 1.4


def test_a_fit_that_predicts_hardly_better_than_nothing_is_called_poor(fit):
    assert not any("a poor fit" in text for text in fit.warnings)
    heavy = SINGLE.set("link/mass", 50.0)  # the motor hardly moves it
    problem = ist.Problem(
        heavy, recorded(SINGLE, 81), free="joint/*/damping", loss="whole_run", noise=1e-3
    )
    with pytest.warns(FitWarning) as told:
        poor = ist.fit(problem)
    assert any(
        "a poor fit: the error of joint/position in fitted motion" in str(w.message) for w in told
    )
    assert "warning: a poor fit" in str(poor)


@pytest.mark.parametrize("joints", [[0, 1], [1]])
def test_commands_of_the_other_sign_are_told(joints):
    """A fit converged, with other masses and small errors, and said nothing."""
    sign = np.ones(2)
    sign[joints] = -1.0
    log = recorded(DOUBLE.set("link/mass", [1.2, 0.7]), 301, noise=1e-3)
    wrong = ist.Motion(log.t, log.q, log.v, {"joint/control": sign * log.controls})
    name = "of all joints" if len(joints) == 2 else "of 'joint_2'"
    told = []
    for motion in (log, wrong):
        with warnings.catch_warnings(action="ignore"):
            fit = ist.fit(ist.Problem(DOUBLE, motion, free="link/*/mass", loss=ist.Windows(100)))
        told.append([text for text in fit.warnings if "the other sign" in text])
    assert told[0] == []
    assert told[1][0].startswith(f"the commands {name} seem to have the other sign")


def test_of_many_numbers_that_are_poorly_known_the_first_are_named(fit):
    names = [f"x{k}" for k in range(9)]
    size = len(names)
    known = Sensitivity(np.ones(size), 2.0 * np.ones(size), np.eye(size), 1.0, (), ())
    told = warnings_of(known, {n: Estimate(1.0, 2.0, "m", 1.0) for n in names}, Status.CONVERGED)
    assert [text.split()[0] for text in told] == [*names[:6], "3"]
    many = dataclasses.replace(fit, doubtful=dict.fromkeys(names, "it would move"))
    assert "doubtful: x5: it" in str(many)
    assert "doubtful: x6" not in str(many)
    assert "doubtful: 3 more" in str(many)


@pytest.mark.parametrize("search", [ist.LBFGS(), ist.LengtheningHorizon(ist.LevenbergMarquardt())])
def test_every_search_finds_the_same(fit, search):
    problem = double_problem("whole_run", rows=101)
    other = ist.fit(problem, search)
    np.testing.assert_allclose(other.loss, fit.loss, rtol=1e-5)
    for name, estimate in fit.estimates.items():
        assert abs(other[name].value - estimate.value) < 0.05 * estimate.error


def test_adam_on_batches_of_windows_comes_close():
    problem = double_problem()
    with pytest.warns(FitWarning, match="did not converge"):
        found = ist.fit(problem, ist.Adam(steps=300, rate=0.03, batch=2, look=20))
    best = ist.fit(problem)
    assert found.loss < 1.2 * best.loss
    assert found.history[-1] < found.history[0]


@pytest.mark.parametrize("steps", [100, 500])
def test_masses_and_lengths_of_a_double_pendulum_are_found_from_anywhere(steps):
    """The reference problem: angles with noise, released at rest and horizontal; 20 starts, all right."""
    make = lambda p: ist.library.pendulum(lengths=p["length"], masses=[1.0, p["mass"]])
    truth = ist.library.pendulum(lengths=[1.3, 0.8], masses=[1.0, 1.6])
    clean = ist.rollout(
        truth, ist.State(np.array([np.pi / 2, 0.0]), np.zeros(2)), None, 0.01, steps
    )
    noise = 1e-3 * np.random.default_rng(1).standard_normal(clean.q.shape)
    noise[0] = 0.0
    free = [ist.Free("length", low=0.5, high=2, shape=2), ist.Free("mass", low=0.5, high=2)]
    motion = ist.Motion(clean.t, clean.q + noise, clean.v)
    problem = ist.Problem(make=make, motions=motion, free=free, loss="whole_run", noise=1e-3)
    starts = np.random.default_rng(0).uniform(0.5, 2.0, (20, 3))
    search = ist.LengtheningHorizon(ist.LevenbergMarquardt())
    found = search.search(problem.evaluation, starts / problem.parameters.scale)
    assert np.all(np.abs(found.x * problem.parameters.scale - [1.3, 0.8, 1.6]) < 0.02)


def test_lengths_are_free_through_a_function_of_named_numbers():
    make = lambda p: ist.library.pendulum(lengths=p["length"])
    motion = recorded(ist.library.pendulum(lengths=[1.3]), 41)
    problem = ist.Problem(
        make=make,
        motions=motion,
        free=[ist.Free("length", low=0.5, high=2, shape=1)],
        loss="whole_run",
    )
    fit = ist.fit(problem, start={"length": [1.0]})
    assert fit["length[0]"].value == pytest.approx(1.3, abs=1e-7)
    np.testing.assert_allclose(fit.model.point_origin[0, 2], -fit["length[0]"].value)
    many = ist.fit(problem, start=np.array([[0.6], [1.9]]))
    assert many["length[0]"].value == pytest.approx(1.3, abs=1e-7)
    with pytest.raises(ist.errors.BadFree, match="Did you mean 'length'"):
        ist.fit(problem, start={"lenght": 1.0})


def test_a_stretched_link_is_found():
    truth = ist.stretch(DOUBLE, "rod_1", 1.25)
    problem = ist.Problem(
        DOUBLE,
        recorded(truth, 81),
        free=[ist.Free("stretch/rod_1", low=0.5, high=2.0)],
        loss="whole_run",
    )
    assert ist.fit(problem)["stretch/rod_1"].value == pytest.approx(1.25, abs=1e-6)


def test_only_ratios_of_masses_can_be_told_without_forces():
    model = ist.library.pendulum(2).set("link/inertia", 0.0)
    begin = ist.State(np.array([1.0, 0.3]), np.zeros(2))
    motion = ist.rollout(model.set("link/mass", [1.0, 1.5]), begin, None, 0.01, 60)
    problem = ist.Problem(model, motion, free=[ist.Free("link/*/mass", low=0.1)], loss="whole_run")
    told = "only link/rod_1/mass / link/rod_2/mass is determined"
    with pytest.warns(FitWarning, match="designs a motion"), pytest.warns(FitWarning, match=told):
        fit = ist.fit(problem)
    assert fit["link/rod_2/mass"].value / fit["link/rod_1/mass"].value == pytest.approx(
        1.5, abs=1e-6
    )


def test_what_only_appears_together_is_told_as_such():
    """A pendulum without commands: mass, stiffness and damping may all grow by one factor."""
    model = (
        ist.library.pendulum(1)
        .set("link/inertia", 0.0)
        .set("joint/stiffness", 1.0)
        .set("joint/damping", 0.1)
    )
    truth, begin = (
        model.set("joint/stiffness", 2.0).set("joint/damping", 0.2),
        ist.State(np.ones(1), np.zeros(1)),
    )
    names = ("link/*/mass", "joint/*/stiffness", "joint/*/damping")
    problem = ist.Problem(
        model,
        ist.rollout(truth, begin, None, 0.01, 60),
        free=[ist.Free(n, low=0.01) for n in names],
        loss="whole_run",
    )
    told = "only .* are determined"
    with pytest.warns(FitWarning, match="designs a motion"), pytest.warns(FitWarning, match=told):
        fit = ist.fit(problem)
    mass, damping, stiffness = "link/rod_1/mass", "joint/joint_1/damping", "joint/joint_1/stiffness"
    assert fit.undetermined == (
        f"only {mass} / {damping} and {stiffness} / {damping} are determined.",
    )
    assert np.isinf(fit[mass].error)
    assert fit.warnings[-1] == (
        f"ist.design(fit.model, free={[mass, stiffness, damping]}, limits={{'position': 1}}) designs a motion that "
        f"would determine {mass}, {stiffness}, {damping}, if any motion can."
    )


def test_a_fit_is_the_same_after_saving_and_loading(fit, tmp_path):
    again = ist.Fit.load(fit.save(tmp_path / "fit"))
    assert str(again) == str(fit)
    np.testing.assert_array_equal(again.covariance, fit.covariance)
    np.testing.assert_array_equal(again.model.link_mass, fit.model.link_mass)
    assert again.model.joint_names == fit.model.joint_names
    with pytest.raises(ist.errors.MissingFile, match="no folder that"):
        ist.Fit.load(tmp_path)


def test_held_out_motion_is_predicted_better_after_than_before():
    truth = DOUBLE.set("link/mass", [1.2, 0.7])
    runs = [recorded(truth, 61), recorded(truth, 61, start=(0.5, -0.5))]
    problem = ist.Problem(
        DOUBLE, runs, free=[ist.Free("link/*/mass", low=0.1)], loss="whole_run", heldout=1
    )
    fit = ist.fit(problem)
    before, after = fit.heldout["joint/position"]
    assert after < 1e-3 * before
    assert "held out joint/position" in str(fit)


def test_network_weights_are_kept_small_by_their_penalty(key):
    """R‖θ‖² of the weights, no more and no less."""
    wire = ist.Wire("joint/passive_torque", reads=["joint/velocity"], net=ist.MLP(width=2, depth=1))
    hybrid = ist.Blueprint([wire]).attach(SINGLE, key=key)
    free = [ist.Free("network/*"), ist.Free("joint/*/damping")]
    problem = ist.Problem(hybrid, recorded(SINGLE, 41), free=free, weight_penalty=0.3)
    z = problem.evaluation.start
    weights = z[problem.parameters.is_weight()]
    np.testing.assert_allclose(problem.evaluation.prior.cost(z[None]), 0.3 * weights @ weights)


def test_weights_alone_get_no_errors_that_would_have_to_be_computed():
    plain = ist.library.pendulum(1)
    wire = ist.Wire("joint/passive_torque", ["joint/velocity"], ist.MLP(24, 1))
    hybrid = ist.Blueprint([wire]).attach(plain, key=jax.random.key(0))
    log = ist.rollout(plain, ist.State(np.array([1.0]), np.zeros(1)), None, 0.01, 90)
    problem = ist.Problem(hybrid, log, free=[ist.Free("network/*")], loss="whole_run")
    found = ist.fit(problem, ist.LBFGS(steps=1), check=False)
    assert all(np.isnan(e.error) for e in found.estimates.values())
    assert not {"normal", "columns", "rows"} & set(vars(problem.compiled))
