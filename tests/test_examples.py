"""Every example of the gallery runs and checks itself, as a user would run it, and is a notebook for jupytext."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
CELL = re.compile(r"^# %%( \[markdown\])?$", re.M)


@pytest.mark.compiles_much("examples call functions one by one, as their readers do")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_agrees_with_itself(path, as_the_user, monkeypatch):
    monkeypatch.setenv("ISTHMUS_QUICK", "1")
    runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_cells_of_text_and_code(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # "), "a title comes first"
    kinds = CELL.findall(text)
    assert "" in kinds, "there is no code"
    for part in re.split(CELL, text)[2::2]:
        assert part.strip(), "a cell is empty"


def test_examples_are_numbered_without_repetition():
    numbers = [path.name.split("_")[0] for path in EXAMPLES]
    assert len(set(numbers)) == len(numbers)
    assert len(EXAMPLES) >= 8
