"""Backends are loaded by what uses them."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = (
    "import sys; print(*sorted(m for m in sys.modules if m.startswith(('llvmlite', 'isthmus'))))"
)
ROLLOUT = """
import numpy as np, isthmus as ist
model = ist.library.pendulum(1)
ist.rollout(model, ist.State.neutral(model), None, 0.01, steps=2)
"""


def loaded_by(code: str) -> list[str]:
    """Modules of ours and of LLVM that are loaded after `code` has run in a new process."""
    command = [sys.executable, "-c", f"{code}\n{LOADED}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.smoke
def test_importing_native_loads_no_backend_and_no_translator():
    found = loaded_by("import isthmus.native; isthmus.native.Native")
    assert "isthmus.native.runtime.call" in found
    assert "isthmus.native.tracing.translate" not in found
    assert not [
        name for name in found if name.startswith(("llvmlite", "isthmus.native.targets.c."))
    ]
    assert not [name for name in found if name.startswith("isthmus.native.targets.llvm")]


def test_a_rollout_does_not_load_the_backend_for_c():
    found = loaded_by(ROLLOUT)
    assert "llvmlite.binding" in found
    assert not [name for name in found if name.startswith("isthmus.native.targets.c")]


def test_c_needs_no_more_than_its_name():
    assert "isthmus.native.targets.c.function" in loaded_by("from isthmus.native import to_c")
