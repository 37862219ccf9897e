"""Whoever runs the jobs, the records are the same and in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from isthmus.distributed.job import Job
from isthmus.distributed.runner import AbstractRunner, Here, Processes, Remembering
from isthmus.distributed.store import Store
from isthmus.errors import BadOption, JobFailed, WorkerDied
from tests.distributed import tasks
from tests.distributed.tasks import HERE

ROOT = Path(__file__).resolve().parents[2]
POWERS = [Job(f"{HERE}:power", {"base": 1.0 + 0.1 * k, "exponent": k}, seed=k) for k in range(7)]


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """Two spawned processes, for all tests of this file."""
    with Processes(2, setup=(tasks.keep, ("greeting", "hello"))) as runner:
        yield runner


def values(runner: AbstractRunner) -> list[float]:
    records = runner.run(POWERS)
    assert [record.job for record in records] == POWERS
    return [record.result["value"] for record in records]


def test_records_are_the_same_and_in_order_whoever_makes_them(processes):
    assert values(Here()) == values(Here(threads=3)) == values(processes)


def test_processes_are_not_this_one_and_know_what_they_were_told(processes):
    [record] = processes.run(POWERS[:1])
    assert record.result["process"] != os.getpid()
    assert processes.run([Job(f"{HERE}:kept", {"name": "greeting"})])[0].result == "hello"


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked")
def test_processes_hear_no_ctrl_c_from_their_first_moment_on(processes):
    assert processes.run([Job(f"{HERE}:hears_ctrl_c")])[0].result == {"blocked": True, "ignored": True}  # fmt: skip
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_job_that_fails_elsewhere_fails_here_in_its_own_words(processes):
    with pytest.raises(JobFailed, match=r"tasks:fails failed .*ValueError: no luck today"):
        processes.run([Job(f"{HERE}:fails", {"word": "luck"})])
    with pytest.raises(ValueError, match="no luck today"):
        Here().run([Job(f"{HERE}:fails", {"word": "luck"})])


def test_the_jobs_of_a_process_that_was_killed_are_run_by_another(processes, tmp_path):
    jobs = [Job(f"{HERE}:dies_once", {"mark": str(tmp_path / "mark")}), *POWERS]
    records = processes.run(jobs)
    assert [record.job for record in records] == jobs
    assert records[0].result == "done"


def test_jobs_that_kill_every_process_are_given_up_in_words():
    with Processes(1) as runner, pytest.raises(WorkerDied, match="a process died 3 times"):
        runner.run([Job(f"{HERE}:dies")])


def test_less_than_one_is_refused():
    for kind in (Here, Processes):
        with pytest.raises(BadOption, match="must be 1 or more, not 0"):
            kind(0)


def test_what_a_store_has_is_not_run_again(tmp_path):
    asked: list[Job] = []

    class Counting(Here):
        def run(self, jobs):
            asked.extend(jobs)
            return super().run(jobs)

    with Store(tmp_path / "run.jsonl", {}) as store:
        Remembering(Counting(), store).run(POWERS[:3])
    with Store(tmp_path / "run.jsonl", {}, resume=True) as store:
        records = Remembering(Counting(), store).run(POWERS)
    assert asked == POWERS
    assert [record.job for record in records] == POWERS


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened in 30 seconds")


def alive(process: int) -> bool:
    """Whether it still does something (a zombie does not)."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent_however_it_ends(how, tmp_path):
    mark = tmp_path / "mark"
    program = (
        "from isthmus.distributed.job import Job\nfrom isthmus.distributed.runner import Processes\n"
        "if __name__ == '__main__':\n"
        f"    Processes(1).run([Job('{HERE}:naps', {{'mark': {str(mark)!r}}})])\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "program.py"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: mark.exists() and mark.read_text(encoding="utf-8"))
    child = int(mark.read_text(encoding="utf-8"))
    parent.send_signal(how)
    said = parent.communicate(timeout=120)[1]  # ends with the last of all processes
    wait_for(lambda: not alive(child))
    assert how == signal.SIGINT or said == ""
