"""Posteriors of small problems: as the errors of a fit say, both sides of two, at bounds, on disk."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Callable

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.bench import posteriors
from isthmus.bench.posterior_cases import Case, cases, sideways
from isthmus.errors import (
    BadFile,
    BadFree,
    BadOption,
    ExportWarning,
    FitWarning,
    MissingExtra,
    MissingFile,
)
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.search import Status
from isthmus.posteriors import infer, nuts
from isthmus.posteriors.from_fit import posterior_of


@pytest.fixture(scope="module")
def case() -> Case:
    return cases()["two_sided"]


@pytest.fixture(scope="module")
def curved() -> Case:
    return cases()["curved"]


@pytest.fixture(scope="module")
def sided(case) -> ist.Problem:
    return case.at(np.array([0.15, 0.2]), np.random.default_rng(0))[1]


@pytest.fixture(scope="module")
def found(sided) -> ist.Posterior:
    return ist.posterior(sided)


def changed(case: Case, problem: ist.Problem, **changes) -> ist.Problem:
    """The same problem but for some options, with the same native code."""
    given = problem.__getstate__() | changes
    made = ist.Problem(**given)
    vars(made)["compiled"] = case.first.compiled
    return made


def test_both_sides_of_a_two_sided_problem_are_found(found):
    assert found.names == ("offset", "joint/hinge/damping")
    np.testing.assert_allclose(np.sort(found.modes[:, 0]), [-0.15, 0.15], atol=0.02)
    np.testing.assert_allclose(found.weights, 0.5, atol=0.05)
    assert found.khat < 0.7
    assert found.effective > 300
    assert found.notes == ()
    assert abs(found.mean[0]) < 0.02
    assert abs(found.mean[1] - 0.2) < 0.02
    assert found.interval(0.9)[0, 0] < -0.15 < 0.15 < found.interval(0.9)[0, 1]


def test_smc_agrees_with_laplace(sided, found):
    other = ist.posterior(sided, ist.SMC(128, generations=6))
    assert other.samples.shape == (768, 2)
    assert len(other.modes) == 2
    np.testing.assert_allclose(other.weights, 0.5, atol=0.15)
    size = lambda x: np.abs(x.samples[:, 0])
    assert abs(size(other).mean() - size(found).mean()) < 0.5 * size(found).std()
    assert 0.7 < size(other).std() / size(found).std() < 1.4


def test_errors_of_a_fit_agree_where_the_problem_is_nearly_linear(sided, found):
    fit = ist.fit(sided)
    side = found.samples[found["offset"] * fit["offset"].value > 0.0]
    errors = np.array([e.error for e in fit.estimates.values()])
    np.testing.assert_allclose(side.std(axis=0), errors, rtol=0.25)


def test_a_posterior_on_disk_is_the_same(found, tmp_path):
    again = ist.Posterior.load(found.save(tmp_path))
    np.testing.assert_array_equal(again.samples, found.samples)
    np.testing.assert_array_equal(again.modes, found.modes)
    assert str(again) == str(found)
    assert again.settings["method"]["starts"] == 24
    np.testing.assert_array_equal(again.models(7).link_com, found.models(7).link_com)


def test_what_is_no_posterior_on_disk_is_refused(found, tmp_path):
    with pytest.raises(MissingFile, match=r"has no posterior\.json"):
        ist.Posterior.load(tmp_path)
    text = found.save(tmp_path) / "posterior.json"
    text.write_text(json.dumps(json.loads(text.read_text()) | {"units": []}))
    with pytest.raises(BadFile, match="another number of names or units"):
        ist.Posterior.load(tmp_path)
    (tmp_path / "posterior.json").write_text('{"format": "isthmus posterior 1"}')
    with pytest.raises(BadFile, match="is damaged: names is missing"):
        ist.Posterior.load(tmp_path)


def test_a_fit_without_an_estimate_of_what_was_free_is_refused():
    rod = ist.library.pendulum(1)
    log = ist.rollout(rod, ist.State([1.0], [0.0]), None, 0.01, steps=40)
    fit = ist.fit(ist.Problem(rod, log, free=["link/rod_1/mass"], loss=ist.OneStep()))
    with pytest.raises(BadFile, match="'link/rod_1/mass' was free and has no estimate"):
        posterior_of(dataclasses.replace(fit, estimates={}), 3)


def test_models_stand_side_by_side_and_predict_bands(found):
    models = found.models(20)
    assert models.link_com.shape == (20, 1, 3)
    assert models.joint_damping.shape == (20, 1)
    assert models.link_mass.shape == (1,)
    start = ist.State(np.zeros(1), np.zeros(1))
    bands = found.predict(start, np.full((30, 1), 0.2), 0.01, n=20)
    assert bands.middle.shape == (31, 1)
    assert bands.motion.q.shape == (20, 31, 1)
    assert np.all((bands.low <= bands.middle) & (bands.middle <= bands.high))
    with pytest.raises(BadOption, match="1000 samples; 2000 models cannot be drawn"):
        found.models(2000)


def test_models_are_exported_with_an_index_and_losses_are_told_once(found, tmp_path):
    with pytest.warns(ExportWarning, match="3 models: ") as told:
        index = found.export(tmp_path / "models", 3, "urdf")
    assert len(told) == 1
    lines = index.read_text().splitlines()
    assert lines[0] == "file,offset,joint/hinge/damping"
    assert len(lines) == 4
    name, offset, _ = lines[1].split(",")
    assert abs(float(ist.load(tmp_path / "models" / name).link_com[0, 0]) - float(offset)) < 1e-12
    with pytest.raises(BadFile, match="holds models already"):
        found.export(tmp_path / "models", 3)


def test_noise_that_was_not_given_is_estimated_and_told(case, sided, found):
    with pytest.warns(
        FitWarning, match=r"noise of joint/position was not given; its residuals say 0\.0"
    ):
        other = ist.posterior(changed(case, sided, noise=None))
    assert abs(other.noise["joint/position"] - 0.02) < 0.003
    assert 0.7 < other.deviation[1] / found.deviation[1] < 1.4


def test_residuals_far_from_the_given_noise_are_told(case, sided):
    with pytest.warns(FitWarning, match=r"are 1\.9 times the noise that was given"):
        ist.posterior(changed(case, sided, noise=0.01))


def test_noise_must_be_positive(case, sided):
    with pytest.raises(BadOption, match="must be positive"):
        changed(case, sided, noise=0.0)


def test_smc_refuses_what_has_neither_bound_nor_prior_by_name(case, sided):
    free = (ist.Free("offset", -0.3, 0.3, start=0.1), ist.Free("joint/*/damping"))
    with pytest.raises(BadFree, match="joint/hinge/damping has neither a prior nor two bounds"):
        ist.posterior(ist.Problem(**sided.__getstate__() | {"free": free}), "smc")


def test_a_number_at_its_bound_is_told_and_stays_inside(case):
    _, problem = case.at(np.array([0.2, 0.0]), np.random.default_rng(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        found = ist.posterior(problem)
    assert "joint/hinge/damping is at its bound, 0: its posterior is cut there." in found.notes
    assert np.all(found["joint/hinge/damping"] >= 0.0)


def test_a_method_that_does_not_exist_is_refused(sided):
    with pytest.raises(BadOption, match="no method is called 'gibbs'"):
        ist.posterior(sided, "gibbs")
    with pytest.raises(BadOption, match="starts must be a whole number"):
        ist.Laplace(starts=0)
    with pytest.raises(BadOption, match="16 particles"):
        ist.SMC(2)


def test_ctrl_c_keeps_finished_samples_and_resume_goes_on(sided):
    heard = []

    def listen(so_far: ist.Posterior) -> None:
        heard.append(so_far)
        if len(heard) == 1:
            raise KeyboardInterrupt

    method = ist.SMC(64, generations=3)
    stopped = ist.posterior(sided, method, listen=listen)
    assert not stopped.complete
    assert len(stopped.samples) == 64
    ended = ist.posterior(sided, method, resume=stopped)
    assert ended.complete
    assert len(ended.samples) == 192
    whole = ist.posterior(sided, method)
    np.testing.assert_array_equal(whole.samples, ended.samples)


@pytest.mark.parametrize("method", ["laplace", "smc", "mixture"])
def test_ctrl_c_before_the_first_sample_loses_nothing(sided, found, monkeypatch, method):
    def stopped(*_) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(infer, "_run", stopped)
        begun = ist.posterior(sided, method)
        later = ist.posterior(sided, method, resume=found)
    assert len(begun.samples) == 0
    assert not begun.complete
    assert not later.complete
    np.testing.assert_array_equal(later.samples, found.samples)


def test_a_search_for_modes_that_was_stopped_goes_on_where_it_stood(sided, found, monkeypatch):
    real, calls = LevenbergMarquardt.search, []

    def search(self, *given):
        calls.append(len(given[1]))
        answer = real(self, *given)
        stop = len(calls) == 4
        status = (Status.INTERRUPTED,) * len(answer.status) if stop else answer.status
        return dataclasses.replace(answer, status=status)

    monkeypatch.setattr(LevenbergMarquardt, "search", search)
    stopped = ist.posterior(sided)
    assert len(stopped.state["starts"]) == calls[3] < 24
    ended = ist.posterior(sided, resume=stopped)
    assert calls[4] == calls[3]
    np.testing.assert_allclose(np.abs(ended.modes), np.abs(found.modes), atol=1e-6)


def test_a_fit_says_where_the_problem_is_far_from_linear_within_its_errors(curved):
    _, problem = curved.at(np.array([1.5, 0.4]), np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        fit, found = ist.fit(problem), ist.posterior(problem)
    assert "nonlinear: the errors are those of a normal distribution" in str(fit)
    assert any("SMC went on" in note for note in found.notes)
    low, high = found.interval(0.9).T
    assert np.all((low < [1.5, 0.4]) & (high > [1.5, 0.4]))


@pytest.mark.parametrize(
    ("number", "shapes", "end"),
    [(104, (0.5, 0.7), 0.568), (135, (0.0, 0.5), 0.296)],
    ids=["heavy ratios", "few effective draws"],
)
def test_a_curved_posterior_whose_far_end_no_draw_reaches_is_told(curved, number, shapes, end):
    """`end`: of the 90 % interval of the centre of mass, by a grid."""
    _, problem = curved.draw(np.random.default_rng([901, number]))
    with pytest.warns(FitWarning, match=r"not near its normals.*SMC went on"):
        found = ist.posterior(problem)
    assert shapes[0] < found.khat < shapes[1]
    low, high = found.interval(0.9)[1]
    assert abs(high - end) < 0.2 * (high - low)


def test_a_direction_that_nothing_determines_is_refused_in_words(sided):
    make = lambda named: sideways({"offset": named["a"] + named["b"]})
    free = (ist.Free("a", start=0.05), ist.Free("b", start=0.1))
    problem = ist.Problem(**sided.__getstate__() | {"free": free, "make": make})
    with pytest.raises(BadFree, match=r"the data leave a direction open: only .*a.*b.* determined"):
        ist.posterior(problem)


@pytest.fixture(scope="module")
def learner(sided, case) -> Callable[[int], ist.Problem]:
    """The two-sided problem where the weights of a network of some width are free."""

    def made(width: int) -> ist.Problem:
        wire = ist.Wire("joint/passive_torque", ["joint/velocity"], ist.MLP(width, 1))
        model = ist.Blueprint([wire]).attach(case.first.template, key=jax.random.key(0))
        weights = ist.Free("network/*", prior=(0.0, 0.3))
        return ist.Problem(
            **sided.__getstate__() | {"make": None, "model": model, "free": (weights,)}
        )

    return made


def test_weights_of_networks_are_for_laplace_and_up_to_100_numbers(learner):
    with pytest.raises(BadOption, match="their posterior is Laplace's, of up to 100 numbers"):
        ist.posterior(learner(4), "smc")
    with pytest.raises(BadOption, match="these are 103 with Laplace"):
        ist.posterior(learner(34))


def test_a_network_of_100_numbers_at_most_has_samples_of_its_normals(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        found = ist.posterior(learner(33), ist.Laplace(1, draws=50))
    assert "these are samples of the normals" in found.notes[-1]
    assert found.samples.shape == (50, 100)
    assert np.isfinite(found.samples).all()
    bands = found.predict(ist.State([0.0], [0.0]), np.full((20, 1), 0.2), 0.01, n=10)
    assert np.all(np.isfinite(bands.motion.q))


def test_a_mixture_learns_as_windows_arrive_and_says_that_its_widths_are_no_posterior(sided):
    with pytest.warns(FitWarning, match="no posterior"):
        found = ist.posterior(sided, ist.Mixture(2, epochs=150, arrived=20, batch=8, samples=300))
    assert abs(found.mean[1] - 0.2) < 0.1
    assert found.samples.shape == (300, 2)
    with pytest.raises(BadOption, match="a temperature and a rate above 0"):
        ist.Mixture(temperature=0.0)


def test_nuts_without_its_extra_says_which_one(sided, monkeypatch):
    monkeypatch.setattr(nuts, "has_blackjax", lambda: False)
    with pytest.raises(
        MissingExtra, match=r"ist.NUTS needs blackjax: pip install 'isthmus\[bayes\]'"
    ):
        ist.posterior(sided, "nuts")


@pytest.mark.slow
@pytest.mark.loose
@pytest.mark.compiles_much("the sampler of blackjax is made of many operations")
def test_nuts_agrees_with_laplace_and_goes_on_where_it_was_stopped(case):
    _, problem = case.at(np.array([0.0, 0.2]), np.random.default_rng(2))
    method, heard = ist.NUTS(80, 400, 2), []

    def listen(so_far: ist.Posterior) -> None:
        heard.append(so_far)
        if len(heard) == 1:
            raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        stopped = ist.posterior(problem, method, listen=listen)
        assert not stopped.complete
        assert len(stopped.samples) == 100
        found = ist.posterior(problem, method, resume=stopped)
        whole = ist.posterior(problem, method)
        other = ist.posterior(problem)
    assert len(found.samples) == 400
    np.testing.assert_array_equal(found.samples, whole.samples)
    assert abs(found.mean[1] - other.mean[1]) < 0.3 * other.deviation[1]
    assert 0.7 < found.deviation[1] / other.deviation[1] < 1.4


def test_the_counts_run_in_a_small_version():
    told = [
        *posteriors.lines(("two_sided", "distance"), 10, 0),
        str(posteriors.coverage(cases()["two_sided"], 2, 0)),
    ]
    assert "1 of 1" in told[0]
    assert "two modes, to a grid" in told[1]
    assert "2 data sets" in told[2]


@pytest.mark.full
def test_intervals_hold_the_truth_as_often_as_they_say():
    for name in ("two_sided", "four", "six"):
        found = posteriors.coverage(cases()[name], 400, 5)
        assert np.all((found.half > 0.43) & (found.half < 0.57)), str(found)
        assert np.all((found.most > 0.85) & (found.most < 0.95)), str(found)
