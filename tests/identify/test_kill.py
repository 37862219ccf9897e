"""A search that is killed or stopped from outside goes on and ends as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.search.search import Outcome
from tests.identify.toys import Rastrigin

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 12
PROGRAM = f"""
import sys
import isthmus as ist
from tests.identify.toys import Slow

search = ist.BasinHopping(islands=5, batch=3, rounds={ROUNDS}, store=sys.argv[1])
outcome = search.search(Slow(), Slow().start[None])
print(outcome.status[outcome.best].name, repr(float(outcome.cost[outcome.best])))
"""


def lines(store: Path) -> list[bytes]:
    """Whole ones."""
    return store.read_bytes().split(b"\n")[:-1] if store.exists() else []


def stopped(store: Path, how: signal.Signals) -> str:
    """Runs the program until two rounds are in the store, then sends the signal."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, store],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    for _ in range(6000):
        if len(lines(store)) >= 5 or program.poll() is not None:
            break
        time.sleep(0.005)
    program.send_signal(how)
    said = program.communicate(timeout=60)[0]
    assert 5 <= len(lines(store)) < 1 + 2 * ROUNDS, "the signal came too late"
    return said


def resumed(store: Path) -> Outcome:
    search = ist.BasinHopping(islands=5, batch=3, rounds=ROUNDS, store=store, resume=True)
    return search.search(Rastrigin(), Rastrigin().start[None])


@pytest.fixture(scope="module")
def uninterrupted() -> Outcome:
    search = ist.BasinHopping(islands=5, batch=3, rounds=ROUNDS)
    return search.search(Rastrigin(), Rastrigin().start[None])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills in other ways")
def test_a_kill_loses_at_most_the_running_round(tmp_path, uninterrupted):
    store = tmp_path / "run.jsonl"
    stopped(store, signal.SIGKILL)
    kept = lines(store)
    outcome = resumed(store)
    assert lines(store)[: len(kept)] == kept
    assert outcome.history == uninterrupted.history
    np.testing.assert_array_equal(outcome.x, uninterrupted.x)


def test_ctrl_c_ends_the_search_with_its_best(tmp_path, uninterrupted):
    store = tmp_path / "run.jsonl"
    status, cost = stopped(store, signal.SIGINT).split()
    assert status == "INTERRUPTED"
    assert float(cost) <= uninterrupted.history[1]
    assert resumed(store).history == uninterrupted.history
