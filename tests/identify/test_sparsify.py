"""`Sparsify` leaves networks the inputs that they need, with exact zeros for all others; `prune` drops the rest."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, BadStore
from isthmus.identify.search.search import News
from isthmus.identify.search.sparsify_judge import Fitted, by_all, held_out, worse
from isthmus.identify.search.sparsify_path import Penalty

LOCAL = ist.LBFGS(steps=80)
READS = ["joint/position", "joint/velocity"]


def motion() -> ist.Motion:
    """A swing of one rod with viscous friction, positions measured with noise."""
    truth = ist.library.pendulum(1).set("joint/damping", 0.3)
    start = ist.State(np.array([2.0]), np.array([0.0]))
    clean = ist.rollout(truth, start, None, 0.01, steps=400, explicit=True)
    noise = 1e-3 * np.random.default_rng(0).normal(size=clean.q.shape)
    return ist.Motion(clean.t, clean.q + noise, clean.v)


@pytest.fixture(scope="module")
def problem() -> ist.Problem:
    wires = [
        ist.Wire("joint/passive_torque", READS, ist.MLP(4, 1), name="friction"),
        ist.Wire("joint/passive_torque", READS, ist.MLP(3, 1), name="idle"),
    ]
    log = motion()
    hybrid = ist.Blueprint(wires).attach(ist.library.pendulum(1), key=0, data=log)
    return ist.Problem(hybrid, log, free="network/*", loss=ist.Windows(10), noise=1e-3)


@pytest.fixture(scope="module")
def found(problem: ist.Problem) -> ist.Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ist.fit(problem, ist.Sparsify(LOCAL, strengths=4), verbose=False)


def test_viscous_friction_is_read_from_the_velocity_alone(found):
    """By one of the two networks, or by both: their sum is the same."""
    read = {names for names in found.inputs.values() if names}
    assert read == {("joint/velocity[joint_1]",)}
    assert found.settings["search"]["local"]["steps"] == 80
    assert "reads joint/velocity[joint_1]\n" in str(found)


def test_a_pruned_model_is_smaller_and_moves_as_before(found):
    lean = ist.prune(found.model)
    for wired in lean.networks:
        assert wired.plan.readings[0].text == "joint/velocity[joint_1]"
        assert np.shape(wired.net.layers[0].weight)[1] == 1
    start = ist.State(np.array([1.0]), np.array([0.5]))
    before = ist.rollout(found.model, start, None, 0.01, steps=30)
    np.testing.assert_allclose(
        ist.rollout(lean, start, None, 0.01, steps=30).q, before.q, rtol=1e-12
    )
    assert [w.plan for w in ist.prune(lean).networks] == [w.plan for w in lean.networks]


def test_a_fresh_network_has_no_effect_and_is_dropped(problem):
    assert ist.prune(problem.model).networks == ()


def test_a_stopped_search_keeps_what_it_has(problem):
    def listen(news: News) -> None:
        if news.note.startswith("without"):
            raise KeyboardInterrupt

    evaluation = problem.evaluation
    outcome = ist.Sparsify(LOCAL, strengths=2).search(evaluation, evaluation.start[None], listen)
    assert outcome.status[0].name == "INTERRUPTED"
    assert np.isfinite(outcome.cost[0])


@pytest.mark.parametrize("when", ["training", "without"])
def test_a_stopped_search_goes_on_from_its_records(problem, tmp_path, when):
    """What was fitted is not fitted again, and the result is that of a search which was not stopped."""
    evaluation, seen = problem.evaluation, []
    start, options = evaluation.start[None], {"store": tmp_path / "records", "strengths": 2}

    def stop(news: News) -> None:
        if news.note.startswith(when) and news.step > 2:
            raise KeyboardInterrupt

    stopped = ist.Sparsify(LOCAL, **options).search(evaluation, start, stop)
    assert stopped.status[0].name == "INTERRUPTED"
    again = ist.Sparsify(LOCAL, **options, resume=True)
    found = again.search(evaluation, start, lambda news: seen.append(news.note))
    assert found.status[0].name != "INTERRUPTED"
    assert found.cost[0] < stopped.cost[0]
    assert ("training" in seen) == (when == "training")
    with pytest.raises(BadStore, match="holds an earlier run"):
        ist.Sparsify(LOCAL, **options).search(evaluation, start)


def test_what_stays_zero_does_so_in_part_of_the_windows_and_of_their_steps(problem):
    """A local search that begins with short windows, for one, keeps the zeros of a set of inputs."""
    evaluation = problem.evaluation
    zero = np.arange(evaluation.size) % 2 == 0
    whole = evaluation.with_zeros(zero)
    for part in (whole, whole.shortened(0.5), whole.of_windows(np.arange(3)), whole.finer()):
        assert not part.low[zero].any()
        assert not part.high[zero].any()


def test_windows_that_judge_are_spread_evenly():
    assert np.flatnonzero(held_out(12, 0.25)[0]).tolist() == [3, 7, 11]
    with pytest.raises(BadOption, match="more than 2 windows"):
        held_out(2, 0.25)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.3, 0.5, 0.75])
def test_parts_of_the_windows_take_turns_to_judge(share):
    parts = held_out(40, share)
    assert len(parts) == int(1 / share)
    assert parts.sum(axis=0).max() == 1
    np.testing.assert_allclose(parts.mean(axis=1), share, atol=1 / 40)


def test_a_window_is_judged_by_the_fit_without_it_and_a_little_by_those_with_it():
    parts = np.array([[True, False], [False, True]])
    found = by_all(np.array([[8.0, 1.0], [1.0, 8.0]]), parts)
    np.testing.assert_allclose(found, 8.0**0.632)
    np.testing.assert_allclose(by_all(np.array([[3.0, 5.0]]), np.ones((1, 2), bool)), [3.0, 5.0])


def test_no_window_decides_alone_which_set_is_better():
    rng = np.random.default_rng(0)
    one = np.exp(0.1 + 0.1 * rng.normal(size=40))
    fitted = lambda costs: Fitted(np.ones(1, bool), np.zeros(1), costs, 1.0)
    assert worse(fitted(one), fitted(np.ones(40))) > 3.0
    one[0] = np.exp(-40.0)
    assert worse(fitted(one), fitted(np.ones(40))) > 3.0
    one[0] = np.inf
    assert worse(fitted(one), fitted(np.ones(40))) == np.inf


def test_a_proximal_step_makes_exact_zeros_and_minimises():
    rng = np.random.default_rng(0)
    penalty = Penalty(0.7, 0.4, [np.arange(5)], np.zeros(5))
    assert not penalty.shrunk(0.2 * rng.normal(size=5), 1.0).any()
    w = 3.0 * rng.normal(size=5)
    cost = lambda x: 0.5 * np.sum((x - w) ** 2) + penalty.cost(x)
    best = penalty.shrunk(w, 1.0)
    assert all(cost(best) <= cost(best + 0.01 * rng.normal(size=5)) for _ in range(50))


@pytest.mark.parametrize("options", [{"strengths": 0}, {"share": 1.5}, {"heldout": 1.0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(BadOption, match="Sparsify needs"):
        ist.Sparsify(**options)


def test_windows_with_free_starts_are_refused():
    log = motion()
    hybrid = ist.Blueprint([ist.Wire("joint/passive_torque", READS, ist.MLP(3, 1))]).attach(
        ist.library.pendulum(1), key=0
    )
    problem = ist.Problem(hybrid, log, free=["network/*", "start/velocity"], loss=ist.Windows(10))
    with pytest.raises(BadOption, match="start as measured"):
        ist.Sparsify().search(problem.evaluation, problem.evaluation.start[None])
