"""Benchmarks as data: rows, ratios, what is not installed, what fails."""

from __future__ import annotations

import json
import os
import threading

import pytest

from isthmus.bench import machine, native_cases, run
from isthmus.bench.chart import draw
from isthmus.bench.rows import Row, shown, times
from isthmus.bench.timing import fastest, race
from isthmus.errors import BadOption


def test_every_benchmark_can_be_found():
    assert run.chosen(["threads", "importing"]) == ["importing", "threads"]
    assert run.chosen([]) == list(run.CASES)
    for _, module, function in run.CASES.values():
        assert callable(getattr(__import__(f"isthmus.bench.{module}", fromlist=["x"]), function))
    with pytest.raises(BadOption, match=r"'pendulums'.*Did you mean 'pendulum'"):
        run.chosen(["pendulums"])


def test_a_row_says_whether_the_aim_is_reached():
    assert Row("work", 1.0, "peer", 3.0, wanted=2.0).reached
    assert not Row("work", 1.0, "peer", 3.0, wanted=4.0).reached
    assert Row("work", 4.0, "half of it", 1.0, wanted=-5.0).reached
    assert Row("work", 1.0, "peer", None, wanted=2.0, missing="pip install peer").reached is None


def test_times_and_ratios_are_written_for_people():
    assert [shown(x) for x in (2.0, 0.0312, 4e-6, 2.5e-9, None)] == [
        "2 s", "31.2 ms", "4 µs", "2.5 ns", "",
    ]  # fmt: skip
    assert [times(x) for x in (120.4, 21.3, 3.54, 0.956)] == ["120×", "21×", "3.5×", "0.96×"]


def test_a_peer_that_is_not_here_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(machine.PEERS, "CasADi", ("no_such_module", "no-such", "casadi"))
    monkeypatch.setitem(machine.PEERS, "MJX", ("no_such_package.part", "no-such", "mujoco-mjx"))
    assert machine.hint("CasADi") == "pip install casadi"
    assert machine.hint("MJX") == "pip install mujoco-mjx"
    assert machine.versions()["CasADi"] is None
    row = native_cases.versus_casadi("work", 1.0, [], 2.0)
    assert (row.theirs, row.missing) == (None, "pip install casadi")


def test_a_benchmark_that_fails_leaves_the_others_their_rows(monkeypatch):
    def fails(quick):
        raise ValueError("the peer computes something else")

    heard = []
    monkeypatch.setattr(native_cases, "network", fails)
    monkeypatch.setattr(
        native_cases,
        "threads",
        lambda quick: heard.append(os.environ["ISTHMUS_CACHE"]) or [Row("w", 1.0)],
    )
    before = os.environ.get("ISTHMUS_CACHE")
    result = run.run(["network", "threads"], quick=True, begin=heard.append)
    assert heard == [
        "network",
        "threads",
        "off",
    ]  # compiling is measured, so nothing comes from disk
    assert os.environ.get("ISTHMUS_CACHE") == before
    assert result["failed"] == {"network": "ValueError: the peer computes something else"}
    assert [row["work"] for row in result["rows"]] == ["w"]
    json.dumps(result, allow_nan=False)


def test_the_machine_is_described_without_naming_it():
    text = machine.described(machine.machine(), machine.versions())
    assert "isthmus" in text
    assert "core" in text
    assert os.uname().nodename not in json.dumps(machine.machine())


def test_clocks_agree_on_what_is_slower():
    fast, slow = (lambda: sum(range(100))), (lambda: sum(range(10_000)))
    assert race(fast, slow, repeats=3)[0] < race(fast, slow, repeats=3)[1]
    assert min(fastest(fast, slow, repeats=3)) > 0


def test_work_in_a_thread_of_its_own_counts():
    def elsewhere(work):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    fast, slow = (lambda: elsewhere(lambda: None)), (lambda: elsewhere(lambda: sum(range(10**6))))
    quick, long = race(fast, slow, repeats=3)
    assert 5 * quick < long


@pytest.mark.parametrize("rows", [[], [Row("w", 1.0, "MJX", 3.0), Row("w", 1.0, "Brax", 0.5)]])
def test_the_chart_is_drawn_with_and_without_peers(rows, tmp_path):
    data = [{"table": "t", "benchmark": "b", **row.as_data()} for row in rows]
    result = {"machine": machine.machine(), "versions": machine.versions(), "rows": data}
    draw(result).savefig(tmp_path / "bench.png")
    assert (tmp_path / "bench.png").stat().st_size > 5000
