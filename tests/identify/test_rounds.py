"""Laws of every search in rounds: same seed and rounds, same answer; nothing that was found is lost."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import isthmus as ist
from isthmus.distributed.job import Record, run
from isthmus.distributed.runner import Here
from isthmus.errors import BadOption, BadStore
from isthmus.identify.search import island_jobs
from isthmus.identify.search.search import News, Outcome, Status
from tests.identify.toys import Rastrigin

SEARCHES = [
    ist.BasinHopping(islands=5, batch=2, rounds=6),
    ist.BasinHopping(ist.LBFGS(steps=5), islands=2, rounds=4),
    ist.Population(islands=5, batch=2, rounds=6),
    ist.CMAES(rounds=25),
]
every_search = pytest.mark.parametrize(
    "search", SEARCHES, ids=["hopping", "hopping-lbfgs", "population", "cma"]
)


@pytest.fixture(autouse=True)
def _libraries(request):
    if "cma" in request.node.name:
        pytest.importorskip("cma")


def found_by(search, evaluation=None, listen=None) -> Outcome:
    evaluation = evaluation or Rastrigin()
    return search.search(evaluation, evaluation.start[None], *([listen] if listen else []))


def same(one: Outcome, other: Outcome) -> bool:
    """Bit for bit."""
    return np.array_equal(one.x, other.x) and one.history == other.history


@every_search
def test_same_seed_and_rounds_give_the_same_answer_and_another_seed_another(search):
    first = found_by(search)
    assert same(first, found_by(search))
    assert len(first.history) == search.rounds
    assert not same(first, found_by(dataclasses.replace(search, seed=1)))


@every_search
def test_the_best_is_never_lost_and_inside_the_bounds(search):
    toy = Rastrigin()
    outcome = found_by(search, toy)
    assert list(outcome.history) == sorted(outcome.history, reverse=True)
    assert outcome.cost[outcome.best] == outcome.history[-1]
    np.testing.assert_allclose(toy.cost(outcome.x), outcome.cost, rtol=1e-12)
    assert np.all(outcome.x >= toy.low)
    assert np.all(outcome.x <= toy.high)
    assert 0 < outcome.evaluations <= toy.evaluations


@every_search
def test_a_run_with_a_time_limit_replays_from_its_number_of_rounds(search):
    timed = found_by(dataclasses.replace(search, rounds=None, seconds=0.3))
    rounds = len(timed.history)
    assert rounds >= 1
    assert same(timed, found_by(dataclasses.replace(search, rounds=rounds)))


@every_search
def test_a_target_ends_the_run_as_soon_as_it_is_reached(search):
    whole = found_by(search)
    early = found_by(dataclasses.replace(search, target=whole.history[1]))
    wanted = next(k for k, cost in enumerate(whole.history) if cost <= whole.history[1])
    assert early.history == whole.history[: wanted + 1]


class Untouched(Rastrigin):
    """Everything that is asked of it must be known already."""

    def normal(self, X):
        raise AssertionError("this was in the file")


@every_search
def test_a_run_that_stops_goes_on_as_if_it_had_not(search, tmp_path):
    kept = dataclasses.replace(search, store=tmp_path / "run.jsonl", rounds=2)
    found_by(kept)
    more = dataclasses.replace(kept, rounds=search.rounds, resume=True)
    assert same(found_by(more), found_by(search))
    assert same(found_by(more, Untouched()), found_by(search))


@every_search
def test_every_line_of_a_store_can_be_run_again(search, tmp_path):
    found_by(dataclasses.replace(search, store=tmp_path / "run.jsonl", rounds=2))
    island_jobs.introduce(Rastrigin())
    lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    for record in map(Record.from_text, lines):
        assert run(record.job).result == record.result
    island_jobs.forget(Rastrigin().fingerprint)


def test_a_store_of_another_problem_or_seed_is_refused(tmp_path):
    search = ist.BasinHopping(islands=2, rounds=1, store=tmp_path / "run.jsonl")
    found_by(search)
    again = dataclasses.replace(search, resume=True)
    with pytest.raises(BadStore, match=r"its problem is .*rastrigin 2 1.0.*, here it is .*2.0"):
        found_by(again, Rastrigin(depth=2.0))
    with pytest.raises(BadStore, match="its seed is 0, here it is 4"):
        found_by(dataclasses.replace(again, seed=4))
    with pytest.raises(BadStore, match="its local is "):
        found_by(dataclasses.replace(again, local=ist.LevenbergMarquardt(steps=7)))
    with pytest.raises(BadStore, match="holds an earlier run"):
        found_by(search)
    head = json.loads((tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert head["about"]["islands"] == 2


class Stopping:
    """A listener that behaves as Ctrl-C in a certain round."""

    def __init__(self, at: str) -> None:
        self.at, self.heard = at, []

    def __call__(self, news: News) -> None:
        self.heard.append(news)
        if news.note == self.at:
            raise KeyboardInterrupt


@every_search
def test_ctrl_c_keeps_the_best_and_the_rounds_that_were_done(search, tmp_path):
    kept = dataclasses.replace(search, store=tmp_path / "run.jsonl")
    outcome = found_by(kept, listen=Stopping("round 3"))
    whole = found_by(search)
    assert set(outcome.status) == {Status.INTERRUPTED}
    assert outcome.history == whole.history[:2]
    assert outcome.cost[outcome.best] <= whole.history[1]
    assert same(found_by(dataclasses.replace(kept, resume=True)), whole)


def test_ctrl_c_within_a_round_keeps_what_the_round_had_found():
    toy = Rastrigin()
    search = ist.BasinHopping(islands=2, rounds=3)
    stopping = Stopping("")

    def late(news: News) -> None:
        stopping(news)
        if len(stopping.heard) == 4:
            raise KeyboardInterrupt

    outcome = found_by(search, toy, late)
    assert outcome.history == ()
    assert outcome.cost[outcome.best] < toy.cost(toy.start[None])[0]
    assert outcome.status[outcome.best] is Status.INTERRUPTED


def test_ctrl_c_before_anything_is_found_stops_the_program():
    def at_once(news: News) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found_by(ist.BasinHopping(islands=2, rounds=3), listen=at_once)


def test_news_tell_of_rounds_and_the_best_point():
    heard: list[News] = []
    outcome = found_by(ist.BasinHopping(islands=2, rounds=3), listen=heard.append)
    assert [news.note for news in heard if news.step == 2][:1] == ["round 3"]
    assert {news.steps for news in heard} == {3}
    costs = [news.cost for news in heard]
    assert costs == sorted(costs, reverse=True)
    np.testing.assert_array_equal(heard[-1].x, outcome.x[outcome.best])


def test_a_runner_of_ones_own_can_be_plugged_in():
    class Cluster(Here):
        jobs = 0

        def run(self, jobs):
            self.jobs += len(jobs)
            return super().run(jobs[::-1])[::-1]

    cluster = Cluster()
    search = SEARCHES[0]
    assert same(found_by(dataclasses.replace(search, runner=cluster)), found_by(search))
    assert cluster.jobs == 3 * search.rounds


def test_the_number_of_processes_does_not_change_the_answer():
    far = {"processes": 2, "problem": "tests.identify.toys:rastrigin"}
    for search in SEARCHES[:1]:
        assert same(found_by(dataclasses.replace(search, **far)), found_by(search))


def test_a_problem_that_cannot_be_sent_to_other_processes_is_refused_in_words():
    toy = Rastrigin()
    with pytest.raises(BadOption, match=r"cannot be sent .* problem='study.py:problem'; or stay"):
        found_by(ist.BasinHopping(processes=2), toy)
    with pytest.raises(BadOption, match="define it at the top of a module"):
        found_by(ist.BasinHopping(processes=2, problem=lambda: toy), toy)


@pytest.mark.parametrize(
    "options",
    [
        {"rounds": 0}, {"batch": 0}, {"processes": 0}, {"seed": -1}, {"seconds": 0.0}, {"step": 0.0},
        {"islands": 0}, {"patience": 0}, {"resume": True},
    ],
)  # fmt: skip
def test_options_that_make_no_search_are_refused(options):
    with pytest.raises(BadOption):
        ist.BasinHopping(**options)
