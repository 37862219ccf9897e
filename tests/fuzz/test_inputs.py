"""The fuzzer itself: sound inputs are read, cases repeat, and what it must catch is a finding."""

from __future__ import annotations

import pytest

from tests.fuzz import examples
from tests.fuzz.calls import CALLS
from tests.fuzz.inputs import READERS, Case, case, is_short, tried, write_finding


@pytest.mark.parametrize("kind", READERS)
def test_what_is_sound_is_read(kind):
    files = examples.files()[kind]
    first = dict.fromkeys(("fit", "randomise"), "fit.json") | {
        "study": "study.toml",
        "posterior": "posterior.json",
    }
    for name in [first[kind]] if kind in first else files:
        found = tried(
            Case(kind, 0, files, lambda folder, n=name: READERS[kind](folder, folder / n))
        )
        assert (name, found.kind, found.detail) == (name, "read", "")


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_its_usual_arguments_is_answered(name):
    function, good = CALLS[name]
    found = tried(Case("calls", 0, {}, lambda folder: function(folder, **good())))
    assert (found.kind, found.detail) == ("read", "")


@pytest.mark.parametrize("kind", READERS)
def test_damaged_files_are_read_or_refused_in_a_short_message(kind):
    for seed in range(5):
        one = case(kind, seed)
        assert one.files == case(kind, seed).files
        found = tried(one)
        assert found.kind in ("read", "refused"), f"{one.command}\n{found.detail}"


def test_an_error_of_another_kind_is_a_finding_that_can_be_run_again(tmp_path):
    one = Case("csv", 3, {"log.csv": b"t"}, lambda folder: int((folder / "log.csv").read_text()))
    found = tried(one)
    assert found.kind == "error"
    folder = write_finding(one, found, tmp_path)
    assert (folder / "log.csv").read_bytes() == b"t"
    assert "--kind csv --seed 3 --cases 1" in (folder / "finding.txt").read_text()


def test_what_takes_long_only_because_of_its_damage_is_a_finding(monkeypatch):
    busy = lambda folder: sum(range(2_000_000))
    quick = Case("csv", 3, {}, lambda folder: None)
    assert tried(Case("csv", 3, {}, busy, quick)).kind == "read"
    monkeypatch.setattr("tests.fuzz.inputs.SECONDS", 0.0)
    assert tried(Case("csv", 3, {}, busy, Case("csv", 3, {}, busy))).kind == "read"
    assert tried(Case("csv", 3, {}, busy, quick)).place == "time or memory"
    works = iter([busy])
    once = lambda folder: next(works, quick.run)(folder)
    assert tried(Case("csv", 3, {}, once, quick)).kind == "read"


def test_a_long_message_is_no_answer():
    assert is_short("a sentence.")
    assert not is_short("x" * 10_000)
    assert not is_short("\n".join("x" * 100))
