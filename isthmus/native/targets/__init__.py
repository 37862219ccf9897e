"""What the scalar program is written as: LLVM for this processor (`llvm/`), C99 for a controller (`c/`).

`target.py` says what a target offers. A target is loaded when it is first used. Another one is a module with a
`TARGET` and a line in `HOMES`; for a C-like language, a `Dialect` and, where it runs here, `build` and `load`.
"""

from __future__ import annotations

from importlib import import_module

from isthmus.errors import BadOption
from isthmus.native.targets.target import AbstractMachine, AbstractTarget

HOMES = {"llvm": "isthmus.native.targets.llvm.target", "c": "isthmus.native.targets.c.target"}
"""Name of a target -> the module that has it as `TARGET`."""


def find(name: str) -> AbstractTarget:
    """The target called `name`."""
    if name not in HOMES:
        there = " and ".join(map(repr, HOMES))
        raise BadOption(f"there is no source in {name!r}; there are {there}.")
    return import_module(HOMES[name]).TARGET


def here() -> AbstractMachine:
    """The target of code that runs in this process."""
    target = find("llvm")
    assert isinstance(target, AbstractMachine)
    return target
