"""`isthmus reproduce` waits as the other commands do: named phases, and Ctrl-C is heard at once."""

from __future__ import annotations

import threading

from isthmus.cli.main import main
from isthmus.experiments import landscape
from isthmus.experiments.run import Result, Table
from isthmus.phases import in_turn, listening


def test_an_experiment_runs_beside_the_thread_that_hears_ctrl_c(tmp_path, capsys, monkeypatch):
    threads, told = [], []

    def study(settings):
        for _ in in_turn(range(2), "part"):
            threads.append(threading.current_thread())
        return Result((Table("a title", ("a",), (("1",),)),), {"a": 1.0})

    monkeypatch.setattr(landscape, "study", study)
    out = tmp_path / "new" / "folder"
    with listening(lambda now: told.append(str(now))):
        assert main(["reproduce", "landscape", "--out", str(out)]) == 0
    assert threading.main_thread() not in threads
    assert "part 1 of 2" in told
    assert "a title" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {"tables.txt", "numbers.json"}
