"""Every example runs and checks itself, as a user would run it."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


@pytest.mark.compiles_much("examples call functions one by one, as their readers do")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_agrees_with_itself(path, as_the_user, monkeypatch):
    name = f"example_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # its classes look themselves up there
    spec.loader.exec_module(module)
    assert hasattr(module, "main"), f"{path.name} must have a main() that runs without arguments"
    small = {"quick": True} if "quick" in inspect.signature(module.main).parameters else {}
    module.main(**small)


def test_examples_are_numbered_without_repetition():
    numbers = [path.name.split("_")[0] for path in EXAMPLES]
    assert len(set(numbers)) == len(numbers)
