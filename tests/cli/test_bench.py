"""`isthmus bench`: a table, a chart, a file."""

from __future__ import annotations

import json
import re

from isthmus.bench import native_cases, run
from isthmus.bench.rows import Row
from isthmus.cli.main import main
from tests.cli.test_main import one_sentence


def test_a_small_benchmark_runs_and_leaves_its_files(as_the_user, capsys):
    assert main(["bench", "--quick", "--only", "network", "--out", "found"]) == 0
    said = capsys.readouterr()
    assert "network of 175 weights" in said.out
    assert "wrote found/bench.json and found/bench.png" in said.out.replace("\\", "/")
    assert said.err == ""
    data = json.loads((as_the_user / "found" / "bench.json").read_text())
    assert data["quick"] is True
    assert data["machine"]["lanes"] in (2, 4, 8)
    assert data["versions"]["jax"]
    alone = data["rows"][0]
    assert alone["ours"] > 0
    assert alone["compile"] > 0
    assert (alone["theirs"] is None) == bool(alone["missing"])
    assert (as_the_user / "found" / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_the_help_names_every_benchmark(capsys):
    assert main(["bench", "--help"]) == 0
    assert set(run.CASES) <= set(re.findall(r"[a-z]+(?:-[a-z]+)?", capsys.readouterr().out))


def test_peers_stand_beside_us_with_bars(as_the_user, capsys, monkeypatch):
    rows = [
        Row("swing", 1e-6, "MJX", 2e-5, compile=0.5),
        Row("swing", 1e-6, "Brax", None, missing="pip install brax"),
        Row("network", 2e-6, "CasADi C", 1e-6),
        Row("slope", 4e-6, "own forward pass", 1e-6, own=True),
    ]
    monkeypatch.setattr(native_cases, "threads", lambda quick: rows)
    assert main(["bench", "--only", "threads"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "swing 1 µs 500 ms MJX 20 µs 20×" in text
    assert "Brax: not installed, pip install brax" in text
    assert "takes 4×" in text
    assert f"swing MJX {'█' * 30} 20×" in text
    assert "░ 0.5×" in text


def test_a_failure_is_said_and_has_status_1(as_the_user, capsys, monkeypatch):
    def fails(quick):
        raise RuntimeError("no")

    monkeypatch.setattr(native_cases, "threads", fails)
    assert main(["bench", "--only", "threads"]) == 1
    assert "benchmark 'threads' failed: RuntimeError: no" in capsys.readouterr().err


def test_what_cannot_be_done_is_refused_before_the_work(as_the_user, capsys):
    assert main(["bench", "--only", "trheads"]) == 2
    assert "Did you mean 'threads'" in one_sentence(capsys)
    (as_the_user / "file").write_text("")
    assert main(["bench", "--out", "file"]) == 2
    assert "'file'" in one_sentence(capsys)
