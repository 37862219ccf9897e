"""A study saves its models, and further recordings judge them, at once or later."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

import isthmus as ist
from isthmus.cli.main import main
from isthmus.errors import BadFile, BadOption
from isthmus.experiments import run
from isthmus.experiments.run import Result, Settings, Table, reproduce


@pytest.fixture
def study(monkeypatch):
    """A study that finds a mass, and judges it by the mass that a recording's name says."""

    def fitted(settings):
        table = Table("fitted", ("mass",), (("3",),))
        model = ist.library.pendulum(1).set("link/rod_1/mass", 3.0)
        return Result((table,), {"unit": "kg"}, models={"rod": model})

    def judged(settings, models, numbers):
        off = float(models["rod"].get("link/rod_1/mass")) - float(settings.judge)
        return Result((Table("judged", (numbers["unit"],), ((f"{off:g}",),)),), {"off": off})

    module = types.SimpleNamespace(study=fitted, judged=judged)
    monkeypatch.setitem(sys.modules, "isthmus.experiments.toy", module)
    monkeypatch.setitem(run.STUDIES, "toy", "a toy")
    monkeypatch.setattr(run, "JUDGING", ("toy",))


def test_models_are_judged_alike_at_once_and_after_they_were_saved(study, tmp_path):
    at_once = reproduce("toy", Settings(data="x", judge="2.5"), tmp_path)
    assert at_once.judged.numbers == {"off": 0.5}
    assert {file.name for file in tmp_path.iterdir()} == {
        "tables.txt", "numbers.json", "judged_tables.txt", "judged_numbers.json", "rod.safetensors",
    }  # fmt: skip
    later = reproduce("toy", Settings(judge="2.5"), tmp_path)
    assert later.judged.numbers == at_once.judged.numbers
    assert "fitted" in (tmp_path / "tables.txt").read_text()


def test_the_command_prints_what_was_judged(study, tmp_path, capsys):
    reproduce("toy", Settings(), tmp_path)
    assert main(["reproduce", "toy", "--judge", "1", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "judged" in printed
    assert "fitted" not in printed


def test_what_cannot_be_judged_is_refused_in_one_sentence(study, tmp_path, capsys):
    with pytest.raises(BadOption, match=r"no saved models of the study 'toy'.*run it first"):
        reproduce("toy", Settings(judge="1"), tmp_path / "nowhere")
    assert main(["reproduce", "toy", "--judge", "1", "--out", str(tmp_path / "nowhere")]) == 2
    assert not (tmp_path / "nowhere").exists()
    assert capsys.readouterr().err.count("\n") <= 2
    reproduce("toy", Settings(), tmp_path)
    numbers = tmp_path / "numbers.json"
    as_written = numbers.read_text()
    numbers.write_text(as_written.replace('"unit"', '"mass"'))
    with pytest.raises(BadFile, match=r"has no 'unit': another version .* Run the study again"):
        reproduce("toy", Settings(judge="1"), tmp_path)
    numbers.write_text(as_written.replace('"toy"', '"other"'))
    with pytest.raises(BadOption, match="those of the study 'other'"):
        reproduce("toy", Settings(judge="1"), tmp_path)
    numbers.write_text("{")
    with pytest.raises(BadFile, match=r"numbers\.json' is damaged: run the study again"):
        reproduce("toy", Settings(judge="1"), tmp_path)
    with pytest.raises(BadOption, match="--judge"):
        reproduce("landscape", Settings(judge="1"))


def test_an_option_that_no_study_reads_is_refused_with_those_that_it_has():
    with pytest.raises(BadOption, match=r"no option 'worker'; it has network, .*workers\. Did you"):
        reproduce("push", Settings(options=(("worker", 2),)))
    with pytest.raises(BadOption, match="'pendulum' has no option 'steps'; it has none"):
        reproduce("pendulum", Settings(options=(("steps", 2),)))
    sources = [path.read_text() for path in Path(run.__file__).parent.glob("*.py")]
    read = {name for text in sources for name in re.findall(r'\.option\("(\w+)"', text)}
    assert read == {name for names in run.OPTIONS.values() for name in names}
