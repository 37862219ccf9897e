"""Islands hop to better minima, widen and narrow their jumps, and begin anew where nothing is gained."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.optimize import basinhopping

import isthmus as ist
from isthmus.identify.search.islands import Found
from isthmus.identify.search.random_points import Box
from isthmus.identify.search.search import Status
from isthmus.phases import counted
from tests.identify.lengths import landscape
from tests.identify.toys import Rastrigin

TOY = Rastrigin()
BOX = Box.of(TOY, TOY.start)


def found(x: list[float], cost: float) -> Found:
    return Found(np.array([x]), np.array([cost]), np.array([Status.CONVERGED], dtype=object))


def test_the_lowest_minimum_is_found_where_local_searches_miss_it_and_where_scipy_finds_it():
    starts = np.random.default_rng(0).uniform(-5.0, 5.0, (40, 2))
    local = ist.LevenbergMarquardt().search(TOY, starts)
    assert np.mean(local.cost < 1e-9) < 0.2
    hopping = [ist.BasinHopping(rounds=12, seed=k).search(TOY, starts[k : k + 1]) for k in range(5)]
    np.testing.assert_allclose([outcome.cost.min() for outcome in hopping], 0.0, atol=1e-12)
    f = lambda x: float(TOY.cost(x[None])[0])
    theirs = basinhopping(f, TOY.start, niter=100, stepsize=1.5, rng=1)
    np.testing.assert_allclose(hopping[0].x[hopping[0].best], theirs.x, atol=1e-5)


def test_only_what_is_better_is_kept():
    search = ist.BasinHopping(islands=1)
    state = search.absorb(BOX, search.begin(BOX, TOY.start[None]), found([1.0, 2.0], 3.0))
    worse = search.absorb(BOX, state, found([0.0, 0.0], 4.0))
    np.testing.assert_array_equal(worse.X, [[1.0, 2.0]])
    assert worse.cost[0] == 3.0
    better = search.absorb(BOX, worse, found([0.0, 0.0], 2.0))
    np.testing.assert_array_equal(better.X, [[0.0, 0.0]])
    assert (worse.stale[0], better.stale[0]) == (1, 0)


def test_jumps_widen_where_they_fall_back_and_narrow_where_they_end_worse():
    search = ist.BasinHopping(islands=1, step=0.2)
    state = search.absorb(BOX, search.begin(BOX, TOY.start[None]), found([1.0, 2.0], 3.0))
    assert state.step[0] == 0.2
    assert search.absorb(BOX, state, found([1.0, 2.0], 3.0)).step[0] > 0.2
    assert search.absorb(BOX, state, found([4.0, 2.0], 5.0)).step[0] < 0.2


def test_an_island_begins_anew_when_its_patience_ends_or_its_simulation_fails():
    search = ist.BasinHopping(islands=1, patience=2)
    state = search.absorb(BOX, search.begin(BOX, TOY.start[None]), found([1.0, 2.0], 3.0))
    for _ in range(2):
        assert np.isfinite(state.cost[0])
        state = search.absorb(BOX, state, found([1.0, 2.0], 3.0))
    assert np.isinf(state.cost[0])
    assert BOX.apart(search.propose(BOX, state, 3)[0], np.array([1.0, 2.0])) > 0.0
    lost = search.absorb(BOX, search.begin(BOX, TOY.start[None]), found([1.0, 2.0], np.inf))
    assert np.isinf(lost.cost[0])


def test_the_lengths_of_a_swinging_double_pendulum_are_found_from_everywhere():
    """P3, fig. 4, with a longer motion: local searches mostly end in false minima."""
    problem = landscape()
    evaluation = problem.evaluation
    starts = np.random.default_rng(1).uniform(evaluation.low, evaluation.high, (24, 2))
    local = ist.LevenbergMarquardt().search(evaluation, starts)
    right = lambda x: np.abs(x * problem.parameters.scale - [3.0, 4.0]).max(axis=-1) < 1e-3
    assert np.mean(right(local.x)) < 0.5
    search = ist.BasinHopping(islands=8, rounds=10, target=1e-6)
    for start in starts[~right(local.x)][:4]:
        outcome = search.search(evaluation, start[None])
        assert right(outcome.x[outcome.best])


def test_a_fit_tells_all_that_decided_it_and_can_be_repeated():
    problem = landscape()
    fit = ist.fit(problem, search=ist.BasinHopping(islands=6, seconds=0.5, seed=3))
    told = fit.settings["search"]
    rounds = told["rounds"]
    assert (told["islands"], told["seed"], rounds) == (6, 3, len(fit.history))
    assert [len(island) for island in fit.islands] == [rounds] * 6
    assert counted(rounds, "round") in str(fit)  # one, on a busy machine
    again = ist.fit(problem, search=ist.BasinHopping(islands=6, rounds=rounds, seed=3))
    np.testing.assert_array_equal(again.x, fit.x)


@pytest.mark.slow
def test_a_real_problem_has_the_same_answer_by_processes(tmp_path):
    problem = landscape()
    search = ist.BasinHopping(islands=10, batch=4, rounds=3, store=tmp_path / "here.jsonl")
    far = dataclasses.replace(search, processes=2, store=tmp_path / "far.jsonl")
    one, two = (ist.fit(problem, search=s) for s in (search, far))
    np.testing.assert_array_equal(one.x, two.x)
    assert one.history == two.history
